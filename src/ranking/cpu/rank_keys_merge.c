/*-------------------------------------------------------------------------
 *
 * rank_keys_merge.c
 *	  Group keys of several threads merged.
 *
 * Few keys are merged one by one, in the order of their first rows.  Many are dealt
 * to threads by their hashes: a thread deals the keys of a table, then has a part of
 * all keys, which it numbers, and orders by their first rows.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "ranking/cpu/rank_keys_state.h"

/* Keys merged between looks at whether to stop. */
#define MERGE_STEP		65536

/* Keys of all tables that are too many to be merged by one thread. */
#define MANY_KEYS		4096

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
		at += gpucol_key_class_words(to, c);
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
	GpucolStatus status = next == NULL || !gpucol_keys_reserve_batch(to, 1) ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
	size_t		row = sizeof(uint64_t) * (size_t) to->width;
	int			t;

	for (uint32_t i = 1; status == GPUCOL_OK && (t = next_table(from, n, next)) >= 0; i++)
	{
		uint32_t	g = next[t]++;

		memcpy(to->batch, from[t]->words + g * (size_t) to->width, row);
		memcpy(to->batch_values, from[t]->values + g * (size_t) to->width, row);
		if (!translate(to, from[t], to->batch, to->batch_values) ||
			!gpucol_keys_number(to, to->batch, to->batch_values, from[t]->firsts[g], &maps[t][g]))
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
	GpucolHashTable table;
	GpucolStatus status;
} Part;

/* The keys of one table, dealt to the parts. */
typedef struct Dealt
{
	uint64_t   *hashes;
	uint32_t   *order;			/* keys of part 0, then of part 1, ... */
	uint32_t   *starts;			/* [parts + 1] where those of a part begin */
	GpucolStatus status;
} Dealt;

typedef struct Merge
{
	GpucolKeys *to;
	GpucolKeys *const *from;
	int			n;				/* tables and parts */
	bool		(*cancelled) (void *arg);
	void	   *arg;
	uint32_t  **maps;			/* numbers within the part, then among all */
	Part	   *parts;
	Dealt	   *dealt;			/* by table */
} Merge;

/* The part of a key; hash tables go by the upper half of the hash. */
static inline int
part_of(const Merge *m, uint64_t hash)
{
	return (int) ((uint32_t) hash % (uint32_t) m->n);
}

static inline const uint64_t *
table_words(const Merge *m, uint32_t table, uint32_t group)
{
	return m->from[table]->words + (size_t) group * (size_t) m->to->width;
}

/* Deal the keys of one table to the parts. */
static GpucolStatus
deal_keys(const Merge *m, int table)
{
	const GpucolKeys *from = m->from[table];
	Dealt	   *d = &m->dealt[table];

	if (!gpucol_budget_grow(m->to->memory, &d->hashes, 0, sizeof(uint64_t) * from->n) ||
		!gpucol_budget_grow(m->to->memory, &d->order, 0, sizeof(uint32_t) * from->n))
		return GPUCOL_OUT_OF_MEMORY;
	d->starts = calloc((size_t) m->n + 2, sizeof(uint32_t));
	if (d->starts == NULL)
		return GPUCOL_OUT_OF_MEMORY;

	/* starts[part + 2] counts, then starts[part + 1] is where the next one goes */
	for (uint32_t g = 0; g < from->n; g++)
	{
		d->hashes[g] = gpucol_key_hash(table_words(m, (uint32_t) table, g), from->width);
		d->starts[part_of(m, d->hashes[g]) + 2]++;
	}
	for (int p = 0; p < m->n; p++)
		d->starts[p + 2] += d->starts[p + 1];
	for (uint32_t g = 0; g < from->n; g++)
		d->order[d->starts[part_of(m, d->hashes[g]) + 1]++] = g;
	return m->cancelled != NULL && m->cancelled(m->arg) ? GPUCOL_CANCELLED : GPUCOL_OK;
}

static void
deal_task(void *arg, int index)
{
	Merge	   *m = (Merge *) arg;

	m->dealt[index].status = deal_keys(m, index);
}

/* Room for one more key in the part. */
static bool
part_reserve(const Merge *m, Part *p)
{
	if (p->n == p->capacity)
	{
		size_t		old = p->capacity;
		size_t		size = old == 0 ? GPUCOL_KEYS_FIRST_ENTRIES : 2 * old;

		if (size > GPUCOL_KEYS_MOST_ENTRIES ||
			!gpucol_budget_grow(m->to->memory, &p->keys, sizeof(PartKey) * old,
								sizeof(PartKey) * size))
			return false;
		p->capacity = (uint32_t) size;
	}
	return gpucol_key_table_reserve(&p->table, m->to->memory, (uint64_t) p->n + 1);
}

