/*-------------------------------------------------------------------------
 *
 * encode_dict.c
 *	  Numbering the distinct values of a column of BYTES while rows arrive.
 *
 * Open addressing in a table of four slots a value; copies of the values lie in
 * blocks that double in size, so that their addresses stay.
 *
 *-------------------------------------------------------------------------
 */
#include "columnar/encode_dict.h"
#include "kernel/bitpack.h"

#define FIRST_LOOK 4096
#define FIRST_ROOM 1024
#define FIRST_BLOCK 8192
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

uint64_t
gpucol_dict_hash(const char *data, size_t len)
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

/* Enlarge the table and the array of values to `room` values, a power of two. */
static GpucolStatus
make_room(GpucolDict *dict, uint32_t room)
{
	size_t		slots = (size_t) room * 4;
	uint32_t	old_slots = dict->room * 4;
	GpucolDictSlot *old = dict->table;
	GpucolDictSlot *table = dict_alloc(dict, slots * sizeof(GpucolDictSlot));
	GpucolBytes *values = dict_alloc(dict, room * sizeof(GpucolBytes));

	if (table == NULL || values == NULL)
	{
		release(dict, table);
		release(dict, values);
		return GPUCOL_OUT_OF_MEMORY;
	}
	memset(table, 0, slots * sizeof(GpucolDictSlot));
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
		to = gpucol_dict_home(dict, old[i].key, old[i].len);
		while (table[to].number != 0)
			to = (to + 1) & (uint32_t) (slots - 1);
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
keep(GpucolDict *dict, const char *data, size_t len)
{
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
		memcpy(copy, data, len);
	block->used += len;
	return copy;
}

/* Slot of a value, or the free one where it belongs. */
static GpucolDictSlot *
find_slot(const GpucolDict *dict, const char *data, size_t len, uint64_t key)
{
	uint32_t	mask = dict->room * 4 - 1;
	uint32_t	i = gpucol_dict_home(dict, key, (uint32_t) len);

	for (;; i = (i + 1) & mask)
	{
		GpucolDictSlot *slot = &dict->table[i];
		const GpucolBytes *value;

		if (slot->number == 0)
			return slot;
		if (slot->key != key || slot->len != (uint32_t) len)
			continue;
		value = &dict->values[slot->number - 1];
		if (len <= 8 ? value->len == len :
			value->len == len && memcmp(value->data, data, len) == 0)
			return slot;
	}
}

/* Enter a new value at a slot. */
static GpucolStatus
enter(GpucolDict *dict, const char *data, size_t len, uint64_t key, GpucolDictSlot *slot)
{
	const char *copy;

	if (dict->n == dict->room)
	{
		GpucolStatus status = make_room(dict, dict->room * 2);

		if (status != GPUCOL_OK)
			return status;
		slot = find_slot(dict, data, len, key);
	}
	copy = keep(dict, data, len);
	if (copy == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	dict->values[dict->n].data = copy;
	dict->values[dict->n].len = len;
	dict->bytes += len;
	slot->key = key;
	slot->len = (uint32_t) len;
	slot->number = ++dict->n;
	return GPUCOL_OK;
}

/* Have too many of the values since the last look been new? */
static bool
is_hopeless(GpucolDict *dict)
{
	bool		hopeless = dict->n - dict->known > (dict->look - dict->looked) / 4 * 3;

	dict->known = dict->n;
	dict->looked = dict->look;
	dict->look *= 2;
	return hopeless;
}

GpucolStatus
gpucol_dict_find(GpucolDict *dict, const char *data, size_t len, uint64_t key,
				 uint32_t *code)
{
	GpucolDictSlot *slot = find_slot(dict, data, len, key);

	if (slot->number != 0)
		*code = slot->number - 1;
	else
	{
		GpucolStatus status = enter(dict, data, len, key, slot);

		if (status != GPUCOL_OK)
			return status;
		*code = dict->n - 1;
	}
	return dict->seen >= dict->look && is_hopeless(dict) ? GPUCOL_END : GPUCOL_OK;
}

bool
gpucol_dict_pays(const GpucolDict *dict)
{
	uint64_t	codes = dict->n == 0 ? 0 :
		dict->seen * (uint64_t) gpucol_bitpack_width(dict->n - 1) / 8;

	return dict->n == 1 ||
		codes + 8 * ((uint64_t) dict->n + 1) + dict->bytes <= dict->plain + dict->seen;
}
