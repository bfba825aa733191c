/*-------------------------------------------------------------------------
 *
 * with_cost.c
 *	  Whether a WITH query is sooner computed once, or by each of its readers.
 *
 *		WITH s AS (SELECT county, qoy, year, sum(v) AS v FROM fact, day, place WHERE ... GROUP BY county, qoy, year)
 *		SELECT ... FROM s a, s b, s c WHERE a.qoy = 1 AND b.qoy = 2 AND c.qoy = 3 AND a.year = 2000 ...
 *
 * Rows that readers want are joined and grouped once either way, if no two readers want the same.  But each reader
 * that computes the query reads all its tables: that is what the others do again.  To keep the rows, a column at a
 * time (exec/kept_rows.c), takes something for each of them, and more for each reader, most where PostgreSQL reads
 * them as tuples.
 *
 * Tables whose rows lie in the order of the column that a reader restricts, or of one that is joined to the
 * restricted table, are read by each reader in part, together once.  How many rows a reader wants is told by the
 * numbers of values of columns; where a table is joined of whose keys only some are there (a calendar of two
 * centuries beside five years of sales), the restricted rows are taken for some of these.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_inherits.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "lower/clauses.h"
#include "planner/set_groups.h"
#include "planner/subquery.h"
#include "planner/with_cost.h"
#include "service/threads.h"

/* In ns: to read a row of a table, to join one, to group one, to keep one, and to read it, in a batch or as a tuple. */
#define TABLE_ROW	2.5
#define JOINED_ROW	20.0
#define GROUPED_ROW	200.0
#define KEPT_ROW	80.0
#define READ_ROW	20.0
#define READ_TUPLE	250.0

/* From this correlation with the order of the table on, few of its rows are read for a value of a column. */
#define GOES_ALONG	0.8

/* A table of a branch, or of a subquery in its FROM clause. */
typedef struct Table
{
	const Query *level;
	Index		rti;
	Oid			relid;
	bool		inherits;
	double		rows;
} Table;

/* A column of one. */
typedef struct Column
{
	Table	   *table;			/* NULL: unknown */
	AttrNumber	attno;
} Column;

/* Two columns that a join has equal. */
typedef struct Equality
{
	Column		a;
	Column		b;
} Equality;

typedef struct Branch
{
	List	   *tables;			/* Table, */
	List	   *equalities;		/* Equality, */
	List	   *restricted;		/* Column: compared with constants by the branch itself, */
	List	   *more;			/* and by a reader */
} Branch;

bool
gpucol_with_is_constant(const Node *node)
{
	return !contain_var_clause((Node *) node) && !checkExprHasSubLink((Node *) node) &&
		!contain_volatile_functions((Node *) node);
}

List *
gpucol_with_conditions(Node *node)
{
	List	   *result = NIL;
	ListCell   *lc;

	check_stack_depth();
	if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
			result = list_concat(result, gpucol_with_conditions(lfirst(lc)));
		return list_concat(result, gpucol_subquery_conditions(((FromExpr *) node)->quals));
	}
	if (!IsA(node, JoinExpr))
		return NIL;
	result = list_concat(gpucol_with_conditions(((JoinExpr *) node)->larg),
						 gpucol_with_conditions(((JoinExpr *) node)->rarg));
	return list_concat(result, gpucol_subquery_conditions(((JoinExpr *) node)->quals));
}

/* ---- what a branch reads ---- */

static Table *
find_table(const Branch *branch, const Query *level, int rti)
{
	ListCell   *lc;

	foreach(lc, branch->tables)
	{
		Table	   *table = lfirst(lc);

		if (table->level == level && table->rti == (Index) rti)
			return table;
	}
	return NULL;
}

/* The table's column that an expression is, perhaps behind subqueries. */
static Column
column_of(const Branch *branch, Query *level, Node *expr)
{
	Column		unknown = {NULL, 0};

	while (expr != NULL)
	{
		Var		   *var = (Var *) strip_implicit_coercions(gpucol_compat_write_groups(level, expr));
		const RangeTblEntry *rte;
		const TargetEntry *tle;

		if (!IsA(var, Var) || var->varlevelsup > 0 || var->varattno <= 0)
			return unknown;
		rte = rt_fetch(var->varno, level->rtable);
		if (rte->rtekind == RTE_RELATION)
			return (Column) {find_table(branch, level, var->varno), var->varattno};
		if (rte->rtekind == RTE_JOIN)
		{
			expr = list_nth(rte->joinaliasvars, var->varattno - 1);
			continue;
		}
		tle = rte->rtekind != RTE_SUBQUERY || rte->subquery->setOperations != NULL ? NULL :
			get_tle_by_resno(rte->subquery->targetList, var->varattno);
		if (tle == NULL)
			return unknown;
		level = rte->subquery;
		expr = (Node *) tle->expr;
	}
	return unknown;
}

