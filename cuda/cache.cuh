/*-------------------------------------------------------------------------
 *
 * cache.cuh
 *	  A device's resident chunks, keyed by storage, segment and column, and the
 *	  devices.
 *
 * Segments never change, so a chunk is never stale; `identity` guards against a
 * storage number that is used again for another table.  A request pins the
 * chunks it uses; others leave, least recently used first, when memory is
 * needed.  What the cache holds is told to the clients in the residency table
 * (residency.cu).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_CACHE_CUH
#define GPUCOL_CUDA_CACHE_CUH

#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "device.cuh"
#include "plan.h"
#include "service/protocol.h"

struct ChunkKey
{
	uint64_t	storage[2];
	uint64_t	segment;
	int32_t		attnum;
	uint64_t	identity;

	bool operator==(const ChunkKey &o) const
	{
		return storage[0] == o.storage[0] && storage[1] == o.storage[1] &&
			segment == o.segment && attnum == o.attnum && identity == o.identity;
	}
};

struct ChunkKeyHash
{
	size_t operator()(const ChunkKey &k) const
	{
		uint64_t	h = k.storage[0] * 0x9e3779b97f4a7c15ull ^ k.storage[1];

		h = (h ^ k.segment) * 0xbf58476d1ce4e5b9ull;
		h = (h ^ (h >> 29) ^ (uint64_t) k.attnum ^ k.identity) * 0x94d049bb133111ebull;
		return h ^ (h >> 31);
	}
};

class ColumnCache;

/* A chunk in device memory. */
struct Resident
{
	ColumnCache *home;			/* of its device */
	ChunkKey	key;
	GpucolChunkDesc desc;
	GpucolDeviceChunk chunk;	/* without remap */
	std::vector<int64_t> dict;	/* entries of a numeric DICT */
	bool		zones_useful;	/* vectors differ in their zones */
	void	   *memory = NULL;
	size_t		bytes = 0;
	uint32_t	nrows = 0;
	uint32_t	pins = 0;
	uint64_t	uses = 0;
	bool		kept = true;	/* in the cache (else only pinned) */
	std::list<Resident *>::iterator place;
};

class ColumnCache
{
public:
	explicit ColumnCache(DevicePool *pool) : pool_(pool) {}

	/* Pin and return a resident chunk, or NULL. */
	Resident   *find(const ChunkKey &key);

	/* The same for each of n keys, under one lock. */
	void		find(const ChunkKey *keys, size_t n, Resident **found);

	/* Is a chunk resident?  Pins nothing, counts nothing. */
	bool		has(const ChunkKey &key);

	/*
	 * Enter a chunk that the caller has made; it comes back pinned.  If another
	 * request was first, the caller's is dropped and that one returned.
	 */
	Resident   *add(Resident *chunk);
	void		unpin(Resident *chunk);

	/* Evict unpinned chunks until `size` more bytes may be allocated. */
	bool		make_room(size_t size);

	/* Evict the unpinned chunks of a storage, or all (0, 0). */
	GpucolWireEvicted evict(const uint64_t storage[2]);

	/* Memory of device `size` for a new chunk; evicts; NULL if impossible. */
	void	   *allocate(size_t size);

	std::vector<GpucolWireCacheRow> rows();
	size_t		bytes();
	uint64_t	hits = 0;
	uint64_t	misses = 0;
	uint64_t	evictions = 0;

private:
	Resident   *look_up(const ChunkKey &key);
	void		drop(Resident *chunk);

	DevicePool *pool_;
	std::mutex	mutex_;
	std::unordered_map<ChunkKey, Resident *, ChunkKeyHash> chunks_;
	std::list<Resident *> lru_;	/* most recent first */
	size_t		bytes_ = 0;
};

/* A device.  CUDA's own number of it is `ordinal`. */
struct Device
{
	Device(int number_, int ordinal_) : number(number_), ordinal(ordinal_), cache(&pool) {}

	int			number;
	int			ordinal;
	DevicePool	pool;
	ColumnCache cache;
	uint64_t	requests = 0;	/* parts of requests; under the mutex of admission */
};

/* Those that could be opened, at least one; opened by main(). */
extern std::vector<Device *> devices;

/* Device memory of one request on one device: freed together. */
class Scratch
{
public:
	/* Stop at `limit` bytes (0 = none). */
	Scratch(Device &device, size_t limit) : device_(device), limit_(limit) {}
	Scratch(const Scratch &) = delete;
	~Scratch();

	/* Throws Failure where there is no memory. */
	void	   *allocate(size_t size, const char *what);
	size_t		held() const { return held_; }

	template <class T> T *
	array(size_t n, const char *what)
	{
		return (T *) allocate(n * sizeof(T), what);
	}

private:
	Device	   &device_;
	size_t		limit_;
	size_t		held_ = 0;
	std::vector<void *> blocks_;
};

/* Make the residency table; false if that fails.  Its memfd. */
extern bool residency_create(uint64_t limit);
extern int	residency_fd();

/* A chunk became resident (sign 1) or left (-1). */
extern void residency_note(const Resident &chunk, int sign);

#endif
