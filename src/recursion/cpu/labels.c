/*-------------------------------------------------------------------------
 *
 * labels.c
 *	  Least or greatest labels that travel along edges unchanged (components).
 *
 * A node ends with the best of the labels that reach it (kernel/recursion_labels.h): the
 * labels are taken in their order, the best first, and each is handed to all nodes that
 * it reaches and that have none yet.  Every edge is looked at once, however long the paths
 * are, where rounds would hand the same node one better label after another.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/engine.h"
#include "kernel/recursion_labels.h"

#define NO_LABEL	UINT32_MAX
#define DIGIT		10			/* bits that a pass of the sort looks at */
#define DIGITS		(1 << DIGIT)

/* A label and the node that it starts from. */
typedef struct Start
{
	uint64_t	rank;			/* the best first */
	uint32_t	node;
	uint32_t	label;
} Start;

typedef struct Labels
{
	GpucolRecRun *run;
	GpucolRecLabels shape;
	GpucolRecTable *table;
	GpucolRecAdjacency edges[GPUCOL_REC_LABEL_RULES];
	uint32_t	nnodes;			/* ids of the dictionary */
	Start	   *starts;
	Start	   *other_starts;
	uint64_t	nstarts;
	uint32_t   *label;			/* by node; NO_LABEL = none yet */
	uint32_t   *queue;
	uint64_t	steps;			/* edges looked at */
} Labels;

bool
gpucol_recursive_one_pass(const GpucolRecPlan *plan, const GpucolRecOptions *options)
{
	bool		recursive = false;
	uint32_t	i;

	if (options->strategy == GPUCOL_REC_HISA || options->max_rounds > 0)
		return false;
	for (i = 0; i < plan->nrules; i++)
	{
		GpucolRecLabels shape;

		if (!(plan->rules[i].flags & GPUCOL_REC_RECURSIVE))
			continue;
		if (!gpucol_rec_labels_shape(plan, plan->rules[i].stratum, &shape))
			return false;
		recursive = true;
	}
	return recursive;
}

/* ---- the labels in order ---- */

