/*-------------------------------------------------------------------------
 *
 * device_memory.cc
 *	  Unit test of what the daemon does with device memory (cuda/base/device.cc, cache.cu,
 *	  claim.cu) over an imitation of CUDA's allocator: the limit, which pieces leave,
 *	  and who waits.
 *
 *-------------------------------------------------------------------------
 */
#include <cuda_runtime.h>		/* the imitation: test/unit/no_cuda */

#include "cuda/base/cache.cc"
#include "cuda/base/claim.cc"
#include "cuda/base/device.cc"
#include "cuda/base/device_pool.cc"

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "check_cc.h"

static const size_t MB = (size_t) 1 << 20;

/* ---- memory of the host that runs out ---- */

static thread_local int allocations_left = -1;	/* until one fails; -1: none does */

__attribute__((noinline)) void *
operator new(size_t size)
{
	void	   *p = allocations_left == 0 ? NULL : malloc(size);

	if (p == NULL)
		throw std::bad_alloc();
	if (allocations_left > 0)
		allocations_left--;
	return p;
}

__attribute__((noinline)) void *operator new(size_t size, const std::nothrow_t &) noexcept { return malloc(size); }
__attribute__((noinline)) void operator delete(void *p) noexcept { free(p); }
__attribute__((noinline)) void operator delete(void *p, size_t) noexcept { free(p); }

/* ---- the imitation ---- */

static std::map<void *, size_t> allocated;
static size_t allocated_bytes,
			most_bytes,
			physical;			/* bytes that the device has */

cudaError_t
cudaMalloc(char **p, size_t size)
{
	if (allocated_bytes + size > physical)
		return cudaErrorMemoryAllocation;
	int			left = allocations_left;

	allocations_left = -1;		/* its own memory never fails */
	*p = (char *) aligned_alloc(512, (size + 511) / 512 * 512);
	allocated[*p] = size;
	allocations_left = left;
	allocated_bytes += size;
	most_bytes = std::max(most_bytes, allocated_bytes);
	return cudaSuccess;
}

cudaError_t
cudaFree(void *p)
{
	CHECK("what is freed was allocated", allocated.count(p) == 1);
	allocated_bytes -= allocated[p];
	allocated.erase(p);
	free(p);
	return cudaSuccess;
}

/* What cuda/base/residency.cc tells clients is not of interest here. */
void residency_note(const Resident &, int) {}
bool residency_idle() { return false; }

/* ---- pieces ---- */

static ChunkKey
key(uint64_t segment)
{
	return {{1, 2}, segment, 1, GPUCOL_PUT_CHUNK, 77};
}

/* Make a piece; NULL where there is no memory. */
static Resident *
make(Device &device, uint64_t segment, size_t bytes)
{
	void	   *memory = device.cache.allocate(bytes);
	Resident   *piece;

	if (memory == NULL)
		return NULL;
	piece = new Resident();
	piece->home = &device.cache;
	piece->key = key(segment);
	piece->memory = memory;
	piece->bytes = bytes;
	return piece;
}

/* Load a piece; it comes back pinned, NULL where there is no memory. */
static Resident *
load(Device &device, uint64_t segment, size_t bytes)
{
	Resident   *piece = make(device, segment, bytes);

	return piece != NULL ? device.cache.add(piece) : NULL;
}

/* Load a piece and let go of it. */
static bool
leave(Device &device, uint64_t segment, size_t bytes)
{
	Resident   *piece = load(device, segment, bytes);

	if (piece != NULL)
		device.cache.unpin(&piece, 1);
	return piece != NULL;
}

/* Use a resident piece. */
static bool
use(Device &device, uint64_t segment)
{
	Resident   *piece = device.cache.find(key(segment));

	device.cache.unpin(&piece, 1);
	return piece != NULL;
}

static Device *
new_device(size_t limit)
{
	Device	   *device = new Device(0, 0);

	physical = 1000 * MB;
	most_bytes = 0;
	device_open_pool(&device->pool, 0, limit);
	return device;
}

/* Everything leaves, and its memory is free. */
static void
end(Device *device)
{
	uint64_t	all[2] = {0, 0};
	char	   *block;

	device->cache.evict(all);
	CHECK("nothing is used in the end", device->pool.used() == 0 && device->cache.pinned() == 0);
	CHECK("the limit held", most_bytes <= device->pool.limit());
	block = (char *) device->pool.allocate(device->pool.limit());	/* which shrinks the rest away */
	CHECK("and all of it can be had in one", block != NULL);
	device->pool.release(block);
	cudaFree(block);
	delete device;
}

