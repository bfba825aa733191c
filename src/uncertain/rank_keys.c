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
 * Few keys of several tables are merged one by one, in the order of their first rows.
 * Many are dealt to threads by their hashes, each of which orders its own likewise.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "engine/cpu.h"
#include "kernel/float_order.h"
#include "kernel/hash.h"
#include "uncertain/rank_keys.h"

#define FIRST_ENTRIES	256
#define MOST_ENTRIES	(UINT32_MAX / 8)

/* Values around the first that a single integer key is found by. */
#define DIRECT_VALUES	(1 << 20)

/* Keys merged between looks at whether to stop. */
#define MERGE_STEP		65536

/* Keys of all tables that are too many to be merged by one thread. */
#define MANY_KEYS		4096

/* A hash table of entry numbers. */
typedef struct Slots
{
	uint64_t   *slots;			/* hash high half << 32 | number + 1; 0 = empty */
	size_t		n;				/* a power of 2 */
} Slots;

static void
slots_place(Slots *s, uint64_t hash, uint32_t number)
{
	size_t		at = (size_t) hash & (s->n - 1);

	while (s->slots[at] != 0)
		at = (at + 1) & (s->n - 1);
	s->slots[at] = (hash & UINT64_C(0xffffffff00000000)) | (number + 1);
}

/* Make the table twice as large, and empty. */
static bool
slots_double(Slots *s, GpucolRankMemory *memory)
{
	size_t		n = s->n == 0 ? 2 * FIRST_ENTRIES : 2 * s->n;
	uint64_t   *slots = NULL;

	if (!gpucol_rank_memory_grow(memory, &slots, 0, sizeof(uint64_t) * n))
		return false;
	memset(slots, 0, sizeof(uint64_t) * n);
	gpucol_rank_memory_free(memory, s->slots, sizeof(uint64_t) * s->n);
	s->slots = slots;
	s->n = n;
	return true;
}

/*-------------------------------------------------------------------------
 * Byte strings
 *-------------------------------------------------------------------------
 */

struct GpucolNames
{
	GpucolRankMemory *memory;
	GpucolBytes *values;
	uint32_t	n;
	uint32_t	capacity;
	Slots		slots;
	GpucolRankArena arena;		/* of the bytes */
};

GpucolNames *
gpucol_names_create(GpucolRankMemory *memory)
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
	gpucol_rank_arena_free(&names->arena);
	free(names->values);
	free(names->slots.slots);
	free(names);
}

/* Room for one more string and its slot. */
static bool
names_reserve(GpucolNames *names)
{
	if (names->n == names->capacity)
	{
		uint32_t	size = names->capacity == 0 ? FIRST_ENTRIES : 2 * names->capacity;

		if (size > MOST_ENTRIES ||
			!gpucol_rank_memory_grow(names->memory, &names->values,
									 sizeof(GpucolBytes) * names->capacity,
									 sizeof(GpucolBytes) * size))
			return false;
		names->capacity = size;
	}
	if (2 * (size_t) names->n < names->slots.n)
		return true;
	if (!slots_double(&names->slots, names->memory))
		return false;
	for (uint32_t i = 0; i < names->n; i++)
		slots_place(&names->slots, gpucol_hash_bytes(names->values[i].data, names->values[i].len), i);
	return true;
}

