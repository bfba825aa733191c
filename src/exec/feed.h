/*-------------------------------------------------------------------------
 *
 * feed.h
 *	  Aggregates that are fed rows: PostgreSQL's own transition functions, and
 *	  percentiles of numbers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_FEED_H
#define GPUCOL_EXEC_FEED_H

#include "exec/result.h"
#include "exec/run.h"
#include "service/memory.h"

typedef struct GpucolFeed GpucolFeed;

/* The rows of a batch, and where each of them belongs. */
typedef struct GpucolFeedRows
{
	const GpucolResult *result;
	void		(*store) (void *arg, uint32 row);	/* put a row's base columns where
													 * expressions find them */
	void	   *store_arg;
	const uint32 *groups;		/* nsets * result->nrows: of the rows in the first set,
								 * then in the second, ... */
	uint32		nsets;
	uint32		ngroups;		/* so far */
	const bool *pass;			/* rows that are fed, the others have no groups; NULL: all */
} GpucolFeedRows;

/*
 * Prepare, in the current memory context, for the aggregates of a plan that feeds;
 * `econtext` evaluates what PostgreSQL evaluates over columns of `desc`, of each of which up
 * to so many bytes are remembered.  Raises an error where the user may
 * not call one of them.
 */
extern GpucolFeed *gpucol_feed_create(const GpucolGroupPlan *plan, PlanState *parent,
									  TupleDesc desc, ExprContext *econtext, Size most_remembered);

/* Bytes that so many rows may take beside what their values point to. */
extern Size gpucol_feed_room(const GpucolFeed *feed, uint64 nrows);

/* Feed a batch; the current memory context lasts as long as the batch.  False beyond int128. */
extern bool gpucol_feed_rows(GpucolFeed *feed, const GpucolFeedRows *rows);

/*
 * Bytes that finishing takes; the last row has been fed: `ngroups` in all.  `meter` counts the
 * context that the feed is in.
 */
extern Size gpucol_feed_finish_room(const GpucolFeed *feed);
extern void gpucol_feed_finish(GpucolFeed *feed, uint32 ngroups, GpucolMeter *meter);

/* The result of an aggregate, in the current context.  Once for each group. */
extern Datum gpucol_feed_result(GpucolFeed *feed, int agg, uint32 group, bool *isnull);

/* Let go of what aggregates hold beside memory; unless the query failed. */
extern void gpucol_feed_end(GpucolFeed *feed);

/* ---- feed_sample.c: numbers and texts, by group ---- */

typedef struct GpucolSample GpucolSample;

/* For a fed aggregate that is a sample, in the current context. */
extern GpucolSample *gpucol_sample_create(const GpucolFed *fed);

/* Are its numbers those of this one, too?  Then it serves that as well. */
extern bool gpucol_sample_serves(GpucolSample *sample, const GpucolFed *fed);

extern Size gpucol_sample_room(const GpucolSample *sample, uint64 nrows);

/* Collect the numbers of rows whose `pass` is set (NULL: all), for each set of groups. */
extern void gpucol_sample_rows(GpucolSample *sample, const GpucolFeedRows *rows,
							   const bool *pass);
extern Size gpucol_sample_finish_room(const GpucolSample *sample);
extern void gpucol_sample_finish(GpucolSample *sample, uint32 ngroups, GpucolMeter *meter);

/*
 * The result of an aggregate whose numbers the sample has; `fraction` is its direct
 * argument, if it has one.
 */
extern Datum gpucol_sample_result(GpucolSample *sample, const GpucolFed *fed, uint32 group,
								  Datum fraction, bool fraction_null, bool *isnull);

#endif							/* GPUCOL_EXEC_FEED_H */