/* ---- tests ---- */

static void
test_lru()
{
	Device	   *device = new_device(64 * MB);
	Resident   *pinned;

	for (uint64_t s = 0; s < 8; s++)
		CHECK("there is room", leave(*device, s, 8 * MB));
	CHECK("used again", use(*device, 0) && use(*device, 2));
	pinned = device->cache.find(key(3));
	CHECK("room is made", leave(*device, 8, 8 * MB) && leave(*device, 9, 8 * MB));
	CHECK("what was used again stays", device->cache.has(key(0)) && device->cache.has(key(2)));
	CHECK("what is pinned stays", device->cache.has(key(3)));
	CHECK("those of the others that came first leave", !device->cache.has(key(1)) && !device->cache.has(key(4)) &&
		  device->cache.has(key(5)) && device->cache.has(key(6)) && device->cache.has(key(7)));
	CHECK("evictions are counted", device->cache.evictions == 2);
	CHECK("pinned bytes", device->cache.pinned() == 8 * MB);
	device->cache.unpin(&pinned, 1);
	CHECK("and bytes", device->cache.bytes() == 64 * MB && device->pool.used() == 64 * MB);
	end(device);
}

static void
test_all_pinned()
{
	Device	   *device = new_device(64 * MB);
	Resident   *pieces[8];

	for (uint64_t s = 0; s < 8; s++)
		pieces[s] = load(*device, s, 8 * MB);
	CHECK("nothing pinned leaves", load(*device, 9, 8 * MB) == NULL);
	CHECK("all is pinned", device->cache.pinned() == 64 * MB);
	device->cache.unpin(pieces, 8);
	CHECK("nothing is pinned", device->cache.pinned() == 0);
	end(device);
}

/* A piece that is evicted while pinned goes with its last pin. */
static void
test_evicted_while_pinned()
{
	Device	   *device = new_device(64 * MB);
	Resident   *piece = load(*device, 1, 8 * MB),
			   *again;
	uint64_t	all[2] = {0, 0};

	device->cache.evict(all);
	CHECK("it is not found", device->cache.find(key(1)) == NULL);
	CHECK("its memory is in use", device->pool.used() == 8 * MB && device->cache.pinned() == 8 * MB);
	again = load(*device, 1, 8 * MB);
	CHECK("the same comes anew", again != piece && device->cache.pinned() == 16 * MB);
	device->cache.unpin(&piece, 1);
	device->cache.unpin(&again, 1);
	CHECK("only the new one is left", device->pool.used() == 8 * MB && device->cache.pinned() == 0);
	end(device);
}

/* Pieces that are pinned with one count. */
static void
test_sets()
{
	Device	   *device = new_device(64 * MB);
	std::vector<Resident *> pieces;

	for (uint64_t s = 0; s < 4; s++)
		pieces.push_back(load(*device, s, 8 * MB));
	device->cache.unpin(pieces.data(), 4);

	PieceSet   *set = new PieceSet(device->cache, pieces, device->cache.generation());

	CHECK("a set is pinned", set->pin() && set->pin() && device->cache.pinned() == 32 * MB);
	for (uint64_t s = 4; s < 14; s++)
		CHECK("others come", leave(*device, s, 8 * MB));
	CHECK("and it stays", device->cache.has(key(0)) && device->cache.has(key(3)) && device->cache.pinned() == 32 * MB);
	set->unpin();
	CHECK("until nobody pins it", device->cache.pinned() == 32 * MB);
	set->unpin();
	CHECK("any more", device->cache.pinned() == 0 && !set->pin());
	delete set;
	end(device);
}

/* Two requests load the same piece at a time. */
static void
test_loaded_twice()
{
	Device	   *device = new_device(64 * MB);
	Resident   *one = load(*device, 1, 8 * MB),
			   *two = load(*device, 1, 8 * MB);

	CHECK("the first one's is kept", one == two && device->pool.used() == 8 * MB && device->cache.pinned() == 8 * MB);
	device->cache.unpin(&one, 1);
	CHECK("pinned by the other", device->cache.pinned() == 8 * MB);
	device->cache.unpin(&two, 1);
	end(device);
}

