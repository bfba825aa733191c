/*-------------------------------------------------------------------------
 *
 * agg.h
 *	  PostgreSQL's aggregates as engine states, and how a state becomes the
 *	  aggregate's result again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_AGG_H
#define GPUCOL_LOWER_AGG_H

#include "lower/lower.h"

/* The final step from a state to a datum. */
typedef enum GpucolFinalKind
{
	GPUCOL_FINAL_COUNT,			/* int8 number of rows */
	GPUCOL_FINAL_DISTINCT,		/* int8 number of distinct values */
	GPUCOL_FINAL_SUM_INT8,		/* int8 sum of int2 or int4 */
	GPUCOL_FINAL_SUM_NUMERIC,
	GPUCOL_FINAL_SUM_MONEY,
	GPUCOL_FINAL_SUM_FLOAT4,
	GPUCOL_FINAL_SUM_FLOAT8,
	GPUCOL_FINAL_AVG_NUMERIC,
	GPUCOL_FINAL_AVG_FLOAT8,
	GPUCOL_FINAL_VALUE,			/* min, max: a value of the argument's class, */
	GPUCOL_FINAL_PACKED,		/* a decimal that carries its scale */
	GPUCOL_FINAL_BOOL,
	GPUCOL_FINAL_VAR_NUMERIC,
	GPUCOL_FINAL_VAR_FLOAT8,
	GPUCOL_FINAL_REGRESSION,	/* of two floats: GpucolRegression */
	GPUCOL_FINAL_SUM_SPAN,		/* of intervals: `state` is that of microseconds, `x_state` of
								 * days, `y_state` of months */
	GPUCOL_FINAL_AVG_SPAN,
	GPUCOL_FINAL_SPAN,			/* a difference of timestamps in microseconds */
	GPUCOL_FINAL_DATUM			/* a datum, see GpucolHostAgg */
} GpucolFinalKind;

/*
 * How the executor advances an aggregate whose argument no engine computes, once
 * for each of the engine's groups (exec/regroup.c).
 */
typedef enum GpucolHostAgg
{
	GPUCOL_HOST_NONE = 0,		/* the engine does */
	GPUCOL_HOST_WEIGHTED,		/* an integer, as often as the group has rows */
	GPUCOL_HOST_NUMERIC,		/* a numeric likewise, summed by PostgreSQL */
	GPUCOL_HOST_DISTINCT,		/* number of distinct values */
	GPUCOL_HOST_EXTREME,		/* least or greatest value */
	GPUCOL_HOST_FED				/* any aggregate, once for each row (GpucolFed) */
} GpucolHostAgg;

/* Aggregates of pairs of floats, y and x. */
typedef enum GpucolRegression
{
	GPUCOL_REGRESSION_SXX,
	GPUCOL_REGRESSION_SYY,
	GPUCOL_REGRESSION_SXY,
	GPUCOL_REGRESSION_AVGX,
	GPUCOL_REGRESSION_AVGY,
	GPUCOL_REGRESSION_R2,
	GPUCOL_REGRESSION_SLOPE,
	GPUCOL_REGRESSION_INTERCEPT,
	GPUCOL_REGRESSION_COVAR_POP,
	GPUCOL_REGRESSION_COVAR_SAMP,
	GPUCOL_REGRESSION_CORR
} GpucolRegression;

/* Arguments that fed->counts has at most. */
#define GPUCOL_FED_MOST_ARGS	32

/* An argument or sort expression of a fed aggregate. */
typedef struct GpucolFedArg
{
	Expr	   *expr;
	int			output;			/* of the engine, or -1: evaluated by PostgreSQL on
								 * the base columns of the row */
	GpucolValue value;
	bool		span;			/* an interval, the difference of two timestamps in microseconds */
	bool		counted;		/* the output tells its values apart, and is not what is displayed */
	int			scales;			/* 1 + the output of how many digits each row displays; 0: there is none */
} GpucolFedArg;

/*
 * An aggregate that no engine has: it is fed the rows of a scan (exec/feed.c).
 */
