/*-------------------------------------------------------------------------
 *
 * group_near.c
 *	  Groups of several keys of few values, by address.
 *
 * Where the bounds of all keys in a segment are known (engine/cpu/bounds.c), and few combinations
 * lie within them, a combination has a place in a table, which has its group: years and months of
 * a timestamp have no key put together and hashed for each row.  Groups that a segment has not met
 * are found as ever, for all rows of the vector, and noted.  Where too many vectors have such
 * groups, or rows of a group follow each other, which is found once for all of them, the segment
 * goes on without.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "engine/cpu/expr_ops.h"
#include "engine/cpu/group.h"

#define MOST_PLACES		32768
#define TRIED			32		/* vectors that may have unknown groups, and then half of all */
#define LONG_RUNS		8		/* rows of a group that follow each other */

/* The bounds of the integers that a register of floats is made of; NULL: of none, or they are not known. */
static const GpucolCpuBounds *
bounds_of_floats(const GpucolRun *run, uint16_t reg)
{
	for (int i = run->program->ninstrs - 1; i >= 0; i--)
	{
		const GpucolInstr *instr = &run->code.instrs[i];

		if (instr->dst != reg)
			continue;
		if (instr->op == GPUCOL_OP_I_TO_F)
			return &run->digest.bounds[instr->a];
		if (instr->op != GPUCOL_OP_CASE_F || !gpucol_cpu_bounds_never(&run->digest.bounds[instr->a]))
			return NULL;
		reg = instr->c;
	}
	return NULL;
}

/* A key's places, of which 0 is that of NULL; false where its values may be too many. */
static bool
bound_key(const GpucolRun *run, uint16_t reg, GpucolCpuNearKey *key)
{
	uint8_t		cls = run->code.classes[reg];
	const GpucolCpuBounds *bounds = cls == GPUCOL_CLASS_F ? bounds_of_floats(run, reg) :
		cls == GPUCOL_CLASS_S ? NULL : &run->digest.bounds[reg];

	if (bounds == NULL || !bounds->known || bounds->hi < bounds->lo ||
		(cls == GPUCOL_CLASS_F && (bounds->lo <= -GPUCOL_CPU_EXACT_DOUBLE || bounds->hi >= GPUCOL_CPU_EXACT_DOUBLE)) ||
		(uint64_t) bounds->hi - (uint64_t) bounds->lo >= MOST_PLACES)
		return false;
	key->first = bounds->lo;
	key->n = (uint64_t) bounds->hi - (uint64_t) bounds->lo + 2;
	return true;
}

/* Begin with a segment: what is known of the one before is kept where places are the same. */
static void
begin_segment(GpucolCpuGroups *groups)
{
	GpucolRun  *run = groups->run;
	GpucolCpuNear *near = &groups->near;
	GpucolCpuNearKey keys[GPUCOL_CPU_NEAR_KEYS] = {0};
	uint64_t	all = 1;

	near->serial = run->input.segment_serial;
	near->tried = near->missed = 0;
	near->off = true;
	for (int k = 0; k < run->program->nkeys; k++)
	{
		if (!bound_key(run, run->code.keys[k], &keys[k]))
			return;
		all *= keys[k].n;
		if (all > MOST_PLACES)
			return;
	}
	if (near->groups == NULL)
		near->groups = gpucol_cpu_alloc(run, sizeof(uint32_t) * MOST_PLACES);
	if (near->places == NULL)
		near->places = gpucol_cpu_alloc(run, sizeof(uint32_t) * GPUCOL_VECTOR_VALUES);
	if (near->groups == NULL || near->places == NULL)
		return;
	near->off = false;
	if (near->valid && memcmp(near->keys, keys, sizeof(keys)) == 0)
		return;
	memcpy(near->keys, keys, sizeof(keys));
	memset(near->groups, 0, sizeof(uint32_t) * all);
	near->valid = true;
}

