/*-------------------------------------------------------------------------
 *
 * rank_keys.c
 *	  Group keys and byte strings numbered from 0.
 *
 * A key is made of 8-byte words: a word of null bits, then one word a column
 * (two for D).  Byte strings are numbered first.  Words of equal keys are
 * equal: floats are compared by their order (NaN equal to NaN, -0 to 0), and
 * the values of the first row seen are kept for the output.
 *
 * Tables are open-addressing, at most half full; a slot holds half of the hash
 * beside the number, so that a probe touches an entry only when it is very
 * probably the one sought.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "base/arena.h"
#include "kernel/float_order.h"
#include "ranking/cpu/rank_keys_state.h"

/* Values around the first that a single integer key is found by. */
#define DIRECT_VALUES	(1 << 20)

/*-------------------------------------------------------------------------
 * Byte strings
 *-------------------------------------------------------------------------
 */

struct GpucolNames
{
	GpucolBudget *memory;
	GpucolBytes *values;
	uint32_t	n;
	uint32_t	capacity;
	GpucolHashTable table;
	GpucolArena arena;		/* of the bytes */
};

GpucolNames *
gpucol_names_create(GpucolBudget *memory)
{
	GpucolNames *names = calloc(1, sizeof(*names));

	if (names != NULL)
		names->memory = memory;
	return names;
}

void
gpucol_names_destroy(GpucolNames *names)
{
	if (names == NULL)
		return;
	gpucol_arena_free(&names->arena, names->memory);
	free(names->values);
	free(names->table.slots);
	free(names);
}

/* Room for one more string and its slot. */
static bool
names_reserve(GpucolNames *names)
{
	if (names->n == names->capacity)
	{
		uint32_t	size = names->capacity == 0 ? GPUCOL_KEYS_FIRST_ENTRIES : 2 * names->capacity;

		if (size > GPUCOL_KEYS_MOST_ENTRIES ||
			!gpucol_budget_grow(names->memory, &names->values,
								sizeof(GpucolBytes) * names->capacity,
								sizeof(GpucolBytes) * size))
			return false;
		names->capacity = size;
	}
	return gpucol_key_table_reserve(&names->table, names->memory, (uint64_t) names->n + 1);
}

bool
gpucol_names_number(GpucolNames *names, GpucolBytes bytes, uint32_t *number)
{
	uint64_t	hash = gpucol_hash_bytes(bytes.data, bytes.len);
	uint64_t	at;
	char	   *copy;

	if (!names_reserve(names))
		return false;
	at = gpucol_hash_home(&names->table, hash);
	while (gpucol_hash_next(&names->table, hash, &at, number))
	{
		const GpucolBytes *known = &names->values[*number];

		if (known->len == bytes.len &&
			(bytes.len == 0 || memcmp(known->data, bytes.data, bytes.len) == 0))
			return true;
	}
	copy = gpucol_arena_take(&names->arena, names->memory, bytes.len);
	if (copy == NULL)
		return false;
	if (bytes.len > 0)
		memcpy(copy, bytes.data, bytes.len);
	*number = names->n++;
	names->values[*number] = (GpucolBytes) {copy, bytes.len};
	gpucol_hash_put(&names->table, at, hash, *number);
	return true;
}

uint32_t
gpucol_names_count(const GpucolNames *names)
{
	return names->n;
}

GpucolBytes
gpucol_names_get(const GpucolNames *names, uint32_t number)
{
	return names->values[number];
}

uint32_t *
gpucol_names_merge(GpucolNames *to, const GpucolNames *from)
{
	uint32_t   *map = gpucol_budget_alloc(to->memory, sizeof(uint32_t) * ((size_t) from->n + 1));

	for (uint32_t i = 0; map != NULL && i < from->n; i++)
	{
		if (!gpucol_names_number(to, from->values[i], &map[i]))
		{
			free(map);
			return NULL;
		}
	}
	return map;
}

/*-------------------------------------------------------------------------
 * Keys
 *-------------------------------------------------------------------------
 */

