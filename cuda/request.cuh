/*-------------------------------------------------------------------------
 *
 * request.cuh
 *	  One request: what it needs on the device, how it is lowered to kernels,
 *	  and its result.
 *
 * Life: Request(run message) checks the program and pins what is resident;
 * missing() says what the client must send; put() takes it; execute() lowers,
 * launches and forms the result.  All throw Failure.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_REQUEST_CUH
#define GPUCOL_CUDA_REQUEST_CUH

#include <functional>
#include <memory>
#include <vector>

#include "cache.cuh"
#include "interp.cuh"
#include "plan.h"

/* An object that PUTs are filling. */
struct Incoming
{
	uint64_t	received = 0;
	uint64_t	total = 0;
	char	   *device = NULL;
	std::vector<char> host;
	Resident   *resident = NULL;	/* CHUNK */
	GpucolWireChunk head;		/* CHUNK: as far as received */
};

/* How a request waits: returns when the stream has done its work, false if the
 * request was cancelled meanwhile. */
typedef std::function<bool()> Waiter;

class Request
{
public:
	Request(const char *payload, size_t length);
	~Request();
	Request(const Request &) = delete;

	const std::vector<GpucolWireNeed> &missing() const { return missing_; }
	bool		prefetch() const { return run_.flags & GPUCOL_WIRE_RUN_PREFETCH; }
	size_t		held() const { return scratch_->held(); }

	/* Take part of an object; `data` is host memory. */
	void		put(const GpucolWirePut &put, const char *data, cudaStream_t stream);

	/*
	 * Answer; `shape` says what becomes of the rows, or is NULL.  `cancel` is a word in device memory that the session may set;
	 * `wait` waits for the stream.
	 */
	void		execute(const GpucolWireGo &go, const GpucolShape *shape, cudaStream_t stream,
						uint32_t *cancel, const Waiter &wait,
						GpucolWireResult *result, std::vector<char> *data);

private:
	friend class Lowering;

	const GpucolProgram *program() const { return (const GpucolProgram *) program_.data(); }
	void		check_program();
	void		finish_chunk(Incoming &in, uint32_t segment, uint32_t slot, cudaStream_t stream);
	void		put_chunk(Incoming &in, const GpucolWirePut &put, const char *data, cudaStream_t stream);

	GpucolWireRun run_;
	std::vector<uint64_t> program_;
	std::vector<GpucolWireSegment> segments_;
	std::vector<uint64_t> identities_;
	std::vector<Resident *> resident_;	/* [nsegments][ncolumns] */
	std::vector<GpucolWireNeed> missing_;
	std::map<std::pair<uint32_t, uint64_t>, Incoming> incoming_;
	std::unique_ptr<Scratch> scratch_;

	Incoming   *object(uint32_t kind, uint32_t a, uint32_t b);
};

#endif
