/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  Probes of built tables: keys, matches, and the kinds that work in place.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/build.h"
#include "engine/cpu/join.h"
#include "engine/cpu/select.h"

/* ---- keys ---- */

/* Codes of integers. */
GPUCOL_CPU_CLONES static void
int_codes(const int64_t *values, const GpucolLookupKey *key, uint32_t n, uint64_t *codes,
		  uint8_t *valid)
{
	uint64_t	least = (uint64_t) key->least;
	uint64_t	range = key->range;

	for (uint32_t j = 0; j < n; j++)
	{
		codes[j] = (uint64_t) values[j] - least;
		valid[j] &= codes[j] <= range;
	}
}

/* Codes of decimals. */
static void
wide_codes(const __int128 *values, const GpucolLookupKey *key, uint32_t n, uint64_t *codes,
		   uint8_t *valid)
{
	for (uint32_t j = 0; j < n; j++)
	{
		__int128	code = values[j] - key->least;

		codes[j] = (uint64_t) code;
		valid[j] &= code >= 0 && code <= (__int128) key->range;
	}
}

/* Room for the codes of a segment's dictionary. */
static GpucolStatus
open_map(GpucolRun *run, GpucolCpuKeyMap *map, const GpucolCpuColumn *column)
{
	uint64_t	serial = gpucol_cpu_codes_serial(run, column);
	size_t		space = column->desc->coding == GPUCOL_CODING_CONSTANT ? 1 :
		(size_t) 1 << column->desc->width;

	if (map->serial == serial)
		return GPUCOL_OK;
	map->serial = 0;
	if (map->room < space)
	{
		gpucol_cpu_free(run, map->numbers);
		map->room = 0;
		map->numbers = gpucol_cpu_alloc(run, sizeof(uint32_t) * space);
		if (map->numbers == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		map->room = space;
	}
	memset(map->numbers, 0, sizeof(uint32_t) * space);
	map->serial = serial;
	return GPUCOL_OK;
}

/* Codes of strings: numbers of the table's entries. */
static GpucolStatus
string_codes(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, int k,
			 const GpucolCpuReg *reg, uint64_t *codes, uint8_t *valid)
{
	GpucolCpuKeyMap *map = &worker->trail->maps[probe->probe->first_key + k];
	GpucolStatus status = reg->coded ? open_map(worker->run, map, reg->column) : GPUCOL_OK;

	for (uint32_t j = 0; j < worker->nsel && status == GPUCOL_OK; j++)
	{
		uint32_t	number;

		codes[j] = 0;
		if (!valid[j])
			continue;
		if (reg->coded)
		{
			uint32_t   *known = &map->numbers[reg->codes[j]];

			if (*known == 0)
				*known = gpucol_lookup_string(probe->table, k,
											  reg->column->entries[reg->codes[j]]) + 2;
			number = *known - 2;
		}
		else
			number = gpucol_lookup_string(probe->table, k, reg->v.s[j]);
		codes[j] = number;
		valid[j] = number != GPUCOL_LOOKUP_NONE;
	}
	return status;
}

/* Codes of key k of the selected rows; clears the bytes of `valid` of those that have none. */
static GpucolStatus
key_codes(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, int k, uint64_t *codes,
		  uint8_t *valid)
{
	const GpucolCpuReg *reg = &worker->regs[probe->keys[k]];
	const GpucolLookupKey *key = &probe->table->keys[k];
	uint32_t	n = worker->nsel;

	if (reg->nulls != NULL)
		for (uint32_t j = 0; j < n; j++)
			valid[j] &= !reg->nulls[j];
	switch (reg->cls)
	{
		case GPUCOL_CLASS_I:
			int_codes(reg->v.i, key, n, codes, valid);
			break;
		case GPUCOL_CLASS_D:
			if (reg->narrow)
				int_codes(reg->n, key, n, codes, valid);
			else
				wide_codes(reg->v.d, key, n, codes, valid);
			break;
		case GPUCOL_CLASS_S:
			return string_codes(worker, probe, k, reg, codes, valid);
		default:
			for (uint32_t j = 0; j < n; j++)
			{
				int64_t		value = reg->cls == GPUCOL_CLASS_B ? reg->v.b[j] :
					gpucol_lookup_float(reg->v.f[j]);

				codes[j] = (uint64_t) value - (uint64_t) key->least;
				valid[j] &= codes[j] <= key->range;
			}
	}
	return GPUCOL_OK;
}

/* Words of the selected rows' keys in trail->words, and which of them can be in the table. */
static GpucolStatus
find_words(GpucolCpuWorker *worker, const GpucolCpuProbe *probe)
{
	GpucolCpuTrail *trail = worker->trail;
	const GpucolLookup *table = probe->table;
	uint32_t	n = worker->nsel;

	memset(trail->valid, 1, n);
	if (table->nkeys > 1)
		memset(trail->words, 0, sizeof(uint64_t) * n);
	for (int k = 0; k < table->nkeys; k++)
	{
		uint64_t   *codes = table->nkeys == 1 ? trail->words : trail->codes[k];
		GpucolStatus status = key_codes(worker, probe, k, codes, trail->valid);

		if (status != GPUCOL_OK)
			return status;
		if (table->nkeys == 1)
			break;
		if (table->wide)
			for (uint32_t j = 0; j < n; j++)
				trail->words[j] = gpucol_lookup_add_code(trail->words[j], codes[j]);
		else
			for (uint32_t j = 0; j < n; j++)
				trail->words[j] |= codes[j] << table->keys[k].shift;
	}
	return GPUCOL_OK;
}

/* Words below 2^31 in 32 bits; what is not in the table becomes greater than any. */
GPUCOL_CPU_CLONES static void
narrow_words(const uint64_t *words, const uint8_t *valid, uint32_t n, uint32_t *narrow)
{
	for (uint32_t j = 0; j < n; j++)
		narrow[j] = valid[j] ? (uint32_t) words[j] : UINT32_MAX;
}

GpucolStatus
gpucol_cpu_probe_narrow(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, bool *done)
{
	const GpucolLookup *table = probe->table;
	GpucolCpuTrail *trail = worker->trail;
	GpucolStatus status;

	*done = table->dense && table->nkeys > 0 && table->nkeyed > 0 &&
		table->greatest <= INT32_MAX && probe->kind != GPUCOL_JOIN_NOT_IN;
	if (!*done)
		return GPUCOL_OK;
	status = find_words(worker, probe);
	if (status == GPUCOL_OK)
		narrow_words(trail->words, trail->valid, worker->nsel, trail->narrow);
	trail->way = GPUCOL_CPU_CODES_BITS;
	return status;
}

GpucolStatus
gpucol_cpu_probe_find(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, bool by_codes,
					  uint32_t *numbers)
{
	GpucolCpuTrail *trail = worker->trail;
	const GpucolLookup *table = probe->table;
	uint32_t	n = worker->nsel;
	GpucolStatus status;

	if (table->nkeyed == 0 || table->nkeys == 0)
	{
		memset(numbers, table->nkeyed == 0 ? 0xff : 0, sizeof(uint32_t) * n);
		return GPUCOL_OK;
	}
	if (by_codes)
	{
		gpucol_cpu_codes_numbers(worker, probe, NULL, n, numbers);
		return GPUCOL_OK;
	}
	status = find_words(worker, probe);
	if (status != GPUCOL_OK)
		return status;
	gpucol_lookup_find(table, trail->words, (const uint64_t *const *) trail->codes,
					   trail->valid, n, worker->hashes, numbers);
	return GPUCOL_OK;
}

/* ---- selection ---- */

void
gpucol_cpu_probe_keep(GpucolCpuWorker *worker, int stage, int of, const uint16_t *at,
					  uint32_t n)
{
	const GpucolRun *run = worker->run;

	gpucol_cpu_live_keep(worker, stage, at, n);
	for (int q = 0; q <= of; q++)
	{
		uint32_t   *match = worker->trail->match[q];

		if (q == of || run->join.probes[q].last_load > stage)
			for (uint32_t j = 0; j < n; j++)
				match[j] = match[at[j]];
	}
	if (worker->full)
		memcpy(worker->sel, at, sizeof(uint16_t) * n);
	else
		for (uint32_t j = 0; j < n; j++)
			worker->sel[j] = worker->sel[at[j]];
	worker->nsel = n;
	worker->full = false;
}

void
gpucol_cpu_probe_mark(GpucolCpuWorker *worker, const GpucolCpuProbe *probe)
{
	const uint32_t *match = worker->trail->match[probe->number];

	if (!probe->marks)
		return;
	for (uint32_t j = 0; j < worker->nsel; j++)
		if (match[j] != GPUCOL_LOOKUP_NONE)
			__atomic_store_n(&probe->matched[match[j]], 1, __ATOMIC_RELAXED);
}

GpucolStatus
gpucol_cpu_probe_filter(GpucolCpuWorker *worker, const GpucolCpuVector *vector,
						const GpucolCpuProbe *probe)
{
	uint16_t	at[GPUCOL_SELECT_ROOM];
	GpucolStatus status;
	uint32_t	n;

	worker->trail->figures[probe->number].found += worker->nsel;
	if (worker->nsel == 0)
		return GPUCOL_OK;
	status = gpucol_cpu_expr_run(worker, vector, probe->probe->residual_end,
								 probe->probe->filter_end);
	if (status != GPUCOL_OK || probe->probe->filter == GPUCOL_NO_REG)
		return status;
	n = gpucol_cpu_expr_true(worker, probe->probe->filter, at);
	if (n < worker->nsel)
		gpucol_cpu_probe_keep(worker, GPUCOL_STAGE_FILTER(probe->number), probe->number, at, n);
	return GPUCOL_OK;
}

/* ---- in place ---- */

/* List the rows that NOT IN hands on. */
static uint32_t
list_not_in(const GpucolCpuWorker *worker, const GpucolCpuProbe *probe,
			const uint32_t *numbers, uint16_t *at)
{
	const uint8_t *nulls = worker->regs[probe->keys[0]].nulls;
	bool		empty = !probe->table->has_rows && !probe->table->has_null;
	uint32_t	m = 0;

	if (probe->table->has_null)
		return 0;
	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		at[m] = (uint16_t) j;
		m += empty || (numbers[j] == GPUCOL_LOOKUP_NONE && !(nulls != NULL && nulls[j]));
	}
	return m;
}

