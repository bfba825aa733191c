/*-------------------------------------------------------------------------
 *
 * subquery_join.h
 *	  A subquery that becomes a join, in the making: subquery_scalar.c has the design,
 *	  subquery_first.c does the same to first rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_SUBQUERY_JOIN_H
#define GPUCOL_PLANNER_SUBQUERY_JOIN_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* The join in the making. */
typedef struct GpucolGroupedJoin
{
	Query	   *outer;			/* the query that the subquery stands in */
	Query	   *inner;			/* a copy of the subquery, grouped at the end */
	Oid			relid;			/* for reasons */
	Index		rti;			/* of the grouped subquery in the outer query, */
	Index		join_rti;		/* and of the join */
	List	   *columns;		/* TargetEntries of the grouped subquery */
	List	   *groups;			/* SortGroupClauses of the keys */
	List	   *equalities;		/* OpExprs of the subquery that make the keys */
	List	   *conditions;		/* of the join, over the outer query's columns */
	List	   *asked;			/* GpucolAsked, by key */
	List	   *ordered;		/* OpExprs with the first column of its order on their left, and
								 * something of the outer query on their right */
	int64		skipped;		/* first rows that the subquery leaves out, */
	int64		last;			/* and the number of the last one that it gives */
	bool		asked_each;		/* the subquery is executed for each row of the outer query's one table */
	bool		has_domain;		/* the subquery has one among its tables (subquery_domain.c), */
	CommonTableExpr *domain_cte;	/* whose WITH query, the outer query's; or NULL */
	bool		collects;		/* its value collects, and each group that is computed is asked for */
	List	   *beyond;			/* what says that the subquery is to be executed for a row: its group has numbers
								 * too large to be computed with here, or several rows, or its key is near its
								 * type's end; */
	bool		may_execute;	/* that can be */
	Index		raised_table;	/* the table each of whose rows has the subquery executed, so that keys may raise the
								 * errors that they raised (subquery_raise.c); 0: they may not */
	List	   *raised;			/* lists of a value within its type, and the value itself; */
	Query	   *looked_at;		/* the rows of the subquery that have it computed */
	const char *reason;			/* why not, or NULL */
} GpucolGroupedJoin;

/* The grouped subquery's column that has an expression's values, made if there is none. */
extern TargetEntry *gpucol_grouped_column(GpucolGroupedJoin *join, Expr *expr, const char *name);

/* ... as the outer query sees it; `above` the join, which may make it NULL. */
extern Var *gpucol_grouped_var(const GpucolGroupedJoin *join, const TargetEntry *tle, bool above);

/* An expression over the outer query's columns, as that query has it. */
extern Node *gpucol_grouped_move_out(Node *node);

/* May the outer query compute this for all its rows?  Else the reason is kept. */
extern bool gpucol_grouped_check_outer(GpucolGroupedJoin *join, Node *moved);

/*
 * subquery_within.c: a sum of something harmless of the outer query and a constant, as it was moved out, that is an
 * error near the type's ends: NULL there, for which join->beyond has a condition more; NULL: it is none.
 */
extern Node *gpucol_grouped_within(GpucolGroupedJoin *join, Node *moved);

/* ... a key of the subquery's own: a value of a row near the ends has the subquery executed for all; else the key. */
extern Node *gpucol_grouped_within_key(GpucolGroupedJoin *join, Node *key);

/* ... a value of a first row of the subquery, which has the subquery executed for all likewise. */
extern Node *gpucol_grouped_within_value(GpucolGroupedJoin *join, Node *value);

/* ... an aggregate of the subquery over rows whose arithmetic stays within its types; join->beyond says of which
 * groups there are others. */
extern Aggref *gpucol_grouped_within_rows(GpucolGroupedJoin *join, const Aggref *agg);

/* ... the value of the only row of each key, or NULL; join->beyond says of which keys there are several. */
extern Node *gpucol_grouped_only(GpucolGroupedJoin *join, Node *value);

