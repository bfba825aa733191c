/*-------------------------------------------------------------------------
 *
 * group_table.c
 *	  The groups of a query's keys that the executor makes, found by the values of these.
 *
 * A group that is not in the cache costs five waits for memory, one after the other: its slot, its
 * set, its keys, which of them are NULL, and the bytes of a text.  Whoever has several rows
 * has those of all of them fetched at once, step by step.
 *
 * Few groups are found without their hash table, most of the time: by the bytes of short keys, which are words, in a
 * small table of those that were looked for lately.  Equal keys of other bytes have their groups by the other way.
 *
 * Groups of several keys, and of several sets, have few values of a key among many groups: a value that is passed
 * by reference is copied once, while more than half of those that were looked for were there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/datum.h"

#include "base/prefetch.h"
#include "exec/group_table.h"
#include "kernel/hash.h"

/* Fewer groups are in the cache anyway. */
#define CACHED_GROUPS	2048

/* Of every so many values of a key half must have been there before. */
#define ASKED_VALUES	8192

/* Is a group of this set, and has it these keys? */
static bool
same_keys(GpucolGroupTable *t, uint32 group, uint32 set, const Datum *values, const bool *isnull)
{
	const Datum *keys = t->keys + (Size) group * t->nkeys;
	const bool *nulls = t->isnull + (Size) group * t->nkeys;

	if (t->sets[group] != set)
		return false;
	for (int i = 0; i < t->nkeys; i++)
	{
		if (nulls[i] != isnull[i] ||
			(!isnull[i] && !gpucol_domain_equal(&t->domains[i], keys[i], values[i])))
			return false;
	}
	return true;
}

/* Copy a value of a key, or find a copy of it, in the current context. */
static Datum
keep_value(GpucolDomain *domain, GpucolKeptValues *kept, Datum value)
{
	uint64		hash;
	uint64		at;
	uint32		item;

	if (domain->typbyval || kept->given_up)
		return datumCopy(value, domain->typbyval, domain->typlen);
	hash = gpucol_image_hash(value, domain->typlen, false);
	if (gpucol_item_reserve(&kept->items))
		kept->values = gpucol_grow(kept->values, kept->items.room * sizeof(Datum));
	at = gpucol_hash_home(&kept->items.hash, hash);
	kept->asked++;
	while (gpucol_hash_next(&kept->items.hash, hash, &at, &item))
		if (gpucol_image_same(value, kept->values[item], domain->typlen, false))
			return kept->values[item];
	item = gpucol_item_add(&kept->items, hash, at);
	value = datumCopy(value, false, domain->typlen);
	kept->values[item] = value;
	if (kept->asked % ASKED_VALUES == 0 && kept->items.nitems > kept->asked / 2)
	{
		kept->given_up = true;
		pfree(kept->values);
		pfree(kept->items.hash.slots);
	}
	return value;
}

/* Add a group with these keys and no rows. */
static uint32
add_group(GpucolGroupTable *t, uint64 hash, uint64 at, uint32 set, const Datum *values, const bool *isnull)
{
	int			n = t->nkeys;
	uint32		group = gpucol_item_add(&t->items, hash, at);

	t->sets[group] = set;
	if (t->kept == NULL)
		t->kept = palloc0(Max(n, 1) * sizeof(GpucolKeptValues));
	for (int i = 0; i < n; i++)
	{
		t->isnull[(Size) group * n + i] = isnull[i];
		t->keys[(Size) group * n + i] = isnull[i] ? (Datum) 0 : keep_value(&t->domains[i], &t->kept[i], values[i]);
	}
	memset(t->states + (Size) group * t->nstates, 0, t->nstates * sizeof(GpucolAggState));
	return group;
}

/* Make room for one more group. */
static void
reserve_group(GpucolGroupTable *t)
{
	Size		room;

	if (!gpucol_item_reserve(&t->items))
		return;
	room = t->items.room;
	t->sets = gpucol_grow(t->sets, room * sizeof(uint32));
	t->keys = gpucol_grow(t->keys, room * Max(t->nkeys, 1) * sizeof(Datum));
	t->isnull = gpucol_grow(t->isnull, room * Max(t->nkeys, 1) * sizeof(bool));
	t->states = gpucol_grow(t->states, room * Max(t->nstates, 1) * sizeof(GpucolAggState));
}

