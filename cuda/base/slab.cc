/*-------------------------------------------------------------------------
 *
 * slab.cc
 *	  Pinned shared memory, and the slabs that wait for a session.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/base/api.cuh"
#include "cuda/base/slab.cuh"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <vector>

uint64_t	slab_limit = (uint64_t) 8 << 30;

/* Bytes of slabs that wait, at most. */
static const uint64_t IDLE_LIMIT = (uint64_t) 512 << 20;
static const size_t IDLE_SLABS = 64;

static std::mutex mutex;
static uint64_t pinned = 0;		/* bytes */
static uint64_t waiting = 0;	/* of those, bytes that wait */
static std::vector<Slab *> idle;

/* Let go of a slab's memory; its bytes are no longer counted. */
static void
destroy(Slab *slab)
{
	if (slab->memory != NULL)
	{
		cudaHostUnregister(slab->memory);
		munmap(slab->memory, slab->size);
	}
	if (slab->fd >= 0)
		close(slab->fd);
	delete slab;
}

/* Make one; NULL where that fails. */
static Slab *
create(size_t size)
{
	Slab	   *slab = new (std::nothrow) Slab{NULL, size, -1, NULL};
	void	   *p = MAP_FAILED;

	if (slab == NULL)
		return NULL;
	slab->fd = memfd_create("gpucol slab", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (slab->fd >= 0 && ftruncate(slab->fd, (off_t) size) == 0)
	{
		/* no client can cut it short, where the system knows that: it would end who touches it */
		fcntl(slab->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, slab->fd, 0);
	}
	if (p != MAP_FAILED && cudaHostRegister(p, size, cudaHostRegisterPortable | cudaHostRegisterMapped) == cudaSuccess)
	{
		slab->memory = (char *) p;
		if (cudaHostGetDevicePointer(&slab->device, p, 0) != cudaSuccess)
		{
			cudaGetLastError();
			slab->device = NULL;
		}
		return slab;
	}
	if (p != MAP_FAILED)
	{
		cudaGetLastError();
		munmap(p, size);
	}
	destroy(slab);
	return NULL;
}

/* One of this size that waits, or NULL; else room is made for its bytes.  Locked. */
static Slab *
find(size_t size, std::vector<Slab *> *superfluous)
{
	for (size_t i = idle.size(); i-- > 0;)
		if (idle[i]->size == size)
		{
			Slab	   *slab = idle[i];

			idle.erase(idle.begin() + i);
			waiting -= size;
			return slab;
		}
	while (pinned + size > slab_limit && !idle.empty())
	{
		superfluous->push_back(idle.back());
		pinned -= idle.back()->size;
		waiting -= idle.back()->size;
		idle.pop_back();
	}
	return NULL;
}

Slab *
slab_take(size_t size)
{
	std::vector<Slab *> superfluous;
	Slab	   *slab;
	bool		may;
	{
		std::lock_guard<std::mutex> lock(mutex);

		superfluous.reserve(idle.size());
		idle.reserve(IDLE_SLABS);	/* a session that ends must not throw */
		slab = find(size, &superfluous);
		may = slab == NULL && pinned + size <= slab_limit;
		if (may)
			pinned += size;
	}
	for (Slab *s : superfluous)
		destroy(s);
	if (!may)
		return slab;
	slab = create(size);
	if (slab == NULL)
	{
		std::lock_guard<std::mutex> lock(mutex);

		pinned -= size;
	}
	return slab;
}

void
slab_give_back(Slab *slab, bool left)
{
	if (slab == NULL)
		return;
	{
		std::lock_guard<std::mutex> lock(mutex);

		if (left && waiting + slab->size <= IDLE_LIMIT && idle.size() < IDLE_SLABS)
		{
			idle.push_back(slab);
			waiting += slab->size;
			return;
		}
		pinned -= slab->size;
	}
	destroy(slab);
}
