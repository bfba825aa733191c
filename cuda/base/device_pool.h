/*-------------------------------------------------------------------------
 *
 * device_pool.h
 *	  A pool of a device's memory: arenas that are taken from the device, and blocks of
 *	  them by best fit.
 *
 * Taking memory from the device synchronises it and costs too much per chunk.  Arenas
 * and what others hold of the device (lend) stay under one limit together; arenas that
 * nothing lies in go back where the limit, or the device, has no room for what is wanted.
 *
 * Nothing here knows CUDA.  Any thread may call.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_DEVICE_POOL_H
#define GPUCOL_CUDA_DEVICE_POOL_H

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>

class DevicePool
{
public:
	/*
	 * Hold at most `limit` bytes.  `take` gives so many, aligned to 512, or NULL;
	 * `give` takes them back.  Once, before any other call.
	 */
	void		open(std::function<char *(size_t)> take, std::function<void(char *)> give, size_t limit);
	size_t		limit() const { return limit_; }

	/* Bytes handed out, and lent. */
	size_t		used();

	/* Bytes of the limit that are not lent. */
	size_t		unlent();

	/*
	 * A block of at least `size` bytes, aligned to 512; NULL if the limit or the
	 * device does not allow it.  Throws where the host has no memory; then all is as before.
	 */
	void	   *allocate(size_t size);

	/* Take a block back, which nothing works with any more; NULL is no block.  Never throws. */
	void		release(void *block);

	/*
	 * Let somebody allocate so many bytes by other means, within the limit; false where
	 * it does not allow that beside what has been handed out.
	 */
	bool		lend(size_t size);
	void		repay(size_t size);

private:
	typedef std::multimap<size_t, char *> Free;

	struct Block
	{
		size_t		size;
		bool		free;
		Free::node_type place;	/* until it is free: its place among those, so that to take
								 * a block back needs no memory of the host */
	};
	typedef std::map<char *, Block> Blocks;
	typedef std::map<char *, size_t> Arenas;

	bool		grow(size_t size);
	bool		has_room(size_t size) const { return size <= limit_ && reserved_ + lent_ <= limit_ - size; }
	bool		make_room(size_t size);
	void		give_back_arenas(size_t size);
	void		forget(Blocks::iterator block);

	std::mutex	mutex_;
	std::function<char *(size_t)> take_;
	std::function<void(char *)> give_;
	size_t		limit_ = 0;
	size_t		reserved_ = 0;	/* bytes of arenas */
	size_t		lent_ = 0;
	size_t		used_ = 0;
	Blocks		blocks_;		/* every block, by address */
	Free		free_;			/* free blocks, by size */
	Arenas		arenas_;		/* with their sizes */
};

#endif
