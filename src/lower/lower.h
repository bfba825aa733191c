/*-------------------------------------------------------------------------
 *
 * lower.h
 *	  From PostgreSQL expressions over one gpucol table to a kernel description
 *	  (kernel/program.h).
 *
 * The same code runs twice.  At plan time (no PlanState) it decides whether an
 * expression can be pushed down; parameters are then placeholders.  At the
 * start of each scan it runs again with the values of all parameters at hand
 * and gives the program that the engine executes, so that NULL parameters,
 * arrays, and constants outside a column's range are ordinary constants by
 * then.  A parameter whose value cannot be lowered makes the executor fall
 * back.
 *
 * Decline by allow-list: an expression is lowered only where every node of it
 * is known here to give PostgreSQL's own result, its NULL and its error.
 *
 * Use: gpucol_lower_begin, then gpucol_lower_qual for each conjunct in
 * execution order, gpucol_lower_end_filter, gpucol_lower_output or
 * gpucol_lower_agg, gpucol_lower_finish.  A call that returns false leaves
 * nothing behind but `reason`.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_LOWER_H
#define GPUCOL_LOWER_LOWER_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/primnodes.h"

#include "columnar/typemap.h"
#include "kernel/program.h"
#include "kernel/text_part.h"
#include "kernel/text_pattern.h"

/* More constants than this in one IN list are not worth a program. */
#define GPUCOL_LOWER_MAX_IN		16384

/* An expression as a register. */
typedef struct GpucolValue
{
	GpucolClass cls;
	uint16		reg;
	int			scale;			/* D: scale of the mantissa */
	int			digits;			/* D: bound on the mantissa's decimal digits */
	uint16		scale_reg;		/* D: I register with the row's own display
								 * scale where rows differ, else GPUCOL_NO_REG */
	bool		packed;			/* D: not a mantissa, but a decimal that carries its scale
								 * (kernel/packed_decimal.h); `scale` and `digits` are bounds */
	int			whole;			/* packed: bound on the digits before the point */
} GpucolValue;

/* A test, or a BYTES value, that PostgreSQL itself evaluates, once per distinct value. */
typedef struct GpucolHostTest
{
	int			column;			/* program column slot; -1: of elements of arrays, or made texts, decided by bytes */
	Expr	   *expr;			/* over that column as Var (1, 1) */
} GpucolHostTest;

/* An order of a BYTES column's values that PostgreSQL itself compares by. */
typedef struct GpucolHostOrder
{
	int			column;			/* program column slot */
	Oid			less;			/* operator of a btree */
	Oid			collation;
} GpucolHostOrder;

/* Rows for which a sub-expression would be evaluated by PostgreSQL. */
typedef enum GpucolMaskKind
{
	GPUCOL_MASK_TRUE,			/* the register is true */
	GPUCOL_MASK_NOT_TRUE,		/* false or NULL */
	GPUCOL_MASK_NOT_FALSE		/* true or NULL */
} GpucolMaskKind;

typedef struct GpucolMask
{
	struct GpucolMask *outer;
	GpucolMaskKind kind;
	uint16		condition;		/* bool register */
	uint16		reg;			/* the mask as a register, once made */
} GpucolMask;

/* A constant that has been evaluated. */
typedef struct GpucolKnown
{
	Expr	   *expr;
	Datum		value;
	bool		isnull;
} GpucolKnown;

/* Does any row get as far as PostgreSQL must for evaluating something? */
typedef enum GpucolReached
{
	GPUCOL_REACHED_UNKNOWN,		/* not asked yet */
	GPUCOL_REACHED_YES,
	GPUCOL_REACHED_NO,
	GPUCOL_REACHED_UNDECIDED		/* no engine can tell */
} GpucolReached;

typedef struct GpucolLower GpucolLower;

/*
 * Does any row pass the conditions that were lowered up to l->before?  Set by who
 * executes; asked at scan start only, and only if the answer matters.  May raise the
 * errors of these conditions.
 */
typedef GpucolReached (*GpucolReaches) (void *arg, const GpucolLower *l);

struct GpucolLower
{
	/* what is lowered against */
	Index		varno;			/* range table index in Vars */
	TupleDesc	desc;			/* of the table */
	PlanState  *planstate;		/* NULL at plan time */
	GpucolReaches reaches;		/* NULL: cannot be told */
	void	   *reaches_arg;