typedef struct GpucolFed
{
	Aggref	   *agg;
	int			nargs;			/* of agg->args */
	GpucolFedArg *args;
	GpucolFedArg filter;		/* expr NULL: none */
	bool		sample;			/* percentile or mode of one output: exec/feed_sample.c */
	bool		counts;			/* states such as engines keep, of outputs: exec/feed_state.c */
	bool		distinct;		/* then: of different values, which words tell apart (exec/feed_seen.c) */
	bool		whole;			/* then: the arguments are the fields of a row, which is no NULL */
	bool		spans;			/* then: a sum of intervals, of microseconds, days and months */
	bool		apart;			/* not counts: DISTINCT of such values */
	int			most;			/* an array of whose elements only the first so many are asked for; 0: all */
	GpucolAgg	state;			/* its operation and class; of PRODUCTS there are three: y with x,
								 * x and y with themselves */
	Oid			cast;			/* function from the output's type to the aggregate's, or
								 * InvalidOid */
} GpucolFed;

typedef struct GpucolFinal
{
	GpucolFinalKind kind;
	GpucolClass cls;			/* of the argument */
	bool		sample;			/* variance over n - 1 */
	bool		root;			/* standard deviation */
	int			state;			/* number of the state */
	int			scale;			/* D: scale of the state */
	int			scale_state;	/* D: state of the greatest display scale of a
								 * row, or -1: `scale` */
	int			low_state;		/* D: state of the sum's digits behind `scale`, at
								 * GPUCOL_PACKED_LOW digits, or -1 */
	GpucolRegression regression;	/* REGRESSION: `state` is that of products, */
	int			x_state;		/* and these are those of each argument with itself */
	int			y_state;
	Oid			type;			/* result type */

	/* host aggregates: `state` follows those of the engine */
	GpucolHostAgg host;
	Expr	   *arg;
	int			rows;			/* state that counts the rows */
	Oid			compare;		/* EXTREME: support function of a btree, */
	Oid			less;			/* and its operator */
	Oid			collation;
	bool		greatest;
	bool		average;		/* NUMERIC: the sum divided by the count */
	GpucolFed  *fed;			/* FED */
} GpucolFinal;

/* One key of a grouping. */
typedef struct GpucolGroupKey
{
	Expr	   *expr;
	int			output;			/* of the engine, or -1: evaluated by PostgreSQL on
								 * the base columns of the engine's groups */
	GpucolValue value;
	Datum	   *labels;			/* or NULL: the value is the number of one of these */
	int			shown_state;	/* D: of the greatest display scale of a row of the group, any of
								 * which will do; or -1: `value.scale` */
} GpucolGroupKey;

/* A column that the engine groups by because keys or arguments need it. */
typedef struct GpucolBaseColumn
{
	AttrNumber	attnum;
	int64		unit;			/* a timestamp is cut to multiples of it; 0 = it is not */
	int			output;
	GpucolValue value;
} GpucolBaseColumn;

/* GROUPING SETS over numbered keys; each row counts in every set. */
typedef struct GpucolGroupSets
{
	List	   *sets;			/* IntLists of keys: the others are NULL; NIL: there
								 * is one of all keys */
	List	   *functions;		/* GROUPING(): IntLists of keys */
} GpucolGroupSets;

/* A grouping as the engine and the executor share it out. */
typedef struct GpucolGroupPlan
{
	int			nkeys;
	GpucolGroupKey *keys;
	GpucolGroupSets sets;
	int			naggs;
	GpucolFinal *finals;
	List	   *tests;			/* conditions that PostgreSQL tests on the engine's groups; or
								 * on its rows, of which it delivers nothing but columns
								 * then, as a condition might hide an error */
	int			nbase;
	GpucolBaseColumn *base;
	int64	   *units;			/* by attribute number - 1: GpucolBaseColumn.unit, as fine as
								 * any expression needs it, -1 = none asked yet */
	bool		again;			/* lowered too coarsely, or with distinct counts that groups
								 * joined later do not add up to */
	int			nhost;			/* states beyond the engine's */
	bool		feeding;		/* all aggregates are fed: the engine delivers rows, not
								 * groups, with the keys and base columns of a group */
	bool		regroup;		/* the engine's groups are finer than the keys, or
								 * there are grouping sets */
	int			rows;			/* state that counts the rows of the engine's only
								 * group, or -1: it has keys, or there are none */
} GpucolGroupPlan;

