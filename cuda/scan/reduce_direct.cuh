/*-------------------------------------------------------------------------
 *
 * reduce_direct.cuh
 *	  A grouped reduction over a known number of columns, whose packed words
 *	  stay in registers: what kernels for few columns (reduce_few.cu) and those
 *	  compiled at run time share.
 *
 * A shape S names the columns of a plan, keys first: their packed widths and what
 * each input's aggregates are, where these are constants, else only the greatest
 * width; nothing that depends on the data's values.
 * The packed words of one half vector are loaded while the half before is
 * reduced, so that the shared-memory operations do not wait for memory.  (A load
 * that is issued between them waits in one queue with them: descriptors of chunks
 * are read once a run, and code that reads them for each vector takes twice as
 * long.)  Runs whose chunks are coded otherwise, or have NULLs, go the general way.
 *
 *	  struct S
 *	  {
 *		  static constexpr bool DIRECT = true;
 *		  static constexpr bool KNOWN;			widths and aggregates are constants
 *		  static constexpr bool FEW;			runs it does not take are another kernel's
 *		  static constexpr bool MASKED;			some rows may not count
 *		  static constexpr int KEYS, COLUMNS;		keys; keys and inputs
 *		  static constexpr int width(int c);		1..32; else the greatest
 *		  static constexpr uint32_t ops(int c);	GPUCOL_REDUCE_* of an input
 *	  };
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_REDUCE_DIRECT_CUH
#define GPUCOL_CUDA_REDUCE_DIRECT_CUH

#include "cuda/scan/reduce_table.cuh"

/* Words of half a packed vector; of an odd width both halves hold the middle one. */
__host__ __device__ constexpr int
half_words(int width)
{
	return (width + 1) / 2;
}

/* Where column c's words begin in the registers of half a vector. */
template <class S>
__host__ __device__ constexpr int
words_before(int c)
{
	int			n = 0;

	for (int i = 0; i < c; i++)
		n += half_words(S::width(i));
	return n;
}

/* What a run's chunks are to the direct path. */
template <class S>
struct DirectColumns
{
	const uint32_t *codes[S::COLUMNS];	/* this lane's word 0 of the run's first vector */
	uint32_t	add[S::COLUMNS];	/* offset of code 0 */
	uint32_t	dict;			/* bit c: column c is coded by a dictionary */
	const GpucolDeviceChunk *chunks;	/* of the run's segment */
	int			width[S::COLUMNS];	/* S::width() where S::KNOWN */
};

template <class S>
struct HalfWords
{
	uint32_t	w[words_before<S>(S::COLUMNS)];
};

/* Column c of a plan. */
template <class S>
__device__ __forceinline__ const GpucolOffsetColumn &
direct_column(const GpucolReducePlan &plan, int c)
{
	return c < S::KEYS ? plan.keys[c] : plan.inputs[c - S::KEYS].column;
}

/* Are all rows of the run there? */
__device__ __forceinline__ bool
whole_run(const GpucolScanPlan &scan, const Run &run)
{
	return (run.first + run.n) * GPUCOL_VECTOR_VALUES <= scan.segments[run.segment].nrows;
}

/* Does the shape describe this run? */
template <class S>
__device__ __forceinline__ bool
shape_fits(const GpucolReducePlan &plan, const Run &run)
{
	const GpucolDeviceChunk *chunks = plan.scan.chunks + run.segment * plan.scan.ncolumns;
	bool		fits = S::MASKED || whole_run(plan.scan, run);

#pragma unroll
	for (int c = 0; c < S::COLUMNS; c++)
	{
		const GpucolDeviceChunk &chunk = chunks[direct_column<S>(plan, c).slot];

		fits = fits && gpucol_reduce_fits(chunk, S::width(c)) && (!S::KNOWN || chunk.width == S::width(c));
	}
	return fits;
}

