/*-------------------------------------------------------------------------
 *
 * layout.cu
 *	  What the packed format does not do, measured against what it does: wide
 *	  codes in one stream instead of two planes, outliers patched in instead of
 *	  wider codes, floats as patterns instead of scaled integers.
 *
 * Usage: layout [rows in millions].  Prints milliseconds, values/s and the share
 * of the device's read bandwidth for each pair (src/columnar/MEASURED).
 *
 *-------------------------------------------------------------------------
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "cuda/scan/bitunpack.cuh"

#define CHECK(call) \
	do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
		printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_)); \
		exit(2); } } while (0)

constexpr int THREADS = 256;
constexpr int BLOCKS = 132 * 3;
constexpr int PATCHES = 5;		/* outliers a vector */

__device__ static inline uint32_t
warp_index()
{
	return (blockIdx.x * blockDim.x + threadIdx.x) / 32;
}

__device__ static void
add_count(unsigned long long n, unsigned long long *out)
{
	for (int d = 16; d > 0; d >>= 1)
		n += __shfl_xor_sync(0xffffffffu, n, d);
	if (threadIdx.x % 32 == 0)
		atomicAdd(out, n);
}

__global__ void
fill_kernel(uint32_t *p, size_t n)
{
	for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t) gridDim.x * blockDim.x)
		p[i] = (uint32_t) (i * 2654435761u) ^ (uint32_t) (i >> 7) * 40503u;
}

__global__ void
read_kernel(const uint4 *p, size_t n, unsigned long long *out)
{
	uint32_t	x = 0;

#pragma unroll 8
	for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t) gridDim.x * blockDim.x)
	{
		uint4		v = __ldcs(p + i);

		x += v.x ^ v.y ^ v.z ^ v.w;
	}
	if (x == 12345)
		*out = x;
}

/* A range of 32 + K bits over two planes. */
template <int K>
__global__ void __launch_bounds__(THREADS, 3)
planes_kernel(const uint32_t *data, uint32_t vectors, uint64_t lo, uint64_t hi, unsigned long long *out)
{
	unsigned long long n = 0;

	for (uint32_t v = warp_index(); v < vectors; v += BLOCKS * THREADS / 32)
		n += __popc(range_mask_wide<K>(data + (size_t) v * (32 + K) * 32, threadIdx.x % 32, lo, hi));
	add_count(n, out);
}

/* The same over one stream of 32 + K words a lane. */
template <int K>
__global__ void __launch_bounds__(THREADS, 3)
stream_kernel(const uint32_t *data, uint32_t vectors, uint64_t lo, uint64_t hi, unsigned long long *out)
{
	constexpr int W = 32 + K;
	constexpr uint32_t top = K == 32 ? 0xffffffffu : (1u << (K & 31)) - 1;
	unsigned long long n = 0;

	for (uint32_t v = warp_index(); v < vectors; v += BLOCKS * THREADS / 32)
	{
		uint32_t	w[W + 2];
		uint32_t	ge = 0,
					le = 0;
		const uint32_t *own = data + (size_t) v * W * 32 + threadIdx.x % 32;

#pragma unroll
		for (int j = 0; j < W; j++)
			w[j] = __ldcs(own + j * 32);
		w[W] = w[W + 1] = 0;
#pragma unroll
		for (int p = 31; p >= 0; p--)
		{
			int			j = p * W / 32,
						s = p * W % 32;
			uint32_t	low = __funnelshift_r(w[j], w[j + 1], s);
			uint32_t	high = __funnelshift_r(w[j + 1], w[j + 2], s) & top;

			shift_in_ge(ge, low, high, (uint32_t) lo, (uint32_t) (lo >> 32));
			shift_in_ge(le, (uint32_t) hi, (uint32_t) (hi >> 32), low, high);
		}
		n += __popc(ge & le);
	}
	add_count(n, out);
}

/* A range on codes of K bits; PATCHED: outliers of a vector replace codes. */
template <int K, bool PATCHED>
__global__ void __launch_bounds__(THREADS, 3)
patched_kernel(const uint32_t *data, const uint32_t *patches, uint32_t vectors,
			   uint32_t lo, uint32_t hi, unsigned long long *out)
{
	unsigned long long n = 0;
	int			lane = threadIdx.x % 32;

	for (uint32_t v = warp_index(); v < vectors; v += BLOCKS * THREADS / 32)
	{
		uint32_t	w[K];
		uint32_t	mask;

		load_words<K>(data + (size_t) v * K * 32, lane, w);
		mask = range_mask<K>(w, lo, hi);
		if (PATCHED)
		{
			uint32_t	patch = lane < PATCHES ? __ldcs(patches + (size_t) v * PATCHES + lane) : 0;

			/* row in the upper bits, value in the lower ones */
#pragma unroll
			for (int i = 0; i < PATCHES; i++)
			{
				uint32_t	one = __shfl_sync(0xffffffffu, patch, i);
				uint32_t	row = one >> 22,
							value = one & 0x3fffff;

				if ((int) (row & 31) == lane)
					mask = (mask & ~(1u << (row >> 5))) | (uint32_t) (value - lo <= hi - lo) << (row >> 5);
			}
		}
		n += __popc(mask);
	}
	add_count(n, out);
}

