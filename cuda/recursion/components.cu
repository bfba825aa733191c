/*-------------------------------------------------------------------------
 *
 * components.cu
 *	  Labels by components instead of rounds.
 *
 * Where every edge leads both ways, all nodes of a component end with the best label that
 * one of them begins with.  Components are found by a concurrent union-find: each edge
 * links the roots of its ends, lower to higher by a random order of the nodes, so
 * that trees stay flat (Jayanti and Tarjan, "A randomized concurrent algorithm for
 * disjoint set union", 2016), and whoever looks for a root halves its path.  Edges are
 * taken from the relations' runs as they are, each once and in any order, as
 * Jaiganesh and Burtscher ("A high-performance connected components implementation for
 * GPUs", 2018) found to be faster than rounds.
 *
 * Whether every edge leads both ways is read off the rules, or else looked up: of each
 * edge, its reverse among the others.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/recursion/components.cuh"
#include "kernel/recursion_labels.h"
#include "cuda/base/launch.cuh"

namespace
{

constexpr uint32_t NO_LABEL = UINT32_MAX;
constexpr unsigned long long NO_RANK = UINT64_MAX;

/* Keys that one kernel looks at: some milliseconds' work between looks for a cancel. */
constexpr size_t KEYS_A_LOOK = (size_t) 1 << 24;

/* Trees of nodes: parent[root] = root. */
struct Forest
{
	uint32_t   *parent;

	__device__ __forceinline__ uint32_t
	above(uint32_t node) const
	{
		return *(volatile uint32_t *) (parent + node);
	}

	/* The root of a node now; a concurrent link may put it below another at any time. */
	__device__ __forceinline__ uint32_t
	root(uint32_t node) const
	{
		for (;;)
		{
			uint32_t	up = above(node),
						top = above(up);

			if (up == top)
				return up;
			/* still above it, whatever others have written */
			*(volatile uint32_t *) (parent + node) = top;
			node = top;
		}
	}

	/* Make two nodes' trees one. */
	__device__ __forceinline__ void
	link(uint32_t a, uint32_t b) const
	{
		for (a = root(a), b = root(b); a != b; a = root(a), b = root(b))
		{
			bool		a_is_low = key_mix(a) < key_mix(b);
			uint32_t	low = a_is_low ? a : b,
						high = a_is_low ? b : a;

			if (atomicCAS(parent + low, low, high) == low)
				return;
		}
	}
};

__global__ void
plant_kernel(Forest forest, size_t n)
{
	GPUCOL_FOR_EACH(i, n)
		forest.parent[i] = (uint32_t) i;
}

template <class K>
__global__ void
link_kernel(const K *keys, size_t n, GpucolKeyOrder order, int from, int to, Forest forest)
{
	GPUCOL_FOR_EACH(i, n)
		forest.link(key_code(keys[i], order, from), key_code(keys[i], order, to));
}

/* The best rank among the labels that nodes of a component begin with, by root. */
template <class K>
__global__ void
best_kernel(const K *keys, size_t n, GpucolKeyOrder order, GpucolBest by, Forest forest,
			unsigned long long *best)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint32_t	root = forest.root(key_code(keys[i], order, 0));
		unsigned long long rank = by.rank(keys[i], order);

		/* most are not: spare the component's one word the traffic */
		if (rank < *(volatile unsigned long long *) (best + root))
			atomicMin(best + root, rank);
	}
}

/* The label of that rank; of several, the least code. */
template <class K>
__global__ void
label_kernel(const K *keys, size_t n, GpucolKeyOrder order, GpucolBest by, Forest forest,
			 const unsigned long long *best, uint32_t *label)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint32_t	root = forest.root(key_code(keys[i], order, 0));

		if (by.rank(keys[i], order) == best[root])
			atomicMin(label + root, key_code(keys[i], order, 1));
	}
}

/* A row for each node with a label. */
template <class K>
__global__ void
rows_kernel(Forest forest, size_t n, const uint32_t *label, GpucolKeyOrder order, K *keys,
			uint8_t *keep)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint32_t	found = label[forest.root((uint32_t) i)];
		K			key = {};

		keep[i] = found != NO_LABEL;
		if (keep[i])
		{
			key_put(key, order, 0, (uint32_t) i);
			key_put(key, order, 1, found);
		}
		keys[i] = key;
	}
}

