/*-------------------------------------------------------------------------
 *
 * subquery.h
 *	  What the files that rewrite subqueries share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_SUBQUERY_H
#define GPUCOL_PLANNER_SUBQUERY_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* Which columns something refers to, as seen from the query that it stands in. */
typedef struct GpucolReferences
{
	bool		own;			/* that query's */
	bool		outer;			/* those of the query around it */
	bool		farther;		/* those of a query around that, or its aggregates */
} GpucolReferences;

/*
 * subquery.c: make subqueries of a statement joins, those in it innermost first; how many.  With keep_table it
 * stays a scan of its table where it is one.
 */
extern int	gpucol_subquery_rewrite(Query *statement, bool keep_table);

extern GpucolReferences gpucol_subquery_references(Node *node);
extern Oid	gpucol_subquery_table(Query *query);
extern Oid	gpucol_subquery_packed_part(RangeTblEntry *rte);
extern List *gpucol_subquery_conditions(Node *node);

/* May the user call a function that a join needs and the statement does not name? */
extern bool gpucol_subquery_may_call(Oid function);

/* Is an equality of values of one type, which the statement does not name, one that rows can be joined by? */
extern bool gpucol_subquery_may_join(Oid equal, Oid type, Oid collation);

/* subquery_errors.c: has an expression a subquery that is executed for rows, or a test? */
extern bool gpucol_subquery_has_executed(Node *node);

/* ... are the conditions of the joins of a part of a FROM clause free of errors? */
extern bool gpucol_subquery_joins_are_harmless(Query *query, Node *node);

/*
 * ... could an expression raise an error for groups that no row asks for?  Without a column of the query's own
 * tables, the first `tables` ones, PostgreSQL may compute it of all groups, below the join.
 */
extern bool gpucol_subquery_reaches_all_groups(Query *query, Node *node, int tables);

/*
 * ... does no condition of a query raise an error for a row that it did not get before, now that some wait for a
 * join?  `fromlist` is the FROM clause before, `tables` were the entries of the range table then.  Those that wait
 * are the ones over joined columns and those of `joined`, and `values` (TargetEntries) over joined columns, which
 * conditions of the query around may stand for.
 */
extern bool gpucol_subquery_keeps_errors(Query *query, List *fromlist, int tables, List *joined, List *values);

/*
 * ... have values (TargetEntries) that could raise an error for groups that no row asks for computed of rows: each is
 * the same whether or not a column of the query's own tables is NULL, but asks that.
 */
extern void gpucol_subquery_keep_above_join(Query *query, List *values, int tables);

/* ... have such conditions of WHERE be so. */
extern void gpucol_subquery_keep_conditions_above_join(Query *query, int tables);

/* subquery_on.c: have conditions of ON with subqueries be conditions of WHERE, where that is the same. */
extern void gpucol_subquery_lift(Query *query);

/* ... join those that are left to the side of the join that they refer to; how many subqueries. */
extern int	gpucol_subquery_join_sides(Query *query);

/*
 * subquery.c: rewrite the subqueries in the condition of ON of a join, joining them to `query`, which has what they may
 * refer to as its FROM clause; how many.  `nullable`: PostgreSQL makes joins of tests among them.
 */
extern int	gpucol_subquery_rewrite_on(Query *query, Node **quals, bool nullable);

/* A value, not known here, of an expression's type, to stand in its place where the expression is only looked at. */
extern Node *gpucol_subquery_value(const Node *node);

/* Is a subquery executed for each row of the query around it, or a test (EXISTS, IN)? */
extern bool gpucol_subquery_is_executed(const SubLink *sublink);

/*
 * Is a test that is one of the conditions of WHERE, or `negated` one, better left there?
 * PostgreSQL makes a join of it, or path_join.c looks its one value up.
 */
extern bool gpucol_subquery_is_joined_there(const SubLink *sublink, bool negated);