	/* the program under construction */
	GpucolProgramColumn *columns;
	GpucolTypeMap *maps;		/* by column slot */
	int			ncolumns;
	GpucolConst *consts;
	int			nconsts;
	int			maxconsts;
	GpucolRange *ranges;
	int			nranges;
	GpucolInstr *instrs;
	int			ninstrs;
	int			maxinstrs;
	uint8	   *reg_classes;
	int			nregs;
	int			maxregs;
	uint16	   *keys;
	int			nkeys;
	GpucolAgg  *aggs;
	int			naggs;
	GpucolHostTest *hosts;
	int			nhosts;
	GpucolHostOrder *orders;
	int			norders;
	uint16		filter;
	int			nfilter_instrs;

	/* joins (lower/pipe.h): columns behind those of the source are payload */
	const struct GpucolPipe *pipe;	/* or NULL: one table */
	const struct GpucolPipeDecimal *decimals;	/* then: what its numerics without a precision are; NULL: not known */
	List	   *tables;			/* Oids of those of which desc is, no pipe; or NIL; */
	List	   *table_attnums;	/* by each the IntList of where it keeps the columns; NIL: it is one table, as desc */
	int			npayloads;		/* of columns[], from `nsource` on */
	int			nsource;
	GpucolProbe *probes;
	int			nprobes;
	uint16	   *probe_keys;
	int			nprobe_keys;
	int			njoin_keys;		/* BUILD */
	bool		keep_null_keys;
	int		   *hidden;			/* by probe: its residual's instructions, [from, to), */
	int			nhidden;		/* which no later one may use */

	/* state of the traversal */
	GpucolMask *mask;			/* innermost; NULL = every row in play */
	int			conditional;	/* depth of sub-expressions that PostgreSQL
								 * may leave out */
	const GpucolValue *tested;	/* what a CASE's tests are about; NULL: it stands in them */
	struct GpucolFold *fold;	/* what is lowered is computed for its elements (fold.c); NULL: for rows */
	bool		may_raise;		/* something lowered since last reset can err */
	bool		aggregating;	/* the program may fall back at any row */
	bool		seldom;			/* it is only asked whether an aggregation could compute it */
	bool		parts;			/* a text may be a part of a column's: keys, and arguments of
								 * aggregates */
	bool		texts;			/* it may be made of values: likewise, and where it is compared */
	bool		text_rows;		/* such texts leave the program with its rows */
	int			text_depth;		/* it is part of such a text, or compared */
	bool		no_extremes;	/* no least and greatest bytes: rankings beside them have
								 * none */
	bool		past_filter;	/* all conjuncts are lowered */
	List	   *later;			/* what is computed of a pipe's rows in the end, as far as it is known */
	bool		never;			/* no row passes: some conjunct holds for none, */
	bool		dry;			/* or none of a pipe's source does */
	bool		failed;			/* a constant may raise an error, and whether a row
								 * needs it cannot be told */
	const GpucolLower *before;	/* as it was before the conjunct at hand */
	GpucolReached reached;		/* the answer for that */
	List	   *known;			/* GpucolKnowns */
	List	   *formed;			/* Oids of tables by the forms of whose numerics (numeric_form.h) it goes */
	const char *reason;			/* why the last call returned false */
};

/* lower.c: the driver */
extern GpucolLower *gpucol_lower_begin(TupleDesc desc, Index varno,
									   PlanState *planstate);
extern bool gpucol_lower_qual(GpucolLower *l, Expr *clause, bool may_raise);
extern void gpucol_lower_restore(GpucolLower *l, const GpucolLower *mark);
extern void gpucol_lower_end_filter(GpucolLower *l);
extern bool gpucol_lower_output(GpucolLower *l, Expr *expr, GpucolValue *out);
extern bool gpucol_lower_text_output(GpucolLower *l, Expr *expr, GpucolValue *out);
extern bool gpucol_lower_number_output(GpucolLower *l, Expr *expr, GpucolValue *out);
extern void gpucol_lower_add_output(GpucolLower *l, uint16 reg);
extern int	gpucol_lower_agg(GpucolLower *l, GpucolAggOp op, GpucolClass cls,
							 uint16 arg, uint16 filter);
extern int	gpucol_lower_ordered_agg(GpucolLower *l, GpucolAggOp op, GpucolClass cls,
									 uint16 arg, uint16 filter, uint16 order);
extern GpucolProgram *gpucol_lower_finish(GpucolLower *l, GpucolProgramKind kind);

/*
 * lower/join.c: what is lowered is a laid out pipe; its probes and their keys; no later
 * instruction may use the results of those from `from` on.
 */