/* The places of n rows by one key more; false if a value has none. */
GPUCOL_CPU_CLONES static bool
add_places(const GpucolCpuNearKey *key, const int64_t *values, const uint8_t *nulls, uint32_t n, uint32_t *places)
{
	uint64_t	first = (uint64_t) key->first;
	uint64_t	most = key->n - 1;
	uint32_t	times = (uint32_t) key->n;
	bool		bad = false;

	if (nulls == NULL)
		for (uint32_t j = 0; j < n; j++)
		{
			bad |= (uint64_t) values[j] - first >= most;
			places[j] = places[j] * times + (uint32_t) ((uint64_t) values[j] - first) + 1;
		}
	else
		for (uint32_t j = 0; j < n; j++)
		{
			uint64_t	place = (uint64_t) values[j] - first;

			bad |= place >= most && !nulls[j];
			places[j] = places[j] * times + (nulls[j] ? 0 : (uint32_t) place + 1);
		}
	return !bad;
}

/* The values of a key as integers; those of floats that are none are less than all that have a place. */
static const int64_t *
integers_of(const GpucolCpuNearKey *key, const GpucolCpuReg *reg, uint32_t n, int64_t *space)
{
	double		least = (double) key->first;
	double		most = least + (double) key->n;

	if (reg->cls == GPUCOL_CLASS_D)
		return reg->n;
	if (reg->cls == GPUCOL_CLASS_I)
		return reg->v.i;
	for (uint32_t j = 0; j < n && reg->cls == GPUCOL_CLASS_B; j++)
		space[j] = reg->v.b[j];
	for (uint32_t j = 0; j < n && reg->cls == GPUCOL_CLASS_F; j++)
	{
		double		value = reg->v.f[j];
		bool		within = value >= least && value < most;

		space[j] = within ? (int64_t) value : key->first - 1;
		if (within && (double) space[j] != value)
			space[j] = key->first - 1;
	}
	return space;
}

/* The places of the worker's rows; false if one has none. */
static bool
find_places(GpucolCpuWorker *worker, const GpucolCpuNear *near)
{
	const GpucolRun *run = worker->run;
	bool		found = true;

	memset(near->places, 0, sizeof(uint32_t) * worker->nsel);
	for (int k = 0; k < run->program->nkeys && found; k++)
	{
		const GpucolCpuReg *reg = &worker->regs[run->code.keys[k]];
		int64_t		space[GPUCOL_VECTOR_VALUES];

		found = (reg->cls != GPUCOL_CLASS_D || reg->narrow) &&
			add_places(&near->keys[k], integers_of(&near->keys[k], reg, worker->nsel, space), reg->nulls, worker->nsel,
					   near->places);
	}
	return found;
}

bool
gpucol_cpu_group_near(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuVector *vector)
{
	const GpucolRun *run = worker->run;
	GpucolCpuNear *near = &groups->near;
	uint32_t	known = 1;

	near->placed = false;
	if (run->program->nkeys < 2 || run->program->nkeys > GPUCOL_CPU_NEAR_KEYS || vector->delta != NULL)
		return false;
	if (near->serial != run->input.segment_serial)
		begin_segment(groups);
	if (near->off || !find_places(worker, near))
		return false;
	near->tried++;
	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		uint32_t	group = near->groups[near->places[j]];

		known &= group != 0;
		worker->ids[j] = group - 1;
	}
	if (known != 0)
	{
		groups->only_layout = 0;
		groups->nruns = 0;
		return true;
	}
	near->missed++;
	near->off = near->missed >= TRIED && near->missed > near->tried / 2;
	near->placed = true;
	return false;
}

void
gpucol_cpu_group_note_near(const GpucolCpuWorker *worker, GpucolCpuGroups *groups)
{
	GpucolCpuNear *near = &groups->near;

	if (!near->placed)
		return;
	for (uint32_t j = 0; j < worker->nsel; j++)
		near->groups[near->places[j]] = worker->ids[j] + 1;
	near->off |= groups->nruns > 0 && groups->nruns < worker->nsel / LONG_RUNS;
}
