/*-------------------------------------------------------------------------
 *
 * topk_keys.c
 *	  Group keys of rows that a scan delivers, numbered from 0.
 *
 * A key is made of 8-byte words: a word of null bits, then one word a column
 * (two for D).  Byte strings are numbered first.  Words of equal keys are
 * equal: floats are compared by their order (NaN equal to NaN, -0 to 0), and
 * the values of the first row seen are kept for the output.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "exec/topk.h"
#include "kernel/float_order.h"

/*-------------------------------------------------------------------------
 * Byte strings
 *-------------------------------------------------------------------------
 */

typedef struct NameEntry
{
	uint32		hash;
	uint32		number;
	char		status;
} NameEntry;

struct GpucolNames
{
	struct names_hash *table;
	GpucolBytes *values;
	uint32		n;
	uint32		capacity;
	GpucolBytes probe;			/* what is being looked for: number UINT32_MAX */
	MemoryContext context;
};

static bool name_equal(GpucolNames *names, uint32 a, uint32 b);

#define SH_PREFIX names
#define SH_ELEMENT_TYPE NameEntry
#define SH_KEY_TYPE uint32
#define SH_KEY number
#define SH_HASH_KEY(tb, key) \
	hash_bytes((const unsigned char *) ((GpucolNames *) (tb)->private_data)->probe.data, \
			   (int) ((GpucolNames *) (tb)->private_data)->probe.len)
#define SH_EQUAL(tb, a, b) name_equal((GpucolNames *) (tb)->private_data, a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static const GpucolBytes *
name_of(const GpucolNames *names, uint32 number)
{
	return number == PG_UINT32_MAX ? &names->probe : &names->values[number];
}

static bool
name_equal(GpucolNames *names, uint32 a, uint32 b)
{
	const GpucolBytes *x = name_of(names, a);
	const GpucolBytes *y = name_of(names, b);

	return x->len == y->len && memcmp(x->data, y->data, x->len) == 0;
}

GpucolNames *
gpucol_names_create(void)
{
	GpucolNames *names = palloc0(sizeof(GpucolNames));

	names->context = CurrentMemoryContext;
	names->table = names_create(CurrentMemoryContext, 64, names);
	return names;
}

/* Keep a copy of the string looked for; its number. */
static uint32
name_add(GpucolNames *names)
{
	char	   *copy = MemoryContextAllocHuge(names->context, Max(names->probe.len, 1));

	if (names->n == names->capacity)
	{
		names->capacity = Max(64, 2 * names->capacity);
		names->values = names->values == NULL ?
			MemoryContextAlloc(names->context, sizeof(GpucolBytes) * names->capacity) :
			repalloc_huge(names->values, sizeof(GpucolBytes) * (Size) names->capacity);
	}
	memcpy(copy, names->probe.data, names->probe.len);
	names->values[names->n].data = copy;
	names->values[names->n].len = names->probe.len;
	return names->n++;
}

uint32
gpucol_names_number(GpucolNames *names, GpucolBytes bytes)
{
	NameEntry  *entry;
	bool		found;

	names->probe = bytes;
	entry = names_insert(names->table, PG_UINT32_MAX, &found);
	if (!found)
		entry->number = name_add(names);
	return entry->number;
}

GpucolBytes
gpucol_names_get(const GpucolNames *names, uint32 number)
{
	return names->values[number];
}

/*-------------------------------------------------------------------------
 * Keys
 *-------------------------------------------------------------------------
 */

/* Values around the first that a single integer key is found by. */
#define DIRECT_VALUES	(1 << 20)

typedef struct KeyEntry
{
	uint32		group;
	uint32		hash;
	char		status;
} KeyEntry;

struct GpucolKeys
{
	int			nkeys;
	const GpucolOutput *outputs;
	int			width;			/* words a key */
	struct keys_hash *table;
	uint64	   *words;			/* [capacity * width]; behind the last group the
								 * key that is being looked for */
	uint64	   *values;			/* the same layout: values for the output */
	uint32		n;
	uint32		capacity;
	GpucolNames *names;
	MemoryContext context;
	uint64	   *batch;			/* words and values of the rows at hand */
	uint64	   *batch_values;
	uint32		batch_rows;
	GpucolResultColumn *columns;	/* of gpucol_keys_columns */

