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

#include "base/hash_table.h"
#include "kernel/bitpack.h"
#include "kernel/hash.h"

#define FIRST_LOOK 4096
#define QUARTER_LOOK ((uint64_t) 1 << 18)	/* from here on a quarter must have been seen before */
#define FEW_VALUES 131072
#define SHORT_VALUE 32			/* bytes, on average */
#define FIRST_ROOM 1024
#define FIRST_BLOCK 8192
#define SPARSE_ROOM 8192			/* values that have four slots each */
#define MAX_BLOCK (1024 * 1024)

/* A tag's lower bits are the value's length up to SHORT_LEN, or LONG. */
#define SHORT_LEN 8
#define LENGTH 15u
#define LONG 15u

/* What a value is looked up by. */
typedef struct Key
{
	uint64_t	word;
	uint32_t	tag;
} Key;

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
static inline uint64_t
hash_of(const char *data, size_t len)
{
	uint64_t	hash = len;
	uint64_t	word;

	for (size_t at = 0; at + 8 < len; at += 8)
	{
		memcpy(&word, data + at, 8);
		hash = gpucol_hash_mix(hash, word);
	}
	memcpy(&word, data + len - 8, 8);	/* may overlap the one before */
	return gpucol_hash_mix(hash, word);
}

/*
 * Its bytes as a little-endian number, padded with zeros, of a value of up to eight; the
 * hash of a longer one.
 */
static inline uint64_t
word_of(GpucolBytes value)
{
	const char *data = value.data;
	size_t		len = value.len;
	uint64_t	word;
	uint32_t	low;
	uint32_t	high;

	if (len > SHORT_LEN)
		return hash_of(data, len);
	if (len == 8)
	{
		memcpy(&word, data, 8);
		return word;
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

/* The key of a value. */
static inline Key
key_of(GpucolBytes value)
{
	uint64_t	word = word_of(value);
	uint32_t	len = value.len > SHORT_LEN ? LONG : (uint32_t) value.len;
	uint32_t	hash = (uint32_t) ((word ^ (uint64_t) len << 56) *
								   UINT64_C(0x9e3779b97f4a7c15) >> 32);

	return (Key) {word, (hash & ~LENGTH) | len};
}

/* Slot where the search for a key begins. */
static inline uint32_t
home_of(const GpucolDict *dict, uint32_t tag)
{
	return tag >> (32 - dict->bits);
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
		GPUCOL_PROBE(to, home_of(dict, old[i].tag), slots, table[to].number == 0);
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

/*
 * A copy of a value that lives as long as the dictionary, behind its length; NULL without
 * memory.
 */
static const char *
keep(GpucolDict *dict, GpucolBytes value)
{
	size_t		need = (sizeof(uint32_t) + value.len + 3) & ~(size_t) 3;
	uint32_t	len = (uint32_t) value.len;
	GpucolDictBlock *block = dict->blocks;
	char	   *copy;

	if (block == NULL || block->size - block->used < need)
	{
		size_t		size = block == NULL ? FIRST_BLOCK :
			block->size * 2 < MAX_BLOCK ? block->size * 2 : MAX_BLOCK;

		size = size > need ? size : need;
		block = dict_alloc(dict, sizeof(GpucolDictBlock) + size);
		if (block == NULL)
			return NULL;
		block->next = dict->blocks;
		block->used = 0;
		block->size = size;
		dict->blocks = block;
	}
	copy = block->data + block->used;
	block->used += need;
	memcpy(copy, &len, sizeof(len));
	copy += sizeof(len);
	if (len > 0)
		memcpy(copy, value.data, len);
	return copy;
}

/* Are the bytes of a value, more than eight, those of a copy? */
static inline bool
is_copy(const char *copy, GpucolBytes value)
{
	uint32_t	len;
	uint64_t	a;
	uint64_t	b;
	size_t		at = 0;

	memcpy(&len, copy - sizeof(len), sizeof(len));
	if (len != value.len)
		return false;
	if (len > 64)
		return memcmp(copy, value.data, len) == 0;
	for (; at + 8 < len; at += 8)
	{
		memcpy(&a, copy + at, 8);
		memcpy(&b, value.data + at, 8);
		if (a != b)
			return false;
	}
	memcpy(&a, copy + len - 8, 8);
	memcpy(&b, value.data + len - 8, 8);
	return a == b;
}

/* Is this the slot of a value? */
static inline bool
is_slot_of(const GpucolDictSlot *slot, GpucolBytes value, Key key)
{
	if (slot->tag != key.tag || slot->number == 0)
		return false;
	return value.len > SHORT_LEN ? is_copy(slot->at.copy, value) : slot->at.word == key.word;
}

/* Slot of a value, or the free one where it belongs. */
static GpucolDictSlot *
find_slot(const GpucolDict *dict, GpucolBytes value, Key key)
{
	uint32_t	nslots = slots_for(dict->room);
	uint32_t	i;

	GPUCOL_PROBE(i, home_of(dict, key.tag), nslots,
				 dict->table[i].number == 0 || is_slot_of(&dict->table[i], value, key));
	return &dict->table[i];
}

/* Enter a new value at a slot. */
static GpucolStatus
enter(GpucolDict *dict, GpucolBytes value, Key key, GpucolDictSlot *slot)
{
	const char *copy;

	if (value.len > UINT32_MAX)
		return GPUCOL_UNSUPPORTED;
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
	if (value.len > SHORT_LEN)
		slot->at.copy = copy;
	else
		slot->at.word = key.word;
	slot->tag = key.tag;
	slot->number = ++dict->n;
	return GPUCOL_OK;
}

void
gpucol_dict_persist(GpucolDict *dict)
{
	dict->look = UINT64_MAX;
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
add_value(GpucolDict *dict, GpucolBytes value, Key key, uint32_t *code)
{
	GpucolDictSlot *slot = &dict->table[home_of(dict, key.tag)];

	if (!is_slot_of(slot, value, key))
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
 * slots, then the copies of longer ones that may be known.
 */
static void
look_ahead(const GpucolDict *dict, const GpucolBytes *values, uint32_t n, Key *keys)
{
	for (uint32_t i = 0; i < n; i++)
	{
		keys[i] = key_of(values[i]);
		__builtin_prefetch(&dict->table[home_of(dict, keys[i].tag)]);
	}
	for (uint32_t i = 0; i < n; i++)
	{
		const GpucolDictSlot *slot = &dict->table[home_of(dict, keys[i].tag)];

		if ((keys[i].tag & LENGTH) == LONG && slot->tag == keys[i].tag)
			__builtin_prefetch(slot->at.copy);
	}
}

GpucolStatus
gpucol_dict_add(GpucolDict *dict, const GpucolBytes *values, uint32_t n, uint32_t *codes,
				uint32_t *done)
{
	Key			keys[GPUCOL_DICT_AHEAD];

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