/* Mark all rows of the keys found. */
static void
mark_keys(const GpucolCpuProbe *probe, const uint32_t *numbers, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++)
	{
		uint32_t	first;
		uint32_t	count;

		if (numbers[j] == GPUCOL_LOOKUP_NONE)
			continue;
		first = gpucol_lookup_first(probe->table, numbers[j]);
		count = gpucol_lookup_count(probe->table, numbers[j]);
		if (__atomic_load_n(&probe->matched[first], __ATOMIC_RELAXED))
			continue;
		for (uint32_t i = count; i > 0; i--)
			__atomic_store_n(&probe->matched[first + i - 1], 1, __ATOMIC_RELAXED);
	}
}

/* Of rows that have met one of the table's each, keep those for which the residual is true. */
static GpucolStatus
test_residual(GpucolCpuWorker *worker, const GpucolCpuVector *vector,
			  const GpucolCpuProbe *probe)
{
	uint16_t	at[GPUCOL_SELECT_ROOM];
	GpucolStatus status;
	uint32_t	n;

	if (!probe->residual || worker->nsel == 0)
		return GPUCOL_OK;
	status = gpucol_cpu_expr_run(worker, vector, probe->probe->keys_end,
								 probe->probe->residual_end);
	if (status != GPUCOL_OK)
		return status;
	n = gpucol_cpu_expr_true(worker, probe->probe->residual, at);
	if (n < worker->nsel)
		gpucol_cpu_probe_keep(worker, GPUCOL_STAGE_RESIDUAL(probe->number), probe->number,
							  at, n);
	return GPUCOL_OK;
}

