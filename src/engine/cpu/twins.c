/*-------------------------------------------------------------------------
 *
 * twins.c
 *	  Items of several tables that are the same (engine/cpu/twins.h).
 *
 * Three steps, each by all threads: hashes of every table's items, and how many of them each
 * partition has; entries of (half a hash, item), partition by partition; a hash table for
 * each partition.  Partitions are told by the lower half of the hash, homes by the upper.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/group.h"
#include "engine/cpu/twins.h"

#define PARTITION_ITEMS 8192	/* their slots fit a processor's cache */
#define MAX_PARTITIONS 4096
#define FETCHED 64				/* items that are compared at a time */
#define SHARE_ITEMS 65536		/* items that are hashed at a time */
#define NO_ITEM UINT32_MAX

/* Half a hash, and the number of an item among those of all tables. */
typedef struct Entry
{
	uint32_t	hash;
	uint32_t	item;
} Entry;

/* Some items of a table. */
typedef struct Share
{
	int			table;
	uint64_t	from;
	uint64_t	to;
	uint32_t   *next;			/* entry, by partition */
} Share;

typedef struct Search
{
	const GpucolCpuTwins *twins;
	uint64_t   *before;			/* by table: items of those before it; and of all */
	uint32_t	npartitions;
	Share	   *shares;			/* in the order of tables */
	uint32_t	nshares;
	uint64_t   *hashes;			/* by item */
	Entry	   *entries;		/* by partition, in the order of tables */
	uint32_t   *first;			/* partition's first entry; and the end */
	uint64_t  **slots;			/* by thread */
	uint64_t	nslots;			/* of each: those of the largest partition */
	GpucolStatus *status;		/* by thread */
	_Atomic uint32_t dealt;
} Search;

/* What a thread does next: number below n, or n. */
static uint32_t
deal(Search *search, uint32_t n)
{
	uint32_t	next = atomic_fetch_add(&search->dealt, 1);

	return next < n ? next : n;
}

static uint32_t
partition_of(const Search *search, uint64_t hash)
{
	return (uint32_t) ((hash & UINT32_MAX) * search->npartitions >> 32);
}

/* ---- entries ---- */

static void
hash_share(Search *search, const Share *share)
{
	const GpucolCpuTwins *twins = search->twins;
	uint64_t	before = search->before[share->table];

	for (uint64_t i = share->from; i < share->to; i++)
	{
		uint64_t	hash;
		bool		there = twins->hash(twins->of, (GpucolCpuItem) {share->table, i}, &hash);

		search->hashes[before + i] = there ? hash + (hash == 0) : 0;	/* 0: there is none */
		if (there)
			share->next[partition_of(search, search->hashes[before + i])]++;
	}
}

static void
hash_shares(void *arg, int index)
{
	Search	   *search = arg;
	uint32_t	s;

	(void) index;
	while ((s = deal(search, search->nshares)) < search->nshares)
		hash_share(search, &search->shares[s]);
}

/* Where the entries of each partition and share begin; returns the most of a partition. */
static uint32_t
lay_out(Search *search)
{
	uint32_t	n = 0;
	uint32_t	most = 0;

	for (uint32_t p = 0; p < search->npartitions; p++)
	{
		search->first[p] = n;
		for (uint32_t s = 0; s < search->nshares; s++)
		{
			uint32_t	count = search->shares[s].next[p];

			search->shares[s].next[p] = n;
			n += count;
		}
		if (n - search->first[p] > most)
			most = n - search->first[p];
	}
	search->first[search->npartitions] = n;
	return most;
}

static void
enter_shares(void *arg, int index)
{
	Search	   *search = arg;
	uint32_t	s;

	(void) index;
	while ((s = deal(search, search->nshares)) < search->nshares)
	{
		Share	   *share = &search->shares[s];
		uint64_t	before = search->before[share->table];

		for (uint64_t i = before + share->from; i < before + share->to; i++)
		{
			uint64_t	hash = search->hashes[i];

			if (hash != 0)
				search->entries[share->next[partition_of(search, hash)]++] =
					(Entry) {(uint32_t) (hash >> 32), (uint32_t) i};
		}
	}
}

