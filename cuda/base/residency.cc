/*-------------------------------------------------------------------------
 *
 * residency.cc
 *	  The table of what is resident, which clients map and read, and how many
 *	  sessions are at work.
 *
 * Counts by table and column over all devices, for the clients' choice of engine
 * before they ask anything.  A sequence number guards readers, who never write.
 * A column that finds no place near its slot is left out: it counts as absent.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/base/cache.cuh"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

static GpucolResidency *table = NULL;
static int	table_fd = -1;
static std::mutex table_mutex;

bool
residency_create(uint64_t limit)
{
	void	   *p;

	table_fd = memfd_create("gpucol residency", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (table_fd < 0 || ftruncate(table_fd, sizeof(GpucolResidency)) != 0)
		return false;
	p = mmap(NULL, sizeof(GpucolResidency), PROT_READ | PROT_WRITE, MAP_SHARED, table_fd, 0);
	if (p == MAP_FAILED)
		return false;

	/* clients only read it; some systems cannot tell them so */
	fcntl(table_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	fcntl(table_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
	table = (GpucolResidency *) p;
	table->limit = limit;
	return true;
}

int
residency_fd()
{
	return table_fd;
}

/* The entry of a column; with `make` a new one if need be; NULL if none. */
static GpucolResidentColumn *
entry(const ChunkKey &key, bool make)
{
	uint32_t	slot = gpucol_residency_slot(key.storage, key.attnum);
	GpucolResidentColumn *free = NULL;

	for (int i = 0; i < GPUCOL_RESIDENCY_PROBES; i++)
	{
		GpucolResidentColumn *c = &table->columns[(slot + i) % GPUCOL_RESIDENCY_COLUMNS];

		if (c->storage[0] == key.storage[0] && c->storage[1] == key.storage[1] && c->attnum == key.attnum)
			return c;
		if (free == NULL && c->chunks == 0)
			free = c;
		if (c->storage[0] == 0 && c->storage[1] == 0)
			break;
	}
	if (!make || free == NULL)
		return NULL;
	free->storage[0] = key.storage[0];
	free->storage[1] = key.storage[1];
	free->attnum = key.attnum;
	return free;
}

void
residency_running(int sign)
{
	if (table != NULL)
		__atomic_fetch_add(&table->running, (uint32_t) sign, __ATOMIC_RELAXED);
}

bool
residency_idle()
{
	static const uint32_t processors = std::max(1u, std::thread::hardware_concurrency());

	return table != NULL && __atomic_load_n(&table->running, __ATOMIC_RELAXED) * GPUCOL_SPIN_PROCESSORS <= processors;
}

void
residency_note(const Resident &chunk, int sign)
{
	std::lock_guard<std::mutex> lock(table_mutex);
	GpucolResidentColumn *c;

	if (table == NULL || chunk.key.kind != GPUCOL_PUT_CHUNK)
		return;
	__atomic_fetch_add(&table->sequence, 1, __ATOMIC_ACQ_REL);
	c = entry(chunk.key, sign > 0);
	if (c != NULL && (sign > 0 || c->chunks > 0))
	{
		c->chunks += sign;
		c->rows += (int64_t) sign * chunk.nrows;
		c->bytes += (int64_t) sign * (int64_t) chunk.bytes;
		if (c->chunks == 0)
			c->rows = c->bytes = 0;
	}
	__atomic_fetch_add(&table->sequence, 1, __ATOMIC_ACQ_REL);
}
