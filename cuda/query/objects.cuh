/*-------------------------------------------------------------------------
 *
 * objects.cuh
 *	  What a query sends along beside the pieces of segments: delta rows, results of
 *	  host tests, places of byte strings in an order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_OBJECTS_CUH
#define GPUCOL_CUDA_OBJECTS_CUH

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "cuda/query/deal.cuh"
#include "cuda/query/put.cuh"

struct Object
{
	Receipt		receipt;
	std::vector<char *> device; /* by share; NULL where it is not needed */
	std::vector<char> host;

	uint64_t	bytes() const { return receipt.total(); }
};

class Objects
{
public:
	/* So many are to come, for these shares; each may take `limit` bytes of its device (0 = any). */
	Objects(uint32_t n, uint64_t limit, const std::vector<std::unique_ptr<Share>> &shares);
	Objects(const Objects &) = delete;

	/* Take part of one; `data` is host memory.  Throws Failure. */
	void		put(const PutKind &kind, const GpucolWirePut &put, const char *data);

	/* One that has come; NULL: none. */
	const Object *find(GpucolPutKind kind, uint32_t a, uint32_t b) const;

	/* Have all come? */
	bool		complete() const { return left_ == 0; }

	/* Bytes of device memory. */
	uint64_t	held() const { return held_; }

private:
	struct Place
	{
		Lane	   *lane;
		std::unique_ptr<Scratch> memory;
	};

	uint32_t	left_;
	uint64_t	held_ = 0;
	std::vector<Place> places_; /* by share */
	std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Object> objects_;	/* kind, a, b */
};

#endif
