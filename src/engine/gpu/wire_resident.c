/*-------------------------------------------------------------------------
 *
 * wire_resident.c
 *	  What the device daemon tells all its clients, in memory that it writes and they
 *	  read: which columns are resident, and how many sessions are at work.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>
#include <unistd.h>

#include "engine/gpu/connection.h"

static const GpucolResidency *residency;	/* of the last daemon, or NULL */

void
gpucol_wire_unmap_residency(void)
{
	if (residency != NULL)
		munmap((void *) residency, sizeof(GpucolResidency));
	residency = NULL;
}

void
gpucol_wire_map_residency(GpucolWire *wire)
{
	void	   *p = gpucol_wire_map(wire, sizeof(GpucolResidency), PROT_READ, 0);

	if (p == MAP_FAILED)
		return;
	gpucol_wire_unmap_residency();
	residency = p;
}

/* Sum up one column, without regard to changes meanwhile. */
static void
look_up_resident(const uint64_t storage[2], int attnum, uint64_t *rows, uint64_t *bytes)
{
	uint32_t	slot = gpucol_residency_slot(storage, attnum);

	*rows = *bytes = 0;
	for (uint32_t i = 0; i < GPUCOL_RESIDENCY_PROBES; i++)
	{
		const GpucolResidentColumn *c = &residency->columns[(slot + i) % GPUCOL_RESIDENCY_COLUMNS];

		if (c->storage[0] == 0 && c->storage[1] == 0)
			return;
		if (c->storage[0] != storage[0] || c->storage[1] != storage[1] || c->attnum != attnum)
			continue;
		*rows = c->rows;
		*bytes = c->bytes;
		return;
	}
}

void
gpucol_wire_resident(const uint64_t storage[2], int attnum,
					 uint64_t *rows, uint64_t *bytes)
{
	*rows = *bytes = 0;
	for (int tries = 0; residency != NULL && tries < 10; tries++)
	{
		uint64_t	before = __atomic_load_n(&residency->sequence, __ATOMIC_ACQUIRE);

		look_up_resident(storage, attnum, rows, bytes);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (before % 2 == 0 && before == __atomic_load_n(&residency->sequence, __ATOMIC_ACQUIRE))
			return;
	}
}

uint64_t
gpucol_wire_device_memory(void)
{
	return residency != NULL ? residency->limit : 0;
}

bool
gpucol_wire_may_spin(void)
{
	static long processors = 0;

	if (processors == 0)
		processors = sysconf(_SC_NPROCESSORS_ONLN);
	return residency != NULL &&
		(long) __atomic_load_n(&residency->running, __ATOMIC_RELAXED) * GPUCOL_SPIN_PROCESSORS <= processors;
}
