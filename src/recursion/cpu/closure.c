/*-------------------------------------------------------------------------
 *
 * closure.c
 *	  Linear transitive closure, bit-parallel.
 *
 * In r(x,z) :- r(x,y), e(y,z) the column x is only carried along: each of its
 * values is a search of its own from the nodes that its seed rows name.  512
 * searches run together, one bit each, as a vector for each node:
 *
 *	  1. the strongly connected components of e are condensed
 *		 (recursion/cpu/components.c); all nodes of a component are reached by
 *		 the same searches;
 *	  2. for each batch of 512 carried values the seeds' bits are set, and the
 *		 components that carry a bit are visited in topological order, each
 *		 handing its vector on to its successors: one pass, no rounds;
 *	  3. the vectors are the result: rows are read off them, or counted.
 *
 * Only components that some search of the batch reaches are touched, and
 * carried values are dealt out in topological order, so that those of one
 * batch reach much the same.  Needs neither rounds nor a full relation: memory
 * is 64 bytes a component and thread, beside the graph itself.
 *
 * r(x,z) :- e(x,y), r(y,z) is the same with e turned round and z carried;
 * r(x,z) :- r(x,y), r(y,z) is the same with the seeds as edges.
 *
 * Where rounds are limited and there are enough nodes for that many, searches
 * go by levels instead, over nodes, so that the round that finds a row is known.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/share.h"

#define LANES	512
#define WORDS	(LANES / 64)
#define PLANES	33				/* bits of a count of nodes */
#define STRIDE	4096			/* edges that a search follows between two looks at its share */

/* State of one batch of searches; one for each thread. */
typedef struct Batch
{
	uint64_t   *reach;			/* WORDS for each component, zero between uses */
	uint64_t   *front;			/* by levels: bits of the last level; likewise */
	uint64_t   *next;			/* ... of the level being made */
	uint64_t   *next_active;	/* components with a bit in next */
	uint64_t   *active;			/* components with a bit, not visited yet */
	uint32_t   *touched;		/* components visited, in order */
	uint32_t	ntouched;
	uint64_t	number;			/* which LANES carried values */
	uint64_t	nrows;
	uint64_t	depth;			/* deepest level with a row */
	uint64_t	steps;			/* edges and the like since it looked at the share */
	uint64_t   *node_counts;	/* count(): by node */
} Batch;

typedef struct Closure
{
	GpucolRecKernel kernel;
	bool		carried_first;	/* is the carried column the first? */
	GpucolRecComponents components;	/* or nodes, by levels */
	uint64_t	max_depth;		/* first level that is one too many; 0 = no
								 * limit: not by levels */
	GpucolRecAdjacency seeds;	/* carried value to nodes */
	uint32_t	nids;			/* of the dictionary */
	uint32_t   *carried;		/* values with a seed, in topological order */
	uint64_t	ncarried;
	uint64_t	nbatches;
	int			nthreads;
	Batch	   *batches;		/* one for each thread */

	/* next(): where we are */
	bool		in_batch;
	uint64_t	next_batch;
	uint32_t	at_touched;
	uint32_t	at_member;
	int			at_word;
	uint64_t	at_bits;

	GpucolRecShare share;		/* batches, for count(); next() is worker 0 */

	/* count(): shared by the threads */
	_Atomic uint64_t rows;		/* counted so far */
	uint64_t	full;			/* derived before */
	uint64_t	rounds;			/* told to progress */
	uint64_t   *carried_counts;
} Closure;

/* ---- building ---- */

/* Sort the carried values by the component of their first seed; place[] is zeroed. */
static GpucolStatus
sort_carried(GpucolRecRun *run, Closure *closure, uint64_t *place)
{
	const GpucolRecAdjacency *seeds = &closure->seeds;
	const uint32_t *component = closure->components.component;
	uint32_t	ncomponents = closure->components.ncomponents;
	uint32_t	nnodes = closure->components.nnodes;
	uint32_t	id;
	uint32_t	c;

	for (id = 0; id < nnodes; id++)
	{
		if (gpucol_rec_poll(run, id))
			return GPUCOL_CANCELLED;
		if (seeds->start[id] < seeds->start[id + 1])
			place[component[seeds->to[seeds->start[id]]] + 1]++;
	}
	for (c = 0; c < ncomponents; c++)
		place[c + 1] += place[c];
	closure->ncarried = place[ncomponents];
	for (id = 0; id < nnodes; id++)
	{
		if (gpucol_rec_poll(run, id))
			return GPUCOL_CANCELLED;
		if (seeds->start[id] < seeds->start[id + 1])
			closure->carried[place[component[seeds->to[seeds->start[id]]]]++] = id;
	}
	return GPUCOL_OK;
}

