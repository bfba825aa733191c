/*-------------------------------------------------------------------------
 *
 * jit.cuh
 *	  Kernels compiled at run time for one query's shape.
 *
 * Nobody waits for a compiler: find() returns a kernel that is ready, or NULL
 * and, when it is asked for the second time, has it compiled in the background;
 * meanwhile the caller runs the kernel that takes anything.  One thread compiles,
 * at low priority, one kernel after the other.
 *
 * A kernel is used once it is proven: one query that could use it is answered
 * without it, then run again with it, and the two answers compared
 * (Request::prove).  One that differs is never used.  One that ends the process
 * is not tried a third time, nor is a source that ends the compiler
 * (jit_files.h).
 *
 * Where all devices are of one architecture that NVRTC knows it makes machine code, else text
 * (PTX) of the least one, which the driver compiles for each device when it is loaded.
 *
 * NVRTC is opened by the background thread when first wanted; where it is missing
 * nothing is compiled and note() says why.  What was compiled is kept in memory,
 * the kernels used last, and in files.
 *
 * Environment, for tests: GPUCOL_NVRTC names the library; GPUCOL_JIT_OPTIONS is
 * one more option of the compiler.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_JIT_CUH
#define GPUCOL_CUDA_JIT_CUH

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cuda/base/api.cuh"
#include "cuda/jit/jit_files.h"

constexpr size_t GPUCOL_JIT_DISK_BYTES = (size_t) 64 << 20;
constexpr size_t GPUCOL_JIT_KERNELS = 256;	/* in memory */
constexpr size_t GPUCOL_JIT_MEMORY_BYTES = (size_t) 64 << 20;	/* of their machine code */
constexpr size_t GPUCOL_JIT_QUEUE = 64; /* waiting to be compiled */
constexpr size_t GPUCOL_JIT_SEEN = 4096;	/* sources asked for once */

/* A loaded kernel; it stays loaded as long as somebody holds it. */
class JitKernel
{
public:
	JitKernel(cudaLibrary_t library, cudaKernel_t kernel, size_t bytes, const JitFiles &files, const std::string &key)
		: library_(library), kernel_(kernel), bytes_(bytes), files_(files), key_(key) {}
	JitKernel(const JitKernel &) = delete;
	~JitKernel() { cudaLibraryUnload(library_); }

	/* For cudaLaunchKernel() and its relatives. */
	const void *function() const { return (const void *) kernel_; }
	/* Bytes of machine code. */
	size_t		bytes() const { return bytes_; }

	bool		proven() const { return verdict_ > 0; }
	bool		rejected() const { return verdict_ < 0; }

	/*
	 * Ask to be the one who proves it; true obliges to call judge() or release() in
	 * the end.  A kernel whose trials ended the process is rejected here.
	 */
	bool		claim() const;
	/* Its answer was, or was not, that of the kernels that take anything. */
	void		judge(bool same) const;
	/* The trial came to no verdict. */
	void		release() const;

private:
	mutable std::atomic<int> verdict_{0};
	mutable std::atomic<bool> claimed_{false};
	cudaLibrary_t library_;
	cudaKernel_t kernel_;
	size_t		bytes_;
	const JitFiles &files_;
	std::string key_;
};

typedef std::shared_ptr<const JitKernel> JitHandle;

/* Kernels that a request has claimed to prove; released in the end unless judged. */
class JitTrial
{
public:
	JitTrial() {}
	JitTrial(const JitTrial &) = delete;
	~JitTrial();

	bool		empty() const { return kernels_.empty(); }
	bool		has(const JitHandle &kernel) const;
	/* Claim a kernel unless somebody else has. */
	void		claim(const JitHandle &kernel);
	/* Judge all of them. */
	void		judge(bool same);

private:
	std::vector<JitHandle> kernels_;
};

/* Source text that the kernels' sources may include, ended by a NULL name
 * (jit_headers.cpp, made by the Makefile). */
struct JitHeader
{
	const char *name;
	const char *text;
};
extern const JitHeader gpucol_jit_headers[];

/* Kernels that may be used, that are still to be compiled, that never will be used. */
struct JitCounts
{
	uint32_t	ready;
	uint32_t	waiting;
	uint32_t	refused;
};

/* Why this thread's last Jit::find() gave no kernel. */
extern thread_local const char *gpucol_jit_miss;

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
	 * The kernel `gpucol_compiled` of a source, or NULL: asked for the first time, not
	 * yet there, or the compiler is missing or refuses it.
	 */
	JitHandle	find(const std::string &source);

	/* Kernels by what became of them, and why nothing is compiled ("" if it is). */
	JitCounts	counts();
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

	bool		start();
	std::string open_compiler();
	void		work();
	JitHandle	build(const std::string &source);
	std::vector<char> compile(const std::string &source, std::string *log);
	JitHandle	load(const std::vector<char> &code, const std::string &key);
	void		make_room(size_t kernels, size_t bytes);

	std::mutex	mutex_;
	std::condition_variable changed_;
	std::map<std::string, Entry> entries_;	/* by source */
	std::deque<std::string> queue_;
	std::set<std::string> seen_;	/* hashes of sources asked for once */
	JitFiles	files_{"", 0};
	std::string environment_;	/* architecture, compiler, headers, options */
	std::vector<std::string> options_;
	std::string note_;
	bool		text_ = false;	/* kernels are text, not machine code */
	bool		wait_ = false;
	bool		running_ = false;
	uint64_t	clock_ = 0;
};

extern Jit &jit;

#endif