/* Does the probe deliver nothing but rows of its table, in the end? */
static bool
hands_nothing_on(const GpucolCpuProbe *probe)
{
	return probe->kind == GPUCOL_JOIN_RIGHT_SEMI || probe->kind == GPUCOL_JOIN_RIGHT_ANTI;
}

/* List the rows that the probe hands on, as far as keys tell, from match[] or by codes. */
static uint32_t
list_rows(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, bool by_codes, uint16_t *at)
{
	const uint32_t *match = worker->trail->match[probe->number];
	bool		there = probe->kind != GPUCOL_JOIN_ANTI && probe->kind != GPUCOL_JOIN_NOT_IN;

	if (probe->kind == GPUCOL_JOIN_NOT_IN && (!by_codes || probe->table->has_null))
		return list_not_in(worker, probe, match, at);
	return by_codes ? gpucol_cpu_codes_select(worker, probe, there, at) :
		gpucol_select_numbers(match, worker->nsel, there, at);
}

uint32_t
gpucol_cpu_probe_of_part(const GpucolCpuWorker *worker, const GpucolCpuProbe *probe,
						 uint16_t *at, uint32_t n)
{
	const GpucolTablePart *part = &probe->table->part;

	return gpucol_cpu_part_keep(worker, probe->keys, probe->table->nkeys, part->first, part->end, at,
								n);
}

