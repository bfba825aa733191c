/*-------------------------------------------------------------------------
 *
 * relations.cuh
 *	  The relations of a plan on the device, as HISAs in the column orders that
 *	  rules ask for.
 *
 * Rules add rows unsorted.  Settling sorts them, drops duplicates and what the
 * relation holds, and of rows that are merged by their least or greatest value
 * keeps those that are better than all before; a commit makes the settled rows the
 * next delta.
 *
 * A relation with a merge column has it last in its declared order, so that rows to be
 * merged lie together.  Rows that a better one has superseded stay until compact.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_RELATIONS_CUH
#define GPUCOL_CUDA_RELATIONS_CUH

#include <functional>

#include "cuda/recursion/hisa.cuh"
#include "kernel/recursion_values.h"
#include "cuda/recursion/recursive.cuh"

/* How values in the last place of a key compare: the least number is the best. */
struct GpucolBest
{
	const int64_t *values;		/* by code */
	GpucolRecType type;
	bool		greatest;

#ifdef __CUDACC__
	template <class K>
	__device__ __forceinline__ uint64_t
	rank(const K &key, const GpucolKeyOrder &order) const
	{
		uint64_t	rank = gpucol_rec_order(type, values[key_code(key, order,
																	 order.arity - 1)]);

		return greatest ? ~rank : rank;
	}
#endif
};

/* Rows of a relation in one column order. */
template <class K> struct GpucolIndex
{
	GpucolKeyOrder order;
	GpucolRuns<K> previous;		/* all but the delta */
	GpucolRuns<K> delta;
	bool		has_delta;		/* delta is there; it is made when asked for */
};

template <class K> class GpucolRelations;

template <class K> class GpucolRelation
{
public:
	GpucolRelation(GpucolRelations<K> &all, GpucolDeviceRun &run, uint32_t number);

	/* The order that added keys have. */
	GpucolKeyOrder order() const { return indexes_[0].order; }

	/* Add rows. */
	void add(GpucolArray<K> &&keys);

	/* The delta joins the older rows, what was added becomes the delta; its rows. */
	uint64_t commit();

	/*
	 * Rounds went by elsewhere: `passed` were new in them and are old now, `delta` are
	 * the new delta, each in the order of the rounds, in which readers get them; they
	 * are disjoint from what there was.
	 */
	void advance(GpucolArray<K> &&passed, GpucolArray<K> &&delta);

	/* After its stratum: drop superseded rows. */
	void compact();

	/* The runs that an atom of this version sees, in the given order. */
	GpucolRuns<K> runs(const GpucolKeyOrder &order, GpucolRecVersion version);

	/* All rows for a reader, and from now on new ones are passed to `sink`. */
	GpucolRuns<K> read(std::function<void(const GpucolRunPtr<K> &)> sink);

	/* Does no run lie in host memory? */
	bool on_device() const;

	/* Pass each run that nobody else uses. */
	template <class Visit> void each_run(Visit visit);

	bool merges() const { return declaration().merge != GPUCOL_REC_MERGE_NONE; }

	/* How its rows compare, if it merges. */
	GpucolBest best() const;

	/* A derived bag, of which rules only see the delta. */
	bool forgets() const;

private:
	const GpucolRecRelation &declaration() const { return run_.plan->relations[number_]; }
	bool keeps_duplicates() const;
	void settle();
	GpucolArray<K> concatenate();
	template <class Mark> void drop_marked(GpucolArray<K> &keys, Mark mark);
	void drop_known(GpucolArray<K> &keys);
	void keep_best(GpucolArray<K> &keys);
	void drop_worse(GpucolArray<K> &keys);
	void make_delta(GpucolIndex<K> &index);
	void show(const GpucolRunPtr<K> &run);
	GpucolRunPtr<K> in_order(const GpucolArray<K> &keys);
	void reorder(const GpucolRuns<K> &from, const GpucolKeyOrder &to, GpucolRuns<K> &runs);

	GpucolRelations<K> &all_;
	GpucolDeviceRun &run_;
	uint32_t	number_;
	std::vector<GpucolIndex<K>> indexes_;	/* [0] in the declared order */
	std::vector<GpucolArray<K>> fresh_; /* added, unsorted */
	size_t		nfresh_ = 0;
	GpucolRuns<K> settled_;		/* new in this round */
	GpucolRuns<K> kept_;		/* of a bag that forgets, for its reader */
	std::function<void(const GpucolRunPtr<K> &)> sink_;
};

/* All of a plan. */
template <class K> class GpucolRelations
{
public:
	explicit GpucolRelations(GpucolDeviceRun &run);

	GpucolRelation<K> &operator[](uint32_t number) { return relations_[number]; }

	/* Move runs to host memory if the device gets full. */
	void relieve();

private:
	void to_host(size_t least);

	GpucolDeviceRun &run_;
	std::vector<GpucolRelation<K>> relations_;
};

/* Add keys to summaries of the columns of their relation. */
template <class K>
void gpucol_relations_summarise(GpucolDeviceRun &run, const GpucolRunPtr<K> &keys,
								const GpucolKeyOrder &order, GpucolRecSummary *columns);

/* Run one rule; its rows are added to the relation that it emits to. */
template <class K>
void gpucol_rules_run(GpucolDeviceRun &run, GpucolRelations<K> &relations, uint32_t rule);

#endif							/* GPUCOL_CUDA_RELATIONS_CUH */
