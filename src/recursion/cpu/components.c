/*-------------------------------------------------------------------------
 *
 * components.c
 *	  Strongly connected components of a graph, in topological order, and the
 *	  graph between them (Tarjan 1972); or every node for itself.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/engine.h"

typedef struct Tarjan
{
	const GpucolRecAdjacency *edges;
	uint32_t   *order;			/* visit number, 0 = not visited */
	uint32_t   *low;
	uint32_t   *stack;			/* nodes of unfinished components */
	uint32_t   *path;			/* nodes being visited */
	uint64_t   *edge;			/* next edge of each node of the path */
	uint32_t	nstack;
	uint32_t	npath;
	uint32_t	visits;
	GpucolRecRun *run;
	uint64_t	steps;
	bool		cancelled;
} Tarjan;

/* A node is finished: close its component if it is the root of one. */
static void
close_component(GpucolRecComponents *components, Tarjan *tarjan, uint32_t node)
{
	uint32_t	member;

	if (tarjan->low[node] != tarjan->order[node])
		return;
	do
	{
		member = tarjan->stack[--tarjan->nstack];
		tarjan->low[member] = UINT32_MAX;
		components->component[member] = components->ncomponents;
	} while (member != node);
	components->ncomponents++;
}

/* Visit everything that is reachable from a node (without recursion). */
static void
visit(GpucolRecComponents *components, Tarjan *tarjan, uint32_t root)
{
	tarjan->path[tarjan->npath++] = root;
	tarjan->edge[0] = tarjan->edges->start[root];
	tarjan->order[root] = tarjan->low[root] = ++tarjan->visits;
	tarjan->stack[tarjan->nstack++] = root;
	while (tarjan->npath > 0 && !tarjan->cancelled)
	{
		uint32_t	node = tarjan->path[tarjan->npath - 1];
		uint64_t   *edge = &tarjan->edge[tarjan->npath - 1];

		if (gpucol_rec_poll(tarjan->run, ++tarjan->steps))
			tarjan->cancelled = true;
		if (*edge < tarjan->edges->start[node + 1])
		{
			uint32_t	to = tarjan->edges->to[(*edge)++];

			if (tarjan->order[to] == 0)
			{
				tarjan->order[to] = tarjan->low[to] = ++tarjan->visits;
				tarjan->stack[tarjan->nstack++] = to;
				tarjan->edge[tarjan->npath] = tarjan->edges->start[to];
				tarjan->path[tarjan->npath++] = to;
			}
			else if (tarjan->low[to] != UINT32_MAX &&
					 tarjan->order[to] < tarjan->low[node])
				tarjan->low[node] = tarjan->order[to];
			continue;
		}
		tarjan->npath--;
		if (tarjan->npath > 0)
		{
			uint32_t	parent = tarjan->path[tarjan->npath - 1];

			if (tarjan->low[node] < tarjan->low[parent])
				tarjan->low[parent] = tarjan->low[node];
		}
		close_component(components, tarjan, node);
	}
}

/* Number the components in topological order: sources first. */
static GpucolStatus
find_components(GpucolRecRun *run, GpucolRecComponents *components,
				const GpucolRecAdjacency *edges)
{
	GpucolBudget *memory = &run->memory;
	uint32_t	n = components->nnodes;
	Tarjan		tarjan = {.edges = edges,.run = run};
	bool		enough;
	uint32_t	node;

	tarjan.order = gpucol_budget_alloc_zeroed(memory, n * sizeof(uint32_t));
	tarjan.low = gpucol_budget_alloc(memory, n * sizeof(uint32_t));
	tarjan.stack = gpucol_budget_alloc(memory, n * sizeof(uint32_t));
	tarjan.path = gpucol_budget_alloc(memory, n * sizeof(uint32_t));
	tarjan.edge = gpucol_budget_alloc(memory, n * sizeof(uint64_t));
	enough = tarjan.order && tarjan.low && tarjan.stack && tarjan.path &&
		tarjan.edge;
	for (node = 0; enough && node < n && !tarjan.cancelled; node++)
		if (tarjan.order[node] == 0)
			visit(components, &tarjan, node);
	gpucol_budget_free(memory, tarjan.order, n * sizeof(uint32_t));
	gpucol_budget_free(memory, tarjan.low, n * sizeof(uint32_t));
	gpucol_budget_free(memory, tarjan.stack, n * sizeof(uint32_t));
	gpucol_budget_free(memory, tarjan.path, n * sizeof(uint32_t));
	gpucol_budget_free(memory, tarjan.edge, n * sizeof(uint64_t));
	if (!enough)
		return GPUCOL_OUT_OF_MEMORY;
	if (tarjan.cancelled)
		return GPUCOL_CANCELLED;
	/* Tarjan finishes sinks first. */
	for (node = 0; node < n; node++)
		components->component[node] =
			components->ncomponents - 1 - components->component[node];
	return GPUCOL_OK;
}