/* ---- partitions ---- */

/* The item of an entry, which is of table `table` or a later one. */
static GpucolCpuItem
item_of(const Search *search, uint32_t item, int table)
{
	while (item >= search->before[table + 1])
		table++;
	return (GpucolCpuItem) {table, item - search->before[table]};
}

/* The entry that is the same as an item, or NO_ITEM; *at becomes a free slot then. */
static uint32_t
find_twin(const Search *search, const GpucolHashTable *table, const Entry *entries, uint64_t hash,
		  GpucolCpuItem item, uint64_t *at)
{
	uint32_t	number;

	*at = gpucol_hash_home(table, hash);
	while (gpucol_hash_next(table, hash, at, &number))
		if (search->twins->same(search->twins->of, item, item_of(search, entries[number].item, 0)))
			return number;
	return NO_ITEM;
}

/* Look up n entries of one table, from entries[start] on, and enter those without a twin. */
static GpucolStatus
search_entries(const Search *search, GpucolHashTable *table, const Entry *entries, uint32_t start,
			   uint32_t n, int from)
{
	const GpucolCpuTwins *twins = search->twins;
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t e = start; e < start + n; e++)
	{
		uint64_t	hash = (uint64_t) entries[e].hash << 32;
		uint64_t	at = gpucol_hash_home(table, hash);
		uint32_t	number;

		if (!gpucol_hash_next(table, hash, &at, &number))
			continue;
		twins->fetch(twins->of, item_of(search, entries[e].item, from));
		twins->fetch(twins->of, item_of(search, entries[number].item, 0));
	}
	for (uint32_t e = start; e < start + n && status == GPUCOL_OK; e++)
	{
		uint64_t	hash = (uint64_t) entries[e].hash << 32;
		GpucolCpuItem item = item_of(search, entries[e].item, from);
		GpucolCpuItem twin = {-1, 0};
		uint64_t	at;
		uint32_t	number = find_twin(search, table, entries, hash, item, &at);

		if (number == NO_ITEM)
			gpucol_hash_put(table, at, hash, e);
		else
			twin = item_of(search, entries[number].item, 0);
		status = twins->found(twins->of, item, twin);
	}
	return status;
}

/* Find the twins of one partition. */
static GpucolStatus
search_partition(const Search *search, uint32_t partition, uint64_t *slots)
{
	const Entry *entries = search->entries + search->first[partition];
	uint32_t	n = search->first[partition + 1] - search->first[partition];
	uint64_t	nslots = gpucol_hash_slots(0, n);
	GpucolHashTable table = {0};
	GpucolStatus status = GPUCOL_OK;
	int			from = 0;

	memset(slots, 0, sizeof(uint64_t) * nslots);
	gpucol_hash_set_slots(&table, slots, nslots);
	for (uint32_t e = 0; e < n && status == GPUCOL_OK;)
	{
		uint32_t	start = e;

		from = item_of(search, entries[e].item, from).table;
		while (e < n && e - start < FETCHED && entries[e].item < search->before[from + 1])
			e++;
		status = search_entries(search, &table, entries, start, e - start, from);
	}
	return status;
}

static void
search_partitions(void *arg, int index)
{
	Search	   *search = arg;
	uint32_t	p;

	while (search->status[index] == GPUCOL_OK &&
		   (p = deal(search, search->npartitions)) < search->npartitions)
		search->status[index] = search_partition(search, p, search->slots[index]);
}

/* ---- all of it ---- */