/*
 * subquery_groups.c: a copy of a query with GROUP BY, HAVING or aggregates in which the grouping
 * is the first table, a subquery; NULL if no subquery stands beside it, or it must.
 */
extern Query *gpucol_subquery_above_groups(Query *query);

/*
 * ... have keys with subqueries (`always`: any) stand in a query's list and HAVING, as they are written: from
 * PostgreSQL 18 on an entry of the range table has them.  False if they stay there: those of grouping sets, for
 * which NULL may stand, and where HAVING must not see them before they are grouped.
 */
extern bool gpucol_subquery_write_keys(Query *query, bool always);

/*
 * subquery_columns.c: spell out computed columns of subqueries in a query's FROM clause where subqueries in its
 * expressions refer to them.
 */
extern void gpucol_subquery_spell_columns(Query *query);

/*
 * ... the expression that a query's column is where a subquery in FROM computes it, over other columns of that one,
 * which may get some; NULL if it is none, or stays.
 */
extern Node *gpucol_subquery_spelled_column(Query *query, const Var *var);

/*
 * ... what a query computes of its tables as a query one level below, without WITH, DISTINCT, ORDER
 * BY and LIMIT; `columns` is its list.  The query's own parts are used for it.
 */
extern Query *gpucol_subquery_below(const Query *query, List *columns);

/* ... have a query read the rows of `below`, and nothing else, where conditions hold. */
extern void gpucol_subquery_read(Query *query, Query *below, const char *name, List *conditions);

/*
 * subquery_window.c: have a query with DISTINCT ON number the rows of each key instead, and take those
 * behind the first `skipped` ones up to the one numbered `last`.
 */
extern void gpucol_subquery_number_rows(Query *query, int64 skipped, int64 last);

/* ... a query's list as columns of the query below, and as what the query itself reads of these. */
extern List *gpucol_subquery_move_columns(Query *query);

/* ... may the user call what it needs? */
extern bool gpucol_subquery_may_number(int64 skipped);

/* ... the same of a query as it stands in a statement; false if it stays. */
extern bool gpucol_subquery_distinct(Query *query);

/*
 * ... have a query with DISTINCT ON give all rows, and of each the values that its first order column,
 * the one numbered `ordered` of its list, has in rows with these keys that are so many `rows` (ints) before it;
 * returns these columns.
 */
extern List *gpucol_subquery_keep_before(Query *query, AttrNumber ordered, List *rows);

/*
 * subquery_scalar.c: the expression that takes the place of a scalar subquery in
 * `query`, to whose FROM clause the grouped subquery is joined; or NULL, and a reason is
 * noted where there is something to say.  `asked`: it is executed for each row of the query's one table that passes
 * its conditions.
 */
extern Node *gpucol_subquery_join_scalar(Query *query, SubLink *sublink, bool asked);

/*
 * ... the same of an EXISTS, which is returned as it is where it is correlated with nothing;
 * and of an expression of aggregates that is joined even then.  The gpucol table may also be
 * one of `query`.
 */
extern Node *gpucol_subquery_join_exists(Query *query, SubLink *sublink);
extern Node *gpucol_subquery_join_counts(Query *query, SubLink *sublink);

/*
 * ... an EXISTS or an expression of aggregates that is correlated with nothing, as one row that is
 * joined to all of `query`; or NULL: it stays.
 */
extern Node *gpucol_subquery_join_once(Query *query, SubLink *sublink);

/*
 * subquery_lateral.c: have an entry of the range table that is a subquery behind LATERAL, of first rows of an order, of
 * groups or of aggregates, compute all keys at once; false if it stays, and a reason is noted.  `asked`: all rows
 * of the query are.
 */
extern bool gpucol_subquery_join_lateral(Query *query, Index rti, bool asked);

/*
 * subquery_hoist.c: have subqueries in the FROM clause of `query`, which is one of `outer`, that refer to `outer`
 * compute all keys at once; the conditions that tell one from the other are the query's then.  False if none does.
 */
extern bool gpucol_subquery_hoist(Query *outer, Query *query);