uint32
gpucol_group_table_find(GpucolGroupTable *t, uint32 set, uint64 hash, const Datum *values, const bool *isnull)
{
	uint64		at;
	uint32		group;

	reserve_group(t);
	at = gpucol_hash_home(&t->items.hash, hash);
	while (gpucol_hash_next(&t->items.hash, hash, &at, &group))
		if (same_keys(t, group, set, values, isnull))
			return group;
	if (t->wanted > 0 && t->items.nitems >= t->wanted)
		return GPUCOL_NO_GROUP;
	return add_group(t, hash, at, set, values, isnull);
}

/* Have what finding groups of n hashes looks at brought into the cache. */
static void
fetch_ahead(const GpucolGroupTable *t, const uint64 *hashes, uint32 n)
{
	uint32		groups[GPUCOL_GROUPS_AHEAD];
	uint32		found = 0;

	for (uint32 i = 0; i < n; i++)
		GPUCOL_PREFETCH(&t->items.hash.slots[gpucol_hash_home(&t->items.hash, hashes[i])]);
	for (uint32 i = 0; i < n; i++)
	{
		uint64		at = gpucol_hash_home(&t->items.hash, hashes[i]);
		uint32		group;

		if (!gpucol_hash_next(&t->items.hash, hashes[i], &at, &group))
			continue;
		groups[found++] = group;
		GPUCOL_PREFETCH(&t->sets[group]);
		GPUCOL_PREFETCH(&t->keys[(Size) group * t->nkeys]);
		GPUCOL_PREFETCH(&t->isnull[(Size) group * t->nkeys]);
		GPUCOL_PREFETCH(&t->states[(Size) group * t->nstates], 1);
	}
	for (uint32 i = 0; i < found; i++)
	{
		for (int k = 0; k < t->nkeys; k++)
		{
			if (!t->domains[k].typbyval && !t->isnull[(Size) groups[i] * t->nkeys + k])
				GPUCOL_PREFETCH(DatumGetPointer(t->keys[(Size) groups[i] * t->nkeys + k]));
		}
	}
}

/* By key, by row: the hashes of keys of some rows, 0 where they are NULL. */
typedef uint32 KeyHashes[INDEX_MAX_KEYS][GPUCOL_GROUPS_AHEAD];

static void
hash_keys(GpucolGroupTable *t, const GpucolKeyColumn *keys, uint32 first, uint32 n, KeyHashes hashes)
{
	for (int k = 0; k < t->nkeys; k++)
	{
		const Datum *values = keys[k].values + first;
		const bool *isnull = keys[k].isnull + first;

		for (uint32 i = 0; i < n; i++)
			hashes[k][i] = isnull[i] ? 0 : gpucol_domain_hash(&t->domains[k], values[i]);
	}
}

/* The hashes of the rows in a set: gpucol_group_table_hash of each. */
static void
hash_rows(const GpucolGroupTable *t, uint32 set, const bool *left_out, KeyHashes key_hashes, uint32 n,
		  uint64 *hashes)
{
	uint32		combined[GPUCOL_GROUPS_AHEAD];

	for (uint32 i = 0; i < n; i++)
		combined[i] = set;
	for (int k = 0; k < t->nkeys; k++)
	{
		for (uint32 i = 0; i < n; i++)
			combined[i] = hash_combine(combined[i], left_out[k] ? 0 : key_hashes[k][i]);
	}
	for (uint32 i = 0; i < n; i++)
		hashes[i] = (uint64) combined[i] << 32;
}

/* Are all keys told apart by their datums? */
static bool
are_by_value(const GpucolGroupTable *t)
{
	for (int k = 0; k < t->nkeys; k++)
	{
		if (!t->domains[k].by_bytes || !t->domains[k].typbyval)
			return false;
	}
	return true;
}

