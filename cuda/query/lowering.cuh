/*-------------------------------------------------------------------------
 *
 * lowering.cuh
 *	  One part of a request on its way to kernels and back: what the rooms
 *	  lower*.cu share.
 *
 *	  lower.cu			choosing the kernel; proving compiled ones
 *	  lower_range.cu	conjuncts on the codes of each chunk
 *	  lower_scan.cu		segments and delta rows as a scan
 *	  lower_bounds.cu	bounds of columns, and their proof
 *	  lower_plain.cu	count and reduce: plain columns
 *	  lower_group.cu	groups of plain columns of small ranges
 *	  lower_program.cu	everything else, by programs
 *	  lower_aggregate.cu	aggregates of programs
 *	  lower_rows.cu		rows that are wanted
 *	  lower_rank.cu		rows that are ranked
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_LOWERING_CUH
#define GPUCOL_CUDA_LOWERING_CUH

#include <cstring>
#include <deque>

#include "cuda/jit/jit_interp.cuh"
#include "cuda/query/request.cuh"
#include "cuda/base/tuning.cuh"

struct GpucolBoundKey;
struct GpucolBoundNumbers;
struct GpucolBoundTask;
struct GpucolRankColumn;
struct GpucolReducePlan;
struct GroupForm;
struct StateForm;

typedef __int128 int128;
typedef unsigned __int128 uint128;

static inline Failure
unsupported(const char *what)
{
	return Failure{GPUCOL_UNSUPPORTED, what};
}

/* A range conjunct in the domain of its column's order. */
struct Domain
{
	bool		never = false;	/* false for every row, NULL included */
	bool		invert = false;
	bool		null_test = false;	/* IS [NOT] NULL */
	bool		null_passes = false;
	int64_t		lo = INT64_MIN,
				hi = INT64_MAX;
	std::vector<int64_t> list;	/* IN */
	bool		is_list = false;
	int			host = -1;
};

/* What is known of the values of a chunk. */
struct Bounds
{
	int64_t		lo,
				hi;				/* less than lo: there are no values */
	bool		known;			/* else they may be anything */
};

class Lowering
{
public:
	/*
	 * Over a scan that is prepared for the part, or is to be laid out.  Compiled kernels
	 * that nothing has proven are claimed for `trial`; `on_trial`, those that it has answer.
	 */
	Lowering(Request &request, Part &part, Lane &lane, JitTrial &trial,
			 const std::shared_ptr<PreparedScan> &scan, bool on_trial)
		: r_(request), part_(part), lane_(lane), p_(request.program()), shape_(request.shape()), stream_(lane.stream()),
		prepared_(scan), trial_(trial), on_trial_(on_trial) {}

	void		run(Partial *result);

	/* The compiled kernels that were used. */
	const std::vector<JitHandle> &compiled() const { return compiled_; }

private:
	Request    &r_;
	Part	   &part_;
	Lane	   &lane_;
	const GpucolProgram *p_;
	const GpucolRowShape *shape_;	/* what becomes of rows; or NULL */
	cudaStream_t stream_;

	std::vector<Domain> domains_;

	/* the scan and its parts, which change only while it is laid out */
	std::shared_ptr<PreparedScan> prepared_;
	std::vector<GpucolDeviceSegment> &segments_ = prepared_->segments;
	std::vector<GpucolDeviceChunk> &chunks_ = prepared_->chunks;
	std::vector<GpucolDeviceRange> &ranges_ = prepared_->ranges;
	std::vector<std::pair<int64_t, int64_t>> &bounds_ = prepared_->bounds;
	std::vector<bool> &bounded_ = prepared_->bounded,
			   &nullable_ = prepared_->nullable;
	std::vector<int> &scales_ = prepared_->scales;
	GpucolScanPlan &scan_ = prepared_->scan;
	uint64_t   &rows_ = prepared_->rows,
			   &bytes_ = prepared_->bytes,
			   &skipped_ = prepared_->skipped;
	bool	   &deleted_ = prepared_->deleted;
	double		seconds_ = 0;
	std::vector<FloatSum> floats_;	/* of the result's states */
	std::deque<std::vector<char>> fetched_; /* what pinned memory had no room for */
	std::string note_;			/* why no compiled kernel answered */
	const char *kernel_ = "";
	JitProgram	jit_program_;	/* of what interp_plan() gave */
	std::vector<JitHandle> compiled_;	/* kernels in use */
	JitTrial   &trial_;
	const bool	on_trial_;