/* The carried values, in the topological order of their first seed. */
static GpucolStatus
order_carried(GpucolRecRun *run, Closure *closure)
{
	size_t		size = ((uint64_t) closure->components.ncomponents + 1) * sizeof(uint64_t);
	uint64_t   *place = gpucol_budget_alloc_zeroed(&run->memory, size);
	GpucolStatus status;

	if (place == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	status = sort_carried(run, closure, place);
	gpucol_budget_free(&run->memory, place, size);
	closure->nbatches = (closure->ncarried + LANES - 1) / LANES;
	return status;
}

/* ---- one batch ---- */

static size_t
active_words(const Closure *closure)
{
	return closure->components.ncomponents / 64 + 1;
}

/* Bytes of a vector for each component. */
static size_t
vectors_size(const Closure *closure)
{
	return (size_t) closure->components.ncomponents * WORDS * sizeof(uint64_t);
}

/* Make a batch able to work. */
static GpucolStatus
open_batch(GpucolRecRun *run, const Closure *closure, Batch *batch)
{
	GpucolBudget *memory = &run->memory;
	size_t		active = active_words(closure) * sizeof(uint64_t);

	batch->reach = gpucol_budget_alloc_zeroed(memory, vectors_size(closure));
	batch->active = gpucol_budget_alloc_zeroed(memory, active);
	batch->touched = gpucol_budget_alloc(memory, closure->components.ncomponents *
										 sizeof(uint32_t));
	if (!batch->reach || !batch->active || !batch->touched)
		return GPUCOL_OUT_OF_MEMORY;
	if (closure->max_depth == 0)
		return GPUCOL_OK;
	batch->front = gpucol_budget_alloc_zeroed(memory, vectors_size(closure));
	batch->next = gpucol_budget_alloc_zeroed(memory, vectors_size(closure));
	batch->next_active = gpucol_budget_alloc_zeroed(memory, active);
	return batch->front && batch->next && batch->next_active ?
		GPUCOL_OK : GPUCOL_OUT_OF_MEMORY;
}

static void
close_batch(GpucolRecRun *run, const Closure *closure, Batch *batch)
{
	GpucolBudget *memory = &run->memory;
	size_t		active = active_words(closure) * sizeof(uint64_t);

	gpucol_budget_free(memory, batch->reach, vectors_size(closure));
	gpucol_budget_free(memory, batch->front, vectors_size(closure));
	gpucol_budget_free(memory, batch->next, vectors_size(closure));
	gpucol_budget_free(memory, batch->active, active);
	gpucol_budget_free(memory, batch->next_active, active);
	gpucol_budget_free(memory, batch->touched, closure->components.ncomponents *
					   sizeof(uint32_t));
	gpucol_budget_free(memory, batch->node_counts,
					   closure->components.nnodes * sizeof(uint64_t));
	memset(batch, 0, sizeof(*batch));
}

/* Is the work to end?  Asked after so many edges, or what takes as long. */
static inline bool
must_stop(Closure *closure, Batch *batch, uint64_t edges)
{
	uint64_t	steps = batch->steps += edges;

	if (steps < STRIDE)
		return false;
	batch->steps = 0;
	return gpucol_rec_share_stopped(&closure->share, (int) (batch - closure->batches), steps);
}

static void
plant_seeds(Closure *closure, Batch *batch, uint64_t number)
{
	uint64_t	lane;
	uint64_t	e;

	batch->number = number;
	batch->ntouched = 0;
	for (lane = 0; lane < LANES &&
		 number * LANES + lane < closure->ncarried; lane++)
	{
		uint32_t	id = closure->carried[number * LANES + lane];

		if (must_stop(closure, batch, closure->seeds.start[id + 1] - closure->seeds.start[id]))
			return;
		for (e = closure->seeds.start[id]; e < closure->seeds.start[id + 1]; e++)
		{
			uint32_t	c = closure->components.component[closure->seeds.to[e]];

			batch->reach[(size_t) c * WORDS + lane / 64] |=
				UINT64_C(1) << (lane % 64);
			batch->active[c / 64] |= UINT64_C(1) << (c % 64);
		}
	}
}

/*
 * Visit the reached components in topological order.  A NULL value has a
 * component of its own without successors.
 */
GPUCOL_REC_CLONES
static void
propagate(Closure *closure, Batch *batch)
{
	const uint64_t *start = closure->components.successors.start;
	const uint32_t *to = closure->components.successors.to;
	uint64_t   *reach = batch->reach;
	size_t		nwords = active_words(closure);
	size_t		w;
	int			k;

	for (w = 0; w < nwords; w++)
		while (batch->active[w] != 0)
		{
			uint32_t	c = (uint32_t) (w * 64) +
				(uint32_t) __builtin_ctzll(batch->active[w]);
			const uint64_t *from = reach + (size_t) c * WORDS;
			uint64_t	e;

			batch->active[w] &= batch->active[w] - 1;
			batch->touched[batch->ntouched++] = c;
			if (must_stop(closure, batch, start[c + 1] - start[c] + 1))
				return;
			for (e = start[c]; e < start[c + 1]; e++)
			{
				uint64_t   *into = reach + (size_t) to[e] * WORDS;

				for (k = 0; k < WORDS; k++)
					into[k] |= from[k];
				batch->active[to[e] / 64] |= UINT64_C(1) << (to[e] % 64);
			}
		}
}

/* By levels: hand the last level's bits on to the successors. */
static bool
spread_level(Closure *closure, Batch *batch)
{
	const uint64_t *start = closure->components.successors.start;
	const uint32_t *to = closure->components.successors.to;
	size_t		nwords = active_words(closure);
	size_t		w;
	int			k;

	for (w = 0; w < nwords; w++)
		for (; batch->active[w] != 0; batch->active[w] &= batch->active[w] - 1)
		{
			uint32_t	c = (uint32_t) (w * 64) +
				(uint32_t) __builtin_ctzll(batch->active[w]);
			uint64_t   *from = batch->front + (size_t) c * WORDS;
			uint64_t	e;

			if (must_stop(closure, batch, start[c + 1] - start[c] + 1))
				return false;
			for (e = start[c]; e < start[c + 1]; e++)
			{
				uint64_t   *into = batch->next + (size_t) to[e] * WORDS;

				for (k = 0; k < WORDS; k++)
					into[k] |= from[k];
				batch->next_active[to[e] / 64] |= UINT64_C(1) << (to[e] % 64);
			}
			memset(from, 0, WORDS * sizeof(uint64_t));
		}
	return true;
}

/* By levels: what is new of the next level becomes the last; is there any? */
static bool
settle_level(Closure *closure, Batch *batch)
{
	size_t		nwords = active_words(closure);
	bool		found = false;
	size_t		w;
	int			k;

	for (w = 0; w < nwords; w++)
		for (; batch->next_active[w] != 0;
			 batch->next_active[w] &= batch->next_active[w] - 1)
		{
			uint32_t	c = (uint32_t) (w * 64) +
				(uint32_t) __builtin_ctzll(batch->next_active[w]);
			uint64_t   *reach = batch->reach + (size_t) c * WORDS;
			uint64_t   *front = batch->front + (size_t) c * WORDS;
			uint64_t   *next = batch->next + (size_t) c * WORDS;
			uint64_t	before = 0;
			uint64_t	fresh = 0;

			for (k = 0; k < WORDS; k++)
			{
				before |= reach[k];
				front[k] = next[k] & ~reach[k];
				reach[k] |= front[k];
				fresh |= front[k];
				next[k] = 0;
			}
			if (fresh == 0)
				continue;
			found = true;
			batch->active[w] |= batch->next_active[w] & -batch->next_active[w];
			if (before == 0)
				batch->touched[batch->ntouched++] = c;
		}
	return found;
}

/* Search by levels; gives up at the level that is one too many. */
GPUCOL_REC_CLONES
static void
propagate_levels(Closure *closure, Batch *batch)
{
	size_t		nwords = active_words(closure);
	uint64_t	depth = 0;
	size_t		w;

	for (w = 0; w < nwords; w++)
	{
		uint64_t	bits = batch->active[w];

		for (; bits != 0; bits &= bits - 1)
		{
			uint32_t	c = (uint32_t) (w * 64) +
				(uint32_t) __builtin_ctzll(bits);

			batch->touched[batch->ntouched++] = c;
			memcpy(batch->front + (size_t) c * WORDS,
				   batch->reach + (size_t) c * WORDS,
				   WORDS * sizeof(uint64_t));
		}
	}
	while (spread_level(closure, batch) && settle_level(closure, batch))
	{
		if (++depth < closure->max_depth)
			continue;
		gpucol_rec_share_fail(&closure->share, GPUCOL_ROUNDS_EXCEEDED);
		break;
	}
	if (depth > batch->depth)
		batch->depth = depth;
}

/* Run one batch of searches to the end. */
static void
search(Closure *closure, Batch *batch, uint64_t number)
{
	plant_seeds(closure, batch, number);
	if (closure->max_depth > 0)
		propagate_levels(closure, batch);
	else
		propagate(closure, batch);
}

static inline uint64_t *
reached(const Batch *batch, uint32_t c)
{
	return batch->reach + (size_t) c * WORDS;
}

/* ---- counting ---- */

/* Add `weight` to the counters of the lanes in `lanes` (bit-sliced). */
static inline void
add_lanes(uint64_t planes[PLANES][WORDS], const uint64_t *lanes,
		  uint32_t weight)
{
	int			plane;

	for (plane = 0; weight != 0; plane++, weight >>= 1)
	{
		uint64_t	carry[WORDS];
		uint64_t	any = 1;
		int			p;
		int			k;

		if (!(weight & 1))
			continue;
		memcpy(carry, lanes, sizeof(carry));
		for (p = plane; any != 0 && p < PLANES; p++)
		{
			any = 0;
			for (k = 0; k < WORDS; k++)
			{
				uint64_t	both = planes[p][k] & carry[k];

				planes[p][k] ^= carry[k];
				carry[k] = both;
				any |= both;
			}
		}
	}
}

/* Count the rows of each node of a component, of which n searches reach it. */
static uint64_t
count_members(const GpucolRecComponents *components, uint32_t c, uint64_t n,
			  uint64_t *node_counts)
{
	uint32_t	first = components->member_start[c];
	uint32_t	last = components->member_start[c + 1];

	for (uint32_t m = first; m < last && node_counts != NULL; m++)
		node_counts[components->members[m]] += n;
	return last - first;
}

/* Count the rows of a finished batch and make it ready for the next one. */
GPUCOL_REC_CLONES
static void
count_batch(Closure *closure, Batch *batch, uint64_t *carried_counts)
{
	uint64_t	planes[PLANES][WORDS];
	uint32_t	t;
	int			k;

	memset(planes, 0, sizeof(planes));
	for (t = 0; t < batch->ntouched; t++)
	{
		uint32_t	c = batch->touched[t];
		uint64_t   *lanes = reached(batch, c);
		uint64_t	size;
		uint64_t	n = 0;

		for (k = 0; k < WORDS; k++)
			n += (uint64_t) __builtin_popcountll(lanes[k]);
		size = count_members(&closure->components, c, n, batch->node_counts);
		batch->nrows += n * size;
		if (carried_counts != NULL)
			add_lanes(planes, lanes, (uint32_t) size);
		if (must_stop(closure, batch, batch->node_counts != NULL ? size : 1))
			return;
		memset(lanes, 0, WORDS * sizeof(uint64_t));
	}
	if (carried_counts == NULL)
		return;
	for (t = 0; t < LANES && batch->number * LANES + t < closure->ncarried; t++)
	{
		uint64_t	n = 0;

		for (k = 0; k < PLANES; k++)
			n |= (planes[k][t / 64] >> (t % 64) & 1) << k;
		carried_counts[closure->carried[batch->number * LANES + t]] += n;
	}
}

/* An item of count(): one batch. */
static void
count_item(void *context, int worker, uint64_t number)
{
	Closure    *closure = context;
	Batch	   *batch = &closure->batches[worker];
	uint64_t	rows = batch->nrows;

	search(closure, batch, number);
	count_batch(closure, batch, closure->carried_counts);
	atomic_fetch_add(&closure->rows, batch->nrows - rows);
	if (worker == 0)
		closure->share.run->progress.full = closure->full + closure->rows;
}

/*
 * Give each thread what it works with; fewer threads where all of them would take more than
 * half of the memory that is left: what comes after needs some, too.
 */
static GpucolStatus
open_batches(GpucolRecRun *run, Closure *closure, bool count_nodes)
{
	size_t		spare = gpucol_budget_left(&run->memory) / 2;
	int			wanted = run->options.threads;
	int			i;

	if ((uint64_t) wanted > closure->nbatches)
		wanted = closure->nbatches > 0 ? (int) closure->nbatches : 1;
	if (wanted > closure->nthreads)
		wanted = closure->nthreads;
	for (i = 0; i < wanted; i++)
	{
		Batch	   *batch = &closure->batches[i];
		GpucolStatus status;

		if (i > 0 && batch->reach == NULL && gpucol_budget_left(&run->memory) < spare)
			break;
		status = batch->reach ? GPUCOL_OK : open_batch(run, closure, batch);

		if (status == GPUCOL_OK && count_nodes && batch->node_counts == NULL)
		{
			batch->node_counts =
				gpucol_budget_alloc_zeroed(&run->memory,
										   closure->components.nnodes * sizeof(uint64_t));
			if (batch->node_counts == NULL)
				status = GPUCOL_OUT_OF_MEMORY;
		}
		if (status != GPUCOL_OK)
		{
			close_batch(run, closure, batch);
			if (i == 0)
				return status;
			break;
		}
	}
	closure->nthreads = i;
	return GPUCOL_OK;
}

/* Rounds are levels below the seeds, where they are counted. */
static void
note_depth(GpucolRecRun *run, Closure *closure, const Batch *batch)
{
	if (batch->depth <= closure->rounds)
		return;
	run->progress.rounds += batch->depth - closure->rounds;
	closure->rounds = batch->depth;
}

static GpucolStatus
closure_count(GpucolRecRun *run, GpucolRecKernel *kernel, uint64_t *nrows,
			  uint64_t *first, uint64_t *second)
{
	Closure    *closure = (Closure *) kernel;
	uint64_t   *nodes = closure->carried_first ? second : first;
	uint32_t	id;
	int			i;

	closure->carried_counts = closure->carried_first ? first : second;
	closure->full = run->progress.full;
	GPUCOL_REC_TRY(open_batches(run, closure, nodes != NULL));
	GPUCOL_REC_TRY(gpucol_rec_share_run(&closure->share, closure->nthreads,
										closure->nbatches, 1, count_item, closure));
	*nrows = 0;
	for (i = 0; i < closure->nthreads; i++)
	{
		*nrows += closure->batches[i].nrows;
		note_depth(run, closure, &closure->batches[i]);
		for (id = 0; nodes != NULL && id < closure->components.nnodes; id++)
			nodes[id] += closure->batches[i].node_counts[id];
	}
	run->progress.full = closure->full + *nrows;
	return GPUCOL_OK;
}

/* ---- rows ---- */

/* Put the rows of the current vector and member into out. */
static uint32_t
read_lanes(Closure *closure, uint32_t node, uint32_t *pairs, uint32_t n,
		   uint32_t produced)
{
	uint64_t	base = closure->batches[0].number * LANES +
		(uint64_t) closure->at_word * 64;

	while (closure->at_bits != 0 && produced < n)
	{
		uint32_t	carried =
			closure->carried[base + (uint64_t) __builtin_ctzll(closure->at_bits)];

		closure->at_bits &= closure->at_bits - 1;
		pairs[2 * produced + !closure->carried_first] = carried;
		pairs[2 * produced + closure->carried_first] = node;
		produced++;
	}
	return produced;
}

/* Move to the next word of lanes, member or component; false at the end. */
static bool
move_on(Closure *closure)
{
	Batch	   *batch = &closure->batches[0];
	uint32_t	c;

	if (!closure->in_batch)
		return false;
	c = batch->touched[closure->at_touched];
	if (++closure->at_word == WORDS)
	{
		closure->at_word = 0;
		if (++closure->at_member == closure->components.member_start[c + 1])
		{
			memset(reached(batch, c), 0, WORDS * sizeof(uint64_t));
			if (++closure->at_touched == batch->ntouched)
			{
				closure->in_batch = false;
				return false;
			}
			c = batch->touched[closure->at_touched];
			closure->at_member = closure->components.member_start[c];
		}
	}
	closure->at_bits = reached(batch, c)[closure->at_word];
	return true;
}

/* Run the next batch of searches for next(). */
static void
search_batch(Closure *closure)
{
	Batch	   *batch = &closure->batches[0];

	search(closure, batch, closure->next_batch++);
	closure->in_batch = batch->ntouched > 0;
	if (!closure->in_batch)
		return;
	closure->at_touched = 0;
	closure->at_member = closure->components.member_start[batch->touched[0]];
	closure->at_word = 0;
	closure->at_bits = reached(batch, batch->touched[0])[0];
}

static GpucolStatus
closure_next(GpucolRecRun *run, GpucolRecKernel *kernel, uint32_t *pairs,
			 uint32_t n, uint32_t *produced)
{
	Closure    *closure = (Closure *) kernel;

	*produced = 0;
	if (closure->batches[0].reach == NULL)
		GPUCOL_REC_TRY(open_batch(run, closure, &closure->batches[0]));
	while (*produced < n)
	{
		if (closure->in_batch)
			*produced = read_lanes(closure,
								   closure->components.members[closure->at_member], pairs,
								   n, *produced);
		if (*produced == n || move_on(closure))
			continue;
		if (closure->next_batch == closure->nbatches)
			break;
		if (gpucol_rec_cancelled(run))
			return GPUCOL_CANCELLED;
		search_batch(closure);
		GPUCOL_REC_TRY(gpucol_rec_share_status(&closure->share));
		note_depth(run, closure, &closure->batches[0]);
	}
	run->progress.full += *produced;
	return GPUCOL_OK;
}

/* ---- life ---- */

static void
closure_free(GpucolRecRun *run, GpucolRecKernel *kernel)
{
	Closure    *closure = (Closure *) kernel;
	GpucolBudget *memory = &run->memory;
	int			i;

	for (i = 0; closure->batches != NULL && i < run->options.threads; i++)
		close_batch(run, closure, &closure->batches[i]);
	gpucol_budget_free(memory, closure->batches,
					   run->options.threads * sizeof(Batch));
	gpucol_rec_adjacency_free(run, &closure->seeds);
	gpucol_budget_free(memory, closure->carried,
					   closure->nids * sizeof(uint32_t));
	gpucol_rec_components_free(run, &closure->components);
	gpucol_budget_free(memory, closure, sizeof(*closure));
}

/* First level that is one too many for the limit on rounds; 0 = there is none. */
static uint64_t
find_max_depth(const GpucolRecRun *run, bool square)
{
	uint64_t	rounds = (uint64_t) run->options.max_rounds;
	uint64_t	depth = rounds;

	if (rounds == 0)
		return 0;
	/* A round of the square doubles the length of the paths that are known. */
	if (square)
		depth = rounds > 32 ? UINT64_MAX : UINT64_C(1) << (rounds - 1);
	return depth < run->dictionary.nvalues ? depth : 0;
}

/* Build everything from the seeds (rows of table) and the edges. */
static GpucolStatus
build(GpucolRecRun *run, Closure *closure, const GpucolRecTable *seeds,
	  const GpucolRecTable *edges, int edge_from, int carried_column)
{
	GpucolRecAdjacency adjacency = {0};
	GpucolStatus status;

	closure->carried_first = carried_column == 0;
	closure->max_depth = find_max_depth(run, seeds == edges);
	closure->nthreads = run->options.threads;
	closure->carried = gpucol_budget_alloc(&run->memory, closure->nids *
										   sizeof(uint32_t));
	closure->batches = gpucol_budget_alloc_zeroed(&run->memory,
												  run->options.threads *
												  sizeof(Batch));
	if (!closure->carried || !closure->batches)
		return GPUCOL_OUT_OF_MEMORY;
	GPUCOL_REC_TRY(gpucol_rec_adjacency_build(run, seeds, carried_column,
											  !carried_column, false,
											  &closure->seeds));
	status = gpucol_rec_adjacency_build(run, edges, edge_from, !edge_from, true,
										&adjacency);
	if (status == GPUCOL_OK)
		status = closure->max_depth > 0 ?
			gpucol_rec_components_of_nodes(run, &adjacency,
										   &closure->components) :
			gpucol_rec_components_build(run, &adjacency, &closure->components);
	gpucol_rec_adjacency_free(run, &adjacency);
	if (status == GPUCOL_OK)
		status = order_carried(run, closure);
	return status;
}

/*
 * Does the stratum have one of the three shapes?  Then the relation of the
 * edges, their column that a search leaves from, and the carried column.
 */
static bool
recognise(const GpucolRecRun *run, uint32_t relation, const uint32_t *rules,
		  uint32_t nrules, uint32_t *edges, int *edge_from, int *carried)
{
	GpucolRecEdge atoms[2];
	GpucolRecEdge other[2];
	GpucolRecEdge emit;
	int			r;

	if (!gpucol_rec_rule_edges(run, rules[0], 2, atoms, &emit))
		return false;
	if (nrules == 2)
	{
		/* r(x,z) :- r(x,y), r(y,z), once for the delta of each atom */
		if (!gpucol_rec_rule_edges(run, rules[1], 2, other, &emit) ||
			other[0].relation != relation || other[1].relation != relation)
			return false;
		if (other[0].second != other[1].first &&
			other[1].second != other[0].first)
			return false;
		r = other[0].second == other[1].first ? 0 : 1;
		if (emit.first != other[r].first || emit.second != other[!r].second)
			return false;
		if (!gpucol_rec_rule_edges(run, rules[0], 2, atoms, &emit) ||
			atoms[0].relation != relation || atoms[1].relation != relation)
			return false;
		r = atoms[0].second == atoms[1].first ? 0 : 1;
		if (atoms[r].second != atoms[!r].first ||
			emit.first != atoms[r].first || emit.second != atoms[!r].second)
			return false;
		*edges = relation;
		*edge_from = 0;
		*carried = 0;
		return true;
	}
	r = atoms[0].relation == relation ? 0 : 1;
	if (atoms[r].relation != relation || atoms[!r].relation == relation)
		return false;
	*edges = atoms[!r].relation;
	if (emit.first == atoms[r].first && emit.second != atoms[r].second)
	{
		/* the first column is carried */
		*carried = 0;
		*edge_from = atoms[!r].first == atoms[r].second ? 0 : 1;
		return (*edge_from == 0 ? atoms[!r].first : atoms[!r].second) ==
			atoms[r].second &&
			(*edge_from == 0 ? atoms[!r].second : atoms[!r].first) ==
			emit.second;
	}
	if (emit.second == atoms[r].second && emit.first != atoms[r].first)
	{
		*carried = 1;
		*edge_from = atoms[!r].first == atoms[r].first ? 0 : 1;
		return (*edge_from == 0 ? atoms[!r].first : atoms[!r].second) ==
			atoms[r].first &&
			(*edge_from == 0 ? atoms[!r].second : atoms[!r].first) ==
			emit.first;
	}
	return false;
}

GpucolStatus
gpucol_rec_closure_start(GpucolRecRun *run, uint32_t stratum,
						 GpucolRecTable **table, GpucolRecKernel **kernel)
{
	uint32_t	relation;
	uint32_t	rules[2];
	uint32_t	nrules;
	uint32_t	edges;
	int			edge_from;
	int			carried;
	Closure    *closure;
	GpucolStatus status;

	if (!gpucol_rec_stratum_lone(run, stratum, &relation, rules, &nrules) ||
		!recognise(run, relation, rules, nrules, &edges, &edge_from, &carried))
		return GPUCOL_OK;
	closure = gpucol_budget_alloc_zeroed(&run->memory, sizeof(*closure));
	if (closure == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	closure->nids = (uint32_t) run->dictionary.nvalues;
	closure->share.run = run;
	closure->kernel.next = closure_next;
	closure->kernel.count = closure_count;
	closure->kernel.free = closure_free;
	status = build(run, closure, &run->tables[relation], &run->tables[edges],
				   edge_from, carried);
	if (status != GPUCOL_OK)
	{
		closure_free(run, &closure->kernel);
		return status;
	}
	*table = &run->tables[relation];
	*kernel = &closure->kernel;
	/* The kernel produces the seeds too. */
	run->progress.full -= (*table)->end;
	gpucol_rec_table_free(run, *table);
	return GPUCOL_OK;
}