/* The number of a key in its part. */
static bool
part_number(const Merge *m, Part *p, uint64_t hash, PartKey key, uint32_t *number)
{
	const uint64_t *words = table_words(m, key.table, key.group);
	uint64_t	at;

	if (!part_reserve(m, p))
		return false;
	at = gpucol_hash_home(&p->table, hash);
	while (gpucol_hash_next(&p->table, hash, &at, number))
	{
		PartKey    *known = &p->keys[*number];

		if (!gpucol_key_words_equal(table_words(m, known->table, known->group), words, m->to->width))
			continue;
		if (key.first < known->first)
			*known = key;
		known->place = *number;
		return true;
	}
	*number = key.place = p->n++;
	p->keys[*number] = key;
	gpucol_hash_put(&p->table, at, hash, *number);
	return true;
}

/* Find the part's keys in all tables. */
static GpucolStatus
part_collect(const Merge *m, int part)
{
	for (int t = 0; t < m->n; t++)
	{
		const Dealt *d = &m->dealt[t];

		for (uint32_t i = d->starts[part]; i < d->starts[part + 1]; i++)
		{
			uint32_t	g = d->order[i];
			PartKey		key = {.first = m->from[t]->firsts[g],.table = (uint32_t) t,.group = g};

			if (i % MERGE_STEP == MERGE_STEP - 1 && m->cancelled != NULL && m->cancelled(m->arg))
				return GPUCOL_CANCELLED;
			if (!part_number(m, &m->parts[part], d->hashes[g], key, &m->maps[t][g]))
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
	uint32_t   *places = (uint32_t *) p->table.slots;	/* no longer needed; roomy enough */

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
	const Dealt *d = &m->dealt[index];
	uint32_t   *map = m->maps[index];

	for (int p = 0; p < m->n; p++)
	{
		const uint32_t *places = (const uint32_t *) m->parts[p].table.slots;

		for (uint32_t i = d->starts[p]; i < d->starts[p + 1]; i++)
			map[d->order[i]] = places[map[d->order[i]]];
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
	if (n > GPUCOL_KEYS_MOST_ENTRIES || !gpucol_budget_grow(to->memory, &to->words, 0, row * n) ||
		!gpucol_budget_grow(to->memory, &to->values, 0, row * n) ||
		!gpucol_budget_grow(to->memory, &to->firsts, 0, sizeof(uint64_t) * n))
		return false;
	to->n = to->capacity = (uint32_t) n;
	return true;
}

/* Merge tables without strings in threads; maps[] are there. */
static GpucolStatus
merge_in_parts(Merge *m)
{
	GpucolStatus status = GPUCOL_OK;

	m->parts = calloc((size_t) m->n, sizeof(Part));
	m->dealt = calloc((size_t) m->n, sizeof(Dealt));
	if (m->parts == NULL || m->dealt == NULL)
		status = GPUCOL_OUT_OF_MEMORY;
	if (status == GPUCOL_OK)
		gpucol_pool_run(m->n, deal_task, m);
	for (int i = 0; i < m->n && status == GPUCOL_OK; i++)
		status = m->dealt[i].status;
	if (status == GPUCOL_OK)
		gpucol_pool_run(m->n, collect_task, m);
	for (int i = 0; i < m->n && status == GPUCOL_OK; i++)
		status = m->parts[i].status;
	if (status == GPUCOL_OK && !reserve_all(m))
		status = GPUCOL_OUT_OF_MEMORY;
	if (status == GPUCOL_OK)
	{
		gpucol_pool_run(m->n, place_task, m);
		gpucol_pool_run(m->n, number_task, m);
	}
	for (int i = 0; m->parts != NULL && i < m->n; i++)
	{
		gpucol_budget_free(m->to->memory, m->parts[i].keys, sizeof(PartKey) * m->parts[i].capacity);
		gpucol_budget_free(m->to->memory, m->parts[i].table.slots,
						   sizeof(uint64_t) * m->parts[i].table.nslots);
	}
	for (int i = 0; m->dealt != NULL && i < m->n; i++)
	{
		gpucol_budget_free(m->to->memory, m->dealt[i].hashes, sizeof(uint64_t) * m->from[i]->n);
		gpucol_budget_free(m->to->memory, m->dealt[i].order, sizeof(uint32_t) * m->from[i]->n);
		free(m->dealt[i].starts);
	}
	free(m->parts);
	free(m->dealt);
	return status;
}

GpucolStatus
gpucol_keys_merge(GpucolKeys *to, GpucolKeys *const *from, int n, bool (*cancelled) (void *arg), void *arg,
				  uint32_t **maps)
{
	Merge		m = {.to = to,.from = from,.n = n,.cancelled = cancelled,.arg = arg,.maps = maps};
	size_t		total = 0;
	bool		strings = false;

	for (int t = 0; t < n; t++)
	{
		total += from[t]->n;
		maps[t] = gpucol_budget_alloc(to->memory, sizeof(uint32_t) * ((size_t) from[t]->n + 1));
		if (maps[t] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	for (int c = 0; c < to->nkeys; c++)
		strings |= to->classes[c] == GPUCOL_CLASS_S;
	return n == 1 || strings || total < MANY_KEYS ?
		merge_in_order(to, from, n, cancelled, arg, maps) : merge_in_parts(&m);
}
