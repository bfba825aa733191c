/*-------------------------------------------------------------------------
 *
 * same_generation.c
 *	  Recursion that moves both columns of a pair at once:
 *	  r(x,y) :- e(a,x), r(a,b), f(b,y)	(same generation and its kin).
 *
 * Row by row every pair of the delta makes |e(a)| * |f(b)| candidates.  The two
 * kernels cut the rule in the middle instead: m(a,y) :- r(a,b), f(b,y) is found
 * and deduplicated for one a at a time, and serves every x that e gives to a.
 * They differ in what a row of r is: words of a bitmap (64 pairs an instruction)
 * or a hash set of its own, a few kilobytes that stay in the nearest cache while
 * all candidates of the row are looked up in it.
 *
 * The semi-naive engine hands over between two rounds, as soon as there is work
 * enough: to bitmaps if its set is one, else to sets, which go over to bitmaps
 * once most words of these would hold several pairs.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/same_generation.h"

/* Candidates of a stratum from which on the kernels are worth starting. */
#define LEAST_WORK	65536

/* Which column of an edge links `from` to `to`?  -1: none. */
static int
links(const GpucolRecEdge *edge, uint16_t from, uint16_t to)
{
	if (edge->first == from && edge->second == to)
		return 0;
	if (edge->second == from && edge->first == to)
		return 1;
	return -1;
}

static bool
recognise(const GpucolRecRun *run, uint32_t relation, uint32_t rule,
		  GpucolRecSamegenRule *sg)
{
	GpucolRecEdge atoms[3];
	GpucolRecEdge emit;
	const GpucolRecEdge *others[2];
	int			n = 0;
	int			i;

	memset(sg, 0, sizeof(*sg));
	if (!gpucol_rec_rule_edges(run, rule, 3, atoms, &emit))
		return false;
	for (i = 0; i < 3; i++)
		if (atoms[i].relation == relation)
			sg->r = atoms[i];
		else if (n < 2)
			others[n++] = &atoms[i];
		else
			return false;
	if (n != 2)
		return false;
	for (i = 0; i < 2; i++)
	{
		sg->e = *others[i];
		sg->f = *others[!i];
		sg->e_from = links(&sg->e, sg->r.first, emit.first);
		sg->f_from = links(&sg->f, sg->r.second, emit.second);
		if (sg->e_from >= 0 && sg->f_from >= 0)
			return emit.first != sg->r.first &&
				emit.second != sg->r.second &&
				emit.first != sg->r.second &&
				emit.second != sg->r.first;
	}
	return false;
}

/* Count how often each id stands in a column. */
static GpucolStatus
count_degrees(GpucolRecRun *run, const GpucolRecTable *table, int column, uint32_t *degrees)
{
	uint64_t	row;

	for (row = 0; row < table->committed; row++)
	{
		if (gpucol_rec_poll(run, row))
			return GPUCOL_CANCELLED;
		degrees[table->tuples[row * 2 + column]]++;
	}
	return GPUCOL_OK;
}

/* Candidates that the delta makes row by row, given what each id leads to on either side. */
static GpucolStatus
count_candidates(GpucolRecRun *run, const GpucolRecTable *table, const uint32_t *of_e,
				 const uint32_t *of_f, uint64_t *total)
{
	uint64_t	row;

	for (row = table->delta; row < table->committed; row++)
	{
		if (gpucol_rec_poll(run, row))
			return GPUCOL_CANCELLED;
		*total += (uint64_t) of_e[table->tuples[row * 2]] *
			of_f[table->tuples[row * 2 + 1]];
	}
	return GPUCOL_OK;
}

/* Candidates that the next round would make row by row; 0 where it is not worth counting. */
static GpucolStatus
expect_candidates(GpucolRecRun *run, const GpucolRecTable *table,
				  const GpucolRecSamegenRule *sg, uint64_t *total)
{
	const GpucolRecTable *e = &run->tables[sg->e.relation];
	const GpucolRecTable *f = &run->tables[sg->f.relation];
	size_t		size = run->dictionary.nvalues * sizeof(uint32_t);
	uint32_t   *of_e;
	uint32_t   *of_f;
	GpucolStatus status = GPUCOL_OK;

	*total = 0;
	/* A small round is cheap in either way. */
	if ((table->committed - table->delta) * 16 < e->committed)
		return GPUCOL_OK;
	of_e = gpucol_budget_alloc_zeroed(&run->memory, size);
	of_f = gpucol_budget_alloc_zeroed(&run->memory, size);
	if (of_e != NULL && of_f != NULL)
	{
		status = count_degrees(run, e, sg->e_from, of_e);
		if (status == GPUCOL_OK)
			status = count_degrees(run, f, sg->f_from, of_f);
		if (status == GPUCOL_OK)
			status = count_candidates(run, table, of_e, of_f, total);
	}
	gpucol_budget_free(&run->memory, of_e, size);
	gpucol_budget_free(&run->memory, of_f, size);
	return status;
}

bool
gpucol_rec_samegen_dense_fits(const GpucolRecRun *run)
{
	uint64_t	domain = gpucol_rec_samegen_domain(run);

	return run->memory.limit == 0 ||
		3 * (domain * domain / 8) <= run->memory.limit / 4;
}

/*
 * Is the work row by row, so far and in the next round, dearer than a start of sets?
 * A candidate of a large hash table costs about as much as making two bytes of them.
 */