	/* May a compiled kernel answer?  Not where chance decides which of the rows that
	 * tie at a bound are delivered: two answers cannot be compared then. */
	bool		jit_allowed() const
	{
		return (r_.run_.flags & GPUCOL_WIRE_RUN_JIT) && (rows_ >= GPUCOL_JIT_MIN_ROWS || jit.waits()) &&
			!(shape_ != NULL && shape_->kind == GPUCOL_SHAPE_TOP && !shape_->all_ties);
	}

	template <class T> const T *array(uint32_t offset) const
	{
		return (const T *) ((const char *) p_ + offset);
	}
	template <class T> T *upload(const std::vector<T> &v, Scratch *memory = NULL);
	template <class T> std::vector<T> download(const T *p, size_t n);
	template <class T> const T *fetch(const T *p, size_t n);
	void		finish(cudaEvent_t begin);
	void		finish(cudaEvent_t begin, cudaEvent_t end);
	cudaEvent_t begin();

	void		lower_domains();
	Domain		lower_domain(const GpucolRange &range);
	int64_t		order_constant(const GpucolConst &c, int kind, bool *below, bool *above) const;
	GpucolDeviceRange lower_range(const Domain &d, uint16_t slot, const Resident &chunk, uint32_t segment);
	void		translate(GpucolDeviceRange *r, const Domain &d, const Resident &chunk);
	void		codes_of_list(GpucolDeviceRange *r, const Domain &d, const Resident &chunk);
	void		host_bitmap(GpucolDeviceRange *r, const Domain &d, uint32_t segment, uint16_t slot, const Resident &chunk);
	Bounds		chunk_bounds(const Resident &resident, const GpucolDeviceChunk &chunk, uint32_t slot) const;
	void		note_bounds(uint32_t slot, const Bounds &bounds, bool null, int scale);
	void		prove_bounds(const std::vector<uint32_t> &slots);
	void		add_segment(uint32_t segment);
	Resident	delta_column(uint32_t c);
	GpucolDeviceRange delta_range(const Domain &d, uint16_t slot, const Resident &column);
	void		add_delta();
	GpucolScanPlan lay_out_scan(const std::vector<GpucolDeviceSegment> &segments, const std::vector<GpucolDeviceChunk> &chunks,
								const std::vector<GpucolDeviceRange> &ranges, uint32_t ncolumns, uint32_t nranges);
	void		build_scan();

	int			plain_slot(uint16_t reg) const;
	bool		offset_column(int slot, GpucolOffsetColumn *column) const;
	bool		plain_aggregates() const;
	bool		run_count(std::vector<char> *data);
	bool		run_reduce(std::vector<char> *data);
	struct Groups;
	bool		plan_keys(GpucolReducePlan *plan) const;
	bool		plan_inputs(GpucolReducePlan *plan) const;
	bool		plan_groups();
	const void *compiled_groups(const GpucolReducePlan &plan);
	void	   *spare_partitions(GpucolPartitionPlan *partitions);
	size_t		find_room(Groups *g, char **device);
	void		compute_groups(Groups *g);
	GroupForm	group_form(const GpucolReducePlan &plan);
	std::vector<StateForm> state_forms(const GpucolReducePlan &plan) const;
	void		copy_groups(const GroupForm &from, const char *out, const GroupForm &to, char *data,
							size_t first, size_t m);
	void		form_groups(const Groups &g, Partial *result);
	void		deliver_groups(const Groups &g, Partial *result);
	bool		run_group(Partial *result, uint64_t *nrows);
	struct Aggregation;
	void		plan_places(Aggregation *a);
	void		plan_aggregates(Aggregation *a);
	int			key_width(int k) const;
	void		scale_floats(Aggregation *a);
	GpucolStatus fill_tables(Aggregation *a, Scratch *tables);
	void		enlarge_tables(Aggregation *a);
	void		fetch_groups(Aggregation *a, Scratch *tables);
	void		put_keys(const Aggregation &a, std::vector<char> *data);
	void		put_state(const Aggregation &a, int i, const unsigned long long *record, GpucolAggState *s, FloatSum *sum);
	void		put_states(const Aggregation &a, std::vector<char> *data);
	void		run_aggregate(std::vector<char> *data, uint64_t *nrows);
	char	   *place_rows(Partial *result, size_t size);
	char	   *fetch_rows(const GpucolInterpPlan &plan, const std::vector<GpucolInterpOutput> &outputs, uint64_t n, Partial *result);
	void		run_scan(Partial *result, uint64_t *nrows);
	bool		filters() const;
	int			value_slot(uint16_t reg) const;
	uint64_t	find_matches(GpucolInterpPlan *plan);
	bool		bound_key(uint32_t number, GpucolBoundKey *key, GpucolBoundTask *task) const;
	void		select_bound(uint32_t number, const GpucolBoundKey &key, const GpucolBoundTask &task, int64_t bound,
							 uint32_t *bitmap, unsigned long long *counts);
	void		select_top(GpucolInterpPlan *plan);
	GpucolBoundNumbers find_ties(const GpucolBoundKey &key, int64_t bound, bool nulls, const uint32_t *rows, uint32_t *ties);
	void		cut_ties(GpucolBoundKey key, GpucolBoundTask task, int64_t bound, GpucolInterpPlan *plan);
	void		select(GpucolInterpPlan *plan);
	bool		load_plain(const GpucolInterpPlan &plan, uint64_t n, std::vector<GpucolRankColumn> *columns);
	void		load_interpreted(GpucolInterpPlan *plan, uint64_t n, std::vector<GpucolRankColumn> *columns);
	void		run_ranked(Partial *result, uint64_t *nrows);
	GpucolInterpPlan interp_plan();
	void		interpret(InterpMode mode, const GpucolInterpPlan &plan);
	const void *use(const JitHandle &kernel);
	GpucolStatus error_of(const GpucolInterpPlan &plan);
	void		check_error(unsigned long long error) const;
};

