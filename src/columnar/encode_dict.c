/*-------------------------------------------------------------------------
 *
 * encode_dict.c
 *	  Numbering the distinct values of a column of BYTES while rows arrive.
 *
 * Open addressing in a table of four slots a value, or two where it would no longer
 * fit a core's cache; copies of the values lie in blocks that double in size, so that
 * their addresses stay.
 *
 *-------------------------------------------------------------------------
 */
#include "columnar/encode_dict.h"

#include <string.h>

#include "kernel/bitpack.h"

#define FIRST_LOOK 4096
#define QUARTER_LOOK ((uint64_t) 1 << 18)	/* from here on a quarter must have been seen before */
#define FEW_VALUES 131072
#define SHORT_VALUE 32			/* bytes, on average */
#define FIRST_ROOM 1024
#define FIRST_BLOCK 8192
#define SPARSE_ROOM 8192			/* values that have four slots each */
#define MAX_BLOCK (1024 * 1024)

struct GpucolDictBlock
{
	GpucolDictBlock *next;
	size_t		used;
	size_t		size;
	char		data[];
};

static void *
dict_alloc(GpucolDict *dict, size_t size)
{
	return dict->memory.alloc(dict->memory.context, size);
}

static void
release(GpucolDict *dict, void *ptr)
{
	if (ptr != NULL)
		dict->memory.free(dict->memory.context, ptr);
}

/* Hash of a value of more than eight bytes. */
static uint64_t
hash_of(const char *data, size_t len)
{
	uint64_t	h = len * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t	word;

	for (; len >= 8; len -= 8, data += 8)
	{
		memcpy(&word, data, 8);
		h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, data, len);
	h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
	h ^= h >> 32;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 29;
}

/*
 * Key of a value: its bytes as a little-endian number, padded with zeros, up to
 * eight of them; the hash of a longer one.
 */
static inline uint64_t
key_of(GpucolBytes value)
{
	const char *data = value.data;
	size_t		len = value.len;
	uint64_t	key;
	uint32_t	low;
	uint32_t	high;

	if (len > 8)
		return hash_of(data, len);
	if (len == 8)
	{
		memcpy(&key, data, 8);
		return key;
	}
	if (len >= 4)				/* reads that overlap */
	{
		memcpy(&low, data, 4);
		memcpy(&high, data + len - 4, 4);
		return low | (uint64_t) high << 8 * (len - 4);
	}
	if (len == 0)
		return 0;
	return (uint64_t) (unsigned char) data[0] |
		(uint64_t) (unsigned char) data[len / 2] << 8 * (len / 2) |
		(uint64_t) (unsigned char) data[len - 1] << 8 * (len - 1);
}

/* Slot where the search for a key begins. */
static inline uint32_t
home_of(const GpucolDict *dict, uint64_t key, uint32_t len)
{
	return (uint32_t) ((key ^ (uint64_t) len << 56) * UINT64_C(0x9e3779b97f4a7c15) >>
					   (64 - dict->bits));
}

/* Slots of a table for so many values, a power of two. */
static inline uint32_t
slots_for(uint32_t room)
{
	return room <= SPARSE_ROOM ? room * 4 : room * 2;
}

/* Enlarge the table and the array of values to `room` values, a power of two. */
static GpucolStatus
make_room(GpucolDict *dict, uint32_t room)
{
	uint32_t	slots = slots_for(room);
	uint32_t	old_slots = slots_for(dict->room);
	GpucolDictSlot *old = dict->table;
	GpucolDictSlot *table = dict_alloc(dict, (size_t) slots * sizeof(GpucolDictSlot));
	GpucolBytes *values = dict_alloc(dict, room * sizeof(GpucolBytes));

	if (table == NULL || values == NULL)
	{
		release(dict, table);
		release(dict, values);
		return GPUCOL_OUT_OF_MEMORY;
	}
	memset(table, 0, (size_t) slots * sizeof(GpucolDictSlot));
	if (dict->n > 0)
		memcpy(values, dict->values, dict->n * sizeof(GpucolBytes));
	release(dict, dict->values);
	dict->values = values;
	dict->table = table;
	dict->room = room;
	dict->bits = gpucol_bitpack_width(slots - 1);
	for (uint32_t i = 0; i < old_slots; i++)
	{
		uint32_t	to;

		if (old[i].number == 0)
			continue;
		to = home_of(dict, old[i].key, old[i].len);
		while (table[to].number != 0)
			to = (to + 1) & (slots - 1);
		table[to] = old[i];
	}
	release(dict, old);
	return GPUCOL_OK;
}