/* Collect them; *usable = false where one is NULL, which has no order. */
static GpucolStatus
collect_starts(Labels *labels, bool *usable)
{
	GpucolRecRun *run = labels->run;
	const GpucolRecTable *table = labels->table;
	GpucolRecType type = run->plan->types[table->decl->types + !labels->shape.key];
	bool		greatest = table->decl->merge == GPUCOL_REC_MERGE_MAX;
	size_t		size = table->committed * sizeof(Start);
	uint64_t	row;

	labels->nstarts = table->committed;
	labels->starts = gpucol_budget_alloc(&run->memory, size);
	labels->other_starts = gpucol_budget_alloc(&run->memory, size);
	if (labels->starts == NULL || labels->other_starts == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (row = 0; row < table->committed; row++)
	{
		Start	   *start = &labels->starts[row];

		if (gpucol_rec_poll(run, row))
			return GPUCOL_CANCELLED;
		start->node = table->tuples[2 * row + labels->shape.key];
		start->label = table->tuples[2 * row + !labels->shape.key];
		start->rank = gpucol_rec_order(type, run->dictionary.values[start->label]);
		if (greatest)
			start->rank = ~start->rank;
		if (start->label == GPUCOL_REC_NULL_ID)
			*usable = false;
	}
	return GPUCOL_OK;
}

/* One stable pass of the sort; false: all are equal in these bits. */
static bool
sort_pass(const Labels *labels, int shift)
{
	uint64_t	place[DIGITS] = {0};
	uint64_t	at = 0;
	uint64_t	i;

	for (i = 0; i < labels->nstarts; i++)
		place[labels->starts[i].rank >> shift & (DIGITS - 1)]++;
	for (i = 0; i < DIGITS; i++)
	{
		uint64_t	n = place[i];

		if (n == labels->nstarts)
			return false;
		place[i] = at;
		at += n;
	}
	for (i = 0; i < labels->nstarts; i++)
		labels->other_starts[place[labels->starts[i].rank >> shift &
								   (DIGITS - 1)]++] = labels->starts[i];
	return true;
}

/* Sort the starts by rank, from the lowest digit on. */
static GpucolStatus
sort_starts(Labels *labels)
{
	for (int shift = 0; shift < 64; shift += DIGIT)
	{
		if (gpucol_rec_cancelled(labels->run))
			return GPUCOL_CANCELLED;
		if (sort_pass(labels, shift))
		{
			Start	   *sorted = labels->other_starts;

			labels->other_starts = labels->starts;
			labels->starts = sorted;
		}
	}
	return GPUCOL_OK;
}

/* ---- searching ---- */

/* Hand a label to all nodes without one that it reaches from a node. */
static GpucolStatus
search(Labels *labels, uint32_t node, uint32_t label)
{
	uint64_t	nqueued = 0;
	uint64_t	at;

	labels->label[node] = label;
	labels->queue[nqueued++] = node;
	for (at = 0; at < nqueued; at++)
		for (int w = 0; w < labels->shape.nways; w++)
		{
			const GpucolRecAdjacency *edges = &labels->edges[w];
			uint64_t	last = edges->start[labels->queue[at] + 1];
			uint64_t	e;

			for (e = edges->start[labels->queue[at]]; e < last; e++)
			{
				uint32_t	to = edges->to[e];

				if (gpucol_rec_poll(labels->run, ++labels->steps))
					return GPUCOL_CANCELLED;
				if (labels->label[to] != NO_LABEL)
					continue;
				labels->label[to] = label;
				labels->queue[nqueued++] = to;
			}
		}
	return GPUCOL_OK;
}

static GpucolStatus
search_all(Labels *labels)
{
	GpucolBudget *memory = &labels->run->memory;
	uint64_t	i;

	labels->label = gpucol_budget_alloc(memory, labels->nnodes * sizeof(uint32_t));
	labels->queue = gpucol_budget_alloc(memory, labels->nnodes * sizeof(uint32_t));
	if (labels->label == NULL || labels->queue == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	memset(labels->label, 0xff, labels->nnodes * sizeof(uint32_t));
	for (int w = 0; w < labels->shape.nways; w++)
		GPUCOL_REC_TRY(gpucol_rec_adjacency_build(labels->run,
												  &labels->run->tables[labels->shape.ways[w].relation],
												  labels->shape.ways[w].from,
												  labels->shape.ways[w].to, true,
												  &labels->edges[w]));
	for (i = 0; i < labels->nstarts; i++)
	{
		if (gpucol_rec_poll(labels->run, i))
			return GPUCOL_CANCELLED;
		if (labels->label[labels->starts[i].node] == NO_LABEL)
			GPUCOL_REC_TRY(search(labels, labels->starts[i].node,
								  labels->starts[i].label));
	}
	return GPUCOL_OK;
}

/* Offer every node's label to the relation, which keeps what is better. */
static GpucolStatus
add_labels(Labels *labels)
{
	uint32_t	nodes[GPUCOL_REC_VECTOR];
	uint32_t	found[GPUCOL_REC_VECTOR];
	const uint32_t *columns[2];
	uint32_t	n = 0;
	uint32_t	node;

	columns[labels->shape.key] = nodes;
	columns[!labels->shape.key] = found;
	for (node = 0; node < labels->nnodes; node++)
	{
		if (labels->label[node] != NO_LABEL)
		{
			nodes[n] = node;
			found[n++] = labels->label[node];
		}
		if (n < GPUCOL_REC_VECTOR && node + 1 < labels->nnodes)
			continue;
		if (gpucol_rec_cancelled(labels->run))
			return GPUCOL_CANCELLED;
		GPUCOL_REC_TRY(gpucol_rec_table_add(labels->run, labels->table, n, columns));
		n = 0;
	}
	return GPUCOL_OK;
}

static void
free_labels(Labels *labels)
{
	GpucolBudget *memory = &labels->run->memory;
	size_t		starts = labels->nstarts * sizeof(Start);
	size_t		nodes = labels->nnodes * sizeof(uint32_t);

	for (int w = 0; w < labels->shape.nways; w++)
		gpucol_rec_adjacency_free(labels->run, &labels->edges[w]);
	gpucol_budget_free(memory, labels->starts, starts);
	gpucol_budget_free(memory, labels->other_starts, starts);
	gpucol_budget_free(memory, labels->label, nodes);
	gpucol_budget_free(memory, labels->queue, nodes);
}

GpucolStatus
gpucol_rec_labels_run(GpucolRecRun *run, uint32_t stratum, bool *done)
{
	Labels		labels = {.run = run,.nnodes = (uint32_t) run->dictionary.nvalues};
	GpucolStatus status;
	bool		usable = true;

	/* no label goes further than there are nodes: that many rounds are no limit */
	if (!gpucol_rec_labels_shape(run->plan, stratum, &labels.shape) ||
		(run->options.max_rounds > 0 && (uint64_t) run->options.max_rounds < labels.nnodes))
		return GPUCOL_OK;
	labels.table = &run->tables[labels.shape.relation];
	status = collect_starts(&labels, &usable);
	if (status == GPUCOL_OK && usable)
		status = sort_starts(&labels);
	if (status == GPUCOL_OK && usable)
		status = search_all(&labels);
	if (status == GPUCOL_OUT_OF_MEMORY)
	{
		/* without room for all of it, rounds go on as before */
		status = GPUCOL_OK;
		usable = false;
	}
	if (status == GPUCOL_OK && usable)
	{
		status = add_labels(&labels);
		*done = status == GPUCOL_OK;
	}
	free_labels(&labels);
	return status;
}
