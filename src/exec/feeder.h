/*-------------------------------------------------------------------------
 *
 * feeder.h
 *	  One aggregate that is fed rows: what feed.c and feed_kept.c share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_FEEDER_H
#define GPUCOL_EXEC_FEEDER_H

#include "postgres.h"

#include "utils/sortsupport.h"

#include "exec/feed.h"
#include "exec/feed_call.h"
#include "exec/feed_seen.h"
#include "exec/item_table.h"
#include "exec/memo.h"

/* Rows that are kept. */
typedef struct GpucolKept
{
	uint32	   *groups;
	Datum	  **values;			/* by argument, by row */
	bool	  **isnull;
	uint64		n;
	uint64		room;
	uint64	   *starts;			/* by group, once finished; then the end */
	uint32	   *order;			/* rows, by group */
	uint8	   *differs;		/* sorted: by place, does the row differ from the one before? NULL:
								 * not sorted */
	GpucolItemTable seen;		/* DISTINCT: the rows, by what it compares; without slots once
								 * they are mostly different */
	uint64		offered;		/* rows that were looked up there */
	MemoryContext context;		/* of what values point to */
} GpucolKept;

/* The first rows of groups (feed_first.h). */
typedef struct GpucolFirsts GpucolFirsts;

/* One aggregate. */
typedef struct GpucolFeeder
{
	const GpucolFed *fed;
	const GpucolFinal *final;
	GpucolSample *sample;		/* of numbers; then nothing below matters but `direct` */
	bool		first;			/* the sample is its own */

	/* arguments */
	GpucolOutput *outputs;
	GpucolMemo **exprs;			/* NULL: the engine's, or a constant */
	GpucolOutput filter_output;
	GpucolMemo *filter;
	int16	   *typlen;
	bool	   *typbyval;
	GpucolFeedCall call;

	/* ORDER BY and DISTINCT */
	bool		keeps;
	int			nsort;
	int		   *sort_args;
	Oid		   *sort_ops;
	SortSupport sorts;
	int			ndistinct;		/* the first sort arguments, */
	FmgrInfo   *equal;			/* by their equality */
	bool		hashed;			/* one argument, of an aggregate to which order is nothing: */
	FmgrInfo	hash;			/* by the hash that belongs to the equality, */
	bool		by_function;	/* if equal values may differ in their bytes */
	bool		counted;		/* a mode or percentile_disc, sorted by its one argument */
	bool		seeking;		/* repeated rows, as they come */

	GpucolFeedState *states;			/* by group, unless it keeps */
	GpucolAggState *numbers;	/* instead, where fed->counts: one to three each */
	const GpucolResultColumn *scales;	/* how many digits the rows at hand display, or NULL */
	GpucolSeen *seen;			/* where fed->distinct, or rows are kept and `apart`: what groups have had */
	GpucolFirsts *firsts;		/* instead, where fed->most: of the first rows of groups */
	uint32		nstates;
	uint32		room;
	GpucolKept	kept;
} GpucolFeeder;

struct GpucolFeed
{
	int			n;
	GpucolFeeder *feeders;
	MemoryContext context;
	TupleDesc	desc;			/* of what `econtext` evaluates over */
	Size		most_remembered;	/* bytes of an expression */
	ExprContext *econtext;
	AggState   *aggstate;
	ExprContext *states;		/* the context of states */
	ExprContext *group;			/* that of the one group that is delivered */
	bool		evaluates;		/* some argument or filter is PostgreSQL's */
};

/* A batch's arguments of one aggregate. */
typedef struct GpucolFeedInput
{
	Datum	  **values;
	bool	  **isnull;
	bool	   *pass;			/* NULL: all rows */
} GpucolFeedInput;

/* Put a row's arguments where the transition function takes them. */
static inline void
gpucol_feed_pass_arguments(GpucolFeeder *f, Datum *const *values, bool *const *isnull, uint64 row)
{
	for (int i = 0; i < f->call.ninputs; i++)
	{
		f->call.call->args[i + 1].value = values[i][row];
		f->call.call->args[i + 1].isnull = isnull[i][row];
	}
}

/* feed.c: states for all groups so far */
extern void gpucol_feed_reserve_states(GpucolFeed *feed, GpucolFeeder *f, uint32 ngroups);

/* ---- feed_state.c: where fed->counts ---- */

/* Bytes that so many rows more may take. */
extern Size gpucol_feed_states_room(const GpucolFeeder *f, uint64 nrows);
extern void gpucol_feed_states_reserve(GpucolFeed *feed, GpucolFeeder *f, uint32 ngroups);
/* False beyond int128. */
extern bool gpucol_feed_states_rows(GpucolFeed *feed, GpucolFeeder *f, const GpucolFeedRows *rows,
									const bool *pass);
extern Datum gpucol_feed_states_result(const GpucolFeeder *f, uint32 group, bool *isnull);

/* ---- feed_kept.c ---- */

/* By what rows are sorted, and which are equal; f->keeps tells whether they are kept at all. */
extern void gpucol_kept_init(GpucolFeeder *f);

/* Bytes that so many rows more may take beside what their values point to; that finishing takes. */
extern Size gpucol_kept_room(const GpucolFeeder *f, uint64 nrows);
extern Size gpucol_kept_finish_room(const GpucolFeeder *f);

/* Does the feeder keep too few of its rows less than it is offered to tell repeated ones apart? */
extern bool gpucol_kept_in_vain(const GpucolFeeder *f);

/* Keep a batch's rows. */
extern void gpucol_kept_rows(GpucolFeed *feed, GpucolFeeder *f, const GpucolFeedRows *rows,
							 const GpucolFeedInput *input);

/* The last row has come; unless f->hashed. */
extern void gpucol_kept_finish(GpucolFeeder *f, uint32 ngroups, GpucolMeter *meter);

/* Aggregate the kept rows of a group; unless f->hashed. */
extern Datum gpucol_kept_aggregate(GpucolFeed *feed, GpucolFeeder *f, uint32 group, bool *isnull);

#endif							/* GPUCOL_EXEC_FEEDER_H */
