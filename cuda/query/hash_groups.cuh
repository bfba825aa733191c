/*-------------------------------------------------------------------------
 *
 * hash_groups.cuh
 *	  Aggregates of any program, groups by hash.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_HASH_GROUPS_CUH
#define GPUCOL_CUDA_HASH_GROUPS_CUH

#include <vector>

#include "cuda/query/accumulators.cuh"
#include "cuda/query/interpreter.cuh"
#include "cuda/query/part_context.cuh"

class HashGroups
{
public:
	explicit HashGroups(PartContext &c);

	/* Compute the groups, or the one result where there are no keys.  Throws Failure. */
	void		run(Partial *result);

private:
	void		place_strings();
	void		scale_floats();
	GpucolStatus fill(Scratch *tables);
	void		enlarge();
	void		fetch(Scratch *tables);
	void		put_keys(std::vector<char> *data) const;
	void		put_states(Partial *result) const;

	PartContext &c_;
	Accumulators accumulators_;
	Interpreter program_;
	int			key_words_ = 1; /* NULL bits, then the keys */
	uint64_t	capacity_;		/* of the tables */
	uint64_t	distinct_capacity_;

	/* what they came to */
	uint32_t	ngroups_ = 1;
	std::vector<unsigned long long> keys_;	/* [key_words][ngroups] */
	std::vector<unsigned long long> records_;	/* [ngroups][nwords] */
};

#endif
