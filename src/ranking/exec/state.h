/*-------------------------------------------------------------------------
 *
 * state.h
 *	  What the files that rank uncertain rows inside a plan node share: the node's
 *	  state, and the sets of rows that it ranks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_EXEC_STATE_H
#define GPUCOL_RANKING_EXEC_STATE_H

#include "compat.h"
#include "ranking/exec/node.h"
#include "ranking/cpu/rank_collect.h"

/* One set of rows that is ranked. */
typedef struct GpucolRankSet
{
	GpucolRankNode *node;
	const GpucolRankingSet *ranked;
	GpucolBatch *batch;			/* NULL: no row passed its filter */
	int			nrankings;		/* of the batch */
	int			first_ranking;	/* of them among those of all sets */
	int		   *k_keys;			/* by ranking of the batch: key that is k, or -1 */
	int		   *wanted_keys;	/* [nwanted] all keys that are a k of the set */
	int			nwanted;
	GpucolOutput label;
	Oid			label_type;
	int16		label_typlen;
	bool		label_typbyval;
	char		label_typalign;
	FmgrInfo	label_cmp;
	FmgrInfo	x_cmp;
	MemoryContext compare_context;
} GpucolRankSet;

struct GpucolRankNode
{
	GpucolExec *exec;
	int			nkeys;
	const GpucolOutput *key_outputs;
	const GpucolRankings *rankings;
	MemoryContext context;		/* of everything */
	GpucolBudget memory;		/* of the collection and the batches */
	GpucolCollect *collect;		/* NULL: no row, or on the device */
	GpucolRankSet *sets;		/* NULL before the lowering */
	int		   *batch_ranking;	/* by aggregate: ranking of its set's batch */
	GpucolResultColumn *key_columns;	/* of the batch handed out */
	bool		on_device;		/* the run delivers ranked groups */
	GpucolResult first;			/* its first batch, until handed out */
	const GpucolRanked *ranked; /* answers of the batch handed out */

	bool		collected;
	uint32		ngroups;
	uint32		from;			/* first group of the batch handed out */
	uint32		handed;			/* groups of it */
	MemoryContext handed_context;	/* of their keys */
};

/*
 * ranking/exec/sets.c: prepare the sets, once the expressions have been lowered; does
 * nothing where that is done.
 */
extern void gpucol_rank_node_prepare_sets(GpucolRankNode *node);

/*
 * The rankings of a set into out[naggs], equal ones, and a set and its probability,
 * once; evaluates k and threshold, and raises the errors of their values.
 */
extern void gpucol_rank_node_make_rankings(GpucolRankSet *set, GpucolBatchRanking *out);

/* Raise the error of an argument that is NULL. */
pg_noreturn extern void gpucol_rank_node_report_null(const char *what);

/* ranking/exec/order.c: have a batch compare labels and x-tuples of the set as PostgreSQL does. */
extern void gpucol_rank_node_set_order(GpucolRankSet *set, GpucolBatchOptions *options);

/* The x-tuple that `x` of a collected row stands for, in the current context. */
extern Datum gpucol_rank_node_x_datum(const GpucolRankSet *set, int64 x);

/*
 * ranking/exec/labels.c: n labels as datums, in the current context; labels of class S are
 * numbers in `ranked`, or GpucolStoredLabels where that is NULL.
 */
extern void gpucol_rank_node_label_datums(const GpucolRankSet *set, const int64 *labels,
									 const uint8 *label_nulls, Size n,
									 const GpucolRanked *ranked, Datum *values, bool *nulls);

/* n labels as an array; nulls may be NULL. */
extern Datum gpucol_rank_node_label_array(const GpucolRankSet *set, Datum *values, bool *nulls, int n);

/* Labels that a device has chosen for groups from .. from + n - 1 of `ranked`, as arrays. */
extern void gpucol_rank_node_label_arrays(const GpucolRankSet *set, const GpucolRanked *ranked,
									 uint32 from, uint32 n, Datum *values, bool *isnull);

/* ranking/exec/device.c: the next batch of groups that the device has ranked. */
extern GpucolStatus gpucol_rank_node_device_next(GpucolRankNode *node, GpucolResult *groups);

/* As gpucol_rank_node_datums, of that batch. */
extern void gpucol_rank_node_device_datums(GpucolRankNode *node, int agg, uint32 from, uint32 n,
									  Datum *values, bool *isnull);

#endif							/* GPUCOL_RANKING_EXEC_STATE_H */