/* Drop the rows that keys tell not to be handed on; match[] becomes that of the others. */
static GpucolStatus
match_rows(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, bool by_codes)
{
	uint32_t   *match = worker->trail->match[probe->number];
	bool		narrow = by_codes && !probe->keeps;
	bool		matters = probe->last_load >= 0 || probe->marks;
	uint16_t	at[GPUCOL_SELECT_ROOM];
	GpucolStatus status = GPUCOL_OK;
	uint32_t	n;

	if (!narrow)
		status = gpucol_cpu_probe_find(worker, probe, by_codes, match);
	if (status != GPUCOL_OK)
		return status;
	if (!probe->keeps || probe->parted)
	{
		n = probe->keeps ? gpucol_select_all(worker->nsel, at) :
			list_rows(worker, probe, narrow, at);
		if (probe->parted)
			n = gpucol_cpu_probe_of_part(worker, probe, at, n);
		if (narrow && matters)
			gpucol_cpu_codes_numbers(worker, probe, at, n, match);
		if (n < worker->nsel)
			gpucol_cpu_probe_keep(worker, GPUCOL_STAGE_KEYS(probe->number),
								  probe->number - narrow, at, n);
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_probe_rows(GpucolCpuWorker *worker, const GpucolCpuVector *vector,
					  const GpucolCpuProbe *probe, bool by_codes, bool load)
{
	uint32_t   *match = worker->trail->match[probe->number];
	GpucolStatus status;

	if (hands_nothing_on(probe) && !probe->residual)
	{
		status = gpucol_cpu_probe_find(worker, probe, by_codes, match);
		if (status == GPUCOL_OK)
			mark_keys(probe, match, worker->nsel);
		worker->nsel = 0;
		return status;
	}
	status = match_rows(worker, probe, by_codes);
	if (status == GPUCOL_OK && load)
		status = gpucol_cpu_expr_run(worker, vector, probe->first, probe->probe->keys_end);
	if (status == GPUCOL_OK)
		status = test_residual(worker, vector, probe);
	if (status != GPUCOL_OK)
		return status;
	gpucol_cpu_probe_mark(worker, probe);
	if (hands_nothing_on(probe))
		worker->nsel = 0;
	return gpucol_cpu_probe_filter(worker, vector, probe);
}