/* What the run's chunks are. */
template <class S>
__device__ __forceinline__ void
describe_run(const GpucolReducePlan &plan, const Run &run, int lane, DirectColumns<S> &columns)
{
	columns.dict = 0;
	columns.chunks = plan.scan.chunks + run.segment * plan.scan.ncolumns;
#pragma unroll
	for (int c = 0; c < S::COLUMNS; c++)
	{
		const GpucolOffsetColumn &column = direct_column<S>(plan, c);
		const GpucolDeviceChunk &chunk = columns.chunks[column.slot];
		bool		dict = chunk.coding == GPUCOL_CODING_DICT;

		columns.width[c] = S::KNOWN ? S::width(c) : chunk.width;
		columns.codes[c] = chunk.codes + (size_t) run.first * columns.width[c] * GPUCOL_ROW_WORDS + (uint32_t) lane;
		columns.dict |= (uint32_t) dict << c;
		columns.add[c] = dict ? 0 : (uint32_t) (chunk.reference - column.base);
	}
}

/* Ask for the words of half H of the run's vector v, columns C and later. */
template <class S, int H, int C = 0>
__device__ __forceinline__ void
load_half(const DirectColumns<S> &columns, uint32_t v, HalfWords<S> &half)
{
	constexpr int most = half_words(S::width(C));
	const int	K = S::KNOWN ? S::width(C) : columns.width[C];
	const int	n = H ? K - K / 2 : half_words(K);
	const uint32_t *from = columns.codes[C] + v * (K * GPUCOL_ROW_WORDS) + H * (K / 2) * GPUCOL_ROW_WORDS;

#pragma unroll
	for (int j = 0; j < most; j++)
		if (j < n)
			half.w[words_before<S>(C) + j] = __ldcs(from + j * GPUCOL_ROW_WORDS);
	if constexpr (C + 1 < S::COLUMNS)
		load_half<S, H, C + 1>(columns, v, half);
}

/* Codes of width K of half H of a vector, from words that begin at number AT. */
template <int H, int AT, int N>
struct UnpackHalf
{
	const uint32_t (&w)[N];
	uint32_t	(&v)[HALF];

	template <int K> __device__ __forceinline__ void
	run()
	{
		constexpr uint32_t mask = K == 32 ? 0xffffffffu : (1u << (K & 31)) - 1;

#pragma unroll
		for (int i = 0; i < HALF; i++)
		{
			constexpr int last = N - 1;
			const int	bit = i * K + (H && K % 2 ? 16 : 0);
			const int	j = AT + bit / 32;
			const int	s = bit % 32;

			if (s + K < 32)
				v[i] = (w[j] >> s) & mask;
			else if (s + K == 32)
				v[i] = w[j] >> s;
			else
				v[i] = __funnelshift_r(w[j], w[j + 1 <= last ? j + 1 : last], s) & mask;
		}
	}
};

/* Offsets of column C in half H of a vector. */
template <class S, int H, int C>
__device__ __forceinline__ void
unpack_half(const GpucolReducePlan &plan, const DirectColumns<S> &columns,
			const HalfWords<S> &half, uint32_t (&v)[HALF])
{
	UnpackHalf<H, words_before<S>(C), words_before<S>(S::COLUMNS)> f = {half.w, v};

	if constexpr (S::KNOWN)
		f.template run<S::width(C)>();
	else
		dispatch_width<S::width(C)>(columns.width[C], f);
	if (columns.dict >> C & 1)
	{
		const GpucolDeviceChunk &chunk = columns.chunks[direct_column<S>(plan, C).slot];
		const int64_t base = direct_column<S>(plan, C).base;

#pragma unroll
		for (int i = 0; i < HALF; i++)
		{
			uint32_t	entry = min(v[i], chunk.last_entry);

			v[i] = chunk.remap ? __ldg(chunk.remap + entry) : (uint32_t) (__ldg(chunk.dict + entry) - base);
		}
	}
	else
	{
#pragma unroll
		for (int i = 0; i < HALF; i++)
			v[i] += columns.add[C];
	}
}

/* Add key C's and later keys' parts to the byte offsets of the rows' records. */
template <class S, int H, int C = 0>
__device__ __forceinline__ void
locate_half(const GpucolReducePlan &plan, const DirectColumns<S> &columns,
			const HalfWords<S> &half, uint32_t copies, uint32_t (&at)[HALF])
{
	uint32_t	v[HALF];
	uint32_t	stride = plan.strides[C] * copies * 4;

	unpack_half<S, H, C>(plan, columns, half, v);
#pragma unroll
	for (int i = 0; i < HALF; i++)
		at[i] += v[i] * stride;
	if constexpr (C + 1 < S::KEYS)
		locate_half<S, H, C + 1>(plan, columns, half, copies, at);
}