GpucolKeys *
gpucol_keys_create(GpucolBudget *memory, int nkeys, const uint8_t *classes)
{
	GpucolKeys *keys = calloc(1, sizeof(*keys));

	if (keys == NULL)
		return NULL;
	keys->memory = memory;
	keys->nkeys = nkeys;
	keys->classes = malloc((size_t) nkeys + 1);
	keys->names = gpucol_names_create(memory);
	if (keys->classes == NULL || keys->names == NULL)
	{
		gpucol_keys_destroy(keys);
		return NULL;
	}
	keys->width = 1;
	for (int c = 0; c < nkeys; c++)
	{
		keys->classes[c] = classes[c];
		keys->width += gpucol_key_class_words(keys, c);
	}
	return keys;
}

void
gpucol_keys_destroy(GpucolKeys *keys)
{
	if (keys == NULL)
		return;
	gpucol_names_destroy(keys->names);
	free(keys->classes);
	free(keys->words);
	free(keys->values);
	free(keys->firsts);
	free(keys->table.slots);
	free(keys->batch);
	free(keys->batch_values);
	free(keys->direct);
	free(keys);
}

uint32_t
gpucol_keys_count(const GpucolKeys *keys)
{
	return keys->n;
}

/* Room for one more key. */
static bool
reserve_key(GpucolKeys *keys)
{
	size_t		row = sizeof(uint64_t) * (size_t) keys->width;
	size_t		old = keys->capacity;
	size_t		size = old == 0 ? GPUCOL_KEYS_FIRST_ENTRIES : 2 * old;

	if (keys->n < keys->capacity)
		return true;
	if (size > GPUCOL_KEYS_MOST_ENTRIES ||
		!gpucol_budget_grow(keys->memory, &keys->words, row * old, row * size) ||
		!gpucol_budget_grow(keys->memory, &keys->values, row * old, row * size) ||
		!gpucol_budget_grow(keys->memory, &keys->firsts, sizeof(uint64_t) * old,
							sizeof(uint64_t) * size))
		return false;
	keys->capacity = (uint32_t) size;
	return true;
}

/* Room for one more key and its slot. */
static bool
keys_reserve(GpucolKeys *keys)
{
	return reserve_key(keys) &&
		gpucol_key_table_reserve(&keys->table, keys->memory, (uint64_t) keys->n + 1);
}

bool
gpucol_keys_append(GpucolKeys *keys, int64_t value, uint32_t *group)
{
	size_t		at = (size_t) keys->n * (size_t) keys->width;

	if (!reserve_key(keys))
		return false;
	keys->words[at] = keys->values[at] = 0;
	keys->words[at + 1] = keys->values[at + 1] = (uint64_t) value;
	keys->firsts[keys->n] = UINT64_MAX;
	*group = keys->n++;
	return true;
}

bool
gpucol_keys_number(GpucolKeys *keys, const uint64_t *words, const uint64_t *values,
				   uint64_t first, uint32_t *group)
{
	uint64_t	hash = gpucol_key_hash(words, keys->width);
	size_t		bytes = sizeof(uint64_t) * (size_t) keys->width;
	uint64_t	at;

	if (!keys_reserve(keys))
		return false;
	at = gpucol_hash_home(&keys->table, hash);
	while (gpucol_hash_next(&keys->table, hash, &at, group))
		if (gpucol_key_words_equal(keys->words + (size_t) *group * (size_t) keys->width, words,
								   keys->width))
			return true;
	*group = keys->n++;
	memcpy(keys->words + (size_t) *group * (size_t) keys->width, words, bytes);
	memcpy(keys->values + (size_t) *group * (size_t) keys->width, values, bytes);
	keys->firsts[*group] = first;
	gpucol_hash_put(&keys->table, at, hash, *group);
	return true;
}

/* The words of column c of the batch: what compares, and what is shown. */
static bool
column_words(GpucolKeys *keys, int c, int at, const GpucolResultColumn *column,
			 uint32_t n)
{
	size_t		width = (size_t) keys->width;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t   *w = keys->batch + i * width;
		uint64_t   *v = keys->batch_values + i * width;
		uint32_t	number;

		memset(&w[at], 0, sizeof(uint64_t) * (size_t) gpucol_key_class_words(keys, c));
		if (column->nulls != NULL && column->nulls[i])
		{
			w[0] |= UINT64_C(1) << c;
			continue;
		}
		switch (keys->classes[c])
		{
			case GPUCOL_CLASS_D:
				memcpy(&w[at], &column->d[i], sizeof(__int128));
				memcpy(&v[at], &column->d[i], sizeof(__int128));
				break;
			case GPUCOL_CLASS_F:
				w[at] = (uint64_t) gpucol_float_order(column->f[i]);
				memcpy(&v[at], &column->f[i], sizeof(double));
				break;
			case GPUCOL_CLASS_S:
				if (!gpucol_names_number(keys->names, column->s[i], &number))
					return false;
				w[at] = v[at] = number;
				break;
			default:
				w[at] = v[at] = (uint64_t) column->i[i];
				break;
		}
	}
	return true;
}

