/*-------------------------------------------------------------------------
 *
 * cache.cuh
 *	  A device's resident pieces (chunks, bitmaps of deleted rows, numbers of
 *	  dictionary entries), keyed by storage, segment and column, and the devices.
 *
 * Segments never change, so a chunk is never stale; `identity` guards against a
 * storage number that is used again for another table, and tells bitmaps and
 * numbers of one segment apart.  A request pins the
 * pieces it uses; others leave when memory is needed, those first that were not used
 * since a previous look, in order of their coming.  What the cache holds is shown to clients by the residency table
 * (residency.cc).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_CACHE_CUH
#define GPUCOL_CUDA_CACHE_CUH

#include <cstdint>
#include <list>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "cuda/base/device.cuh"
#include "cuda/base/device_chunk.h"
#include "service/protocol.h"

struct ChunkKey
{
	uint64_t	storage[2];
	uint64_t	segment;
	int32_t		attnum;			/* 0 for DELETED */
	uint32_t	kind;			/* GpucolPutKind: CHUNK, DELETED or REMAP */
	uint64_t	identity;

	bool operator==(const ChunkKey &o) const
	{
		return storage[0] == o.storage[0] && storage[1] == o.storage[1] &&
			segment == o.segment && attnum == o.attnum && kind == o.kind && identity == o.identity;
	}
};

struct ChunkKeyHash
{
	size_t operator()(const ChunkKey &k) const
	{
		uint64_t	h = k.storage[0] * 0x9e3779b97f4a7c15ull ^ k.storage[1];

		h = (h ^ k.segment) * 0xbf58476d1ce4e5b9ull;
		h = (h ^ (h >> 29) ^ (uint64_t) k.attnum ^ (k.identity + k.kind)) * 0x94d049bb133111ebull;
		return h ^ (h >> 31);
	}
};

class ColumnCache;

/* A piece in device memory. */
struct Resident
{
	ColumnCache *home;			/* of its device */
	ChunkKey	key;
	GpucolChunkDesc desc;
	GpucolDeviceChunk chunk;	/* without remap */
	std::vector<int64_t> dict;	/* entries of a numeric DICT */
	bool		zones_useful;	/* vectors differ in their zones */
	std::vector<uint32_t> numbers;	/* REMAP */
	uint32_t	most = 0;		/* REMAP: the greatest of them */
	void	   *memory = NULL;
	size_t		bytes = 0;
	uint32_t	nrows = 0;		/* REMAP: entries */
	bool		proven = false; /* values are within what `desc` tells; asked by any thread */
	uint32_t	pins = 0;
	uint64_t	uses = 0;
	uint64_t	used = 0;		/* the cache's clock then */
	uint64_t	placed = 0;		/* the same, when it came to its place */
	bool		kept = true;	/* in the cache (else only pinned) */
	bool		entered = false;	/* was so once */
	std::list<Resident *>::iterator place;

	bool		is_proven() const { return __atomic_load_n(&proven, __ATOMIC_RELAXED); }
	void		prove() { __atomic_store_n(&proven, true, __ATOMIC_RELAXED); }
};

/*
 * Pieces that requests pin together: with one count, for a table of a billion rows has
 * thousands of them.  The pieces' own counts are brought up to date before anything
 * looks at them (ColumnCache::settle).
 */
class PieceSet
{
public:
	/* Of pieces that were found in a cache when it was of this generation, or later. */
	PieceSet(ColumnCache &cache, std::vector<Resident *> pieces, uint64_t generation);

	/* No longer pinned by anybody. */
	~PieceSet();
	PieceSet(const PieceSet &) = delete;

	/* Pin all of them; false if something has left the cache since. */
	bool		pin();
	void		unpin();
	uint64_t	generation() const { return generation_; }

private:
	friend class ColumnCache;