/* Has a group the keys of a row, which are by value? */
static inline bool
same_values(const GpucolGroupTable *t, uint32 group, uint32 set, const GpucolKeyColumn *keys, const bool *left_out,
			uint32 row)
{
	const Datum *values = t->keys + (Size) group * t->nkeys;
	const bool *nulls = t->isnull + (Size) group * t->nkeys;

	if (t->sets[group] != set)
		return false;
	for (int k = 0; k < t->nkeys; k++)
	{
		bool		isnull = left_out[k] || keys[k].isnull[row];

		if (nulls[k] != isnull || (!isnull && values[k] != keys[k].values[row]))
			return false;
	}
	return true;
}

/* The group that a row with keys by value has; GPUCOL_NO_GROUP if it is to be made. */
static inline uint32
group_by_value(const GpucolGroupTable *t, uint32 set, uint64 hash, const GpucolKeyColumn *keys, const bool *left_out,
			   uint32 row)
{
	uint64		at;
	uint32		group;

	if (t->items.hash.nslots == 0)
		return GPUCOL_NO_GROUP;
	at = gpucol_hash_home(&t->items.hash, hash);
	while (gpucol_hash_next(&t->items.hash, hash, &at, &group))
		if (same_values(t, group, set, keys, left_out, row))
			return group;
	return GPUCOL_NO_GROUP;
}

/* A row's keys in a set. */
static void
read_keys(const GpucolGroupTable *t, const GpucolKeyColumn *keys, const bool *left_out, uint32 row,
		  Datum *values, bool *isnull)
{
	for (int k = 0; k < t->nkeys; k++)
	{
		values[k] = keys[k].values[row];
		isnull[k] = left_out[k] || keys[k].isnull[row];
	}
}

/* Find the groups of rows in the table. */
static void
find_rows(GpucolGroupTable *t, const GpucolKeyColumn *keys, const bool *left_out, uint32 nsets, uint32 first,
		  uint32 n, uint32 *groups)
{
	KeyHashes	key_hashes;
	uint64		hashes[GPUCOL_GROUPS_AHEAD];
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	bool		by_value = are_by_value(t);

	hash_keys(t, keys, first, n, key_hashes);
	for (uint32 set = 0; set < nsets; set++, left_out += t->nkeys)
	{
		hash_rows(t, set, left_out, key_hashes, n, hashes);
		if (t->items.nitems >= CACHED_GROUPS)
			fetch_ahead(t, hashes, n);
		for (uint32 i = 0; i < n; i++)
		{
			uint32		group = !by_value ? GPUCOL_NO_GROUP :
				group_by_value(t, set, hashes[i], keys, left_out, first + i);

			if (group == GPUCOL_NO_GROUP)
			{
				read_keys(t, keys, left_out, first + i, values, isnull);
				group = gpucol_group_table_find(t, set, hashes[i], values, isnull);
			}
			groups[set * n + i] = group;
		}
	}
}

/* ---- groups that were looked for lately ---- */

#define RECENT_GROUPS	1024
#define RECENT_WORDS	8		/* of a row's keys, at most */
#define RECENT_BYTES	15		/* of a key that is passed by reference, at most */

/* Of so many rows half must have been found. */
#define RECENT_ASKED	4096

/* Prepare it; false where keys are not such, or it was of no use. */
static bool
open_recent(GpucolGroupTable *t, const bool *left_out, uint32 nsets)
{
	GpucolRecentGroups *recent = &t->recent;
	int			nwords = 0;

	if (recent->given_up || recent->words != NULL)
		return !recent->given_up;
	recent->given_up = nsets != 1 || t->wanted > 0;
	for (int k = 0; k < t->nkeys; k++)
	{
		nwords += t->domains[k].typbyval ? 1 : 2;
		recent->given_up |= left_out[k] || (!t->domains[k].typbyval && t->domains[k].typlen != -1);
	}
	recent->given_up |= nwords > RECENT_WORDS;
	if (recent->given_up)
		return false;
	recent->nwords = nwords;
	recent->words = palloc(RECENT_GROUPS * nwords * sizeof(uint64));
	recent->groups = palloc(RECENT_GROUPS * sizeof(uint32));
	memset(recent->groups, 0xff, RECENT_GROUPS * sizeof(uint32));
	return true;
}

