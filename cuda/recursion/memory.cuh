/*-------------------------------------------------------------------------
 *
 * memory.cuh
 *	  Pooled device memory with a budget, and the failures of device code.
 *
 * Everything that a request allocates on the device goes through a
 * GpucolDeviceMemory: blocks come from CUDA's stream-ordered pool, which keeps
 * what is freed for the next round (the eager buffer management of the HISA
 * paper), and the bytes held are counted against the request's limit.  Pinned
 * host memory is the next tier: a request that may use it says how much.
 *
 * Inside one request C++ exceptions carry failures to the request's entry
 * point, which returns the status.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_MEMORY_CUH
#define GPUCOL_CUDA_MEMORY_CUH

#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>
#include <utility>

#include "cuda/base/api.cuh"
#include "kernel/status.h"

/* Why a request ends early. */
struct GpucolFailure
{
	GpucolStatus status;
};

/* Throw for a CUDA error. */
inline void
gpucol_check(cudaError_t error)
{
	if (error == cudaErrorMemoryAllocation)
	{
		cudaGetLastError();
		throw GpucolFailure{GPUCOL_OUT_OF_MEMORY};
	}
	if (error != cudaSuccess)
		throw GpucolFailure{GPUCOL_DEVICE_LOST};
}

/* Memory of one request; not to be shared between threads. */
struct GpucolDeviceMemory
{
	cudaStream_t stream = nullptr;
	size_t		limit = 0;		/* bytes; 0 = no limit */
	size_t		held = 0;
	size_t		peak = 0;
	size_t		host_limit = 0; /* bytes of pinned host memory; 0 = none */
	size_t		host_held = 0;
	size_t		host_peak = 0;

	/*
	 * Where it is set, device memory is borrowed before it is allocated, and repaid when
	 * the request is over: CUDA's pool keeps what is freed until then.
	 */
	bool		(*lend) (void *lender, size_t bytes) = nullptr;
	void	   *lender = nullptr;
	size_t		borrowed = 0;

	/* Bytes that may still be allocated on the device. */
	size_t
	room() const
	{
		return !limit ? SIZE_MAX : held < limit ? limit - held : 0;
	}

	/*
	 * How many things of `bytes` to hold at a time: what an eighth of the room
	 * takes, between 4096 and `most`.
	 */
	size_t
	piece(size_t bytes, size_t most) const
	{
		size_t		fit = room() / 8 / bytes;

		return fit < 4096 ? 4096 : fit < most ? fit : most;
	}

	/* Let the pool of the current device keep what is freed. */
	static void
	keep_pool()
	{
		int			device = 0;
		cudaMemPool_t pool;
		uint64_t	all = UINT64_MAX;

		gpucol_check(cudaGetDevice(&device));
		gpucol_check(cudaDeviceGetDefaultMemPool(&pool, device));
		gpucol_check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold,
											 &all));
	}

	/* Give back what the pool of the current device holds unused. */
	static void
	trim_pool()
	{
		int			device = 0;
		cudaMemPool_t pool;

		if (cudaGetDevice(&device) == cudaSuccess &&
			cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess)
			cudaMemPoolTrimTo(pool, 0);
	}

	/* Borrow what is lacking for so many bytes more: in large pieces, where they are to be had. */
	void
	borrow(size_t bytes)
	{
		constexpr size_t PIECE = (size_t) 64 << 20;
		size_t		lack = held + bytes > borrowed ? held + bytes - borrowed : 0;
		size_t		more = (lack + PIECE - 1) / PIECE * PIECE;

		if (lend == nullptr || lack == 0)
			return;
		if (!lend(lender, more) && !lend(lender, more = lack))
			throw GpucolFailure{GPUCOL_OUT_OF_MEMORY};
		borrowed += more;
	}

	void *
	alloc(size_t bytes)
	{
		void	   *p = nullptr;

		if (limit && held + bytes > limit)
			throw GpucolFailure{GPUCOL_OUT_OF_MEMORY};
		borrow(bytes);
		gpucol_check(cudaMallocAsync(&p, bytes ? bytes : 1, stream));
		held += bytes;
		peak = held > peak ? held : peak;
		return p;
	}

	void
	free(void *p, size_t bytes)
	{
		if (p)
		{
			cudaFreeAsync(p, stream);
			held -= bytes;
		}
	}
};

/*
 * Pinned host memory in large pages, where the system has them: pinning 2 GB takes 0.3 s
 * instead of the 0.8 s of cudaMallocHost, and letting go of them a fifth (measured on a
 * host of H200).  NULL: out of memory.
 */