extern void gpucol_lower_over(GpucolLower *l, const struct GpucolPipe *pipe);
extern void gpucol_lower_add_probe(GpucolLower *l, const GpucolProbe *probe);
extern void gpucol_lower_add_probe_key(GpucolLower *l, uint16 reg);
extern void gpucol_lower_hide(GpucolLower *l, int from);
extern bool gpucol_lower_is_hidden(const GpucolLower *l, int instr);
extern GpucolPayload *gpucol_lower_payloads(const GpucolLower *l);

/* lower/build.c: pieces of the program */
extern bool gpucol_lower_decline(GpucolLower *l, const char *fmt,...) pg_attribute_printf(2, 3);
extern int	gpucol_lower_column(GpucolLower *l, AttrNumber attnum);
extern const struct GpucolPipeDecimal *gpucol_lower_decimal_column(const GpucolLower *l, AttrNumber attnum);
extern uint16 gpucol_lower_emit(GpucolLower *l, GpucolOpcode op, uint16 a,
								uint16 b, uint16 c, int32 aux);
extern uint16 gpucol_lower_add_const(GpucolLower *l, const GpucolConst *c);
extern uint16 gpucol_lower_put_const(GpucolLower *l, const GpucolConst *c);
extern uint16 gpucol_lower_put_bytes(GpucolLower *l, const void *value, size_t size);
extern GpucolRange *gpucol_lower_add_range(GpucolLower *l, int column,
										   GpucolRangeOp op);
extern int	gpucol_lower_add_host(GpucolLower *l, int column, Expr *expr);
extern int	gpucol_lower_add_order(GpucolLower *l, int column, Oid less, Oid collation);
extern void gpucol_lower_push_mask(GpucolLower *l, GpucolMask *mask,
								   GpucolMaskKind kind, uint16 condition);
extern void gpucol_lower_pop_mask(GpucolLower *l);

/* lower/func.c: the allow-list of functions that have an opcode */
typedef struct GpucolFunction
{
	Oid			oid;
	uint8		op;				/* GpucolOpcode */
	int8		aux;
	bool		swap;			/* operands exchanged */
} GpucolFunction;

extern const GpucolFunction *gpucol_lower_function(Oid oid);
/*
 * lower/enum.c: what compares the OIDs of an enum's labels where `funcid` compares these of the type
 * of the first of `args`; funcid itself, if it does something else or OIDs are in another order.
 */
extern Oid	gpucol_lower_enum_function(Oid funcid, const List *args);
extern GpucolClass gpucol_opcode_class(GpucolOpcode op, int operand);

/* lower/expr.c: expressions to registers */
extern bool gpucol_lower_expr(GpucolLower *l, Expr *expr, GpucolValue *out);
extern bool gpucol_lower_bool(GpucolLower *l, Expr *expr, uint16 *reg);
extern bool gpucol_lower_rescale(GpucolLower *l, GpucolValue *v, int scale);
extern bool gpucol_lower_apply(GpucolLower *l, const GpucolFunction *f,
							   GpucolValue *args, int nargs, GpucolValue *out);

/* lower/zero.c: does an expression come out equal for -0 and 0? */
extern bool gpucol_lower_check_zero(GpucolLower *l, Expr *expr);

/*
 * Prepare an expression that is evaluated once, once a rescan, or once for each of a
 * dictionary's values: interpreted whatever `jit` says, for compiling it takes longer
 * than thousands of evaluations.  Lives in the current context.
 */
extern ExprState *gpucol_lower_init(Expr *expr, PlanState *planstate);

/* lower/const.c: constants, parameters, stable expressions */
extern bool gpucol_lower_is_constant(Expr *expr);
extern bool gpucol_lower_param_is_known(const ExprContext *econtext, const Param *param);
extern bool gpucol_lower_is_safe_constant(const GpucolLower *l, Expr *expr);
extern bool gpucol_lower_eval(GpucolLower *l, Expr *expr, Datum *value,
							  bool *isnull);
/* ... the value of one that is known and not NULL, if computing it neither fails nor changes anything */
extern bool gpucol_lower_get_safe(GpucolLower *l, Node *node, Datum *value);
extern void gpucol_lower_eval_needed(GpucolLower *l, Expr *expr, Datum *value,
									 bool *isnull);
extern bool gpucol_lower_const(GpucolLower *l, Expr *expr, GpucolValue *out);
extern bool gpucol_lower_load(GpucolLower *l, Oid type, Datum value,
							  bool isnull, bool known, GpucolValue *out);
extern bool gpucol_lower_datum(GpucolLower *l, Oid type, Datum value,
							   bool isnull, bool known, GpucolConst *c,
							   int *scale, int *digits);