/*
 * ... have a query read its WITH queries where it names them, and, if it is one of first rows, its groups as those of a
 * query below, if it has any;
 */
extern void gpucol_subquery_split_first(Query *query);

/* and any query with groups, */
extern void gpucol_subquery_split_groups(Query *query);

/* and first rows as well: what is left are rows in an order. */
extern void gpucol_subquery_split_rows(Query *query);

/* ... an EXISTS or NOT EXISTS of `query` that PostgreSQL makes a join of then, or NULL. */
extern Node *gpucol_subquery_hoist_exists(Query *query, Node *condition);

/*
 * subquery_elements.c: write aggregates of the elements of a row's arrays behind LATERAL, and IN of such elements, as
 * expressions of the row; how many.
 */
extern int	gpucol_subquery_elements(Query *query);

/*
 * subquery_equal.c: have tests and values in WHERE of a query that is a subquery refer to its own columns where they
 * refer to equal ones of queries around it; and, as one that is a test (EXISTS, IN), have its own EXISTS that
 * still refer to these be joined in its FROM clause.  How many of both.
 */
extern int	gpucol_subquery_bring_near(Query *query, bool is_test);

/*
 * ... have the subqueries among conditions of a join of `query` refer to columns of these tables where they refer to
 * equal ones of others.  They are executed for the same pairs of rows then as long as they are executed.
 */
extern Node *gpucol_subquery_bring_to(Query *query, Node *quals, const Bitmapset *tables);

/* seldom.c: a subquery in an expression is executed for no row, as far as can be told. */
extern void gpucol_seldom_mark(Query *query);
extern bool gpucol_seldom_is(const Query *query);

/* ... all tables and joins of a part of a FROM clause. */
extern Bitmapset *gpucol_subquery_tables(Node *node);

/* ... is a table of a query read as a whole row? */
extern bool gpucol_subquery_has_whole_row(Query *query, Index rti);

/*
 * subquery_nearest.c: is a query one of first rows of an order that compares with the query around?  Write such an
 * entry of the range table, or a subquery of an expression, whose value is returned, so that a pipe can find
 * them; false or NULL if it stays, and a reason is noted.  `asked`: it is executed for each row.
 */
extern bool gpucol_nearest_is(const Query *query);

/* A query of a least or greatest value as one of the first row of an order; another query itself. */
extern Query *gpucol_nearest_first(Query *query);

extern bool gpucol_nearest_lateral(Query *query, Index rti);
extern Node *gpucol_nearest_scalar(Query *query, SubLink *sublink, bool asked);

/*
 * ... of a query's columns, all of whose rows are asked for `asked` ones, those that are computed for each row of
 * its FROM clause; those asked of a query there; is a part of an expression evaluated for some rows only?
 */
extern Bitmapset *gpucol_nearest_asked(const Query *query, Bitmapset *asked);
extern Bitmapset *gpucol_nearest_asked_below(const Query *query, Index rti, Bitmapset *asked);
extern bool gpucol_nearest_is_choice(const Node *node);

/* ... are all rows of a query's FROM clause that pass its conditions read, as far as its other clauses tell? */
extern bool gpucol_nearest_takes_all(const Query *query);

/* ... before a statement is rewritten, when it has been, and, whatever happens, after that */
extern List *gpucol_nearest_begin(void);
extern void gpucol_nearest_place(Query *statement);
extern void gpucol_nearest_end(List *before);

/*
 * subquery_test.c: what takes the place of EXISTS, IN, = ANY or <> ALL in an expression of
 * `query`, to whose FROM clause subqueries are joined; or NULL, and `query` is as it was.
 * With null_is_false it may be false where it would be NULL.
 */
extern Node *gpucol_subquery_join_test(Query *query, SubLink *sublink, bool null_is_false);

/*
 * subquery_unique.c: does a query of one table give one row at most where `equalities`
 * (OpExprs) compare its columns with one value each?
 */
extern bool gpucol_subquery_is_unique(Query *query, List *equalities);

