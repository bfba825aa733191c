/*-------------------------------------------------------------------------
 *
 * cache.cc
 *	  Resident pieces of a device, and a request's own memory there.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/base/cache.cuh"

#include <algorithm>

std::vector<Device *> devices;

/* Pin a piece that is in the cache.  Locked. */
void
ColumnCache::pin(Resident *piece)
{
	if (piece->pins++ == 0)
		pinned_ += piece->bytes;
}

/* Find and pin.  Locked. */
Resident *
ColumnCache::look_up(const ChunkKey &key)
{
	auto		at = chunks_.find(key);

	if (at == chunks_.end())
	{
		misses++;
		return NULL;
	}

	Resident   *chunk = at->second;

	hits++;
	pin(chunk);
	chunk->uses++;
	chunk->used = ++clock_;
	return chunk;
}

Resident *
ColumnCache::find(const ChunkKey &key)
{
	std::lock_guard<std::mutex> lock(mutex_);

	return look_up(key);
}

void
ColumnCache::find(const ChunkKey *keys, size_t n, Resident **found)
{
	std::lock_guard<std::mutex> lock(mutex_);

	for (size_t i = 0; i < n; i++)
		found[i] = look_up(keys[i]);
}

PieceSet::PieceSet(ColumnCache &cache, std::vector<Resident *> pieces, uint64_t generation)
	: cache_(cache), pieces_(std::move(pieces)), generation_(generation)
{
	std::lock_guard<std::mutex> lock(cache_.mutex_);

	cache_.sets_.insert(this);
}

PieceSet::~PieceSet()
{
	std::lock_guard<std::mutex> lock(cache_.mutex_);

	if (generation_ == cache_.generation_)
		cache_.settle();
	cache_.sets_.erase(this);
}

bool
PieceSet::pin()
{
	std::lock_guard<std::mutex> lock(cache_.mutex_);

	if (generation_ != cache_.generation_)
		return false;
	pins_++;
	uses_++;
	used_ = ++cache_.clock_;
	cache_.hits += pieces_.size();
	return true;
}

void
PieceSet::unpin()
{
	std::lock_guard<std::mutex> lock(cache_.mutex_);

	if (--pins_ > 0 || !settled_)
		return;
	for (Resident *piece : pieces_)
		cache_.unpin_one(piece);
	settled_ = false;
}

/*
 * Bring the counts of pieces in sets up to date.  Locked.  Of a set of another
 * generation they are: before anything leaves this is called.
 */
void
ColumnCache::settle()
{
	for (PieceSet *set : sets_)
	{
		bool		pins = set->pins_ > 0 && !set->settled_;

		if (set->generation_ != generation_ || (set->uses_ == 0 && !pins))
			continue;
		for (Resident *piece : set->pieces_)
		{
			piece->uses += set->uses_;
			piece->used = std::max(piece->used, set->used_);
			if (pins)
				pin(piece);
		}
		set->uses_ = 0;
		set->settled_ = set->settled_ || pins;
	}
}

uint64_t
ColumnCache::generation()
{
	std::lock_guard<std::mutex> lock(mutex_);

	return generation_;
}

bool
ColumnCache::has(const ChunkKey &key)
{
	std::lock_guard<std::mutex> lock(mutex_);

	return chunks_.find(key) != chunks_.end();
}

Resident *
ColumnCache::add(Resident *chunk)
{
	std::lock_guard<std::mutex> lock(mutex_);
	auto		at = chunks_.find(chunk->key);
	std::list<Resident *> place;

	if (at != chunks_.end())
	{
		Resident   *first = at->second;

		pool_->release(chunk->memory);
		delete chunk;
		pin(first);
		return first;
	}
	place.push_front(chunk);
	chunks_.emplace(chunk->key, chunk);
	lru_.splice(lru_.begin(), place);	/* from here on nothing throws */
	chunk->pins = 0;
	pin(chunk);
	chunk->entered = true;
	chunk->uses = 1;
	chunk->used = chunk->placed = ++clock_;
	chunk->place = lru_.begin();
	bytes_ += chunk->bytes;
	residency_note(*chunk, 1);
	return chunk;
}

/* Forget a chunk; its memory goes when the last pin does.  Locked. */
void
ColumnCache::drop(Resident *chunk)
{
	generation_++;
	chunks_.erase(chunk->key);
	lru_.erase(chunk->place);
	bytes_ -= chunk->bytes;
	residency_note(*chunk, -1);
	chunk->kept = false;
	if (chunk->pins == 0)
	{
		pool_->release(chunk->memory);
		delete chunk;
	}
}