/* Divide the tables into shares, and make room for their items. */
static GpucolStatus
open_search(Search *search)
{
	const GpucolCpuTwins *twins = search->twins;
	GpucolRun  *run = twins->run;
	uint64_t	n = 0;
	uint32_t	nshares = 0;

	search->before = gpucol_cpu_alloc(run, sizeof(uint64_t) * ((size_t) twins->ntables + 1));
	search->status = gpucol_cpu_alloc0(run, sizeof(GpucolStatus) * (size_t) run->nworkers);
	search->slots = gpucol_cpu_alloc0(run, sizeof(uint64_t *) * (size_t) run->nworkers);
	if (search->before == NULL || search->status == NULL || search->slots == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int t = 0; t < twins->ntables; t++)
	{
		search->before[t] = n;
		n += twins->nitems[t];
		nshares += (uint32_t) ((twins->nitems[t] + SHARE_ITEMS - 1) / SHARE_ITEMS);
	}
	search->before[twins->ntables] = n;
	search->npartitions = n / PARTITION_ITEMS < MAX_PARTITIONS ?
		(uint32_t) (n / PARTITION_ITEMS) + 1 : MAX_PARTITIONS;
	search->shares = gpucol_cpu_alloc0(run, sizeof(Share) * ((size_t) nshares + 1));
	search->hashes = gpucol_cpu_alloc(run, sizeof(uint64_t) * (n + 1));
	search->entries = gpucol_cpu_alloc(run, sizeof(Entry) * (n + 1));
	search->first = gpucol_cpu_alloc(run, sizeof(uint32_t) * ((size_t) search->npartitions + 1));
	if (search->shares == NULL || search->hashes == NULL || search->entries == NULL ||
		search->first == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int t = 0; t < twins->ntables; t++)
		for (uint64_t from = 0; from < twins->nitems[t]; from += SHARE_ITEMS)
		{
			Share	   *share = &search->shares[search->nshares++];

			share->table = t;
			share->from = from;
			share->to = twins->nitems[t] - from < SHARE_ITEMS ? twins->nitems[t] : from + SHARE_ITEMS;
			share->next = gpucol_cpu_alloc0(run, sizeof(uint32_t) * search->npartitions);
			if (share->next == NULL)
				return GPUCOL_OUT_OF_MEMORY;
		}
	return GPUCOL_OK;
}

static void
close_search(Search *search)
{
	GpucolRun  *run = search->twins->run;

	for (uint32_t s = 0; s < search->nshares; s++)
		gpucol_cpu_free(run, search->shares[s].next);
	for (int w = 0; search->slots != NULL && w < run->nworkers; w++)
		gpucol_cpu_free(run, search->slots[w]);
	gpucol_cpu_free(run, search->shares);
	gpucol_cpu_free(run, search->slots);
	gpucol_cpu_free(run, search->hashes);
	gpucol_cpu_free(run, search->entries);
	gpucol_cpu_free(run, search->first);
	gpucol_cpu_free(run, search->before);
	gpucol_cpu_free(run, search->status);
}

/* Do it, once there is room. */
static GpucolStatus
do_search(Search *search)
{
	GpucolRun  *run = search->twins->run;

	gpucol_pool_run(run->nworkers, hash_shares, search);
	search->nslots = gpucol_hash_slots(0, lay_out(search));
	for (int w = 0; w < run->nworkers; w++)
	{
		search->slots[w] = gpucol_cpu_alloc(run, sizeof(uint64_t) * search->nslots);
		if (search->slots[w] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	atomic_store(&search->dealt, 0);
	gpucol_pool_run(run->nworkers, enter_shares, search);
	atomic_store(&search->dealt, 0);
	gpucol_pool_run(run->nworkers, search_partitions, search);
	for (int w = 0; w < run->nworkers; w++)
		if (search->status[w] != GPUCOL_OK)
			return search->status[w];
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_twins_find(const GpucolCpuTwins *twins)
{
	Search		search = {.twins = twins};
	GpucolStatus status = open_search(&search);

	if (status == GPUCOL_OK)
		status = do_search(&search);
	close_search(&search);
	return status;
}