/* Flag the edges whose reverse a run holds, which is in the order of to and from. */
template <class K>
__global__ void
reverse_kernel(const K *keys, size_t n, GpucolKeyOrder order, int from, int to,
			   GpucolRunView<K> run, GpucolKeyOrder run_order, uint8_t *found)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint64_t	start;
		K			reverse = {};

		if (found[i])
			continue;
		key_put(reverse, run_order, 0, key_code(keys[i], order, to));
		key_put(reverse, run_order, 1, key_code(keys[i], order, from));
		found[i] = run_find(run, reverse, &start) > 0;
	}
}

__global__ void
any_zero_kernel(const uint8_t *flags, size_t n, uint32_t *any)
{
	GPUCOL_FOR_EACH(i, n)
		if (!flags[i])
			*any = 1;
}

/* One stratum of labels. */
template <class K> class Components
{
public:
	Components(GpucolDeviceRun &run, GpucolRelations<K> &relations,
			   const GpucolRecLabels &labels)
		: run_(run), relations_(relations), labels_(labels), n_(run.codes.size()) {}

	/* Does every edge lead both ways? */
	bool
	symmetric()
	{
		for (int w = 0; w < labels_.nways; w++)
			if (!reversed_by_rule(labels_.ways[w]) && !reversed_by_rows(labels_.ways[w]))
				return false;
		return true;
	}

	/* The row that each node ends with, if it has a label. */
	GpucolArray<K>
	rows()
	{
		GpucolArray<uint32_t> parent(run_.memory, n_),
					label(run_.memory, n_);
		GpucolArray<K> keys(run_.memory, n_);
		GpucolArray<uint8_t> keep(run_.memory, n_);
		Forest		forest = {parent.data()};

		plant_kernel<<<gpucol_launch_grid(n_), GPUCOL_THREADS, 0, stream()>>>(forest, n_);
		gpucol_check(cudaGetLastError());
		for (int w = 0; w < labels_.nways; w++)
			link(labels_.ways[w], forest);
		find_labels(forest, label);
		rows_kernel<<<gpucol_launch_grid(n_), GPUCOL_THREADS, 0, stream()>>>
			(forest, n_, label.data(), relations_[labels_.relation].order(), keys.data(),
			 keep.data());
		gpucol_check(cudaGetLastError());
		gpucol_hisa_keep(run_.memory, keys, keep);
		return keys;
	}

private:
	cudaStream_t stream() const { return run_.memory.stream; }

	/* The place of a column in the order that a relation is kept in. */
	int
	place(uint32_t relation, int column) const
	{
		const GpucolKeyOrder order = relations_[relation].order();
		int			at = 0;

		while (order.columns[at] != column)
			at++;
		return at;
	}

	/* Pass all rows of a relation to body(keys, n), some at a time. */
	template <class Body>
	void
	each_row(uint32_t relation, Body body)
	{
		for (auto &run : relations_[relation].runs(relations_[relation].order(),
												   GPUCOL_REC_FULL))
			gpucol_hisa_pieces(run_.memory, run, [&](const GpucolRunPtr<K> &piece) {
				for (size_t at = 0; at < piece->size(); at += KEYS_A_LOOK)
				{
					body(piece->keys().data() + at, std::min(piece->size() - at, KEYS_A_LOOK));
					gpucol_check(cudaGetLastError());
					run_.check_cancel();
					run_.wait();
				}
			});
	}

	/* Does another rule say the reverse of this one? */
	bool
	reversed_by_rule(const GpucolRecWay &way) const
	{
		for (int w = 0; w < labels_.nways; w++)
			if (labels_.ways[w].relation == way.relation && labels_.ways[w].from == way.to &&
				labels_.ways[w].to == way.from)
				return true;
		return false;
	}

	/* Is there an edge back for each that a rule follows? */
	bool
	reversed_by_rows(const GpucolRecWay &way)
	{
		const GpucolKeyOrder order = relations_[way.relation].order();
		int			from = place(way.relation, way.from),
					to = place(way.relation, way.to);
		GpucolArray<uint32_t> missing(run_.memory, 1);

		for (int w = 0; w < labels_.nways; w++)
			if (!relations_[labels_.ways[w].relation].on_device())
				return false;
		gpucol_check(cudaMemsetAsync(missing.data(), 0, sizeof(uint32_t), stream()));
		each_row(way.relation, [&](const K *keys, size_t n) {
			GpucolArray<uint8_t> found(run_.memory, n);

			gpucol_check(cudaMemsetAsync(found.data(), 0, n, stream()));
			for (int w = 0; w < labels_.nways; w++)
				look_for_reverse(labels_.ways[w], keys, n, order, from, to, found);
			any_zero_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, stream()>>>
				(found.data(), n, missing.data());
		});
		return missing.at(0) == 0;
	}

	void
	look_for_reverse(const GpucolRecWay &way, const K *keys, size_t n,
					 const GpucolKeyOrder &order, int from, int to,
					 const GpucolArray<uint8_t> &found)
	{
		GpucolKeyOrder by = relations_[way.relation].order();

		/* the columns of the edge first */
		std::swap(by.columns[0], by.columns[place(way.relation, way.from)]);
		for (int i = 1; i < by.arity; i++)
			if (by.columns[i] == way.to)
				std::swap(by.columns[1], by.columns[i]);
		for (auto &run : relations_[way.relation].runs(by, GPUCOL_REC_FULL))
			reverse_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, stream()>>>
				(keys, n, order, from, to, run->view(run_.memory, by, 2, n), by, found.data());
	}

	void
	link(const GpucolRecWay &way, Forest forest)
	{
		const GpucolKeyOrder order = relations_[way.relation].order();
		int			from = place(way.relation, way.from),
					to = place(way.relation, way.to);

		each_row(way.relation, [&](const K *keys, size_t n) {
			link_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, stream()>>>
				(keys, n, order, from, to, forest);
		});
	}

	/* The label of each component, at its root. */
	void
	find_labels(Forest forest, GpucolArray<uint32_t> &label)
	{
		GpucolRelation<K> &relation = relations_[labels_.relation];
		GpucolArray<unsigned long long> best(run_.memory, n_);
		GpucolBest	by = relation.best();

		gpucol_check(cudaMemsetAsync(best.data(), 0xff, n_ * sizeof(NO_RANK), stream()));
		gpucol_check(cudaMemsetAsync(label.data(), 0xff, n_ * sizeof(NO_LABEL), stream()));
		each_row(labels_.relation, [&](const K *keys, size_t n) {
			best_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, stream()>>>
				(keys, n, relation.order(), by, forest, best.data());
		});
		each_row(labels_.relation, [&](const K *keys, size_t n) {
			label_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, stream()>>>
				(keys, n, relation.order(), by, forest, best.data(), label.data());
		});
	}

	GpucolDeviceRun &run_;
	GpucolRelations<K> &relations_;
	const GpucolRecLabels &labels_;
	size_t		n_;				/* nodes, labels and other values */
};

}								/* namespace */