static bool
sets_pay(const GpucolRecRun *run, uint64_t candidates)
{
	size_t		size = gpucol_rec_samegen_sparse_size(run);

	if (run->options.strategy == GPUCOL_REC_SPARSE)
		return true;
	return candidates >= LEAST_WORK && candidates * 2 >= size &&
		(run->memory.limit == 0 || size <= run->memory.limit / 8);
}

/* Has the next round a candidate for every word of a bitmap, so that sets are not worth trying? */
static bool
is_crowded(const GpucolRecRun *run, uint64_t expected)
{
	uint64_t	domain = gpucol_rec_samegen_domain(run);

	return run->options.strategy == GPUCOL_REC_AUTO && gpucol_rec_samegen_dense_fits(run) &&
		expected >= domain * domain / 64;
}

/* Which kernel is to start, if any? */
typedef enum Choice
{
	NO_KERNEL,
	SPARSE,
	DENSE
} Choice;

static GpucolStatus
choose_kernel(GpucolRecRun *run, GpucolRecTable *table, const GpucolRecSamegenRule *sg,
			  Choice *choice)
{
	uint64_t	expected;
	GpucolStatus status;

	*choice = table->set == GPUCOL_REC_SET_BITS ? DENSE : NO_KERNEL;
	if (table->set != GPUCOL_REC_SET_PAIRS || run->options.strategy == GPUCOL_REC_HISA)
		return GPUCOL_OK;
	GPUCOL_REC_TRY(expect_candidates(run, table, sg, &expected));
	if (is_crowded(run, expected))
	{
		status = gpucol_rec_table_to_bits(run, table, run->dictionary.nvalues);
		if (status == GPUCOL_OK)
			*choice = DENSE;
		if (status != GPUCOL_OUT_OF_MEMORY)
			return status;
	}
	if (sets_pay(run, table->candidates + expected))
		*choice = SPARSE;
	return GPUCOL_OK;
}

static GpucolStatus
build_graphs(GpucolRecRun *run, const GpucolRecSamegenRule *sg,
			 GpucolRecSamegenGraphs *graphs)
{
	GPUCOL_REC_TRY(gpucol_rec_adjacency_build(run, &run->tables[sg->e.relation],
											  sg->e_from, !sg->e_from, true,
											  &graphs->left));
	return gpucol_rec_adjacency_build(run, &run->tables[sg->f.relation],
									  sg->f_from, !sg->f_from, true,
									  &graphs->right);
}

void
gpucol_rec_samegen_graphs_free(GpucolRecRun *run, GpucolRecSamegenGraphs *graphs)
{
	gpucol_rec_adjacency_free(run, &graphs->left);
	gpucol_rec_adjacency_free(run, &graphs->right);
}

/* A kernel may make its rounds when later strata have made theirs: it has a count of its own. */
GpucolStatus
gpucol_rec_samegen_begin_round(GpucolRecRun *run, GpucolRecKernel *kernel)
{
	if (run->options.max_rounds > 0 && kernel->rounds >= run->options.max_rounds)
		return GPUCOL_ROUNDS_EXCEEDED;
	kernel->rounds++;
	run->progress.rounds++;
	return GPUCOL_OK;
}

/* Start the bitmaps with the table's rows as full, and its delta. */
static GpucolStatus
start_dense(GpucolRecRun *run, GpucolRecTable *table, GpucolRecSamegenGraphs *graphs,
			GpucolRecKernel **kernel)
{
	GpucolRecKernel *dense = gpucol_rec_samegen_dense_new(run, table->domain, graphs);
	uint64_t	row;

	if (dense == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (row = table->delta; row < table->committed; row++)
	{
		if (gpucol_rec_poll(run, row))
		{
			dense->free(run, dense);
			return GPUCOL_CANCELLED;
		}
		gpucol_rec_samegen_dense_add(dense, table->tuples[row * 2],
									 table->tuples[row * 2 + 1]);
	}
	gpucol_rec_samegen_dense_set_full(dense, table->bits);
	table->bits = NULL;
	*kernel = dense;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_samegen_start(GpucolRecRun *run, uint32_t stratum,
						 GpucolRecTable **table, GpucolRecKernel **kernel)
{
	uint32_t	relation;
	uint32_t	rules[2];
	uint32_t	nrules;
	GpucolRecSamegenRule sg;
	GpucolRecSamegenGraphs graphs = {0};
	GpucolStatus status;
	Choice		choice;

	if (!gpucol_rec_stratum_lone(run, stratum, &relation, rules, &nrules) ||
		nrules != 1 || !recognise(run, relation, rules[0], &sg))
		return GPUCOL_OK;
	GPUCOL_REC_TRY(choose_kernel(run, &run->tables[relation], &sg, &choice));
	if (choice == NO_KERNEL)
		return GPUCOL_OK;
	status = build_graphs(run, &sg, &graphs);
	if (status == GPUCOL_OK)
		status = choice == DENSE ?
			start_dense(run, &run->tables[relation], &graphs, kernel) :
			gpucol_rec_samegen_sparse_new(run, &sg, &run->tables[relation],
										  &graphs, kernel);
	gpucol_rec_samegen_graphs_free(run, &graphs);
	if (status != GPUCOL_OK)
		/* Without the room for it, rounds go on as before. */
		return status == GPUCOL_OUT_OF_MEMORY ? GPUCOL_OK : status;
	run->progress.method = choice == DENSE ? "bit-parallel pairs" : "pairs in row sets";
	if (choice == SPARSE)
		gpucol_rec_table_free_set(run, &run->tables[relation]);
	*table = &run->tables[relation];
	return GPUCOL_OK;
}