GpucolStatus
gpucol_dict_begin(GpucolDict *dict, const GpucolMemory *memory)
{
	memset(dict, 0, sizeof(*dict));
	dict->memory = *memory;
	dict->look = FIRST_LOOK;
	return make_room(dict, FIRST_ROOM);
}

void
gpucol_dict_free(GpucolDict *dict)
{
	while (dict->blocks != NULL)
	{
		GpucolDictBlock *block = dict->blocks;

		dict->blocks = block->next;
		release(dict, block);
	}
	release(dict, dict->values);
	release(dict, dict->table);
	dict->values = NULL;
	dict->table = NULL;
	dict->n = dict->room = 0;
}

/* A copy of a value that lives as long as the dictionary; NULL without memory. */
static const char *
keep(GpucolDict *dict, GpucolBytes value)
{
	size_t		len = value.len;
	GpucolDictBlock *block = dict->blocks;
	char	   *copy;

	if (block == NULL || block->size - block->used < len)
	{
		size_t		size = block == NULL ? FIRST_BLOCK :
			block->size * 2 < MAX_BLOCK ? block->size * 2 : MAX_BLOCK;

		size = size > len ? size : len;
		block = dict_alloc(dict, sizeof(GpucolDictBlock) + size);
		if (block == NULL)
			return NULL;
		block->next = dict->blocks;
		block->used = 0;
		block->size = size;
		dict->blocks = block;
	}
	copy = block->data + block->used;
	if (len > 0)
		memcpy(copy, value.data, len);
	block->used += len;
	return copy;
}

/* Is this the slot of a value of this key?  If so, but for its bytes where it is longer
 * than eight. */
static inline bool
has_key(const GpucolDictSlot *slot, uint64_t key, size_t len)
{
	return slot->number != 0 && slot->key == key && slot->len == (uint32_t) len;
}

/* Slot of a value, or the free one where it belongs. */
static GpucolDictSlot *
find_slot(const GpucolDict *dict, GpucolBytes value, uint64_t key)
{
	uint32_t	mask = slots_for(dict->room) - 1;
	uint32_t	i = home_of(dict, key, (uint32_t) value.len);

	for (;; i = (i + 1) & mask)
	{
		GpucolDictSlot *slot = &dict->table[i];
		const GpucolBytes *known;

		if (slot->number == 0)
			return slot;
		if (!has_key(slot, key, value.len))
			continue;
		known = &dict->values[slot->number - 1];
		if (known->len == value.len &&
			(value.len <= 8 || memcmp(known->data, value.data, value.len) == 0))
			return slot;
	}
}