/* List the members of each component (counting sort). */
static GpucolStatus
list_members(GpucolRecRun *run, GpucolRecComponents *components)
{
	uint32_t	i;

	components->member_start =
		gpucol_budget_alloc_zeroed(&run->memory, ((uint64_t) components->ncomponents + 2) *
								   sizeof(uint32_t));
	if (components->member_start == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (i = 0; i < components->nnodes; i++)
	{
		if (gpucol_rec_poll(run, i))
			return GPUCOL_CANCELLED;
		components->member_start[components->component[i] + 2]++;
	}
	for (i = 2; i < components->ncomponents + 2; i++)
		components->member_start[i] += components->member_start[i - 1];
	for (i = 0; i < components->nnodes; i++)
	{
		if (gpucol_rec_poll(run, i))
			return GPUCOL_CANCELLED;
		components->members[components->member_start[components->component[i] + 1]++] = i;
	}
	return GPUCOL_OK;
}

/*
 * The other components that the members of one lead to, each once: seen[] tells of which
 * component + 1 it was seen last.  They come to successors.to from *kept on; *steps counts
 * the edges.
 */
static GpucolStatus
find_successors(GpucolRecRun *run, GpucolRecComponents *components,
				const GpucolRecAdjacency *edges, uint32_t c, uint32_t *seen,
				uint64_t *kept, uint64_t *steps)
{
	uint32_t	m;
	uint64_t	e;

	for (m = components->member_start[c]; m < components->member_start[c + 1]; m++)
	{
		uint32_t	node = components->members[m];

		if (gpucol_rec_poll(run, ++*steps))
			return GPUCOL_CANCELLED;
		for (e = edges->start[node]; e < edges->start[node + 1]; e++)
		{
			uint32_t	to = components->component[edges->to[e]];

			if (gpucol_rec_poll(run, ++*steps))
				return GPUCOL_CANCELLED;
			if (to == c || seen[to] == c + 1)
				continue;
			seen[to] = c + 1;
			components->successors.to[(*kept)++] = to;
		}
	}
	return GPUCOL_OK;
}

/* Edges between different components, each once. */
static GpucolStatus
condense(GpucolRecRun *run, GpucolRecComponents *components,
		 const GpucolRecAdjacency *edges)
{
	GpucolRecAdjacency *successors = &components->successors;
	size_t		size = components->ncomponents * sizeof(uint32_t);
	uint32_t   *seen = gpucol_budget_alloc_zeroed(&run->memory, size);
	uint64_t	kept = 0;
	uint64_t	steps = 0;
	GpucolStatus status = GPUCOL_OK;
	uint32_t	c;

	successors->n = components->ncomponents;
	successors->nedges = edges->nedges;
	successors->start = gpucol_budget_alloc_zeroed(&run->memory,
												   ((uint64_t) successors->n + 2) *
												   sizeof(uint64_t));
	successors->to = gpucol_budget_alloc(&run->memory,
										 edges->nedges * sizeof(uint32_t));
	if (!successors->start || !successors->to || !seen)
		status = GPUCOL_OUT_OF_MEMORY;
	for (c = 0; c < components->ncomponents && status == GPUCOL_OK; c++)
	{
		successors->start[c] = kept;
		status = find_successors(run, components, edges, c, seen, &kept, &steps);
	}
	if (status == GPUCOL_OK)
		successors->start[c] = kept;
	gpucol_budget_free(&run->memory, seen, size);
	return status;
}

static GpucolStatus
allocate(GpucolRecRun *run, GpucolRecComponents *components, uint32_t nnodes)
{
	components->nnodes = nnodes;
	components->component = gpucol_budget_alloc(&run->memory,
												nnodes * sizeof(uint32_t));
	components->members = gpucol_budget_alloc(&run->memory,
											  nnodes * sizeof(uint32_t));
	return components->component && components->members ?
		GPUCOL_OK : GPUCOL_OUT_OF_MEMORY;
}

GpucolStatus
gpucol_rec_components_build(GpucolRecRun *run, const GpucolRecAdjacency *edges,
							GpucolRecComponents *components)
{
	GPUCOL_REC_TRY(allocate(run, components, edges->n));
	GPUCOL_REC_TRY(find_components(run, components, edges));
	GPUCOL_REC_TRY(list_members(run, components));
	return condense(run, components, edges);
}

GpucolStatus
gpucol_rec_components_of_nodes(GpucolRecRun *run, GpucolRecAdjacency *edges,
							   GpucolRecComponents *components)
{
	uint32_t	node;

	GPUCOL_REC_TRY(allocate(run, components, edges->n));
	components->ncomponents = edges->n;
	for (node = 0; node < edges->n; node++)
		components->component[node] = node;
	GPUCOL_REC_TRY(list_members(run, components));
	components->successors = *edges;
	memset(edges, 0, sizeof(*edges));
	return GPUCOL_OK;
}

void
gpucol_rec_components_free(GpucolRecRun *run, GpucolRecComponents *components)
{
	GpucolBudget *memory = &run->memory;

	gpucol_rec_adjacency_free(run, &components->successors);
	gpucol_budget_free(memory, components->component,
					   components->nnodes * sizeof(uint32_t));
	gpucol_budget_free(memory, components->members,
					   components->nnodes * sizeof(uint32_t));
	gpucol_budget_free(memory, components->member_start, components->member_start ?
					   ((uint64_t) components->ncomponents + 2) *
					   sizeof(uint32_t) : 0);
	memset(components, 0, sizeof(*components));
}
