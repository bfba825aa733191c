/*-------------------------------------------------------------------------
 *
 * graph.c
 *	  What the recursion kernels share: recognising rules over binary atoms,
 *	  and adjacency as compressed sparse rows.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/engine.h"

/* The registers of a step over a binary relation. */
static bool
read_pair(const GpucolRecRun *run, const GpucolRecStep *step,
		  GpucolRecEdge *edge)
{
	const GpucolRecOperand *operands = run->plan->operands + step->operands;
	int			i;

	if (run->plan->relations[step->relation].arity != 2)
		return false;
	for (i = 0; i < 2; i++)
		if (operands[i].kind != GPUCOL_REC_BIND &&
			operands[i].kind != GPUCOL_REC_REGISTER)
			return false;
	edge->relation = step->relation;
	edge->first = operands[0].index;
	edge->second = operands[1].index;
	edge->version = step->version;
	return edge->first != edge->second;
}

bool
gpucol_rec_rule_edges(const GpucolRecRun *run, uint32_t rule, uint32_t n,
					  GpucolRecEdge *atoms, GpucolRecEdge *emit)
{
	const GpucolRecRule *r = &run->plan->rules[rule];
	const GpucolRecStep *steps = run->plan->steps + r->steps;
	uint32_t	i;

	if (r->nsteps != n + 1)
		return false;
	for (i = 0; i < n; i++)
		if (steps[i].kind != GPUCOL_REC_ATOM ||
			!read_pair(run, &steps[i], &atoms[i]))
			return false;
	return steps[n].kind == GPUCOL_REC_EMIT && read_pair(run, &steps[n], emit);
}

GpucolStatus
gpucol_rec_adjacency_build(GpucolRecRun *run, const GpucolRecTable *table,
						   int from, int to, bool skip_null,
						   GpucolRecAdjacency *adjacency)
{
	uint64_t	arity = (uint64_t) table->arity;
	uint32_t	n = (uint32_t) run->dictionary.nvalues;
	uint64_t	row;
	uint64_t	i;

	adjacency->n = n;
	adjacency->nedges = table->committed;
	adjacency->start = gpucol_budget_alloc_zeroed(&run->memory, (n + 2) *
												  sizeof(uint64_t));
	adjacency->to = gpucol_budget_alloc(&run->memory, table->committed *
										sizeof(uint32_t));
	if (adjacency->start == NULL || adjacency->to == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	/* Counted two places up, so that the scatter leaves the starts right. */
	for (row = 0; row < table->committed; row++)
	{
		uint32_t	id = table->tuples[row * arity + from];

		if (gpucol_rec_poll(run, row))
			return GPUCOL_CANCELLED;
		if (id != GPUCOL_REC_NULL_ID || !skip_null)
			adjacency->start[id + 2]++;
	}
	for (i = 2; i < (uint64_t) n + 2; i++)
		adjacency->start[i] += adjacency->start[i - 1];
	for (row = 0; row < table->committed; row++)
	{
		uint32_t	id = table->tuples[row * arity + from];

		if (gpucol_rec_poll(run, row))
			return GPUCOL_CANCELLED;
		if (id != GPUCOL_REC_NULL_ID || !skip_null)
			adjacency->to[adjacency->start[id + 1]++] =
				table->tuples[row * arity + to];
	}
	return GPUCOL_OK;
}

void
gpucol_rec_adjacency_free(GpucolRecRun *run, GpucolRecAdjacency *adjacency)
{
	gpucol_budget_free(&run->memory, adjacency->start,
					   adjacency->start ? ((uint64_t) adjacency->n + 2) *
					   sizeof(uint64_t) : 0);
	gpucol_budget_free(&run->memory, adjacency->to,
					   adjacency->nedges * sizeof(uint32_t));
	memset(adjacency, 0, sizeof(*adjacency));
}