extern __int128 gpucol_lower_power10(int n);

/* lower/date.c: functions of dates, timestamps and times */
extern bool gpucol_lower_date(GpucolLower *l, Oid funcid, List *args,
							  bool *matched, GpucolValue *out);

/* lower/zone.c: AT TIME ZONE; a register moved by the session's time zone (aux: kernel/time_zone.h) */
extern bool gpucol_lower_zone(GpucolLower *l, Oid funcid, List *args, bool *matched, GpucolValue *out);
extern bool gpucol_lower_session_zone(GpucolLower *l, int aux, uint16 *reg);

/* What a regular expression is beside its pattern. */
typedef struct GpucolPatternFacts
{
	bool		whole;			/* it matches all of a text or nothing */
	bool		digits;			/* it takes it that only ASCII's are \d */
	int			group;			/* number of the group that is found */
} GpucolPatternFacts;

/* lower/pattern.c: read a regular expression; false if it is not of the form that engines know */
extern bool gpucol_lower_pattern(const char *regexp, int len, GpucolTextPattern *p,
								 GpucolPatternFacts *facts);

/* lower/text.c: functions of texts and byte strings */
extern bool gpucol_lower_text(GpucolLower *l, Oid funcid, List *args,
							  bool *matched, GpucolValue *out);

/* ... are equal values of an expression of class S equal as bytes? */
extern bool gpucol_lower_check_bytewise(GpucolLower *l, Expr *expr);

/* lower/made_text.c: texts made of values; casts to text; was it such? */
extern bool gpucol_lower_made_text(GpucolLower *l, Oid funcid, List *args, bool *matched, GpucolValue *out);
extern bool gpucol_lower_text_cast(GpucolLower *l, Expr *expr, GpucolValue *out);
extern bool gpucol_lower_is_made_text(const Node *expr);

/* ... the result of a branch of CASE; NULL as a text */
extern bool gpucol_lower_branch(GpucolLower *l, const CaseExpr *expr, Expr *result, GpucolValue *out);
extern uint16 gpucol_lower_null_text(GpucolLower *l);

/* ... any expression, of which a test, not what leaves the program, reads such a text */
extern bool gpucol_lower_tested_text(GpucolLower *l, Expr *expr, GpucolValue *out);

static inline bool
gpucol_lower_is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID;
}

/* ... a condition on one that its bytes decide; false if it is none */
extern bool gpucol_lower_made_test(GpucolLower *l, Expr *expr, GpucolValue *out);

/* ... a constant text as a register, which is compared with one; false if it is none */
extern bool gpucol_lower_constant_text(GpucolLower *l, Expr *expr, GpucolValue *out);

/*
 * lower/text.c: a comparison of two of them under a collation, whose values are left in `values`;
 * *matched tells whether the function is one.
 */
extern bool gpucol_lower_compare_texts(GpucolLower *l, Oid funcid, List *args, Oid collation,
									   GpucolValue *values, bool *matched, GpucolValue *out);

/*
 * ... which part of its first argument a function of texts is, by numbers of characters;
 * false if it is none, the numbers are not constant, or PostgreSQL may raise an error.
 */
extern bool gpucol_lower_find_part(const FuncExpr *expr, GpucolTextPart *part);

/* ... is it the length of its argument, in bytes or in characters? */
extern bool gpucol_lower_is_length(const FuncExpr *expr, bool *bytes);

/* lower/shift.c: their sums and differences */
extern bool gpucol_lower_shift(GpucolLower *l, Oid funcid, List *args,
							   bool *matched, GpucolValue *out);

/* lower/plain.c: functions of a few instructions each */
extern bool gpucol_lower_plain(GpucolLower *l, Oid funcid, List *args,
							   bool *matched, GpucolValue *out);

/*
 * lower/fold.c: a subquery over the elements of arrays of a row.  While a statement is planned its subqueries'
 * plans are those of `glob`; the one before is returned.
 */
extern struct PlannerGlobal *gpucol_fold_plan(struct PlannerGlobal *glob);
extern bool gpucol_lower_subplan(GpucolLower *l, SubPlan *subplan, GpucolValue *out);

/* ... a Var that is none of the table's: a value of the fold at hand */
extern bool gpucol_lower_fold_value(GpucolLower *l, const Var *var, GpucolValue *out);

/* ... a condition that the bytes of one element decide; false, and there is no reason, if it is none */
extern bool gpucol_lower_fold_test(GpucolLower *l, Expr *expr, GpucolValue *out);

