/*-------------------------------------------------------------------------
 *
 * pipe.h
 *	  Joined relations as a pipeline: one relation whose rows flow, and the tables
 *	  that they are looked up in, each of them built by a pipeline of its own.
 *
 * A pipe is a tree: its steps build tables of other pipes.  The planner makes it
 * (planner/path_join.c), the plan carries it (gpucol_pipe_save), the executor reads it
 * and runs it (exec/join_build.c); both lower it by the same functions, so that what
 * was planned is what runs.
 *
 * While a pipe is lowered, all that its rows have counts as columns of one table: those
 * of its source by their attribute numbers, then the payload, a column for each column
 * of a built table that is used later (gpucol_pipe_layout).  Expressions are brought
 * into these terms by gpucol_pipe_map; whatever lowers expressions over one table then
 * lowers them as well.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_PIPE_H
#define GPUCOL_LOWER_PIPE_H

#include "access/tupdesc.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

#include "kernel/lookup.h"
#include "lower/lower.h"

typedef struct GpucolPipe GpucolPipe;

/* A join of a pipe's rows with a built table. */
typedef struct GpucolPipeStep
{
	GpucolPipe *build;
	GpucolJoinKind kind;
	List	   *outer_keys;		/* of Expr over the rows that flow */
	List	   *inner_keys;		/* of Expr over the table's; in the same order */
	List	   *classes;		/* IntList by key: GpucolClass, */
	List	   *scales;			/* and of decimals the scale that both sides get, and which is made exact */
	List	   *residual;		/* of Expr: the rest of the join's condition */
	List	   *filter;			/* of Expr: conditions on the joined rows */
	double		rows;			/* estimate of the rows behind it */
	int			most;			/* of the table's rows only so many, the first, for each row that
								 * flows; 0: all, or else by */
	int			skipped;		/* fewer: so many of these, the first, are left out */
	List	   *order;			/* of Expr, */
	List	   *descending;		/* IntList of bool by each, */
	List	   *nulls_first;	/* the same */
	uint16	   *order_keys;		/* registers, once it is lowered */

	/* layout */
	List	   *settled;		/* of Node: the columns of the table's own pipe that inner_keys are in the end */
	List	   *payload;		/* of Expr: what the rows behind it need of the table */
	AttrNumber	first;			/* their first column */

	/* once the table has been built */
	bool		built;
	bool		empty;
	GpucolKeyRange ranges[GPUCOL_KEY_RANGES];	/* of its keys, the first */
} GpucolPipeStep;

/*
 * A column that is numeric without a precision, among those of a plan's rows
 * (lower/pipe_decimal.c).
 */
typedef struct GpucolPipeDecimal
{
	bool		open;			/* it is one */
	bool		used;			/* something is computed of it */
	bool		shown;			/* its values leave the pipe, or what is computed of them */
	bool		is;				/* its values are decimals of */
	int			scale;			/* this scale, */
	int			digits;			/* with so many digits at most */
} GpucolPipeDecimal;

struct GpucolPipe
{
	Index		rti;			/* table whose rows flow; 0 = those of a plan, */
	List	   *part_rtis;		/* IntList: the tables that are read as that one, or NIL; */
	List	   *part_attnums;	/* by part the IntList of where it keeps the columns */
	int			child;			/* of this number among the node's; - n: the statement's
								 * subplan n; */
	struct Path *path;			/* the planner's path of it */
	Oid			table;			/* whose rows flow, where it is one */
	Bitmapset  *relids;			/* range table indexes that it has the columns of */
	List	   *outputs;		/* rows of a plan: what each column is */
	List	   *sets;			/* rows that these functions make of those before, beside one another: no table */
	List	   *conditions;		/* of Expr: on the table's rows */
	List	   *steps;			/* of GpucolPipeStep */

	/* layout */
	TupleDesc	desc;			/* columns of the source, then the payload */
	int			nsource;		/* columns of the source */
	Index		varno;			/* in mapped Vars */
	bool		given;			/* desc was set by gpucol_pipe_source */
	GpucolPipeDecimal *decimals;	/* by column of desc */
	Bitmapset  *made;			/* columns that functions make, where not all steps are known */

	bool		dry;			/* in this run: no row of the source flows */
};

/* Rows whose columns are these. */
extern TupleDesc gpucol_pipe_exprs_desc(const List *exprs);

/* The columns of the source of a pipe, of which desc has those; copied. */
extern void gpucol_pipe_source(GpucolPipe *pipe, TupleDesc desc);

/*
 * Lay out a pipe and those below it, whose sources must be set: `above` (of Expr) is all
 * that is computed of its rows, or (not `computed`) handed on of them.
 */
extern void gpucol_pipe_layout(GpucolPipe *pipe, List *above, bool computed);

/*
 * pipe_twin.c: the key of the rows that a column of a semi join's table is equal to, or NULL: rows have
 * no columns of that table, but PostgreSQL may ask for one that is a key.
 */
extern Node *gpucol_pipe_semi_twin(const GpucolPipeStep *step, const Node *node);

/*
 * The same of any step, or of all steps of a pipe, whose keys have been settled, in it and those below it.
 */
extern Node *gpucol_pipe_step_twin(const GpucolPipeStep *step, const Node *node);
extern Node *gpucol_pipe_twin(const GpucolPipe *pipe, const Node *node);
extern void gpucol_pipe_settle_keys(const GpucolPipe *pipe);

