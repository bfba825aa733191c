/*-------------------------------------------------------------------------
 *
 * cache.cu
 *	  Resident chunks of a device, and a request's own memory there.
 *
 *-------------------------------------------------------------------------
 */
#include "cache.cuh"

std::vector<Device *> devices;

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
	chunk->pins++;
	chunk->uses++;
	lru_.splice(lru_.begin(), lru_, chunk->place);
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

	if (at != chunks_.end())
	{
		Resident   *first = at->second;

		pool_->release(chunk->memory);
		delete chunk;
		first->pins++;
		return first;
	}
	chunk->pins = 1;
	chunk->uses = 1;
	chunks_[chunk->key] = chunk;
	lru_.push_front(chunk);
	chunk->place = lru_.begin();
	bytes_ += chunk->bytes;
	residency_note(*chunk, 1);
	return chunk;
}

/* Forget a chunk; its memory goes when the last pin does.  Locked. */
void
ColumnCache::drop(Resident *chunk)
{
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
ColumnCache::unpin(Resident *chunk)
{
	std::lock_guard<std::mutex> lock(mutex_);

	if (--chunk->pins == 0 && !chunk->kept)
	{
		pool_->release(chunk->memory);
		delete chunk;
	}
}

bool
ColumnCache::make_room(size_t size)
{
	std::lock_guard<std::mutex> lock(mutex_);
	size_t		freed = 0;

	for (auto i = lru_.end(); i != lru_.begin() && freed < size;)
	{
		Resident   *chunk = *--i;

		if (chunk->pins > 0)
			continue;
		++i;
		freed += chunk->bytes;
		evictions++;
		drop(chunk);
	}
	return freed > 0;
}

void *
ColumnCache::allocate(size_t size)
{
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

	for (Resident *c : lru_)
		rows.push_back({{c->key.storage[0], c->key.storage[1]}, c->key.segment,
					   c->key.attnum, c->pins, c->bytes, c->uses});
	return rows;
}

size_t
ColumnCache::bytes()
{
	std::lock_guard<std::mutex> lock(mutex_);

	return bytes_;
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

	if (limit_ > 0 && held_ + size > limit_)
		throw Failure{GPUCOL_OUT_OF_MEMORY, std::string("the query's memory limit does not hold ") + what};
	block = device_.cache.allocate(size);
	if (block == NULL)
		throw Failure{GPUCOL_OUT_OF_MEMORY, std::string("device memory does not hold ") + what};
	blocks_.push_back(block);
	held_ += size;
	return block;
}