/* The host has no memory for a piece's entry: the cache is as before, and the piece its maker's. */
static void
test_no_host_memory()
{
	Device	   *device = new_device(64 * MB);
	int			failures = 0;

	for (uint64_t segment = 1; segment <= 40; segment++)	/* its table grows now and then */
	{
		Resident   *piece = make(*device, segment, MB);
		bool		added = false;

		for (int left = 0; !added; left++)
			try
			{
				allocations_left = left;
				device->cache.add(piece);
				allocations_left = -1;
				added = true;
			}
			catch (const std::bad_alloc &)
			{
				allocations_left = -1;
				failures++;
				CHECK("not entered", !device->cache.has(key(segment)) && device->cache.rows().size() == segment - 1);
				CHECK("nor counted", device->cache.bytes() == (segment - 1) * MB && device->cache.pinned() == 0);
			}
		CHECK("entered in the end", device->cache.rows().size() == segment && device->cache.pinned() == MB);
		device->cache.unpin(&piece, 1);
	}
	CHECK("memory was lacking", failures >= 80);
	end(device);
}

/* The host has no memory for a block's entry: the pool is as before, and what comes back needs none. */
static void
test_pool_without_host_memory()
{
	Device	   *device = new_device(64 * MB);
	std::vector<void *> blocks;
	int			failures = 0;

	blocks.reserve(100);
	for (int i = 0; i < 100; i++)
	{
		size_t		before = device->pool.used(),
					size = ((i * 37) % 11 + 1) * 4096;
		void	   *block = NULL;

		for (int left = 0; block == NULL; left++)
			try
			{
				allocations_left = left;
				block = device->pool.allocate(size);
				allocations_left = -1;
			}
			catch (const std::bad_alloc &)
			{
				allocations_left = -1;
				failures++;
				CHECK("nothing was taken", device->pool.used() == before);
			}
		CHECK("taken in the end", device->pool.used() == before + size);
		blocks.push_back(block);
		if (i % 3 == 2)
		{
			allocations_left = 0;
			device->pool.release(blocks[i / 2]);
			allocations_left = -1;
			blocks[i / 2] = NULL;
		}
	}
	allocations_left = 0;
	for (void *block : blocks)
		device->pool.release(block);
	allocations_left = -1;
	CHECK("all came back", device->pool.used() == 0);

	void	   *all = device->pool.allocate(64 * MB);

	CHECK("as one", all != NULL);
	device->pool.release(all);
	CHECK("memory was lacking", failures >= 100);
	end(device);
}

/* Memory that small pieces have had is for a large one too. */
static void
test_large_block()
{
	Device	   *device = new_device(64 * MB);
	void	   *large;

	for (uint64_t s = 0; s < 300; s++)
		leave(*device, s, MB / 4);
	large = device->cache.allocate(48 * MB);
	CHECK("a large block", large != NULL);
	CHECK("no larger than the limit", device->cache.allocate(65 * MB) == NULL && most_bytes <= 64 * MB);
	device->pool.release(large);
	end(device);
}

/* The device has less memory than the limit: others use it too. */
static void
test_physical()
{
	Device	   *device = new_device(64 * MB);

	physical = 20 * MB;
	CHECK("what there is", leave(*device, 1, 8 * MB) && leave(*device, 2, 8 * MB));
	CHECK("then others leave", leave(*device, 3, 8 * MB) && !device->cache.has(key(1)));
	physical = 1000 * MB;
	end(device);
}

/* Memory that a recursion borrows. */
static void
test_lending()
{
	Device	   *device = new_device(64 * MB);
	Resident   *pinned;

	for (uint64_t s = 0; s < 8; s++)
		leave(*device, s, 8 * MB);
	pinned = device->cache.find(key(3));
	CHECK("all but what is pinned can be had", device->available() == 56 * MB);
	CHECK("pieces leave for it", device->lend(20 * MB) && device->cache.bytes() == 40 * MB &&
		  device->cache.has(key(3)));
	CHECK("it counts", allocated_bytes + 20 * MB <= 64 * MB && device->pool.used() == 60 * MB &&
		  device->pool.unlent() == 44 * MB);
	CHECK("others find less", device->available() == 36 * MB && device->cache.allocate(48 * MB) == NULL);
	CHECK("what is pinned stays", device->lend(30 * MB) && !device->lend(10 * MB) && device->cache.has(key(3)));
	device->cache.unpin(&pinned, 1);
	CHECK("until it is not", device->lend(10 * MB) && device->pool.used() <= 64 * MB);
	CHECK("no more than the limit", !device->lend(65 * MB));
	device->pool.repay(60 * MB);
	CHECK("all is repaid", device->pool.unlent() == 64 * MB && leave(*device, 9, 8 * MB));
	end(device);
}