/* Of a condition: columns that it has equal, or the one that it has equal a constant. */
static void
add_condition(Branch *branch, Query *level, const OpExpr *op, List **restricted)
{
	Column		a;
	Column		b;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2 ||
		!op_mergejoinable(op->opno, exprType(linitial(op->args))))
		return;
	a = column_of(branch, level, linitial(op->args));
	b = column_of(branch, level, lsecond(op->args));
	if (a.table != NULL && b.table != NULL && a.table != b.table)
	{
		Equality   *equality = palloc(sizeof(Equality));

		*equality = (Equality) {a, b};
		branch->equalities = lappend(branch->equalities, equality);
	}
	else if ((a.table == NULL) != (b.table == NULL) &&
			 gpucol_with_is_constant(a.table == NULL ? linitial(op->args) : lsecond(op->args)))
	{
		Column	   *column = palloc(sizeof(Column));

		*column = a.table != NULL ? a : b;
		*restricted = lappend(*restricted, column);
	}
}

/* The tables of a query, and what it says about them. */
static void
add_level(Branch *branch, Query *level)
{
	Index		rti = 0;
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, level->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		Table	   *table;

		rti++;
		if (rte->rtekind == RTE_SUBQUERY)
			add_level(branch, rte->subquery);
		if (rte->rtekind != RTE_RELATION)
			continue;
		table = palloc(sizeof(Table));
		*table = (Table) {level, rti, rte->relid, rte->inh, gpucol_set_count_rows(rte->relid)};
		branch->tables = lappend(branch->tables, table);
	}
	foreach(lc, gpucol_with_conditions((Node *) level->jointree))
		add_condition(branch, level, lfirst(lc), &branch->restricted);
}

/* ---- statistics ---- */

/* Values of a column, at least 1; infinite where nobody knows. */
static double
count_values(const Column *column)
{
	const Table *table = column->table;

	return Max(gpucol_set_count_values(table->relid, table->inherits && has_subclass(table->relid), column->attno,
									   table->rows), 1);
}

/* Do a table's rows lie in the order of a column? */
static bool
goes_along(const Column *column)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(column->table->relid),
										Int16GetDatum(column->attno), BoolGetDatum(false));
	AttStatsSlot slot;
	bool		result = false;

	if (!HeapTupleIsValid(tuple))
		return false;
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_CORRELATION, InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		result = slot.nnumbers == 1 && fabs(slot.numbers[0]) >= GOES_ALONG;
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(tuple);
	return result;
}

/* The share of a table's rows that have the values it is compared with. */
static double
restricted_share(const List *restricted, const Table *table)
{
	double		share = 1;
	ListCell   *lc;

	foreach(lc, restricted)
	{
		const Column *column = lfirst(lc);

		if (column->table == table && count_values(column) < INFINITY)
			share /= count_values(column);
	}
	return share;
}

/* The share of a join's rows in which a table has these values. */
static double
joined_share(const Branch *branch, const List *restricted, const Table *table)
{
	double		share = restricted_share(restricted, table);
	double		met = table->rows;
	ListCell   *lc;

	if (share == 1)
		return 1;
	foreach(lc, branch->equalities)
	{
		const Equality *equality = lfirst(lc);
		const Column *other = equality->a.table == table ? &equality->b : &equality->a;

		if ((equality->a.table == table || equality->b.table == table) && other->table->rows > table->rows)
			met = Min(met, count_values(other));
	}
	return Min(share * table->rows / Max(met, 1), 1);
}

/* Does a restriction have only few of a table's rows read? */
static bool
is_pruned(const Branch *branch, const Table *table)
{
	ListCell   *lc;

	foreach(lc, branch->more)
	{
		const Column *column = lfirst(lc);
		ListCell   *le;

		if (column->table == table && goes_along(column))
			return true;
		foreach(le, branch->equalities)
		{
			const Equality *equality = lfirst(le);

			if ((equality->a.table == table && equality->b.table == column->table && goes_along(&equality->a)) ||
				(equality->b.table == table && equality->a.table == column->table && goes_along(&equality->b)))
				return true;
		}
	}
	return false;
}

/* ---- costs ---- */

/* The share of a branch's joined rows that a reader wants, who restricts it further. */
static double
wanted_share(const Branch *branch)
{
	double		share = 1;
	ListCell   *lc;

	foreach(lc, branch->tables)
		share *= joined_share(branch, branch->more, lfirst(lc));
	return share;
}

/* The rows of tables that a reader reads, other than those that all read together once. */
static double
rows_read(const Branch *branch)
{
	double		rows = 0;
	ListCell   *lc;

	foreach(lc, branch->tables)
	{
		const Table *table = lfirst(lc);

		rows += is_pruned(branch, table) ? 0 : table->rows;
	}
	return rows;
}

/* The rows that tables joined have, as the largest has, with the branch's own restrictions. */
static double
rows_joined(const Branch *branch)
{
	double		rows = 0;
	double		share = 1;
	ListCell   *lc;

	foreach(lc, branch->tables)
	{
		const Table *table = lfirst(lc);

		rows = Max(rows, table->rows);
		share *= joined_share(branch, branch->restricted, table);
	}
	return rows * share;
}

