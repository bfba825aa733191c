/*-------------------------------------------------------------------------
 *
 * dictionary.c
 *	  Interning of 64-bit values to dense 32-bit ids.
 *
 * Small non-negative values (node numbers, counters, dictionary codes) are
 * looked up in an array, all others in an open-addressing hash table.
 *
 * Threads intern side by side once there is room for all that they may bring: nothing moves then.  A thread
 * writes a value's place before it enters the id, by an exchange that one thread wins; the id of one that lost
 * stays with its thread for the next value.
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

/* Make room in the hash table for n more ids. */
static GpucolStatus
grow_table(GpucolRecRun *run, uint64_t n)
{
	GpucolHashTable *table = &run->dictionary.table;
	GpucolHashTable old = *table;
	uint64_t	nslots = gpucol_hash_slots(old.nslots, run->dictionary.nhashed + n);
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

/* Have the array hold values below n. */
static GpucolStatus
grow_direct(GpucolRecDictionary *dictionary, GpucolBudget *memory, uint64_t n)
{
	uint64_t	before = dictionary->direct_allocated;

	if (n <= before)
		return GPUCOL_OK;
	GPUCOL_REC_TRY(gpucol_rec_reserve(memory, (void **) &dictionary->direct, &dictionary->direct_allocated, n,
									  sizeof(uint32_t)));
	memset(dictionary->direct + before, 0, (dictionary->direct_allocated - before) * sizeof(uint32_t));
	return GPUCOL_OK;
}

/* Intern a value of the direct range. */
static GpucolStatus
intern_direct(GpucolRecDictionary *dictionary, GpucolBudget *memory,
			  int64_t value, uint32_t *id)
{
	GPUCOL_REC_TRY(grow_direct(dictionary, memory, (uint64_t) value + 1));
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
	GPUCOL_REC_TRY(grow_table(run, 1));
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

/* ---- threads ---- */

/* Ids that a thread takes at a time. */
#define IDS_TAKEN	64

/* Memory must be left for so many times the whole array of small values. */
#define SHARE_SPARE	8

GpucolStatus
gpucol_rec_dictionary_share(GpucolRecRun *run, uint64_t members, uint32_t n)
{
	GpucolRecDictionary *dictionary = &run->dictionary;
	uint64_t	room = members * ((uint64_t) n + IDS_TAKEN);

	if (dictionary->nvalues + room >= MAX_IDS)
		return GPUCOL_OUT_OF_MEMORY;
	/* one thread takes of the array what it needs */
	if (dictionary->direct_allocated < DIRECT_LIMIT &&
		gpucol_budget_left(&run->memory) / SHARE_SPARE < DIRECT_LIMIT * sizeof(uint32_t))
		return GPUCOL_OUT_OF_MEMORY;
	GPUCOL_REC_TRY(grow_direct(dictionary, &run->memory, DIRECT_LIMIT));
	GPUCOL_REC_TRY(gpucol_rec_reserve(&run->memory, (void **) &dictionary->values, &dictionary->values_allocated,
									  dictionary->nvalues + room, sizeof(int64_t)));
	return grow_table(run, room);
}

/* An id for a value, which is the thread's own until it is entered. */
static uint32_t
offer_id(GpucolRecDictionary *dictionary, GpucolRecOwnIds *own, int64_t value)
{
	if (own->next == own->end)
	{
		own->next = (uint32_t) __atomic_fetch_add(&dictionary->nvalues, IDS_TAKEN, __ATOMIC_RELAXED);
		own->end = own->next + IDS_TAKEN;
	}
	dictionary->values[own->next] = value;
	return own->next;
}

/* The id that was offered has been entered. */
static void
give_id(GpucolRecOwnIds *own)
{
	own->next++;
	own->left--;
}

static uint32_t
share_direct(GpucolRecDictionary *dictionary, GpucolRecOwnIds *own, int64_t value)
{
	uint32_t	id = __atomic_load_n(&dictionary->direct[value], __ATOMIC_ACQUIRE);
	uint32_t	offered;

	if (id != 0)
		return id;
	offered = offer_id(dictionary, own, value);
	if (!__atomic_compare_exchange_n(&dictionary->direct[value], &id, offered, false, __ATOMIC_ACQ_REL,
									 __ATOMIC_ACQUIRE))
		return id;
	give_id(own);
	return offered;
}

static uint32_t
share_hashed(GpucolRecDictionary *dictionary, GpucolRecOwnIds *own, int64_t value)
{
	GpucolHashTable *table = &dictionary->table;
	uint64_t	hash = gpucol_rec_mix((uint64_t) value);
	uint64_t	tag = hash & UINT64_C(0xffffffff00000000);

	for (uint64_t at = gpucol_hash_home(table, hash);; at = (at + 1) & (table->nslots - 1))
	{
		uint64_t	slot = __atomic_load_n(&table->slots[at], __ATOMIC_ACQUIRE);

		if (slot == 0)
		{
			uint32_t	offered = offer_id(dictionary, own, value);

			if (__atomic_compare_exchange_n(&table->slots[at], &slot, tag | ((uint64_t) offered + 1), false,
											__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			{
				give_id(own);
				__atomic_fetch_add(&dictionary->nhashed, 1, __ATOMIC_RELAXED);
				return offered;
			}
		}
		if ((slot ^ tag) >> 32 == 0 && dictionary->values[(uint32_t) slot - 1] == value)
			return (uint32_t) slot - 1;
	}
}

void
gpucol_rec_dictionary_intern_shared(GpucolRecRun *run, GpucolRecOwnIds *own, uint32_t n, const int64_t *values,
									const uint8_t *nulls, uint32_t *ids)
{
	GpucolRecDictionary *dictionary = &run->dictionary;

	for (uint32_t i = 0; i < n; i++)
	{
		if ((uint64_t) values[i] >= DIRECT_LIMIT)
			__builtin_prefetch(&dictionary->table.slots[gpucol_hash_home(&dictionary->table,
																		 gpucol_rec_mix((uint64_t) values[i]))]);
	}
	for (uint32_t i = 0; i < n; i++)
		ids[i] = nulls[i] ? GPUCOL_REC_NULL_ID : (uint64_t) values[i] < DIRECT_LIMIT ?
			share_direct(dictionary, own, values[i]) : share_hashed(dictionary, own, values[i]);
}