/* lower/bucket.c: width_bucket() of floats */
extern bool gpucol_lower_bucket(GpucolLower *l, List *args, GpucolValue *out);

/* lower/init_plan.c: may a subquery that nothing correlates be executed although no row asks for it? */
extern bool gpucol_lower_init_plan_is_harmless(const SubPlanState *subplan);

/* lower/plain.c: a subquery that is executed for no row (planner/seldom.c): one that asks for it is PostgreSQL's */
extern bool gpucol_lower_seldom(GpucolLower *l, const SubPlan *subplan, GpucolValue *out);

/*
 * What a row of such a subquery costs below LIMIT, elsewhere nothing: PostgreSQL computes only for the rows that are
 * left what costs more than ten operators.
 */
#define GPUCOL_SELDOM_COST	(11 * cpu_operator_cost)

/* ... if an expression is one, have its value be of the class of what stands beside it. */
extern void gpucol_lower_seldom_as(GpucolLower *l, const Expr *expr, const GpucolValue *as, GpucolValue *value);

/* ... a date or timestamp in a register as a timestamp, zoned: with time zone, that compares as it does */
extern bool gpucol_lower_as_stamp(GpucolLower *l, Oid type, bool zoned, uint16 *reg);

/*
 * lower/decimal.c: does an operation give each row the display scale that follows from its operands' greatest ones?  A
 * sum does where one of these is shown with so many digits in each row that the other's are not more.
 */
extern bool gpucol_lower_scale_is_fixed(GpucolOpcode op, const GpucolValue *a, const GpucolValue *b);

/* Functions of columns of numeric(p,s). */
extern bool gpucol_lower_decimal(GpucolLower *l, Oid funcid, List *args,
								 bool *matched, GpucolValue *out);

/* lower/packed.c: decimals that carry their scale; functions of any decimal */
extern bool gpucol_lower_number(GpucolLower *l, Expr *expr, GpucolValue *out);
extern bool gpucol_lower_compares_alike(const GpucolLower *l, const Expr *expr);
extern uint16 gpucol_lower_row_scale(GpucolLower *l, const GpucolValue *v);
extern uint16 gpucol_lower_row_scales(GpucolLower *l, bool product, const GpucolValue *a, const GpucolValue *b);
extern bool gpucol_lower_formed(GpucolLower *l, Expr *expr, GpucolValue *value);
extern void gpucol_lower_alike(GpucolLower *l, Expr *expr, GpucolValue *value);
extern bool gpucol_lower_pack(GpucolLower *l, GpucolValue *v);
extern bool gpucol_lower_packed(GpucolLower *l, GpucolOpcode op, int aux, GpucolValue *args,
								GpucolValue *out);
extern uint16 gpucol_lower_packed_part(GpucolLower *l, const GpucolValue *v, int part);
extern uint16 gpucol_lower_trimmed(GpucolLower *l, const GpucolValue *v);
extern uint16 gpucol_lower_packed_scale(GpucolLower *l, const GpucolValue *v);
extern bool gpucol_lower_rounding(GpucolLower *l, Oid funcid, List *args,
								  bool *matched, GpucolValue *out);

/* lower/numeric_math.c; the first: which GpucolNumericFunction a function is, or -1 */
extern int	gpucol_numeric_function(Oid funcid);
extern bool gpucol_lower_numeric_math(GpucolLower *l, Oid funcid, List *args, bool *matched, GpucolValue *out);
extern GpucolStatus gpucol_host_numeric(MemoryContext scratch, int function, __int128 x, __int128 y, __int128 *r);

/* Has each row a display scale of its own? */
static inline bool
gpucol_value_scale_varies(const GpucolValue *v)
{
	return v->cls == GPUCOL_CLASS_D && (v->packed || v->scale_reg != GPUCOL_NO_REG);
}

/* lower/array.c: value op ANY (array), value op ALL (array) */
extern bool gpucol_lower_array_op(GpucolLower *l, ScalarArrayOpExpr *expr,
								  GpucolValue *out);

/* lower/range.c: conjuncts that engines test on packed codes */
extern bool gpucol_lower_range(GpucolLower *l, Expr *clause);

/* lower/host.c: predicates that PostgreSQL evaluates once per value, and what it makes of them */
extern bool gpucol_lower_host(GpucolLower *l, Expr *expr, int *column, int *id);
extern bool gpucol_lower_host_map(GpucolLower *l, Expr *expr, GpucolValue *out);
extern bool gpucol_lower_host_zones(GpucolLower *l, Expr *zone, GpucolValue *out);

#endif							/* GPUCOL_LOWER_LOWER_H */