void
ColumnCache::unpin(Resident *const *pieces, size_t n)
{
	std::lock_guard<std::mutex> lock(mutex_);

	for (size_t i = 0; i < n; i++)
		if (pieces[i] != NULL)
			unpin_one(pieces[i]);
}

/* Locked. */
void
ColumnCache::unpin_one(Resident *piece)
{
	if (--piece->pins > 0)
		return;
	if (piece->entered)
		pinned_ -= piece->bytes;
	if (piece->kept)
		return;
	pool_->release(piece->memory);
	delete piece;
}

/* What was used since it came to its place, or is now, gets a new one first. */
bool
ColumnCache::make_room(size_t size)
{
	std::lock_guard<std::mutex> lock(mutex_);
	size_t		freed = 0;

	settle();
	for (size_t looks = 2 * lru_.size(); looks > 0 && freed < size; looks--)
	{
		Resident   *piece = lru_.back();

		if (piece->pins > 0 || piece->used > piece->placed)
		{
			piece->placed = piece->used;
			lru_.splice(lru_.begin(), lru_, piece->place);
			continue;
		}
		freed += piece->bytes;
		evictions++;
		drop(piece);
		if (lru_.empty())
			break;
	}
	return freed > 0;
}

void *
ColumnCache::allocate(size_t size)
{
	if (size > pool_->limit())
		return NULL;			/* nothing that could leave would make that room */
	for (int tries = 0; tries < 8; tries++)
	{
		void	   *memory = pool_->allocate(size);

		if (memory != NULL || !make_room(size << tries))
			return memory;
	}
	return NULL;
}

GpucolWireEvicted
ColumnCache::evict(const uint64_t storage[2])
{
	std::lock_guard<std::mutex> lock(mutex_);
	GpucolWireEvicted evicted = {0, 0};

	settle();
	for (auto i = lru_.begin(); i != lru_.end();)
	{
		Resident   *chunk = *i++;

		if ((storage[0] != 0 || storage[1] != 0) &&
			(chunk->key.storage[0] != storage[0] || chunk->key.storage[1] != storage[1]))
			continue;
		evicted.chunks++;
		evicted.bytes += chunk->bytes;
		drop(chunk);
	}
	return evicted;
}

std::vector<GpucolWireCacheRow>
ColumnCache::rows()
{
	std::lock_guard<std::mutex> lock(mutex_);
	std::vector<GpucolWireCacheRow> rows;

	settle();

	std::vector<Resident *> order(lru_.begin(), lru_.end());

	std::stable_sort(order.begin(), order.end(), [] (Resident *a, Resident *b) { return a->used > b->used; });
	for (Resident *c : order)
		rows.push_back({{c->key.storage[0], c->key.storage[1]}, c->key.segment,
					   c->key.attnum, c->pins, c->bytes, c->uses, device_, c->key.kind});
	return rows;
}

size_t
ColumnCache::bytes()
{
	std::lock_guard<std::mutex> lock(mutex_);

	return bytes_;
}

size_t
ColumnCache::pinned()
{
	std::lock_guard<std::mutex> lock(mutex_);

	settle();
	return pinned_;
}

bool
Device::lend(size_t size)
{
	for (int tries = 0; tries < 8; tries++)
		if (pool.lend(size))
			return true;
		else if (!cache.make_room(size << tries))
			return false;
	return false;
}

size_t
Device::available()
{
	size_t		cached = cache.bytes();
	size_t		pinned = std::min(cached, cache.pinned());
	size_t		used = pool.used() - std::min(pool.used(), cached - pinned);

	return pool.limit() - std::min(pool.limit(), used);
}

Scratch::~Scratch()
{
	for (void *block : blocks_)
		device_.pool.release(block);
}

void *
Scratch::allocate(size_t size, const char *what)
{
	void	   *block;

	if (!within_limit(size))
		throw Failure{GPUCOL_OUT_OF_MEMORY, std::string("the query's memory limit does not hold ") + what};
	blocks_.push_back(NULL);	/* may throw */
	block = blocks_.back() = device_.cache.allocate(size);
	if (block == NULL)
		throw Failure{GPUCOL_OUT_OF_MEMORY, std::string("device memory does not hold ") + what};
	held_ += size;
	return block;
}

void *
Scratch::spare(size_t size)
{
	void	   *block;

	if (!within_limit(size))
		return NULL;
	blocks_.push_back(NULL);	/* may throw */
	block = blocks_.back() = device_.pool.allocate(size);
	if (block != NULL)
		held_ += size;
	return block;
}