/* Advance by input column C and later ones. */
template <class S, int H, int C = S::KEYS>
__device__ __forceinline__ void
advance_half(const GpucolReducePlan &plan, const SharedTable &table, const DirectColumns<S> &columns,
			 const HalfWords<S> &half, uint32_t rows, uint32_t first, const uint32_t (&at)[HALF])
{
	if constexpr (C < S::COLUMNS)
	{
		const GpucolReduceInput &input = plan.inputs[C - S::KEYS];
		uint32_t	v[HALF];
		uint32_t	wrapped;

		unpack_half<S, H, C>(plan, columns, half, v);
		wrapped = advance(table, input, S::KNOWN ? S::ops(C) : input.ops, at, false, 0xffffffffu, v) & rows;
		if (wrapped)
			carry_wrapped(table, at, first, input.sum, wrapped);
		advance_half<S, H, C + 1>(plan, table, columns, half, rows, first, at);
	}
}

/* Reduce half H of a vector, whose rows in play are `rows`. */
template <class S, int H>
__device__ __forceinline__ void
reduce_words(const GpucolReducePlan &plan, const SharedTable &table, const DirectColumns<S> &columns,
			 const HalfWords<S> &half, uint32_t rows, uint32_t first, uint32_t n, bool sliced)
{
	uint32_t	at[HALF];
	uint32_t	skip = first * table.copies * 4;

	rows = rows >> (H * HALF) & HALF_ROWS;
#pragma unroll
	for (int i = 0; i < HALF; i++)
		at[i] = sliced ? 0u - skip : table.start;
	locate_half<S, H>(plan, columns, half, table.copies, at);
	if (sliced)
	{
		uint32_t	inside = 0;

#pragma unroll
		for (int q = 0; q < HALF; q += 4)
		{
			uint32_t	part = 0;

#pragma unroll
			for (int i = q + 3; i >= q; i--)
				shift_in_ge(part, n * table.copies * 4 - 1, at[i]);
			inside |= part << q;
		}
		rows &= inside;
#pragma unroll
		for (int i = 0; i < HALF; i++)
			at[i] += table.start;
	}
	if (__any_sync(GPUCOL_ALL_LANES, rows != HALF_ROWS))
	{
#pragma unroll
		for (int i = 0; i < HALF; i++)
			at[i] = rows & (1u << i) ? at[i] : table.waste;
	}
#pragma unroll
	for (int i = 0; i < HALF; i++)
		table.increment(0, at[i]);
	advance_half<S, H>(plan, table, columns, half, rows, first, at);
}

/* vector_mask() where it is called: inlined it would take registers from the loop, also
 * of plans without a condition. */
__device__ __noinline__ static uint32_t
called_vector_mask(const GpucolScanPlan &scan, const Run run, uint32_t vector, int lane)
{
	return vector_mask(scan, run, vector, lane);
}

/* Reduce a run that the shape describes; vectors in `skip` have no matching row. */
template <class S>
__device__ __forceinline__ void
reduce_direct(const GpucolReducePlan &plan, const SharedTable &table, const Run &run,
			  uint32_t skip, int lane, uint32_t first, uint32_t n, bool sliced)
{
	const GpucolScanPlan &scan = plan.scan;
	DirectColumns<S> columns;
	HalfWords<S> low,
				high;
	bool		masked = S::MASKED &&
		(S::KNOWN || scan.nranges > 0 || scan.segments[run.segment].deleted || !whole_run(scan, run));
	bool		loaded = false;

	describe_run<S>(plan, run, lane, columns);
	for (uint32_t v = 0; v < run.n; v++)
	{
		uint32_t	rows = 0xffffffffu;

		if (masked)
		{
			rows = skip >> v & 1 ? 0 : called_vector_mask(scan, run, run.first + v, lane);
			if (!__any_sync(GPUCOL_ALL_LANES, rows != 0))
			{
				loaded = false;
				continue;
			}
		}
		if (!loaded)
			load_half<S, 0>(columns, v, low);
		load_half<S, 1>(columns, v, high);
		reduce_words<S, 0>(plan, table, columns, low, rows, first, n, sliced);
		loaded = v + 1 < run.n && !(skip >> (v + 1) & 1);
		if (loaded)
			load_half<S, 0>(columns, v + 1, low);
		reduce_words<S, 1>(plan, table, columns, high, rows, first, n, sliced);
	}
}

#endif