/* Sum of SCALED floats: one division a value. */
template <int K>
__global__ void __launch_bounds__(THREADS, 3)
scaled_kernel(const uint32_t *data, uint32_t vectors, long long reference, double power, double *out)
{
	double		sum = 0;

	for (uint32_t v = warp_index(); v < vectors; v += BLOCKS * THREADS / 32)
	{
		uint32_t	w[K];

		load_words<K>(data + (size_t) v * K * 32, threadIdx.x % 32, w);
#pragma unroll
		for (int p = 0; p < 32; p++)
			sum += (double) (reference + code_at<K>(w, p)) / power;
	}
	atomicAdd(out, sum);
}

/* Sum of float8 patterns in two planes. */
__global__ void __launch_bounds__(THREADS, 3)
raw_kernel(const uint32_t *data, uint32_t vectors, double *out)
{
	double		sum = 0;

	for (uint32_t v = warp_index(); v < vectors; v += BLOCKS * THREADS / 32)
	{
		const uint32_t *own = data + (size_t) v * 64 * 32 + threadIdx.x % 32;

#pragma unroll
		for (int p = 0; p < 32; p++)
			sum += __hiloint2double(__ldcs(own + (32 + p) * 32), __ldcs(own + p * 32));
	}
	atomicAdd(out, sum);
}

static double
time_ms(std::function<void()> f)
{
	std::vector<float> ms;
	cudaEvent_t a,
				b;

	CHECK(cudaEventCreate(&a));
	CHECK(cudaEventCreate(&b));
	for (int i = -2; i < 9; i++)
	{
		float		t;

		CHECK(cudaEventRecord(a));
		f();
		CHECK(cudaEventRecord(b));
		CHECK(cudaEventSynchronize(b));
		CHECK(cudaEventElapsedTime(&t, a, b));
		if (i >= 0)
			ms.push_back(t);
	}
	CHECK(cudaGetLastError());
	std::sort(ms.begin(), ms.end());
	return ms[ms.size() / 2];
}

static uint32_t *data;
static unsigned long long *result;
static uint32_t vectors;
static double ceiling;

static void
show(const char *what, double bits, double ms)
{
	double		rows = vectors * 1024.0;

	printf("%-34s %6.1f bits %8.3f ms %6.2f T values/s %6.1f %%\n", what, bits, ms, rows / ms / 1e9,
		   rows * bits / 8 / ms / 1e4 / ceiling);
}

template <int K>
static void
wide()
{
	uint64_t	lo = (uint64_t) 1 << (31 + K - 2),
				hi = lo * 2;
	char		what[64];

	snprintf(what, sizeof(what), "range, two planes");
	show(what, 32 + K, time_ms([&] { planes_kernel<K><<<BLOCKS, THREADS>>>(data, vectors, lo, hi, result); }));
	snprintf(what, sizeof(what), "range, one stream a lane");
	show(what, 32 + K, time_ms([&] { stream_kernel<K><<<BLOCKS, THREADS>>>(data, vectors, lo, hi, result); }));
}

int
main(int argc, char **argv)
{
	size_t		bytes = (size_t) 8 << 30;
	uint32_t   *patches;

	vectors = (uint32_t) ((argc > 1 ? atoll(argv[1]) : 1000) * 1000000ll / 1024);
	CHECK(cudaMalloc(&data, bytes));
	CHECK(cudaMalloc(&patches, (size_t) vectors * PATCHES * 4));
	CHECK(cudaMalloc(&result, 8));
	fill_kernel<<<BLOCKS, THREADS>>>(data, bytes / 4);
	fill_kernel<<<BLOCKS, THREADS>>>(patches, (size_t) vectors * PATCHES);
	ceiling = bytes / time_ms([&] { read_kernel<<<132 * 8, THREADS>>>((const uint4 *) data, bytes / 16,
																	  result); }) / 1e6;
	printf("read ceiling %.0f GB/s, %.0f M rows\n", ceiling, vectors * 1024.0 / 1e6);
	wide<8>();
	wide<16>();
	wide<24>();
	wide<32>();
	show("range, codes of the outliers' width", 11, time_ms([&] {
		patched_kernel<11, false><<<BLOCKS, THREADS>>>(data, patches, vectors, 300, 900, result); }));
	show("range, 5 outliers a vector patched", 8 + 32.0 * PATCHES / 1024, time_ms([&] {
		patched_kernel<8, true><<<BLOCKS, THREADS>>>(data, patches, vectors, 60, 120, result); }));
	show("range, no outliers", 8, time_ms([&] {
		patched_kernel<8, false><<<BLOCKS, THREADS>>>(data, patches, vectors, 60, 120, result); }));
	show("sum, floats SCALED, 14 bits", 14, time_ms([&] {
		scaled_kernel<14><<<BLOCKS, THREADS>>>(data, vectors, -1000, 100.0, (double *) result); }));
	show("sum, floats RAW", 64, time_ms([&] { raw_kernel<<<BLOCKS, THREADS>>>(data, vectors, (double *) result); }));
	return 0;
}