	ColumnCache &cache_;
	std::vector<Resident *> pieces_;	/* which may be gone once the generation is another */
	uint64_t	generation_;
	uint32_t	pins_ = 0;
	bool		settled_ = false;	/* each piece has one pin for all of these */
	uint64_t	uses_ = 0;		/* that the pieces have not counted yet */
	uint64_t	used_ = 0;		/* the cache's clock at the last of them */
};

class ColumnCache
{
public:
	ColumnCache(DevicePool *pool, int device) : pool_(pool), device_(device) {}

	/* Pin and return a resident chunk, or NULL. */
	Resident   *find(const ChunkKey &key);

	/* The same for each of n keys, under one lock. */
	void		find(const ChunkKey *keys, size_t n, Resident **found);

	/* Counts what has left. */
	uint64_t	generation();

	/* Number of the device. */
	int			device() const { return device_; }

	/* Is a chunk resident?  Pins nothing, counts nothing. */
	bool		has(const ChunkKey &key);

	/*
	 * Enter a chunk that the caller has made; it comes back pinned.  If another
	 * request was first, the caller's is dropped and that one returned.  Where the
	 * host has no memory for it this throws, and the chunk is the caller's as before.
	 */
	Resident   *add(Resident *chunk);
	void		unpin(Resident *const *pieces, size_t n);	/* NULLs are left out */

	/* Evict unpinned pieces until `size` more bytes may be allocated. */
	bool		make_room(size_t size);

	/* Evict the unpinned pieces of a storage, or all (0, 0). */
	GpucolWireEvicted evict(const uint64_t storage[2]);

	/* Memory of device `size` for a new chunk; evicts; NULL if impossible. */
	void	   *allocate(size_t size);

	std::vector<GpucolWireCacheRow> rows();
	size_t		bytes();

	/* Bytes of the pieces that requests have pinned. */
	size_t		pinned();
	uint64_t	hits = 0;
	uint64_t	misses = 0;
	uint64_t	evictions = 0;

private:
	friend class PieceSet;

	Resident   *look_up(const ChunkKey &key);
	void		pin(Resident *piece);
	void		drop(Resident *chunk);
	void		unpin_one(Resident *piece);
	void		settle();

	DevicePool *pool_;
	int			device_;		/* number of the device */
	std::mutex	mutex_;
	std::unordered_map<ChunkKey, Resident *, ChunkKeyHash> chunks_;
	std::list<Resident *> lru_;	/* to leave from the end */
	std::set<PieceSet *> sets_;
	uint64_t	clock_ = 0;
	uint64_t	generation_ = 0;
	size_t		bytes_ = 0;
	size_t		pinned_ = 0;	/* bytes of pieces with pins of their own */
};

/* A device.  CUDA's own number of it is `ordinal`. */
struct Device
{
	Device(int number_, int ordinal_, const std::string &code_ = "")
		: number(number_), ordinal(ordinal_), code(code_), cache(&pool, number_) {}

	int			number;
	int			ordinal;
	std::string code;			/* which of the program's it runs (device_verdict.h) */
	/*
	 * As DevicePool::lend(), but pieces that nobody has pinned leave for it; and how much
	 * that could be.
	 */
	bool		lend(size_t size);
	size_t		available();

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

	/* The same of memory that nothing has to leave for; NULL where there is none. */
	void	   *spare(size_t size);

	template <class T> T *
	array(size_t n, const char *what)
	{
		return (T *) allocate(n * sizeof(T), what);
	}

private:
	bool		within_limit(size_t size) const { return limit_ == 0 || (size <= limit_ && held_ <= limit_ - size); }

	Device	   &device_;
	size_t		limit_;
	size_t		held_ = 0;
	std::vector<void *> blocks_;
};

/* Make the residency table; false if that fails.  Its memfd. */
extern bool residency_create(uint64_t limit);
extern int	residency_fd();

/* One more session answers a request (sign 1), or one less (-1). */
extern void residency_running(int sign);

/* Do so few sessions that some of the processors have nothing to do? */
extern bool residency_idle();

/* A chunk became resident (sign 1) or left (-1). */
extern void residency_note(const Resident &chunk, int sign);

#endif