template <class K>
bool
gpucol_components_run(GpucolDeviceRun &run, GpucolRelations<K> &relations, uint32_t stratum)
{
	GpucolRecLabels labels;
	uint64_t	n = run.codes.size();

	/* no label goes further than there are nodes: that many rounds are no limit */
	if (run.options.strategy == GPUCOL_REC_HISA || run.codes.has_null() ||
		(run.options.max_rounds > 0 && (uint64_t) run.options.max_rounds < n) ||
		!gpucol_rec_labels_shape(run.plan, stratum, &labels))
		return false;
	Components<K> components(run, relations, labels);

	try
	{
		if (!components.symmetric())
		{
			/* who may choose takes the CPU engine, which needs no rounds here either */
			if (run.options.device_rows)
				throw GpucolFailure{GPUCOL_UNPROFITABLE};
			return false;
		}
		relations[labels.relation].add(components.rows());
	}
	catch (const GpucolFailure &failure)
	{
		/* rounds take less at a time */
		if (failure.status != GPUCOL_OUT_OF_MEMORY)
			throw;
		return false;
	}
	return true;
}

#define INSTANTIATE(K) \
	template bool gpucol_components_run(GpucolDeviceRun &, GpucolRelations<K> &, uint32_t);

GPUCOL_FOR_KEYS(INSTANTIATE)
