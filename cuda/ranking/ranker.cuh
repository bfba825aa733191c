/*-------------------------------------------------------------------------
 *
 * ranker.cuh
 *	  Rankings of the rows of a scan: what the rooms rank*.cu share.
 *
 *	  rank.cu			the rankings and their answers
 *	  rank_groups.cu	group keys as dense group numbers
 *	  rank_rows.cu		rows as label-confidence pairs, in ranking order
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_RANKER_CUH
#define GPUCOL_CUDA_RANKER_CUH

#include <string>

#include "cuda/base/launch.cuh"
#include "cuda/ranking/rank.cuh"
#include "cuda/ranking/rank_kernels.cuh"

#define GPUCOL_RANKER_LAUNCH(kernel, n) kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, t_.stream>>>

/* One set of rows that are ranked, or the best of them. */
struct RankSet
{
	const GpucolShapeSet *shape;
	uint8_t    *counted;		/* [ngroups] some row counts */
	GpucolDeviceRankRows rows;		/* one that does not count has probability 0 */
	const int64_t *labels;		/* by row: the words that are delivered */

	/* in ranking order */
	GpucolDeviceRankGroups groups;
	uint32_t   *row;
	GpucolDeviceRankXTuples xs;
};

/* Scores of all rows, which every set that has them is sorted by. */
struct RankScore
{
	int32_t		column;
	const int64_t *values;
	const uint32_t *order;		/* rows by group and score; NULL: not sorted yet */
	uint32_t	longest;		/* rows of the longest group */
};

class Ranker
{
public:
	Ranker(const GpucolRankTask &task) : t_(task), shape_(*task.shape), results_(task.shape->nrankings + 1) {}
	uint64_t	run();
	size_t		fetch_all(std::vector<char> *data);

private:
	const GpucolRankTask &t_;
	const GpucolRowShape &shape_;

	/* what the result is put together from */
	struct Result
	{
		const void *from;		/* in device memory; NULL: the literal */
		std::string literal;
		size_t		bytes;
	};
	std::vector<std::vector<Result>> results_;	/* the keys', then of each ranking */
	std::vector<Result> *result_ = NULL;	/* the one at hand */

	uint32_t	nrows_ = 0;
	uint32_t	ngroups_ = 0;
	uint32_t   *group_ = NULL;	/* [nrows]; NULL: one group */
	uint32_t   *row_of_ = NULL; /* [ngroups] some row of each */
	int32_t    *group_k_[GPUCOL_SHAPE_MAX_RANKINGS] = {};	/* NULL: one k for all */
	int32_t		k_[GPUCOL_SHAPE_MAX_RANKINGS];	/* the greatest */
	std::vector<RankSet> sets_;
	std::vector<RankScore> scores_;
	int64_t    *no_labels_ = NULL;	/* [nrows] zeros */

	void	   *split_ = NULL;		/* scratch memory that rankings use in turn */
	size_t		split_bytes_ = 0;

	template <class T> T *array(size_t n) { return t_.scratch->array<T>(n + 1, "the rows to be ranked"); }

	template <class T> T
	host(const T *p)
	{
		T			v;

		device_check(cudaMemcpyAsync(&v, p, sizeof(T), cudaMemcpyDeviceToHost, t_.stream), "rank");
		t_.wait();
		return v;
	}

	/* run a CUB algorithm with scratch memory */
	template <class Algorithm> void
	with_scratch(Algorithm algorithm)
	{
		size_t		bytes = 0;

		device_check(algorithm((void *) NULL, bytes), "rank");
		void	   *temp = t_.scratch->allocate(bytes, "the rows to be ranked");

		device_check(algorithm(temp, bytes), "rank");
	}

	GpucolRankColumn column(int32_t output) const { return output < 0 ? GpucolRankColumn() : t_.columns[output]; }
	int			label_class(const RankSet &s) const { return column(s.shape->label).cls; }
	void		put(const void *from, size_t n);
	void		fetch(const void *from, size_t n);

	/* rank_groups.cu */
	bool		number_dense();
	void		number_sorted();
	uint32_t   *number_words(uint64_t *words[2], uint32_t *rows[2], uint32_t *n);
	void		number_groups();
	void		put_keys();
	void		find_k();

	/* rank_rows.cu */
	const int64_t *find_scores(int32_t output);
	void		add_set(const GpucolShapeSet &shape, uint32_t *bad);
	void		convert();
	void		sort(RankSet &s);
	void		check_label_ties(const RankSet &s);
	void		number_x(RankSet &s);
	bool		select_best(const RankSet &s, uint32_t want, RankSet *best);

	/* rank.cu */
	void		put_nothing();
	void	   *split_scratch(size_t bytes);
	void		rank_set(RankSet &s, uint32_t number);
	bool		rank_all(RankSet &s, uint32_t number, bool must_settle);
	bool		rank(RankSet &s, uint32_t number, bool must_settle);
	void		rank_x(const RankSet &s, const GpucolShapeRanking &r, int32_t k,
					   const GpucolDeviceRankPicks &picks, double *probability);
	void		limit_walk(RankSet &s, int32_t k, bool is_set);
	bool		split_group(const RankSet &s, const GpucolShapeRanking &r, uint32_t g, int32_t k,
							const GpucolDeviceRankPicks &picks,
							GpucolDeviceRankSet *sets, double *figures);
	bool		split_unsettled(const RankSet &s, const GpucolShapeRanking &r, int32_t k,
								const GpucolDeviceRankPicks &picks,
								GpucolDeviceRankSet *sets, double *figures);
	void		choose(const RankSet &s, const uint32_t *group, const double *figures, int32_t k,
					   const GpucolDeviceRankPicks &picks);
	void		put_answers(const RankSet &s, const GpucolShapeRanking &r, const GpucolDeviceRankPicks &picks,
							const double *probability);
};

#endif
