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
	gpucol_budget_free(memory, dictionary->slots,
					   dictionary->nslots * sizeof(uint32_t));
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

/* Slot of a value, or the free slot where it belongs. */
static uint32_t *
find_slot(const GpucolRecDictionary *dictionary, uint32_t *slots,
		  uint64_t nslots, int64_t value)
{
	uint64_t	at = gpucol_rec_mix((uint64_t) value) & (nslots - 1);

	while (slots[at] != 0 && dictionary->values[slots[at]] != value)
		at = (at + 1) & (nslots - 1);
	return &slots[at];
}

/* Put the ids of the hash table into new slots; false if a cancel came. */
static bool
move_ids(const GpucolRecRun *run, uint32_t *slots, uint64_t nslots)
{
	const GpucolRecDictionary *dictionary = &run->dictionary;
	uint64_t	i;

	for (i = 0; i < dictionary->nslots; i++)
	{
		uint32_t	id = dictionary->slots[i];

		if (gpucol_rec_poll(run, i))
			return false;
		if (id != 0)
			*find_slot(dictionary, slots, nslots, dictionary->values[id]) = id;
	}
	return true;
}

/* Double the hash table. */
static GpucolStatus
grow_slots(GpucolRecRun *run)
{
	GpucolRecDictionary *dictionary = &run->dictionary;
	uint64_t	nslots = dictionary->nslots ? dictionary->nslots * 2 : 1024;
	size_t		size = nslots * sizeof(uint32_t);
	uint32_t   *slots = gpucol_budget_alloc_zeroed(&run->memory, size);

	if (slots == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (!move_ids(run, slots, nslots))
	{
		gpucol_budget_free(&run->memory, slots, size);
		return GPUCOL_CANCELLED;
	}
	gpucol_budget_free(&run->memory, dictionary->slots,
					   dictionary->nslots * sizeof(uint32_t));
	dictionary->slots = slots;
	dictionary->nslots = nslots;
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
	uint32_t   *slot;

	if ((uint64_t) value < DIRECT_LIMIT)
		return intern_direct(dictionary, &run->memory, value, id);
	if (dictionary->nhashed * 2 >= dictionary->nslots)
		GPUCOL_REC_TRY(grow_slots(run));
	slot = find_slot(dictionary, dictionary->slots, dictionary->nslots, value);
	if (*slot == 0)
	{
		GPUCOL_REC_TRY(add_value(dictionary, &run->memory, value, slot));
		dictionary->nhashed++;
	}
	*id = *slot;
	return GPUCOL_OK;
}