bool
gpucol_names_number(GpucolNames *names, GpucolBytes bytes, uint32_t *number)
{
	uint64_t	hash = gpucol_hash_bytes(bytes.data, bytes.len);
	uint64_t	slot;
	size_t		at;
	char	   *copy;

	if (!names_reserve(names))
		return false;
	at = (size_t) hash & (names->slots.n - 1);
	for (; (slot = names->slots.slots[at]) != 0; at = (at + 1) & (names->slots.n - 1))
	{
		const GpucolBytes *known = &names->values[(uint32_t) slot - 1];

		if ((slot ^ hash) >> 32 == 0 && known->len == bytes.len &&
			(bytes.len == 0 || memcmp(known->data, bytes.data, bytes.len) == 0))
		{
			*number = (uint32_t) slot - 1;
			return true;
		}
	}
	copy = gpucol_rank_arena_take(&names->arena, names->memory, bytes.len);
	if (copy == NULL)
		return false;
	if (bytes.len > 0)
		memcpy(copy, bytes.data, bytes.len);
	*number = names->n++;
	names->values[*number] = (GpucolBytes) {copy, bytes.len};
	slots_place(&names->slots, hash, *number);
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
	uint32_t   *map = malloc(sizeof(uint32_t) * ((size_t) from->n + 1));

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

struct GpucolKeys
{
	GpucolRankMemory *memory;
	int			nkeys;
	uint8_t	   *classes;		/* [nkeys] */
	int			width;			/* words a key */
	uint64_t   *words;			/* [capacity * width], what compares */
	uint64_t   *values;			/* the same layout: values for the output */
	uint64_t   *firsts;			/* [capacity] place of the first row */
	uint32_t	n;
	uint32_t	capacity;
	Slots		slots;
	GpucolNames *names;

	uint64_t   *batch;			/* words and values of the rows at hand */
	uint64_t   *batch_values;
	uint32_t	batch_rows;

	/* a single integer key: group + 1 of the values near the first one */
	uint32_t   *direct;			/* [DIRECT_VALUES], or NULL */
	int64_t		direct_base;
};

/* Words of key c. */
static inline int
class_words(const GpucolKeys *keys, int c)
{
	return keys->classes[c] == GPUCOL_CLASS_D ? 2 : 1;
}

/* Keys are a few words: no call is worth it. */
static inline bool
words_equal(const uint64_t *a, const uint64_t *b, int n)
{
	for (int i = 0; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static inline uint64_t
hash_words(const uint64_t *words, int width)
{
	uint64_t	hash = 0;

	for (int i = 0; i < width; i++)
		hash = gpucol_hash_mix(hash, words[i]);
	return gpucol_hash_mix(hash, 0);
}

GpucolKeys *
gpucol_keys_create(GpucolRankMemory *memory, int nkeys, const uint8_t *classes)
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
		keys->width += class_words(keys, c);
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
	free(keys->slots.slots);
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

/* Room for one more key and its slot. */
static bool
keys_reserve(GpucolKeys *keys)
{
	size_t		row = sizeof(uint64_t) * (size_t) keys->width;

	if (keys->n == keys->capacity)
	{
		size_t		old = keys->capacity;
		size_t		size = old == 0 ? FIRST_ENTRIES : 2 * old;

		if (size > MOST_ENTRIES ||
			!gpucol_rank_memory_grow(keys->memory, &keys->words, row * old, row * size) ||
			!gpucol_rank_memory_grow(keys->memory, &keys->values, row * old, row * size) ||
			!gpucol_rank_memory_grow(keys->memory, &keys->firsts, sizeof(uint64_t) * old,
									 sizeof(uint64_t) * size))
			return false;
		keys->capacity = (uint32_t) size;
	}
	if (2 * (size_t) keys->n < keys->slots.n)
		return true;
	if (!slots_double(&keys->slots, keys->memory))
		return false;
	for (uint32_t g = 0; g < keys->n; g++)
		slots_place(&keys->slots, hash_words(keys->words + (size_t) g * (size_t) keys->width,
											 keys->width), g);
	return true;
}

/* The group of one key; an unknown one becomes a new group. */
static bool
keys_number(GpucolKeys *keys, const uint64_t *words, const uint64_t *values,
			uint64_t first, uint32_t *group)
{
	uint64_t	hash = hash_words(words, keys->width);
	size_t		bytes = sizeof(uint64_t) * (size_t) keys->width;
	uint64_t	slot;
	size_t		at;

	if (!keys_reserve(keys))
		return false;
	at = (size_t) hash & (keys->slots.n - 1);
	for (; (slot = keys->slots.slots[at]) != 0; at = (at + 1) & (keys->slots.n - 1))
	{
		*group = (uint32_t) slot - 1;
		if ((slot ^ hash) >> 32 == 0 &&
			words_equal(keys->words + (size_t) *group * (size_t) keys->width, words, keys->width))
			return true;
	}
	*group = keys->n++;
	memcpy(keys->words + (size_t) *group * (size_t) keys->width, words, bytes);
	memcpy(keys->values + (size_t) *group * (size_t) keys->width, values, bytes);
	keys->firsts[*group] = first;
	slots_place(&keys->slots, hash, *group);
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

		memset(&w[at], 0, sizeof(uint64_t) * (size_t) class_words(keys, c));
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

/* Room for the words of n rows. */
static bool
reserve_batch(GpucolKeys *keys, uint32_t n)
{
	size_t		row = sizeof(uint64_t) * (size_t) keys->width;

	if (n <= keys->batch_rows)
		return true;
	if (!gpucol_rank_memory_grow(keys->memory, &keys->batch, row * keys->batch_rows, row * n) ||
		!gpucol_rank_memory_grow(keys->memory, &keys->batch_values, row * keys->batch_rows, row * n))
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
		__builtin_sub_overflow(column->i[0], DIRECT_VALUES / 2, &keys->direct_base) ||
		!gpucol_rank_memory_account(keys->memory, sizeof(uint32_t) * DIRECT_VALUES))
		return;
	keys->direct = calloc(DIRECT_VALUES, sizeof(uint32_t));
}

bool
gpucol_keys_lookup(GpucolKeys *keys, const GpucolResultColumn *columns, uint32_t n,
				   uint64_t first, uint32_t *groups)
{
	size_t		width = (size_t) keys->width;
	int			at = 1;

	if (!reserve_batch(keys, n))
		return false;
	for (uint32_t i = 0; i < n; i++)
		keys->batch[i * width] = 0;
	for (int c = 0; c < keys->nkeys; c++)
	{
		if (!column_words(keys, c, at, &columns[c], n))
			return false;
		at += class_words(keys, c);
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
		else if (known == NULL && i > 0 && words_equal(w, w - width, keys->width))
			groups[i] = groups[i - 1];
		else if (!keys_number(keys, w, v, first + i, &groups[i]))
			return false;
		if (known != NULL)
			*known = groups[i] + 1;
	}
	return true;
}

/* Turn the strings' numbers of a key into those of another table. */
static bool
translate(GpucolKeys *to, const GpucolKeys *from, uint64_t *words, uint64_t *values)
{
	int			at = 1;
	uint32_t	number;

	for (int c = 0; c < to->nkeys; c++)
	{
		if (to->classes[c] == GPUCOL_CLASS_S && !(words[0] >> c & 1))
		{
			if (!gpucol_names_number(to->names,
									 gpucol_names_get(from->names, (uint32_t) words[at]), &number))
				return false;
			words[at] = values[at] = number;
		}
		at += class_words(to, c);
	}
	return true;
}

/* The table whose next key was seen first, or -1: none has one left. */
static int
next_table(GpucolKeys *const *from, int n, const uint32_t *next)
{
	int			best = -1;

	for (int t = 0; t < n; t++)
		if (next[t] < from[t]->n &&
			(best < 0 || from[t]->firsts[next[t]] < from[best]->firsts[next[best]]))
			best = t;
	return best;
}

/* Merge tables one key after the other; maps[] are there. */
static GpucolStatus
merge_in_order(GpucolKeys *to, GpucolKeys *const *from, int n,
			   bool (*cancelled) (void *arg), void *arg, uint32_t **maps)
{
	uint32_t   *next = calloc((size_t) n + 1, sizeof(uint32_t));
	GpucolStatus status = next == NULL || !reserve_batch(to, 1) ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
	size_t		row = sizeof(uint64_t) * (size_t) to->width;
	int			t;

	for (uint32_t i = 1; status == GPUCOL_OK && (t = next_table(from, n, next)) >= 0; i++)
	{
		uint32_t	g = next[t]++;

		memcpy(to->batch, from[t]->words + g * (size_t) to->width, row);
		memcpy(to->batch_values, from[t]->values + g * (size_t) to->width, row);
		if (!translate(to, from[t], to->batch, to->batch_values) ||
			!keys_number(to, to->batch, to->batch_values, from[t]->firsts[g], &maps[t][g]))
			status = GPUCOL_OUT_OF_MEMORY;
		if (i % MERGE_STEP == 0 && cancelled != NULL && cancelled(arg))
			status = GPUCOL_CANCELLED;
	}
	free(next);
	return status;
}

/*-------------------------------------------------------------------------
 * Merging in threads
 *-------------------------------------------------------------------------
 */

/* A key, and the table that saw it first. */
typedef struct PartKey
{
	uint64_t	first;
	uint32_t	table;
	uint32_t	group;			/* of that table */
	uint32_t	place;			/* in the order of first rows; before, its own number */
} PartKey;

/* The keys of one thread: those whose hashes fall to it. */
typedef struct Part
{
	PartKey    *keys;
	uint32_t	n;
	uint32_t	capacity;
	uint32_t	offset;			/* of its keys among all */
	Slots		slots;
	GpucolStatus status;
} Part;

typedef struct Merge
{
	GpucolKeys *to;
	GpucolKeys *const *from;
	int			n;				/* tables and parts */
	bool		(*cancelled) (void *arg);
	void	   *arg;
	uint32_t  **maps;			/* numbers within the part, then among all */
	Part	   *parts;
} Merge;

/* The part of a key; slots go by other bits of the hash. */
static inline int
part_of(const Merge *m, uint64_t hash)
{
	return (int) ((hash >> 40) % (uint64_t) m->n);
}

static inline const uint64_t *
table_words(const Merge *m, uint32_t table, uint32_t group)
{
	return m->from[table]->words + (size_t) group * (size_t) m->to->width;
}

/* Room for one more key in the part. */
static bool
part_reserve(const Merge *m, Part *p)
{
	if (p->n == p->capacity)
	{
		size_t		old = p->capacity;
		size_t		size = old == 0 ? FIRST_ENTRIES : 2 * old;

		if (size > MOST_ENTRIES ||
			!gpucol_rank_memory_grow(m->to->memory, &p->keys, sizeof(PartKey) * old,
									 sizeof(PartKey) * size))
			return false;
		p->capacity = (uint32_t) size;
	}
	if (2 * (size_t) p->n < p->slots.n)
		return true;
	if (!slots_double(&p->slots, m->to->memory))
		return false;
	for (uint32_t i = 0; i < p->n; i++)
		slots_place(&p->slots, hash_words(table_words(m, p->keys[i].table, p->keys[i].group),
										  m->to->width), i);
	return true;
}

/* The number of a key in its part. */
static bool
part_number(const Merge *m, Part *p, uint64_t hash, PartKey key, uint32_t *number)
{
	const uint64_t *words = table_words(m, key.table, key.group);
	uint64_t	slot;
	size_t		at;

	if (!part_reserve(m, p))
		return false;
	at = (size_t) hash & (p->slots.n - 1);
	for (; (slot = p->slots.slots[at]) != 0; at = (at + 1) & (p->slots.n - 1))
	{
		PartKey    *known = &p->keys[(uint32_t) slot - 1];

		if ((slot ^ hash) >> 32 != 0 ||
			!words_equal(table_words(m, known->table, known->group), words, m->to->width))
			continue;
		*number = (uint32_t) slot - 1;
		if (key.first < known->first)
			*known = key;
		known->place = *number;
		return true;
	}
	*number = key.place = p->n++;
	p->keys[*number] = key;
	slots_place(&p->slots, hash, *number);
	return true;
}

/* Find the part's keys in all tables. */
static GpucolStatus
part_collect(const Merge *m, int part)
{
	for (int t = 0; t < m->n; t++)
	{
		const GpucolKeys *from = m->from[t];

		for (uint32_t g = 0; g < from->n; g++)
		{
			uint64_t	hash = hash_words(table_words(m, (uint32_t) t, g), from->width);
			PartKey		key = {.first = from->firsts[g],.table = (uint32_t) t,.group = g};

			if (g % MERGE_STEP == MERGE_STEP - 1 && m->cancelled != NULL && m->cancelled(m->arg))
				return GPUCOL_CANCELLED;
			if (part_of(m, hash) == part &&
				!part_number(m, &m->parts[part], hash, key, &m->maps[t][g]))
				return GPUCOL_OUT_OF_MEMORY;
		}
	}
	return GPUCOL_OK;
}

static int
first_cmp(const void *l, const void *r)
{
	const PartKey *a = (const PartKey *) l;
	const PartKey *b = (const PartKey *) r;

	return (a->first > b->first) - (a->first < b->first);
}

static void
collect_task(void *arg, int index)
{
	Merge	   *m = (Merge *) arg;

	m->parts[index].status = part_collect(m, index);
}

/* Order the part's keys by their first rows, into the merged table. */
static void
place_task(void *arg, int index)
{
	Merge	   *m = (Merge *) arg;
	Part	   *p = &m->parts[index];
	size_t		width = (size_t) m->to->width;
	uint32_t   *places = (uint32_t *) p->slots.slots;	/* no longer needed; roomy enough */

	if (p->n > 0)
		qsort(p->keys, p->n, sizeof(PartKey), first_cmp);
	for (uint32_t i = 0; i < p->n; i++)
	{
		const PartKey *key = &p->keys[i];
		size_t		at = (p->offset + (size_t) i) * width;

		places[key->place] = p->offset + i;
		memcpy(m->to->words + at, table_words(m, key->table, key->group), sizeof(uint64_t) * width);
		memcpy(m->to->values + at, m->from[key->table]->values + key->group * width,
			   sizeof(uint64_t) * width);
		m->to->firsts[p->offset + i] = key->first;
	}
}

/* Numbers among all for the keys of one table. */
static void
number_task(void *arg, int index)
{
	Merge	   *m = (Merge *) arg;
	uint32_t   *map = m->maps[index];

	for (uint32_t g = 0; g < m->from[index]->n; g++)
	{
		uint64_t	hash = hash_words(table_words(m, (uint32_t) index, g), m->to->width);

		map[g] = ((const uint32_t *) m->parts[part_of(m, hash)].slots.slots)[map[g]];
	}
}

/* Room for all keys in the merged table. */
static bool
reserve_all(Merge *m)
{
	GpucolKeys *to = m->to;
	size_t		row = sizeof(uint64_t) * (size_t) to->width;
	size_t		n = 0;

	for (int i = 0; i < m->n; i++)
	{
		m->parts[i].offset = (uint32_t) n;
		n += m->parts[i].n;
	}
	if (n > MOST_ENTRIES || !gpucol_rank_memory_grow(to->memory, &to->words, 0, row * n) ||
		!gpucol_rank_memory_grow(to->memory, &to->values, 0, row * n) ||
		!gpucol_rank_memory_grow(to->memory, &to->firsts, 0, sizeof(uint64_t) * n))
		return false;
	to->n = to->capacity = (uint32_t) n;
	return true;
}

/* Merge tables without strings in threads; maps[] are there. */
static GpucolStatus
merge_in_parts(Merge *m, struct GpucolCpuPool *pool)
{
	GpucolStatus status = GPUCOL_OK;

	m->parts = calloc((size_t) m->n, sizeof(Part));
	if (m->parts == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_cpu_pool_run(pool, collect_task, m);
	for (int i = 0; i < m->n && status == GPUCOL_OK; i++)
		status = m->parts[i].status;
	if (status == GPUCOL_OK && !reserve_all(m))
		status = GPUCOL_OUT_OF_MEMORY;
	if (status == GPUCOL_OK)
	{
		gpucol_cpu_pool_run(pool, place_task, m);
		gpucol_cpu_pool_run(pool, number_task, m);
	}
	for (int i = 0; i < m->n; i++)
	{
		gpucol_rank_memory_free(m->to->memory, m->parts[i].keys, sizeof(PartKey) * m->parts[i].capacity);
		gpucol_rank_memory_free(m->to->memory, m->parts[i].slots.slots, sizeof(uint64_t) * m->parts[i].slots.n);
	}
	free(m->parts);
	return status;
}

GpucolStatus
gpucol_keys_merge(GpucolKeys *to, GpucolKeys *const *from, int n, struct GpucolCpuPool *pool,
				  bool (*cancelled) (void *arg), void *arg, uint32_t **maps)
{
	Merge		m = {.to = to,.from = from,.n = n,.cancelled = cancelled,.arg = arg,.maps = maps};
	size_t		total = 0;
	bool		strings = false;

	for (int t = 0; t < n; t++)
	{
		total += from[t]->n;
		maps[t] = malloc(sizeof(uint32_t) * ((size_t) from[t]->n + 1));
		if (maps[t] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	for (int c = 0; c < to->nkeys; c++)
		strings |= to->classes[c] == GPUCOL_CLASS_S;
	return pool == NULL || strings || total < MANY_KEYS ?
		merge_in_order(to, from, n, cancelled, arg, maps) : merge_in_parts(&m, pool);
}

void
gpucol_keys_column(const GpucolKeys *keys, int c, uint32_t from, uint32_t n,
				   uint8_t *nulls, void *data)
{
	int			at = 1;

	for (int i = 0; i < c; i++)
		at += class_words(keys, i);
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
