/*-------------------------------------------------------------------------
 *
 * feed_call.h
 *	  The functions of one of PostgreSQL's aggregates, called as nodeAgg.c calls them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_FEED_CALL_H
#define GPUCOL_EXEC_FEED_CALL_H

#include "postgres.h"

#include "executor/nodeAgg.h"
#include "nodes/execnodes.h"

typedef struct GpucolFeedCall
{
	Aggref	   *agg;
	List	   *direct;			/* ExprStates of direct arguments: set by the caller */
	bool		brief;			/* states go before their results: likewise */
	AggStatePerAggData peragg;
	AggStatePerTransData pertrans;
	FunctionCallInfo call;		/* of the transition function: arguments from 1 on */
	int			ninputs;		/* so many */
} GpucolFeedCall;

/* What an aggregate has of a group so far. */
typedef struct GpucolFeedState
{
	Datum		value;
	bool		isnull;
	bool		unset;			/* the first value that is not NULL becomes it */
} GpucolFeedState;

/*
 * Look the functions up, in the current context, and check the user's right to them.
 * `aggstate` is their context; its tmpcontext is reset by the caller after each row.
 */
extern void gpucol_feed_call_init(GpucolFeedCall *f, AggState *aggstate, Aggref *agg);

/* Begin a state that lives in the memory of `context`. */
extern void gpucol_feed_call_start(AggState *aggstate, GpucolFeedCall *f, ExprContext *context,
								   GpucolFeedState *state);

/* Before calls for states of a context: */
extern void gpucol_feed_call_enter(AggState *aggstate, GpucolFeedCall *f, ExprContext *context);
extern void gpucol_feed_call_advance(AggState *aggstate, GpucolFeedCall *f,
									 GpucolFeedState *state);
extern Datum gpucol_feed_call_finish(AggState *aggstate, GpucolFeedCall *f,
									 const GpucolFeedState *state, bool *isnull);

#endif							/* GPUCOL_EXEC_FEED_CALL_H */
