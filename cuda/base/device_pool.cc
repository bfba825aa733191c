/*-------------------------------------------------------------------------
 *
 * device_pool.cc
 *	  A pool of a device's memory.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/base/device_pool.h"

#include <cstdint>
#include <iterator>

static const size_t ALIGNMENT = 512;
static const size_t ARENA = (size_t) 512 << 20;

void
DevicePool::open(std::function<char *(size_t)> take, std::function<void(char *)> give, size_t limit)
{
	std::lock_guard<std::mutex> lock(mutex_);

	take_ = std::move(take);
	give_ = std::move(give);
	limit_ = limit;
}

size_t
DevicePool::used()
{
	std::lock_guard<std::mutex> lock(mutex_);

	return used_ + lent_;
}

size_t
DevicePool::unlent()
{
	std::lock_guard<std::mutex> lock(mutex_);

	return limit_ - lent_;
}

/* Remove a block from the free ones.  Locked, as all below. */
void
DevicePool::forget(Blocks::iterator block)
{
	auto		range = free_.equal_range(block->second.size);

	for (auto i = range.first; i != range.second; ++i)
		if (i->second == block->first)
		{
			free_.erase(i);
			return;
		}
}

/* Give back arenas that nothing lies in, until the limit has room for so many bytes. */
void
DevicePool::give_back_arenas(size_t size)
{
	for (auto i = arenas_.begin(); i != arenas_.end() && !has_room(size);)
	{
		auto		block = blocks_.find(i->first);

		if (!block->second.free || block->second.size != i->second)
		{
			++i;
			continue;
		}
		forget(block);
		blocks_.erase(block);
		reserved_ -= i->second;
		give_(i->first);
		i = arenas_.erase(i);
	}
}

/* The same where that can help; is there room then? */
bool
DevicePool::make_room(size_t size)
{
	if (size <= limit_ && used_ + lent_ <= limit_ - size)
		give_back_arenas(size);
	return has_room(size);
}

/* An entry of a map that is not in it yet. */
template <class Map>
static typename Map::node_type
make_node(typename Map::key_type key, typename Map::mapped_type value)
{
	Map			one;

	one.emplace(std::move(key), std::move(value));
	return one.extract(one.begin());
}

/* Take an arena that a block of `size` fits. */
bool
DevicePool::grow(size_t size)
{
	size_t		want = has_room(ARENA) && size < ARENA ? ARENA : size;
	char	   *start;

	/* what may throw comes before the device gives anything */
	Arenas::node_type arena = make_node<Arenas>((char *) NULL, (size_t) 0);
	Blocks::node_type block = make_node<Blocks>((char *) NULL, Block{0, true, {}});
	Free::node_type place = make_node<Free>((size_t) 0, (char *) NULL);

	if (!make_room(want))
		return false;
	start = take_(want);
	if (start == NULL)
	{
		/* the device has less than the limit */
		give_back_arenas(SIZE_MAX);
		want = size;
		start = take_(want);
	}
	if (start == NULL)
		return false;
	arena.key() = block.key() = place.mapped() = start;
	arena.mapped() = block.mapped().size = place.key() = want;
	reserved_ += want;
	arenas_.insert(std::move(arena));
	blocks_.insert(std::move(block));
	free_.insert(std::move(place));
	return true;
}

void *
DevicePool::allocate(size_t size)
{
	std::lock_guard<std::mutex> lock(mutex_);

	if (size > limit_)
		return NULL;
	size = size == 0 ? ALIGNMENT : (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

	auto		fit = free_.lower_bound(size);

	if (fit == free_.end())
	{
		if (!grow(size))
			return NULL;
		fit = free_.lower_bound(size);
	}

	char	   *start = fit->second;
	Block	   &block = blocks_.find(start)->second;

	if (block.size > size)
	{
		Free::node_type place = make_node<Free>((size_t) 0, (char *) NULL);
		Free::node_type rest;

		blocks_.emplace(start + size, Block{block.size - size, true, {}});
		rest = free_.extract(fit);	/* from here on nothing throws */
		rest.key() = block.size - size;
		rest.mapped() = start + size;
		free_.insert(std::move(rest));
		block.size = size;
		block.place = std::move(place);
	}
	else
		block.place = free_.extract(fit);
	block.free = false;
	used_ += size;
	return start;
}

/* Joins with free neighbours of the same arena. */
void
DevicePool::release(void *pointer)
{
	std::lock_guard<std::mutex> lock(mutex_);
	auto		at = blocks_.find((char *) pointer);

	if (at == blocks_.end() || at->second.free)
		return;
	Free::node_type place = std::move(at->second.place);

	used_ -= at->second.size;
	at->second.free = true;

	auto		next = std::next(at);

	if (next != blocks_.end() && next->second.free &&
		next->first == at->first + at->second.size && arenas_.count(next->first) == 0)
	{
		forget(next);
		at->second.size += next->second.size;
		blocks_.erase(next);
	}
	if (at != blocks_.begin() && arenas_.count(at->first) == 0)
	{
		auto		before = std::prev(at);

		if (before->second.free && before->first + before->second.size == at->first)
		{
			forget(before);
			before->second.size += at->second.size;
			blocks_.erase(at);
			at = before;
		}
	}
	place.key() = at->second.size;
	place.mapped() = at->first;
	free_.insert(std::move(place));
}

bool
DevicePool::lend(size_t size)
{
	std::lock_guard<std::mutex> lock(mutex_);

	if (!make_room(size))
		return false;
	lent_ += size;
	return true;
}

void
DevicePool::repay(size_t size)
{
	std::lock_guard<std::mutex> lock(mutex_);

	lent_ -= size;
}