bool
gpucol_keys_reserve_batch(GpucolKeys *keys, uint32_t n)
{
	size_t		row = sizeof(uint64_t) * (size_t) keys->width;

	if (n <= keys->batch_rows)
		return true;
	if (!gpucol_budget_grow(keys->memory, &keys->batch, row * keys->batch_rows, row * n) ||
		!gpucol_budget_grow(keys->memory, &keys->batch_values, row * keys->batch_rows, row * n))
		return false;
	memset(keys->batch_values, 0, row * n);
	keys->batch_rows = n;
	return true;
}

/* Start finding a single integer key by its value. */
static void
direct_begin(GpucolKeys *keys, const GpucolResultColumn *column)
{
	if (keys->nkeys != 1 || keys->classes[0] != GPUCOL_CLASS_I || keys->n > 0 ||
		(column->nulls != NULL && column->nulls[0]) ||
		__builtin_sub_overflow(column->i[0], DIRECT_VALUES / 2, &keys->direct_base))
		return;
	keys->direct = gpucol_budget_alloc_zeroed(keys->memory, sizeof(uint32_t) * DIRECT_VALUES);
}

bool
gpucol_keys_lookup(GpucolKeys *keys, const GpucolResultColumn *columns, uint32_t n,
				   uint64_t first, uint32_t *groups)
{
	size_t		width = (size_t) keys->width;
	int			at = 1;

	if (!gpucol_keys_reserve_batch(keys, n))
		return false;
	for (uint32_t i = 0; i < n; i++)
		keys->batch[i * width] = 0;
	for (int c = 0; c < keys->nkeys; c++)
	{
		if (!column_words(keys, c, at, &columns[c], n))
			return false;
		at += gpucol_key_class_words(keys, c);
	}
	if (keys->direct == NULL && n > 0)
		direct_begin(keys, columns);
	for (uint32_t i = 0; i < n; i++)
	{
		const uint64_t *w = keys->batch + i * width;
		const uint64_t *v = keys->batch_values + i * width;
		uint32_t   *known = NULL;

		if (keys->direct != NULL && w[0] == 0 &&
			w[1] - (uint64_t) keys->direct_base < DIRECT_VALUES)
			known = &keys->direct[w[1] - (uint64_t) keys->direct_base];
		if (known != NULL && *known != 0)
			groups[i] = *known - 1;
		/* rows of a group often follow each other */
		else if (known == NULL && i > 0 && gpucol_key_words_equal(w, w - width, keys->width))
			groups[i] = groups[i - 1];
		else if (!gpucol_keys_number(keys, w, v, first + i, &groups[i]))
			return false;
		if (known != NULL)
			*known = groups[i] + 1;
	}
	return true;
}

void
gpucol_keys_column(const GpucolKeys *keys, int c, uint32_t from, uint32_t n,
				   uint8_t *nulls, void *data)
{
	int			at = 1;

	for (int i = 0; i < c; i++)
		at += gpucol_key_class_words(keys, i);
	for (uint32_t i = 0; i < n; i++)
	{
		size_t		key = (size_t) (from + i) * (size_t) keys->width;
		const uint64_t *v = keys->values + key;

		nulls[i] = keys->words[key] >> c & 1;
		if (keys->classes[c] == GPUCOL_CLASS_D)
			memcpy((char *) data + (size_t) i * sizeof(__int128), &v[at], sizeof(__int128));
		else if (keys->classes[c] == GPUCOL_CLASS_S)
			((GpucolBytes *) data)[i] = nulls[i] ? (GpucolBytes) {NULL, 0} :
				gpucol_names_get(keys->names, (uint32_t) v[at]);
		else
			((uint64_t *) data)[i] = v[at];
	}
}
