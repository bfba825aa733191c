/*-------------------------------------------------------------------------
 *
 * dictionary.c
 *	  Interning of 64-bit values to dense 32-bit ids.
 *
 * Small non-negative values (node numbers, counters, dictionary codes) are
 * looked up in an array, all others in an open-addressing hash table.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "recursion/cpu/engine.h"

#define DIRECT_LIMIT	(UINT64_C(1) << 22)
#define MAX_IDS			UINT64_C(0xfffffff0)

GpucolStatus
gpucol_rec_dictionary_init(GpucolRecDictionary *dictionary,
						   GpucolBudget *memory)
{
	memset(dictionary, 0, sizeof(*dictionary));
	GPUCOL_REC_TRY(gpucol_rec_reserve(memory, (void **) &dictionary->values,
									  &dictionary->values_allocated, 1024,
									  sizeof(int64_t)));
	dictionary->values[GPUCOL_REC_NULL_ID] = 0;
	dictionary->nvalues = 1;
	return GPUCOL_OK;
}

void
gpucol_rec_dictionary_free(GpucolRecDictionary *dictionary,
						   GpucolBudget *memory)
{
	gpucol_budget_free(memory, dictionary->values,
					   dictionary->values_allocated * sizeof(int64_t));
	gpucol_budget_free(memory, dictionary->direct,
					   dictionary->direct_allocated * sizeof(uint32_t));
	gpucol_budget_free(memory, dictionary->table.slots,
					   dictionary->table.nslots * sizeof(uint64_t));
	memset(dictionary, 0, sizeof(*dictionary));
}

/* Give the next id to a value. */
static GpucolStatus
add_value(GpucolRecDictionary *dictionary, GpucolBudget *memory,
		  int64_t value, uint32_t *id)
{
	if (dictionary->nvalues >= MAX_IDS)
		return GPUCOL_OUT_OF_MEMORY;
	GPUCOL_REC_TRY(gpucol_rec_reserve(memory, (void **) &dictionary->values,
									  &dictionary->values_allocated,
									  dictionary->nvalues + 1,
									  sizeof(int64_t)));
	*id = (uint32_t) dictionary->nvalues++;
	dictionary->values[*id] = value;
	return GPUCOL_OK;
}

/* Slots that are moved before a cancel is looked for. */
#define MOVED_SLOTS	262144

/* Make room in the hash table for another id. */
static GpucolStatus
grow_table(GpucolRecRun *run)
{
	GpucolHashTable *table = &run->dictionary.table;
	GpucolHashTable old = *table;
	uint64_t	nslots = gpucol_hash_slots(old.nslots, run->dictionary.nhashed + 1);
	uint64_t   *slots;

	if (nslots == old.nslots)
		return GPUCOL_OK;
	slots = gpucol_budget_alloc_zeroed(&run->memory, nslots * sizeof(uint64_t));
	if (slots == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_hash_set_slots(table, slots, nslots);
	for (uint64_t i = 0; i < old.nslots; i += MOVED_SLOTS)
	{
		if (i > 0 && gpucol_rec_cancelled(run))
		{
			gpucol_budget_free(&run->memory, slots, nslots * sizeof(uint64_t));
			*table = old;
			return GPUCOL_CANCELLED;
		}
		gpucol_hash_copy(table, &old, i,
						 old.nslots - i < MOVED_SLOTS ? old.nslots : i + MOVED_SLOTS);
	}
	gpucol_budget_free(&run->memory, old.slots, old.nslots * sizeof(uint64_t));
	return GPUCOL_OK;
}

/* Intern a value of the direct range. */
static GpucolStatus
intern_direct(GpucolRecDictionary *dictionary, GpucolBudget *memory,
			  int64_t value, uint32_t *id)
{
	if ((uint64_t) value >= dictionary->direct_allocated)
	{
		uint64_t	before = dictionary->direct_allocated;

		GPUCOL_REC_TRY(gpucol_rec_reserve(memory, (void **) &dictionary->direct,
										  &dictionary->direct_allocated,
										  (uint64_t) value + 1,
										  sizeof(uint32_t)));
		memset(dictionary->direct + before, 0,
			   (dictionary->direct_allocated - before) * sizeof(uint32_t));
	}
	*id = dictionary->direct[value];
	if (*id != 0)
		return GPUCOL_OK;
	GPUCOL_REC_TRY(add_value(dictionary, memory, value, id));
	dictionary->direct[value] = *id;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_dictionary_intern(GpucolRecRun *run, int64_t value, uint32_t *id)
{
	GpucolRecDictionary *dictionary = &run->dictionary;
	uint64_t	hash = gpucol_rec_mix((uint64_t) value);
	uint64_t	at;

	if ((uint64_t) value < DIRECT_LIMIT)
		return intern_direct(dictionary, &run->memory, value, id);
	GPUCOL_REC_TRY(grow_table(run));
	at = gpucol_hash_home(&dictionary->table, hash);
	while (gpucol_hash_next(&dictionary->table, hash, &at, id))
		if (dictionary->values[*id] == value)
			return GPUCOL_OK;
	GPUCOL_REC_TRY(add_value(dictionary, &run->memory, value, id));
	gpucol_hash_put(&dictionary->table, at, hash, *id);
	dictionary->nhashed++;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_dictionary_intern_column(GpucolRecRun *run, uint32_t n, const int64_t *values, const uint8_t *nulls,
									uint32_t *ids)
{
	GpucolRecDictionary *dictionary = &run->dictionary;

	for (uint32_t i = 0; i < n && dictionary->table.nslots > 0; i++)
	{
		if ((uint64_t) values[i] >= DIRECT_LIMIT)
			__builtin_prefetch(&dictionary->table.slots[gpucol_hash_home(&dictionary->table,
																		 gpucol_rec_mix((uint64_t) values[i]))]);
	}
	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	value = (uint64_t) values[i];

		if (nulls != NULL && nulls[i])
			ids[i] = GPUCOL_REC_NULL_ID;
		else if (value < dictionary->direct_allocated && dictionary->direct[value] != 0)
			ids[i] = dictionary->direct[value];
		else
			GPUCOL_REC_TRY(gpucol_rec_dictionary_intern(run, values[i], &ids[i]));
	}
	return GPUCOL_OK;
}