	/* a single integer key: group + 1 of the values near the first one */
	uint32	   *direct;			/* [DIRECT_VALUES], or NULL */
	int64		direct_base;
};

static inline const uint64 *
key_words(const GpucolKeys *keys, uint32 group)
{
	return keys->words + (Size) group * keys->width;
}

/* Keys are a few words: no call is worth it. */
static inline bool
words_equal(const uint64 *a, const uint64 *b, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (a[i] != b[i])
			return false;
	}
	return true;
}

static inline void
words_copy(uint64 *to, const uint64 *from, int n)
{
	for (int i = 0; i < n; i++)
		to[i] = from[i];
}

/* Multiply and fold, a word at a time. */
static inline uint32
key_hash(const uint64 *words, int width)
{
	uint64		h = 0;

	for (int i = 0; i < width; i++)
	{
		h = (h ^ words[i]) * UINT64CONST(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	h *= UINT64CONST(0xbf58476d1ce4e5b9);
	return (uint32) (h >> 32);
}

#define SH_PREFIX keys
#define SH_ELEMENT_TYPE KeyEntry
#define SH_KEY_TYPE uint32
#define SH_KEY group
#define SH_HASH_KEY(tb, key) \
	key_hash(key_words((GpucolKeys *) (tb)->private_data, key), \
			 ((GpucolKeys *) (tb)->private_data)->width)
#define SH_EQUAL(tb, a, b) \
	words_equal(key_words((GpucolKeys *) (tb)->private_data, a), \
				key_words((GpucolKeys *) (tb)->private_data, b), \
				((GpucolKeys *) (tb)->private_data)->width)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

GpucolKeys *
gpucol_keys_create(int nkeys, const GpucolOutput *outputs)
{
	GpucolKeys *keys = palloc0(sizeof(GpucolKeys));

	keys->nkeys = nkeys;
	keys->outputs = outputs;
	keys->width = 1;
	for (int i = 0; i < nkeys; i++)
		keys->width += outputs[i].cls == GPUCOL_CLASS_D ? 2 : 1;
	keys->names = gpucol_names_create();
	keys->table = keys_create(CurrentMemoryContext, 256, keys);
	keys->columns = palloc0(sizeof(GpucolResultColumn) * Max(nkeys, 1));
	keys->context = CurrentMemoryContext;
	return keys;
}

/* Room for one more key behind the last. */
static void
keys_reserve(GpucolKeys *keys)
{
	Size		row = sizeof(uint64) * keys->width;

	if (keys->n < keys->capacity)
		return;
	keys->capacity = Max(256, 2 * keys->capacity);
	if (keys->words == NULL)
	{
		keys->words = MemoryContextAllocHuge(keys->context, row * keys->capacity);
		keys->values = MemoryContextAllocHuge(keys->context, row * keys->capacity);
		return;
	}
	keys->words = repalloc_huge(keys->words, row * keys->capacity);
	keys->values = repalloc_huge(keys->values, row * keys->capacity);
}

/* Start finding a single integer key by its value. */
static void
direct_begin(GpucolKeys *keys, const GpucolResultColumn *column)
{
	if (keys->nkeys != 1 || keys->outputs[0].cls != GPUCOL_CLASS_I || keys->n > 0 ||
		__builtin_sub_overflow(column->i[0], DIRECT_VALUES / 2, &keys->direct_base))
		return;
	keys->direct = MemoryContextAllocExtended(keys->context,
											  sizeof(uint32) * DIRECT_VALUES,
											  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* The words of column `c` of the batch: what compares, and what is shown. */
static void
column_words(GpucolKeys *keys, int c, int at, const GpucolResultColumn *column,
			 uint32 n)
{
	int			width = keys->width;

	for (uint32 i = 0; i < n; i++)
	{
		uint64	   *w = keys->batch + (Size) i * width;
		uint64	   *v = keys->batch_values + (Size) i * width;

		if (column->nulls != NULL && column->nulls[i])
		{
			w[0] |= UINT64CONST(1) << c;
			w[at] = 0;
			if (keys->outputs[c].cls == GPUCOL_CLASS_D)
				w[at + 1] = 0;
			continue;
		}
		switch (keys->outputs[c].cls)
		{
			case GPUCOL_CLASS_D:
				memcpy(&w[at], &column->d[i], sizeof(__int128));
				memcpy(&v[at], &column->d[i], sizeof(__int128));
				break;
			case GPUCOL_CLASS_F:
				w[at] = (uint64) gpucol_float_order(column->f[i]);
				memcpy(&v[at], &column->f[i], sizeof(double));
				break;
			case GPUCOL_CLASS_S:
				w[at] = v[at] = gpucol_names_number(keys->names, column->s[i]);
				break;
			default:
				w[at] = v[at] = (uint64) column->i[i];
				break;
		}
	}
}

/* The group of one row; an unknown key becomes a new group. */
static uint32
lookup_row(GpucolKeys *keys, uint32 row)
{
	Size		at = (Size) keys->n * keys->width;
	Size		from = (Size) row * keys->width;
	KeyEntry   *entry;
	bool		found;

	keys_reserve(keys);
	words_copy(keys->words + at, keys->batch + from, keys->width);
	entry = keys_insert(keys->table, keys->n, &found);
	if (found)
		return entry->group;
	words_copy(keys->values + at, keys->batch_values + from, keys->width);
	return keys->n++;
}

void
gpucol_keys_lookup(GpucolKeys *keys, const GpucolResultColumn *columns,
				   uint32 n, uint32 *groups)
{
	Size		bytes = sizeof(uint64) * keys->width;
	int			at = 1;

	if (n > keys->batch_rows)
	{
		keys->batch = MemoryContextAllocHuge(keys->context, bytes * n);
		keys->batch_values = MemoryContextAllocHuge(keys->context, bytes * n);
		keys->batch_rows = n;
	}
	for (uint32 i = 0; i < n; i++)
		keys->batch[(Size) i * keys->width] = 0;
	for (int c = 0; c < keys->nkeys; c++)
	{
		column_words(keys, c, at, &columns[c], n);
		at += keys->outputs[c].cls == GPUCOL_CLASS_D ? 2 : 1;
	}
	if (keys->direct == NULL && n > 0)
		direct_begin(keys, columns);
	for (uint32 i = 0; i < n; i++)
	{
		const uint64 *w = keys->batch + (Size) i * keys->width;

		if (keys->direct != NULL && w[0] == 0 &&
			w[1] - (uint64) keys->direct_base < DIRECT_VALUES)
		{
			uint32	   *g = &keys->direct[w[1] - (uint64) keys->direct_base];

			if (*g == 0)
				*g = lookup_row(keys, i) + 1;
			groups[i] = *g - 1;
			continue;
		}
		/* rows of a group often follow each other */
		if (i > 0 && words_equal(keys->batch + (Size) i * keys->width,
								 keys->batch + (Size) (i - 1) * keys->width,
								 keys->width))
			groups[i] = groups[i - 1];
		else
			groups[i] = lookup_row(keys, i);
	}
}

uint32
gpucol_keys_count(const GpucolKeys *keys)
{
	return keys->n;
}

/* One column of keys, in the current context. */
static void
make_column(GpucolKeys *keys, int c, int at, uint32 from, uint32 n)
{
	GpucolResultColumn *column = &keys->columns[c];
	uint8	   *nulls = palloc(n);
	char	   *data = palloc(n * sizeof(__int128));

	for (uint32 i = 0; i < n; i++)
	{
		const uint64 *v = keys->values + (Size) (from + i) * keys->width;

		nulls[i] = key_words(keys, from + i)[0] >> c & 1;
		if (nulls[i])
			continue;
		if (keys->outputs[c].cls == GPUCOL_CLASS_D)
			memcpy(data + i * sizeof(__int128), &v[at], sizeof(__int128));
		else if (keys->outputs[c].cls == GPUCOL_CLASS_S)
			((GpucolBytes *) data)[i] = gpucol_names_get(keys->names, (uint32) v[at]);
		else
			((uint64 *) data)[i] = v[at];
	}
	column->cls = keys->outputs[c].cls;
	column->nulls = nulls;
	column->i = (const int64_t *) data;
	column->d = (const __int128 *) data;
	column->f = (const double *) data;
	column->s = (const GpucolBytes *) data;
}

const GpucolResultColumn *
gpucol_keys_columns(GpucolKeys *keys, uint32 from, uint32 n)
{
	int			at = 1;

	for (int c = 0; c < keys->nkeys; c++)
	{
		make_column(keys, c, at, from, n);
		at += keys->outputs[c].cls == GPUCOL_CLASS_D ? 2 : 1;
	}
	return keys->columns;
}