/*
 * subquery_not_in.c: the EXISTS or NOT EXISTS that takes the place of a condition of `query`
 * that is a correlated IN or a NOT IN, or NULL: it is none, or stays.
 */
extern Node *gpucol_subquery_join_condition(Query *query, Node *condition);

/*
 * ... is a table, one of those of a join tree, below a side of an outer join that is padded with NULLs?
 * `padded`: the tree is below such a side.
 */
extern bool gpucol_subquery_is_padded(Node *node, int varno, bool padded);

/* ... does a constraint keep a table's column from being NULL in all rows that a scan gives? */
extern bool gpucol_subquery_column_never_null(const RangeTblEntry *rte, AttrNumber attno);

/*
 * ... what is equal to an IN or = ANY (ANY_SUBLINK) of `query`, of EXISTS and of a subquery of counts, or
 * NULL: it stays.  With null_is_false it may be false where the IN is NULL.
 */
extern Node *gpucol_subquery_in(Query *query, SubLink *sublink, bool null_is_false);

/*
 * ... what is equal to an EXISTS of which one condition compares by an order, or by <>, with the
 * query around: a comparison with a subquery of the greatest or least value; NULL: it is none.
 * With null_is_false it may be NULL where the EXISTS is false.
 */
extern Node *gpucol_subquery_exists_ordered(SubLink *sublink, bool null_is_false);

/* ... is it an EXISTS with one that orders, beside other conditions? */
extern bool gpucol_subquery_is_ordered(const SubLink *sublink);

/*
 * A key that a subquery is grouped by, and what it equals in the outer query: `equality`
 * has the operator, and the key on its left or its right.
 */
typedef struct GpucolAsked
{
	OpExpr	   *equality;
	Node	   *key;
	Node	   *column;
	bool		key_is_left;
} GpucolAsked;

/*
 * subquery_restrict.c: leave out groups of `inner` that no row of `outer` asks for, as far
 * as conditions on one of its tables tell.
 */
extern void gpucol_subquery_restrict(Query *outer, Query *inner, List *asked);

/*
 * ... SELECT columns FROM a table of `outer` WHERE what `outer` has for conditions on it alone that are harmless: a row
 * for each of its rows that `outer` has, and perhaps others.
 */
extern Query *gpucol_subquery_asked(Query *outer, Index rti, List *columns);

/* ... SELECT FROM that table WHERE conditions. */
extern Query *gpucol_subquery_rows(Query *query, Index rti, List *conditions);

/* ... is an entry of a query's range table a table that can be read again? */
extern bool gpucol_subquery_can_ask(const Query *query, Index rti);

/*
 * ... leave out all groups that no row of `outer` asks for; false where that cannot be told.  `outer` reads one table
 * and, perhaps, the subquery itself, which is entry `rti` of its range table.
 */
extern bool gpucol_subquery_restrict_exactly(Query *outer, Query *inner, List *asked, Index rti);

/*
 * subquery_collect.c: is a value of a query one that collects?  What takes the place of ARRAY(SELECT ...), which is
 * executed for each row of the one table of `query` that passes its conditions, or NULL.
 */
extern bool gpucol_subquery_collects(const Query *query);
extern Node *gpucol_subquery_join_array(Query *query, SubLink *sublink);

/*
 * subquery_update.c: join the scalar subqueries in a clause of a query that is UPDATE, DELETE or MERGE; how many, 0 for
 * others.  With `tables` those that have no columns of other tables of the query.
 */
extern int	gpucol_subquery_join_changed(Query *query, Node **clause, const Bitmapset *tables);

/* subquery_merge.c: join those in the actions of MERGE to its source; how many. */
extern int	gpucol_subquery_join_merged(Query *query);

/* Note why a correlated subquery over a gpucol table stays; another is none to speak of. */
extern void gpucol_subquery_stays(SubLink *sublink, const char *reason);

#endif							/* GPUCOL_PLANNER_SUBQUERY_H */