/*
 * The same column?  Which of a list, from 0, or -1?  Does a pipe have a column or placeholder?  Expressions as
 * the executor gets them, with marks for placeholders.
 */
extern bool gpucol_pipe_is_same(const Node *a, const Node *b);
extern int	gpucol_pipe_place(const List *list, const Node *node);
extern bool gpucol_pipe_has(const GpucolPipe *pipe, const Node *node);
extern List *gpucol_pipe_mark(List *exprs);

/* The table of a column of a laid out pipe, and its number there; or InvalidOid. */
extern Oid	gpucol_pipe_table(const GpucolPipe *pipe, AttrNumber *attnum);

/* Is a column of a laid out pipe made by a set-returning function? */
extern bool gpucol_pipe_is_made(const GpucolPipe *pipe, AttrNumber attnum);

/* An expression, or list of them, over the columns of the laid out pipe; a copy. */
extern Node *gpucol_pipe_map(const GpucolPipe *pipe, Node *node);

/*
 * Start a program over a laid out pipe; lower its conditions and steps.  False with
 * l->reason.
 */
extern GpucolLower *gpucol_pipe_begin(const GpucolPipe *pipe, PlanState *planstate);
extern bool gpucol_pipe_lower(GpucolLower *l, const GpucolPipe *pipe);

/* What a step has its table made of: the keys, then the payload, as outputs. */
extern bool gpucol_pipe_lower_build(GpucolLower *l, const GpucolPipeStep *step);

/*
 * Add a key to a step of `drive`, `oper` being the equality of its two sides; or else the
 * reason why it cannot be one.  Can a condition be lowered over rows of `drive` joined with
 * those of `build`?  If not, the reason.  Can an engine call a set-returning function for them?
 */
extern const char *gpucol_pipe_add_key(const GpucolPipe *drive, GpucolPipeStep *step,
									   Expr *outer_key, Expr *inner_key, Oid oper);
extern const char *gpucol_pipe_check_condition(const GpucolPipe *drive, const GpucolPipe *build,
											   Expr *condition);

extern const char *gpucol_pipe_check_set(const GpucolPipe *drive, FuncExpr *set);

/*
 * Does a step, or one of a pipe's, deliver rows of its table once the source has ended?  Do rows get behind a
 * step whose table has been built, if `flows` says whether they get as far as that?
 */
extern bool gpucol_pipe_step_has_tail(const GpucolPipeStep *step);
extern bool gpucol_pipe_has_tail(const GpucolPipe *pipe);
extern bool gpucol_pipe_flows_behind(const GpucolPipeStep *step, bool flows);

/* Whether an expression can be lowered: the reason if not; as a key, its class and scale. */
typedef struct GpucolPipeAnswer
{
	const char *reason;
	GpucolValue value;
} GpucolPipeAnswer;

/* What is asked for. */
typedef enum GpucolPipeQuestion
{
	GPUCOL_PIPE_CONDITION,
	GPUCOL_PIPE_KEY,			/* one side of a key, in its own form */
	GPUCOL_PIPE_EXACT_KEY,		/* a numeric without a precision, beside a mantissa */
	GPUCOL_PIPE_ORDER			/* a sort key of first rows */
} GpucolPipeQuestion;

extern GpucolPipeAnswer gpucol_pipe_ask(const GpucolPipe *drive, const GpucolPipe *build, Expr *expr,
										GpucolPipeQuestion as);

/*
 * pipe_key.c: one side of a key; that of a step, brought to the form of both, and whether it is
 * a time that becomes one of another type.
 */
extern bool gpucol_pipe_lower_key(GpucolLower *l, Expr *expr, GpucolPipeQuestion as, GpucolValue *value);
extern bool gpucol_pipe_lower_step_key(GpucolLower *l, const GpucolPipe *pipe, const GpucolPipeStep *step,
									   int number, Node *key, uint16 *reg);
extern bool gpucol_pipe_key_is_stamp(const GpucolPipeStep *step, int number, const Node *key);

/*
 * pipe_memo.c: such answers, kept from a begin, whose result the end takes, to the end.
 */
typedef struct GpucolPipeMemo GpucolPipeMemo;

extern GpucolPipeMemo *gpucol_pipe_memo_begin(void);
extern void gpucol_pipe_memo_end(GpucolPipeMemo *outer);
extern bool gpucol_pipe_recall(const Expr *expr, uint64 open, GpucolPipeQuestion as,
							   GpucolPipeAnswer *answer);
extern void gpucol_pipe_remember(const Expr *expr, uint64 open, GpucolPipeQuestion as,
								 const GpucolPipeAnswer *answer);

/* pipe_decimal.c: see there; taken over again when a step's table has been built */
extern bool gpucol_pipe_is_open(const GpucolPipe *pipe, const Node *node);
extern GpucolPipeDecimal gpucol_pipe_planned_decimal(void);
extern void gpucol_pipe_find_decimals(GpucolPipe *pipe, List *above, bool computed);
extern void gpucol_pipe_take_decimals(GpucolPipe *pipe, const GpucolPipeStep *step);

/*
 * pipe_list.c: a pipe and what is computed of its rows (of Expr) as a copyable list of
 * numbers, and the expressions that they refer to, which are appended to *exprs; and back, in
 * the current context, `above` being NULL where nobody asks.
 */
extern List *gpucol_pipe_save(const GpucolPipe *pipe, List *above, List **exprs);
extern GpucolPipe *gpucol_pipe_load(List *saved, List *exprs, List **above);

#endif							/* GPUCOL_LOWER_PIPE_H */