/*
 * subquery_raise.c: is each row of a table of the outer query, which passes the conditions on it, one that errors of
 * keys may be raised for?
 */
extern bool gpucol_raise_may(const GpucolGroupedJoin *join, Index table);

/* ... note what a value within its type stands for; */
extern void gpucol_raise_note(GpucolGroupedJoin *join, Node *within, Node *value);

/* which rows the subquery, whose conditions are sorted, looks at; */
extern void gpucol_raise_look(GpucolGroupedJoin *join);

/* and put the values where those within are, when all is known to be free of other errors; false with a reason. */
extern bool gpucol_raise_put(GpucolGroupedJoin *join);

/* The conditions of a subquery's WHERE; an equality that every branch of an OR has stands before it. */
extern List *gpucol_grouped_split(const Query *query);

/* Sort all conditions of the subquery's WHERE: they stay there, or become the join's. */
extern bool gpucol_grouped_conditions(GpucolGroupedJoin *join);

/* Is the subquery, with the columns and groups that it has now, one that may stand alone? */
extern bool gpucol_grouped_is_separate(GpucolGroupedJoin *join);

/* LEFT JOIN of tables of the outer query and entry join->rti, as its entry join->join_rti, which is added. */
extern JoinExpr *gpucol_grouped_left_join(GpucolGroupedJoin *join, List *left);

/* Join the subquery, join->inner, to the outer query's FROM clause by LEFT JOIN. */
extern void gpucol_grouped_add_join(GpucolGroupedJoin *join);

/*
 * subquery_domain.c: begin a join that failed again, as it was `begun`, with the domain of its subquery among its
 * tables, so that equalities alone correlate it; false if only they did, or it has none: failed->reason says why.
 */
extern bool gpucol_domain_begin_again(GpucolGroupedJoin *failed, GpucolGroupedJoin begun);

/* ... when the join is made */
extern void gpucol_domain_count(const GpucolGroupedJoin *join);

/* Why a subquery of this form stays, or NULL; as first rows it may give `most`. */
extern const char *gpucol_grouped_decline(Query *query, int64 most);

/* ... of any form that becomes a join. */
extern const char *gpucol_grouped_decline_any(Query *query);

/*
 * A value of the subquery, which has aggregates and no GROUP BY, over the columns of the join; `sublink` is what it is
 * executed by where floats are too large.
 */
extern Node *gpucol_grouped_value(GpucolGroupedJoin *join, const SubLink *sublink, Node *value);

/* ... by executing the subquery for rows of which the join has none, as join->beyond tells. */
extern Node *gpucol_grouped_beyond(const GpucolGroupedJoin *join, const SubLink *sublink, Node *value);

/*
 * subquery_lateral.c: have the subquery, entry `rte` of the query that reads it, give the rows of all keys, groups,
 * window functions or first rows.  False with a reason, and the entry is as it was.
 */
extern bool gpucol_grouped_rows(GpucolGroupedJoin *join, RangeTblEntry *rte);

/* How many rows a query of first rows of an order gives; 0: it is none. */
extern int64 gpucol_first_rows(const Query *query);

/* The number of the last of them, from 1 on; how many OFFSET leaves out goes to *skipped. */
extern int64 gpucol_first_range(const Query *query, int64 *skipped);

/*
 * Is a condition of a query of first rows one of its first order column and something outer?  It is
 * among join->ordered then, and `rest` has a condition more that stays in the subquery.
 */
extern bool gpucol_first_take_ordered(GpucolGroupedJoin *join, OpExpr *op, List **rest);

/* Have the subquery give the first row of each key. */
extern void gpucol_first_take(GpucolGroupedJoin *join);

/* ... and a value of it; the value, which is NULL where there is no row. */
extern Node *gpucol_first_value(GpucolGroupedJoin *join, Node *value);

/* ... by window functions, when all else is done. */
extern void gpucol_first_finish(GpucolGroupedJoin *join);

#endif							/* GPUCOL_PLANNER_SUBQUERY_JOIN_H */