/* Enter a new value at a slot. */
static GpucolStatus
enter(GpucolDict *dict, GpucolBytes value, uint64_t key, GpucolDictSlot *slot)
{
	const char *copy;

	if (dict->n == dict->room)
	{
		GpucolStatus status = make_room(dict, dict->room * 2);

		if (status != GPUCOL_OK)
			return status;
		slot = find_slot(dict, value, key);
	}
	copy = keep(dict, value);
	if (copy == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	dict->values[dict->n].data = copy;
	dict->values[dict->n].len = value.len;
	dict->bytes += value.len;
	slot->key = key;
	slot->len = (uint32_t) value.len;
	slot->number = ++dict->n;
	return GPUCOL_OK;
}

/*
 * Have too few of the values since the last look been known?  A quarter must have been, of
 * the first ones less: of n values drawn from d some n * n / (2 * d) are not new, and a
 * segment of 2^20 rows has one for up to a quarter as many.
 */
static bool
is_hopeless(GpucolDict *dict)
{
	uint64_t	since = dict->look - dict->looked;
	uint64_t	old = since - (dict->n - dict->known);
	uint64_t	share = dict->look < QUARTER_LOOK ? dict->look : QUARTER_LOOK;
	bool		hopeless = old < since * share / (4 * QUARTER_LOOK);

	dict->known = dict->n;
	dict->looked = dict->look;
	dict->look *= 2;
	return hopeless;
}

/* Number one value, whose key is known. */
static inline GpucolStatus
add_value(GpucolDict *dict, GpucolBytes value, uint64_t key, uint32_t *code)
{
	GpucolDictSlot *slot = &dict->table[home_of(dict, key, (uint32_t) value.len)];

	if (value.len > 8 || !has_key(slot, key, value.len))
		slot = find_slot(dict, value, key);
	if (slot->number != 0)
		*code = slot->number - 1;
	else
	{
		GpucolStatus status = enter(dict, value, key, slot);

		if (status != GPUCOL_OK)
			return status;
		*code = dict->n - 1;
	}
	dict->plain += value.len;
	dict->seen++;
	return GPUCOL_OK;
}

/*
 * Make the keys of n values, and ask for the memory that looking them up will read: their
 * slots, then, of longer ones that may be known, where their bytes lie, and these.
 */
static void
look_ahead(const GpucolDict *dict, const GpucolBytes *values, uint32_t n, uint64_t *keys)
{
	const GpucolBytes *known[GPUCOL_DICT_AHEAD];
	uint32_t	nknown = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		keys[i] = key_of(values[i]);
		__builtin_prefetch(&dict->table[home_of(dict, keys[i], (uint32_t) values[i].len)]);
	}
	for (uint32_t i = 0; i < n; i++)
	{
		const GpucolDictSlot *slot;

		if (values[i].len <= 8)
			continue;
		slot = &dict->table[home_of(dict, keys[i], (uint32_t) values[i].len)];
		if (!has_key(slot, keys[i], values[i].len))
			continue;
		known[nknown] = &dict->values[slot->number - 1];
		__builtin_prefetch(known[nknown++]);
	}
	for (uint32_t i = 0; i < nknown; i++)
		__builtin_prefetch(known[i]->data);
}

GpucolStatus
gpucol_dict_add(GpucolDict *dict, const GpucolBytes *values, uint32_t n, uint32_t *codes,
				uint32_t *done)
{
	uint64_t	keys[GPUCOL_DICT_AHEAD];

	for (*done = 0; *done < n;)
	{
		uint32_t	from = *done;
		uint32_t	some = n - from < GPUCOL_DICT_AHEAD ? n - from : GPUCOL_DICT_AHEAD;

		look_ahead(dict, values + from, some, keys);
		for (uint32_t i = 0; i < some; i++)
		{
			GpucolStatus status = add_value(dict, values[from + i], keys[i], codes + from + i);

			if (status != GPUCOL_OK)
				return status;
			++*done;
			if (dict->seen >= dict->look && is_hopeless(dict))
				return GPUCOL_END;
		}
	}
	return GPUCOL_OK;
}

bool
gpucol_dict_pays(const GpucolDict *dict)
{
	uint64_t	codes = dict->n == 0 ? 0 :
		dict->seen * (uint64_t) gpucol_bitpack_width(dict->n - 1) / 8;
	uint64_t	size = codes + 8 * ((uint64_t) dict->n + 1) + dict->bytes;
	uint64_t	plain = dict->plain + dict->seen;

	if (dict->n == 1 || size <= plain)
		return true;
	return dict->seen <= FEW_VALUES && dict->plain <= dict->seen * SHORT_VALUE && size <= 2 * plain &&
		(dict->seen - dict->n) * 256 >= dict->seen;
}