inline void *
gpucol_host_alloc(size_t bytes)
{
	constexpr size_t PAGE = (size_t) 1 << 21,
				SMALL_PAGE = 4096;
	size_t		size = (bytes + PAGE - 1) / PAGE * PAGE;
	char	   *p = (char *) aligned_alloc(PAGE, size);

	if (p == nullptr)
		return nullptr;
	madvise(p, size, MADV_HUGEPAGE);
	for (size_t at = 0; at < size; at += SMALL_PAGE)
		*(volatile char *) (p + at) = 0;
	if (cudaHostRegister(p, size, cudaHostRegisterPortable) == cudaSuccess)
		return p;
	cudaGetLastError();
	free(p);
	return nullptr;
}

inline void
gpucol_host_free(void *p)
{
	cudaHostUnregister(p);
	free(p);
}

/* An array in pinned host memory; owns it, moves but does not copy. */
template <class T> class GpucolHostArray
{
public:
	GpucolHostArray() = default;
	GpucolHostArray(GpucolDeviceMemory &memory, size_t n)
	{
		if (memory.host_held + n * sizeof(T) > memory.host_limit)
			throw GpucolFailure{GPUCOL_OUT_OF_MEMORY};
		p_ = (T *) gpucol_host_alloc(n * sizeof(T));
		if (p_ == nullptr)
			throw GpucolFailure{GPUCOL_OUT_OF_MEMORY};
		memory_ = &memory;
		n_ = n;
		memory.host_held += n * sizeof(T);
		memory.host_peak = memory.host_held > memory.host_peak ? memory.host_held :
			memory.host_peak;
	}
	GpucolHostArray(GpucolHostArray &&other) noexcept { swap(other); }
	GpucolHostArray &
	operator=(GpucolHostArray &&other) noexcept
	{
		swap(other);
		return *this;
	}
	~GpucolHostArray()
	{
		if (memory_)
		{
			gpucol_host_free(p_);
			memory_->host_held -= n_ * sizeof(T);
		}
	}

	T *data() const { return p_; }
	size_t size() const { return n_; }

private:
	void
	swap(GpucolHostArray &other)
	{
		std::swap(memory_, other.memory_);
		std::swap(p_, other.p_);
		std::swap(n_, other.n_);
	}

	GpucolDeviceMemory *memory_ = nullptr;
	T		   *p_ = nullptr;
	size_t		n_ = 0;
};

/* A device array; owns its memory, moves but does not copy. */
template <class T> class GpucolArray
{
public:
	GpucolArray() = default;
	GpucolArray(GpucolDeviceMemory &memory, size_t n)
		: memory_(&memory), p_((T *) memory.alloc(n * sizeof(T))), n_(n), room_(n) {}
	GpucolArray(GpucolArray &&other) noexcept { swap(other); }
	GpucolArray &
	operator=(GpucolArray &&other) noexcept
	{
		swap(other);
		return *this;
	}
	~GpucolArray()
	{
		if (memory_)
			memory_->free(p_, room_ * sizeof(T));
	}

	T *data() const { return p_; }
	size_t size() const { return n_; }
	size_t room() const { return room_; }
	bool empty() const { return n_ == 0; }
	/* Use only the first n entries from now on. */
	void shrink(size_t n) { n_ = n; }

	/* Host copy of one entry; waits for the stream. */
	T
	at(size_t i) const
	{
		T			v;

		gpucol_check(cudaMemcpyAsync(&v, p_ + i, sizeof(T), cudaMemcpyDeviceToHost,
									 memory_->stream));
		gpucol_check(cudaStreamSynchronize(memory_->stream));
		return v;
	}

private:
	void
	swap(GpucolArray &other)
	{
		std::swap(memory_, other.memory_);
		std::swap(p_, other.p_);
		std::swap(n_, other.n_);
		std::swap(room_, other.room_);
	}

	GpucolDeviceMemory *memory_ = nullptr;
	T		   *p_ = nullptr;
	size_t		n_ = 0;
	size_t		room_ = 0;
};

/*
 * Run a CUB algorithm(scratch, bytes): once for the size of its scratch memory,
 * once for real.
 */
template <class Algorithm>
void
gpucol_with_scratch(GpucolDeviceMemory &memory, Algorithm algorithm)
{
	size_t		bytes = 0;

	gpucol_check(algorithm((void *) nullptr, bytes));
	GpucolArray<char> scratch(memory, bytes);

	gpucol_check(algorithm((void *) scratch.data(), bytes));
}

#endif							/* GPUCOL_CUDA_MEMORY_CUH */