/* What the executor may do for a grouping. */
typedef enum GpucolGroupShare
{
	GPUCOL_GROUP_NOTHING,		/* the engine's groups are those of the query */
	GPUCOL_GROUP_REGROUP,		/* join them, or feed aggregates rows where it must */
	GPUCOL_GROUP_FEED			/* feed all aggregates rows */
} GpucolGroupShare;

/*
 * lower/group.c: lower keys (List of Expr) and aggregates (List of Aggref) of the rows that
 * pass `tests`, too (List of Expr), which the executor tests.  What no engine computes is
 * left to the executor where `share` lets it; else false with l->reason.  The same with
 * grouping sets, which need it.
 */
extern bool gpucol_lower_grouping(GpucolLower *l, List *keys, List *aggs, List *tests,
								  const GpucolGroupSets *sets, GpucolGroupShare share,
								  GpucolGroupPlan *plan);

/*
 * May the engine compute its keys and aggregates for rows that PostgreSQL's tests leave out
 * afterwards, in a query before planning's end?
 */
extern bool gpucol_lower_grouping_harmless(Query *query, const GpucolGroupPlan *plan, List *aggs);

/* lower/agg.c: add the states of one aggregate */
extern bool gpucol_lower_aggref(GpucolLower *l, Aggref *agg, GpucolFinal *final);

/*
 * lower/regression.c: the states of an aggregate of pairs of floats; *matched tells
 * whether it is one.
 */
extern bool gpucol_lower_regression(GpucolLower *l, Aggref *agg, bool *matched,
									GpucolFinal *final);

/* ... or, of a fed one whose arguments are lowered, the states in feed_state.c's order */
extern bool gpucol_lower_fed_regression(GpucolFed *fed, GpucolFinal *final);

/*
 * May a fed aggregate, whose arguments are lowered, be advanced as engines do?  Then its final
 * step is that of states from 0 on.
 */
extern bool gpucol_lower_fed_state(GpucolFed *fed, GpucolFinal *final);

/*
 * Is a fed aggregate's argument a constant, or do 64 bits tell what equals it by its type's equality, or, of a
 * decimal, 128?
 */
extern bool gpucol_lower_fed_distinct(const GpucolFedArg *arg);

/*
 * Is a fed aggregate's argument delivered as a number whose int64 (of floats the one of kernel/float_order.h) is in the
 * order of a sort operator, or in the opposite one (*descending)?
 */
extern bool gpucol_lower_fed_number(const GpucolFedArg *arg, Oid sortop, bool *descending);

/* Is it a row of fields that have an order, so that PostgreSQL compares rows of them without an error? */
extern bool gpucol_lower_is_row(const Expr *expr);

/* Is it the same for all rows? */
static inline bool
gpucol_fed_is_constant(const GpucolFedArg *arg)
{
	return arg->output < 0 && IsA(arg->expr, Const);
}

/* Is it a text that is the same if its bytes are? */
extern bool gpucol_lower_is_word(Node *arg);

/* ... or describe how the executor advances it, the state of its rows excepted */
extern bool gpucol_lower_host_agg(GpucolLower *l, Aggref *agg, GpucolFinal *final);

/*
 * lower/fed.c: the outputs that an aggregate is fed, of a program that scans; what no
 * engine computes is left to PostgreSQL on base columns.
 */
extern bool gpucol_lower_fed(GpucolLower *l, Aggref *agg, GpucolGroupPlan *plan,
							 GpucolFinal *final);

/* lower/group.c: have the engine deliver the columns of an expression as they are */
extern bool gpucol_lower_bases(GpucolLower *l, GpucolGroupPlan *plan, Expr *expr);

#endif							/* GPUCOL_LOWER_AGG_H */