static inline char *
extend(std::vector<char> *data, size_t n)
{
	size_t		at = data->size();

	data->resize(at + (n + 7) / 8 * 8);
	return data->data() + at;
}

__host__ __device__ static inline void
set128(GpucolAggState *s, bool second, int128 x)
{
	uint64_t	lo = (uint64_t) x;
	int64_t		hi = (int64_t) (x >> 64);

	if (second)
	{
		s->w.i.lo = lo;
		s->w.i.hi = hi;
	}
	else
	{
		s->v.i.lo = lo;
		s->v.i.hi = hi;
	}
}

/* A state of a plain aggregate from counts and offsets. */
__host__ __device__ static inline GpucolAggState
gpucol_plain_state(int op, int cls, uint64_t rows, uint64_t count, uint64_t sum,
				   uint64_t least, uint64_t greatest, int64_t base)
{
	GpucolAggState s;

	memset(&s, 0, sizeof(s));
	s.count = op == GPUCOL_AGG_COUNT_STAR ? rows : count;
	if (op == GPUCOL_AGG_SUM)
		set128(&s, false, (int128) sum + (int128) base * (int128) count);
	else if ((op == GPUCOL_AGG_MIN || op == GPUCOL_AGG_MAX) && count > 0)
	{
		int64_t		x = base + (int64_t) (op == GPUCOL_AGG_MIN ? least : greatest);

		if (cls == GPUCOL_CLASS_D)
			set128(&s, false, x);
		else
			s.v.value = x;
	}
	return s;
}

/* Copy to the device, into `memory` or what the work at hand has. */
template <class T> T *
Lowering::upload(const std::vector<T> &v, Scratch *memory)
{
	Scratch    *own = prepared_->ready ? part_.scratch : &prepared_->memory;
	T		   *p = (memory != NULL ? memory : own)->array<T>(v.size() + 1, "the plan of the query");
	size_t		size = v.size() * sizeof(T);
	void	   *staged = size > 0 ? lane_.stage(size) : NULL;

	if (staged != NULL)
		memcpy(staged, v.data(), size);
	device_check(cudaMemcpyAsync(p, staged != NULL ? staged : v.data(), size, cudaMemcpyHostToDevice, stream_),
				 "could not copy to the device");
	return p;
}

/* Copy from the device: good when the stream has been waited for, to the part's end. */
template <class T> const T *
Lowering::fetch(const T *p, size_t n)
{
	T		   *to = (T *) lane_.stage(n * sizeof(T));

	if (to == NULL)
	{
		fetched_.emplace_back(n * sizeof(T));
		to = (T *) fetched_.back().data();
	}
	device_check(cudaMemcpyAsync(to, p, n * sizeof(T), cudaMemcpyDeviceToHost, stream_),
				 "could not copy from the device");
	return to;
}

template <class T> std::vector<T>
Lowering::download(const T *p, size_t n)
{
	const T    *from = fetch(p, n);

	device_wait(stream_);
	return std::vector<T>(from, from + n);
}

#endif