static void
test_claims()
{
	Device	   *device = new_device(64 * MB);
	auto		need = [&] (uint64_t pinned, uint64_t missing) {
		return std::vector<Need>{{device, 56 * MB, pinned * MB, missing * MB}};
	};
	Claim		a;
	std::vector<Resident *> loaded;

	CHECK("more than there is, for one alone", a.take(need(0, 100)));
	{
		Claim		nothing,
					b;

		CHECK("who has everything need not wait", nothing.take(need(0, 0)));
		CHECK("another must", !b.take(need(0, 1)));
	}
	a.settle(*device, 100 * MB);
	for (uint64_t s = 0; s < 4; s++)
		loaded.push_back(load(*device, s, 8 * MB));

	Claim	   *c = new Claim,
			   *d = new Claim,
			   *e = new Claim;

	CHECK("beside what is pinned", c->take(need(0, 20)));
	CHECK("not beyond", !d->take(need(0, 10)));
	CHECK("nor past who waits", !e->take(need(0, 2)));
	delete d;
	CHECK("who has left the queue", e->take(need(0, 2)));
	delete e;
	delete c;
	c = new Claim;
	CHECK("what nobody else has pinned", c->take(need(32, 60)));
	delete c;
	device->cache.unpin(loaded.data(), loaded.size());
	end(device);
}

/* Clients that load more than memory holds: each comes to its end. */
static void
test_many()
{
	Device	   *device = new_device(64 * MB);
	std::vector<std::thread> clients;
	std::atomic<int> done{0},
				waited{0};

	for (int client = 0; client < 16; client++)
		clients.emplace_back([&, client] {
			for (int i = 0; i < 40; i++)
			{
				uint64_t	first = (client + i) % 12 * 8;
				Resident   *pieces[8] = {};
				std::unique_ptr<Claim> claim(new Claim);

				for (;;)
				{
					Need		need = {device, 56 * MB, 0, 0};
					ChunkKey	keys[8];

					for (int s = 0; s < 8; s++)
						keys[s] = key(first + s);
					device->cache.find(keys, 8, pieces);
					for (Resident *piece : pieces)
						(piece ? need.pinned : need.missing) += 2 * MB;
					if (claim->take({need}))
						break;
					waited++;
					device->cache.unpin(pieces, 8);
					try
					{
						claim->await([] {});
					}
					catch (const Failure &)	/* a slow machine: from the end of the queue again */
					{
						claim.reset(new Claim);
					}
				}
				for (int s = 0; s < 8; s++)
					if (pieces[s] == NULL)
					{
						/* others have pinned for a moment what they looked for */
						while ((pieces[s] = load(*device, first + s, 2 * MB)) == NULL)
							std::this_thread::sleep_for(std::chrono::milliseconds(1));
						claim->settle(*device, 2 * MB);
					}
				std::this_thread::yield();
				device->cache.unpin(pieces, 8);
				done++;
			}
		});
	for (std::thread &client : clients)
		client.join();
	CHECK("all have found room", done == 16 * 40);
	CHECK("some had to wait", waited > 0);
	end(device);
}

/* One that waits may be called away, and gives up in the end. */
static void
test_called_away()
{
	Device	   *device = new_device(64 * MB);
	std::vector<Need> all = {{device, 56 * MB, 0, 56 * MB}};
	Claim		a;
	bool		called = false;

	a.take(all);
	try
	{
		Claim		b;

		b.take(all);
		for (;;)
			b.await([] { throw Failure{GPUCOL_CANCELLED, "cancelled"}; });
	}
	catch (const Failure &f)
	{
		called = f.status == GPUCOL_CANCELLED;
	}
	CHECK("called away", called);
	called = false;
	try
	{
		Claim		b;

		b.take(all);
		for (;;)
			b.await([] {});
	}
	catch (const Failure &f)
	{
		called = f.status == GPUCOL_OUT_OF_MEMORY;
	}
	CHECK("gives up in the end", called);
	a.settle(*device, 56 * MB);
	CHECK("who was called away does not stand in the way", Claim().take(all));
	end(device);
}

int
main(void)
{
	test_lru();
	test_all_pinned();
	test_evicted_while_pinned();
	test_sets();
	test_loaded_twice();
	test_no_host_memory();
	test_pool_without_host_memory();
	test_large_block();
	test_physical();
	test_lending();
	test_claims();
	test_many();
	test_called_away();
	return summary("device_memory");
}
