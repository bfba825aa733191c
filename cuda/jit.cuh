/*-------------------------------------------------------------------------
 *
 * jit.cuh
 *	  Kernels compiled at run time for one query's shape.
 *
 * Nobody waits for a compiler: find() returns a kernel that is ready, or NULL
 * and has it compiled in the background, so that the caller runs the kernel
 * that takes anything and meets the special one at a later query.
 *
 * A kernel is used once it is proven: the first query that could use it is
 * answered without it, then run again with it, and the two answers compared
 * (Request::execute).  One that differs is never used.
 *
 * NVRTC is opened by the background thread when first wanted; where it is missing nothing is compiled
 * and note() says why.  What was compiled is kept in memory and in files of a
 * directory, whose names are hashes of the source, the architecture and the
 * compiler's version.  A file that is not what its hash says is ignored and
 * written again; the directory is kept below GPUCOL_JIT_DISK_BYTES.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_JIT_CUH
#define GPUCOL_CUDA_JIT_CUH

#include <cuda_runtime.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

constexpr size_t GPUCOL_JIT_DISK_BYTES = (size_t) 64 << 20;
constexpr size_t GPUCOL_JIT_KERNELS = 256;	/* in memory */
constexpr size_t GPUCOL_JIT_QUEUE = 64; /* waiting to be compiled */

/* A loaded kernel; it stays loaded as long as somebody holds it. */
class JitKernel
{
public:
	JitKernel(cudaLibrary_t library, cudaKernel_t kernel) : library_(library), kernel_(kernel) {}
	JitKernel(const JitKernel &) = delete;
	~JitKernel() { cudaLibraryUnload(library_); }

	/* For cudaLaunchKernel() and its relatives. */
	const void *function() const { return (const void *) kernel_; }

	bool		proven() const { return verdict_ > 0; }
	bool		rejected() const { return verdict_ < 0; }
	/* Its answer was, or was not, that of the kernels that take anything. */
	void		judge(bool same) const;

private:
	mutable std::atomic<int> verdict_{0};
	cudaLibrary_t library_;
	cudaKernel_t kernel_;
};

typedef std::shared_ptr<const JitKernel> JitHandle;

/* Source text that the kernels' sources may include, ended by a NULL name
 * (jit_headers.cpp, made by the Makefile). */
struct JitHeader
{
	const char *name;
	const char *text;
};
extern const JitHeader gpucol_jit_headers[];

class Jit
{
public:
	/*
	 * Keep files in `directory` ("" = none).  With `wait` find() compiles before it
	 * returns: for tests.
	 */
	void		configure(const std::string &directory, bool wait);

	bool		waits() const { return wait_; }

	/*
	 * The kernel `gpucol_compiled` of a source, or NULL: not yet there, or the
	 * compiler is missing or refuses it.
	 */
	JitHandle	find(const std::string &source);

	/* Kernels in memory, and why nothing is compiled ("" if it is). */
	size_t		loaded();
	std::string note();

private:
	enum State
	{
		QUEUED,
		READY,
		FAILED
	};
	struct Entry
	{
		State		state = QUEUED;
		JitHandle	kernel;
		uint64_t	used = 0;
	};

	std::string open_compiler();
	void		work();
	JitHandle	build(const std::string &source);
	std::string path_of(const std::string &key) const;
	std::vector<char> read_file(const std::string &key);
	void		write_file(const std::string &key, const std::vector<char> &cubin);
	void		trim_directory();
	std::vector<char> compile(const std::string &source, std::string *log);
	JitHandle	load(const std::vector<char> &cubin);
	void		forget_oldest();

	std::mutex	mutex_;
	std::condition_variable changed_;
	std::map<std::string, Entry> entries_;	/* by source */
	std::deque<std::string> queue_;
	std::string directory_;
	std::string environment_;	/* architecture, compiler, headers */
	std::string architecture_;
	std::string note_;
	bool		wait_ = false;
	bool		running_ = false;
	uint64_t	clock_ = 0;
};

extern Jit &jit;

#endif