/*
 * Groups of a branch: as many as combinations of values, of each table at most as many as it has rows, and of values
 * that it is compared with as many as readers have them in `parts`.  Infinite where nobody knows.
 */
static double
count_groups(const Branch *branch, Query *query, int parts)
{
	double		groups = 1;
	ListCell   *lt;

	foreach(lt, branch->tables)
	{
		const Table *table = lfirst(lt);
		double		values = 1;
		ListCell   *lc;

		foreach(lc, query->groupClause != NIL ? query->groupClause : query->distinctClause)
		{
			Node	   *key = get_sortgroupclause_expr(lfirst(lc), query->targetList);
			Column		column = column_of(branch, query, key);

			if (column.table == NULL && contain_var_clause(key))
				return INFINITY;
			if (column.table == table)
				values *= count_values(&column);
		}
		if (isinf(values))
			return INFINITY;
		groups *= Max(Min(values, table->rows) * Min(parts * restricted_share(branch->more, table), 1), 1);
	}
	return groups;
}

/* Is a condition never met? */
static bool
is_never(const List *conditions)
{
	Node	   *all = (Node *) make_ands_explicit((List *) copyObject(conditions));
	const Const *value = (const Const *) eval_const_expressions(NULL, all);

	return IsA(value, Const) && (value->constisnull || !DatumGetBool(value->constvalue));
}

/* What some readers together want: of a branch's joined rows so large a share, and so many different parts. */
typedef struct Wanted
{
	double		asked;			/* shares of all readers added up, */
	double		share;			/* those of different conditions, */
	int			parts;			/* so many; */
	double		read;			/* rows of tables that all read, */
	double		most;			/* and the one that reads most */
} Wanted;

/* Add a reader's conditions, the number `at` of all. */
static void
add_reader(Wanted *sum, Branch *branch, Query *query, const List *wanted, int at)
{
	const List *conditions = list_nth(wanted, at);
	bool		repeated = false;
	double		share;
	double		read;
	ListCell   *lc;

	branch->more = NIL;
	foreach(lc, conditions)
		add_condition(branch, query, lfirst(lc), &branch->more);
	share = wanted_share(branch);
	read = rows_read(branch);
	for (int i = 0; i < at; i++)
		repeated |= equal(list_nth(wanted, i), conditions);
	sum->asked += share;
	sum->share += repeated ? 0 : share;
	sum->parts += !repeated;
	sum->read += read;
	sum->most = Max(sum->most, read);
}

/* The query that groups a branch's rows: itself, or a subquery whose rows it has; NULL: they are not grouped. */
static Query *
grouping_of(Query *query)
{
	while (query->setOperations == NULL && query->groupClause == NIL && query->distinctClause == NIL &&
		   !query->hasAggs)
	{
		const Node *from = list_length(query->jointree->fromlist) == 1 ? linitial(query->jointree->fromlist) : NULL;
		const RangeTblEntry *rte = from != NULL && IsA(from, RangeTblRef) ?
			rt_fetch(((const RangeTblRef *) from)->rtindex, query->rtable) : NULL;

		if (rte == NULL || rte->rtekind != RTE_SUBQUERY)
			return NULL;
		query = rte->subquery;
	}
	return query->setOperations == NULL ? query : NULL;
}

/* Threads that read a branch's tables. */
static int
count_threads(const Branch *branch)
{
	BlockNumber pages = 0;
	ListCell   *lc;

	foreach(lc, branch->tables)
		pages = Max(pages, gpucol_set_count_pages(((const Table *) lfirst(lc))->relid));
	return Min(gpucol_cost_threads(pages), gpucol_threads_processors());
}

void
gpucol_with_cost_add(GpucolWithCost *cost, Query *query, const List *wanted)
{
	Query	   *grouping = grouping_of(query);
	Branch		branch = {NIL};
	Wanted		sum = {0};
	double		joined;
	double		rows;
	double		again;

	add_level(&branch, query);
	for (int i = 0; i < list_length(wanted); i++)
	{
		if (!is_never(list_nth(wanted, i)))
			add_reader(&sum, &branch, query, wanted, i);
	}
	if (sum.parts == 0)
		return;
	joined = rows_joined(&branch);
	rows = Min(sum.share, 1) * joined;
	if (grouping != NULL)
	{
		double		groups = count_groups(&branch, grouping, sum.parts);

		rows = isinf(groups) ? groups : Min(groups, rows);
	}
	again = (sum.read - sum.most) * TABLE_ROW;
	if (sum.asked > sum.share)
		again += (sum.asked - sum.share) * (list_length(branch.tables) > 1 ? joined * JOINED_ROW : 0) +
			(sum.asked / sum.share - 1) * (grouping != NULL ? rows * GROUPED_ROW : 0);
	cost->again += again / count_threads(&branch);
	cost->kept += rows * (KEPT_ROW + (cost->readers - cost->by_tuples) * READ_ROW + cost->by_tuples * READ_TUPLE);
}