/* The bytes of a short value and their number as two words; false where it is none. */
static inline bool
bytes_as_words(Datum value, uint64 *words)
{
	Pointer		at = DatumGetPointer(value);
	Size		n;
	char		bytes[2 * sizeof(uint64)] = {0};

	if (VARATT_IS_EXTERNAL(at) || VARATT_IS_COMPRESSED(at))
		return false;
	n = VARSIZE_ANY_EXHDR(at);
	if (n > RECENT_BYTES)
		return false;
	memcpy(bytes, VARDATA_ANY(at), n);
	bytes[RECENT_BYTES] = (char) (n + 1);
	memcpy(words, bytes, sizeof(bytes));
	return true;
}

/* The keys of a row as words; false where one is NULL or long. */
static inline bool
keys_as_words(const GpucolGroupTable *t, const GpucolKeyColumn *keys, uint32 row, uint64 *words)
{
	for (int k = 0; k < t->nkeys; k++)
	{
		if (keys[k].isnull[row])
			return false;
		if (t->domains[k].typbyval)
			*words++ = (uint64) keys[k].values[row];
		else if (!bytes_as_words(keys[k].values[row], words))
			return false;
		else
			words += 2;
	}
	return true;
}

/* Where keys are if they are there. */
static inline uint32
recent_place(const GpucolRecentGroups *recent, const uint64 *words)
{
	uint64		hash = 0;

	for (int i = 0; i < recent->nwords; i++)
		hash = gpucol_hash_mix(hash, words[i]);
	return (uint32) (hash % RECENT_GROUPS);
}

static inline bool
same_words(const uint64 *a, const uint64 *b, int n)
{
	uint64		differ = 0;

	for (int i = 0; i < n; i++)
		differ |= a[i] ^ b[i];
	return differ == 0;
}

/* The group of a row, by its keys of late or from the table. */
static uint32
find_recent(GpucolGroupTable *t, const GpucolKeyColumn *keys, const bool *left_out, uint32 row)
{
	GpucolRecentGroups *recent = &t->recent;
	uint64		words[RECENT_WORDS];
	uint32		place = 0;
	uint32		group;
	bool		may_be = keys_as_words(t, keys, row, words);

	if (may_be)
	{
		place = recent_place(recent, words);
		if (recent->groups[place] != GPUCOL_NO_GROUP &&
			same_words(words, recent->words + place * recent->nwords, recent->nwords))
		{
			recent->found++;
			return recent->groups[place];
		}
	}
	find_rows(t, keys, left_out, 1, row, 1, &group);
	if (may_be)
	{
		recent->groups[place] = group;
		memcpy(recent->words + place * recent->nwords, words, recent->nwords * sizeof(uint64));
	}
	return group;
}

void
gpucol_group_table_find_rows(GpucolGroupTable *t, const GpucolKeyColumn *keys, const bool *left_out,
							 uint32 nsets, uint32 first, uint32 n, uint32 *groups)
{
	GpucolRecentGroups *recent = &t->recent;

	if (!open_recent(t, left_out, nsets))
	{
		find_rows(t, keys, left_out, nsets, first, n, groups);
		return;
	}
	for (uint32 i = 0; i < n; i++)
		groups[i] = find_recent(t, keys, left_out, first + i);
	recent->asked += n;
	if (recent->asked < RECENT_ASKED)
		return;
	recent->given_up = recent->found < recent->asked / 2;
	recent->asked = recent->found = 0;
}

Size
gpucol_group_table_growth(const GpucolGroupTable *t, uint64 n, Size beside)
{
	Size		growth = gpucol_item_growth(&t->items, n, sizeof(uint32) + t->nstates * sizeof(GpucolAggState) +
											t->nkeys * (sizeof(Datum) + sizeof(bool)) + beside);

	for (int i = 0; i < t->nkeys && t->kept != NULL; i++)
	{
		if (!t->domains[i].typbyval && !t->kept[i].given_up)
			growth += gpucol_item_growth(&t->kept[i].items, n, sizeof(Datum));
	}
	return growth;
}
