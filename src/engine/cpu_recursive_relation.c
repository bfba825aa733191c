/*-------------------------------------------------------------------------
 *
 * cpu_recursive_relation.c
 *	  Relations of a recursion run: the tuple array and the set that decides
 *	  whether a candidate row is new.
 *
 * Candidates come in vectors.  For hash sets the slots of a whole vector are
 * prefetched before the first is probed, so that the cache misses overlap;
 * measured on tc of p2p-Gnutella09 this is several times faster than
 * sort-based deduplication, which pays on a device and not here.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "engine/cpu_recursive.h"

/* Numbers beyond are those of candidates in buffers. */
#define MAX_ROWS	UINT64_C(0xff000000)

/* Hash tables of this many slots have a region for each partition. */
#define REGIONS_FROM	65536
#define PARTITIONS	64
#define PARTITION_SHIFT	58
#define PARTITION(hash)	((hash) >> PARTITION_SHIFT)
#define WITHOUT_PARTITION(hash)	((hash) & ((UINT64_C(1) << PARTITION_SHIFT) - 1))

GpucolStatus
gpucol_rec_table_init(GpucolRecRun *run, uint32_t relation)
{
	const GpucolRecRelation *decl = &run->plan->relations[relation];
	GpucolRecTable *table = &run->tables[relation];

	memset(table, 0, sizeof(*table));
	table->decl = decl;
	table->arity = decl->arity;
	table->bag = (decl->flags & GPUCOL_REC_BAG) != 0;
	if (table->bag)
		table->set = GPUCOL_REC_SET_NONE;
	else if (decl->merge != GPUCOL_REC_MERGE_NONE || table->arity > 2)
		table->set = GPUCOL_REC_SET_ROWS;
	else if (table->arity == 2)
		table->set = GPUCOL_REC_SET_PAIRS;
	else if (table->arity == 1)
		table->set = GPUCOL_REC_SET_BITS;
	else
		table->set = GPUCOL_REC_SET_UNIT;
	return GPUCOL_OK;
}

/* Bytes of a bitmap over domain^arity rows. */
static size_t
bits_size(const GpucolRecTable *table, uint64_t domain)
{
	return (table->arity == 1 ? domain : domain * domain) / 8;
}

void
gpucol_rec_table_free_set(GpucolRecRun *run, GpucolRecTable *table)
{
	gpucol_rec_free(&run->memory, table->slots,
					table->nslots * sizeof(uint64_t));
	gpucol_rec_free(&run->memory, table->old, table->nold * sizeof(uint64_t));
	gpucol_rec_free(&run->memory, table->bits,
					table->bits ? bits_size(table, table->domain) : 0);
	table->slots = table->old = NULL;
	table->nold = 0;
	table->nslots = table->region = table->nused = 0;
	table->bits = NULL;
	table->domain = 0;
}

void
gpucol_rec_table_free(GpucolRecRun *run, GpucolRecTable *table)
{
	while (table->indexes != NULL)
		gpucol_rec_index_free(run, table, table->indexes);
	if (table->kernel != NULL)
		table->kernel->free(run, table->kernel);
	table->kernel = NULL;
	gpucol_rec_table_free_set(run, table);
	gpucol_rec_free(&run->memory, table->tuples,
					table->allocated * table->arity * sizeof(uint32_t));
	table->tuples = NULL;
	table->allocated = table->delta = table->committed = table->end = 0;
}

/* Make room for n more rows. */
static GpucolStatus
reserve_rows(GpucolRecRun *run, GpucolRecTable *table, uint64_t n)
{
	if (table->arity == 0)
		return GPUCOL_OK;
	if (table->end + n > MAX_ROWS)
		return GPUCOL_OUT_OF_MEMORY;
	return gpucol_rec_reserve(&run->memory, (void **) &table->tuples,
							  &table->allocated, table->end + n,
							  table->arity * sizeof(uint32_t));
}

/* Append row i of a vector of columns; the room is there. */
static inline void
append_row(GpucolRecTable *table, uint32_t i, const uint32_t *const *columns)
{
	uint32_t   *tuple = table->tuples + table->end * table->arity;
	int			c;

	for (c = 0; c < table->arity; c++)
		tuple[c] = columns[c][i];
	table->end++;
}

static inline uint64_t
pair_key(uint32_t a, uint32_t b)
{
	return ((uint64_t) a << 32 | b) + 1;
}

/* Hash of a row without its merge column. */
static inline uint64_t
hash_row(const GpucolRecTable *table, const uint32_t *tuple)
{
	uint64_t	h = 0;
	int			c;

	for (c = 0; c < table->arity; c++)
		if (table->decl->merge == GPUCOL_REC_MERGE_NONE ||
			c != table->decl->merge_column)
			h = gpucol_rec_mix(h) + tuple[c];
	return gpucol_rec_mix(h);
}

/* Do two rows agree on all columns but the merge column? */
static inline bool
same_key(const GpucolRecTable *table, const uint32_t *a, const uint32_t *b)
{
	int			c;

	for (c = 0; c < table->arity; c++)
		if (a[c] != b[c] &&
			(table->decl->merge == GPUCOL_REC_MERGE_NONE ||
			 c != table->decl->merge_column))
			return false;
	return true;
}

/*
 * Where the probing for a hash starts.  A large table has a region of slots for
 * each partition of the hashes, which threads can fill side by side.
 */
static inline uint64_t
slot_home(const GpucolRecTable *table, uint64_t hash)
{
	uint64_t	home = hash & (table->region - 1);

	return table->region == table->nslots ? home :
		PARTITION(hash) * table->region + home;
}

/* The slot after this one: the first of the region after its last. */
static inline uint64_t
slot_next(const GpucolRecTable *table, uint64_t at)
{
	uint64_t	mask = table->region - 1;

	return (at & ~mask) | ((at + 1) & mask);
}

static inline uint64_t
slot_hash(const GpucolRecTable *table, uint64_t slot)
{
	if (table->set == GPUCOL_REC_SET_PAIRS)
		return gpucol_rec_mix(slot);
	return hash_row(table, table->tuples +
					(uint64_t) ((uint32_t) slot - 1) * table->arity);
}

/*
 * Make room in the hash table for n more entries.  If it must grow, the old slots
 * stay in table->old until move_slots has emptied them and close_slots frees them.
 */
static GpucolStatus
open_slots(GpucolRecRun *run, GpucolRecTable *table, uint64_t n)
{
	uint64_t	nslots = table->nslots ? table->nslots : 2048;
	uint64_t   *slots;

	if ((table->nused + n) * 10 <= table->nslots * 7)
		return GPUCOL_OK;
	while ((table->nused + n) * 10 > nslots * 7)
		nslots *= 2;
	slots = gpucol_rec_alloc_zeroed(&run->memory, nslots * sizeof(uint64_t));
	if (slots == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	table->old = table->slots;
	table->nold = table->nslots;
	table->old_region = table->region;
	table->slots = slots;
	table->nslots = nslots;
	table->region = nslots < REGIONS_FROM ? nslots : nslots / PARTITIONS;
	return GPUCOL_OK;
}

/* Move old slots [from, to); false if a cancel came, which only `polls` looks for. */
static bool
move_slots(const GpucolRecRun *run, GpucolRecTable *table, uint64_t from, uint64_t to,
		   bool polls)
{
	uint64_t	i;

	for (i = from; i < to; i++)
	{
		uint64_t	at;

		if (polls && gpucol_rec_poll(run, i))
			return false;
		if (table->old[i] == 0)
			continue;
		at = slot_home(table, slot_hash(table, table->old[i]));
		while (table->slots[at] != 0)
			at = slot_next(table, at);
		table->slots[at] = table->old[i];
	}
	return true;
}

static void
close_slots(GpucolRecRun *run, GpucolRecTable *table)
{
	gpucol_rec_free(&run->memory, table->old, table->nold * sizeof(uint64_t));
	table->old = NULL;
	table->nold = 0;
}

/* Do both tables have a region for each partition? */
static bool
moves_by_region(const GpucolRecTable *table)
{
	return table->old_region < table->nold;
}

/* Make the hash table large enough for n more entries. */
static GpucolStatus
reserve_slots(GpucolRecRun *run, GpucolRecTable *table, uint64_t n)
{
	bool		moved;

	GPUCOL_REC_TRY(open_slots(run, table, n));
	if (table->old == NULL)
		return GPUCOL_OK;
	moved = move_slots(run, table, 0, table->nold, true);
	close_slots(run, table);
	return moved ? GPUCOL_OK : GPUCOL_CANCELLED;
}

/* Add to a table of packed pairs. */
static GpucolStatus
add_pairs(GpucolRecRun *run, GpucolRecTable *table, uint32_t n,
		  const uint32_t *const *columns)
{
	uint64_t	home[GPUCOL_REC_VECTOR];
	uint32_t	i;

	GPUCOL_REC_TRY(reserve_slots(run, table, n));
	for (i = 0; i < n; i++)
	{
		uint64_t	key = pair_key(columns[0][i], columns[1][i]);

		home[i] = slot_home(table, gpucol_rec_mix(key));
		__builtin_prefetch(&table->slots[home[i]], 1);
	}
	for (i = 0; i < n; i++)
	{
		uint64_t	key = pair_key(columns[0][i], columns[1][i]);
		uint64_t	at = home[i];

		while (table->slots[at] != 0 && table->slots[at] != key)
			at = slot_next(table, at);
		if (table->slots[at] == key)
			continue;
		table->slots[at] = key;
		table->nused++;
		append_row(table, i, columns);
	}
	return GPUCOL_OK;
}

/*
 * A row with the key of an existing one: keep the better value.  A row of this
 * round is overwritten; true if an older one is to be superseded by a new row.
 */
static bool
merge_row(const GpucolRecRun *run, const GpucolRecTable *table, uint32_t *old,
		  bool is_old, const uint32_t *tuple)
{
	int			c = table->decl->merge_column;
	GpucolRecType type = run->plan->types[table->decl->types + c];
	int64_t		before = run->dictionary.values[old[c]];
	int64_t		now = run->dictionary.values[tuple[c]];

	if (table->decl->merge == GPUCOL_REC_MERGE_MIN ?
		!gpucol_rec_less(type, now, before) :
		!gpucol_rec_less(type, before, now))
		return false;
	if (!is_old)
		old[c] = tuple[c];
	return is_old;
}

/* Let a slot name another row. */
static inline void
point_slot(uint64_t *slot, uint32_t row_number)
{
	*slot = (*slot & ~UINT64_C(0xffffffff)) | row_number;
}

/* Add to a table that is hashed by row number. */
static GpucolStatus
add_rows(GpucolRecRun *run, GpucolRecTable *table, uint32_t n,
		 const uint32_t *const *columns)
{
	uint64_t	hash[GPUCOL_REC_VECTOR];
	uint32_t	tuple[GPUCOL_REC_MAX_ARITY];
	uint32_t	i;
	int			c;

	GPUCOL_REC_TRY(reserve_slots(run, table, n));
	for (i = 0; i < n; i++)
	{
		for (c = 0; c < table->arity; c++)
			tuple[c] = columns[c][i];
		hash[i] = hash_row(table, tuple);
		__builtin_prefetch(&table->slots[slot_home(table, hash[i])], 1);
	}
	for (i = 0; i < n; i++)
	{
		uint64_t	at = slot_home(table, hash[i]);
		uint64_t	tag = hash[i] & ~UINT64_C(0xffffffff);

		for (c = 0; c < table->arity; c++)
			tuple[c] = columns[c][i];
		for (;; at = slot_next(table, at))
		{
			uint64_t	slot = table->slots[at];

			if (slot == 0)
			{
				table->slots[at] = tag | (uint32_t) (table->end + 1);
				table->nused++;
				append_row(table, i, columns);
				break;
			}
			if ((slot & ~UINT64_C(0xffffffff)) == tag)
			{
				uint64_t	row = (uint32_t) slot - 1;
				uint32_t   *old = table->tuples + row * table->arity;

				if (!same_key(table, old, tuple))
					continue;
				if (table->decl->merge != GPUCOL_REC_MERGE_NONE &&
					merge_row(run, table, old, row < table->committed, tuple))
				{
					point_slot(&table->slots[at], (uint32_t) (table->end + 1));
					append_row(table, i, columns);
				}
				break;
			}
		}
	}
	return GPUCOL_OK;
}

/* Make the bitmap of a unary table cover an id. */
static GpucolStatus
cover_id(GpucolRecRun *run, GpucolRecTable *table, uint32_t id)
{
	uint64_t	domain = table->domain ? table->domain : 4096;
	uint64_t   *bits;

	while (domain <= id)
		domain *= 2;
	bits = gpucol_rec_alloc_zeroed(&run->memory, bits_size(table, domain));
	if (bits == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (table->bits != NULL)
	{
		memcpy(bits, table->bits, bits_size(table, table->domain));
		gpucol_rec_free(&run->memory, table->bits,
						bits_size(table, table->domain));
	}
	table->bits = bits;
	table->domain = domain;
	return GPUCOL_OK;
}

/* Add to a table whose set is a bitmap. */
static GpucolStatus
add_bits(GpucolRecRun *run, GpucolRecTable *table, uint32_t n,
		 const uint32_t *const *columns)
{
	uint64_t	bit[GPUCOL_REC_VECTOR];
	uint32_t	i;

	for (i = 0; i < n; i++)
	{
		if (table->arity == 1)
		{
			if (columns[0][i] >= table->domain)
				GPUCOL_REC_TRY(cover_id(run, table, columns[0][i]));
			bit[i] = columns[0][i];
		}
		else
			bit[i] = columns[0][i] * table->domain + columns[1][i];
	}
	for (i = 0; i < n; i++)
		__builtin_prefetch(&table->bits[bit[i] / 64], 1);
	for (i = 0; i < n; i++)
	{
		uint64_t	mask = UINT64_C(1) << (bit[i] % 64);

		if (table->bits[bit[i] / 64] & mask)
			continue;
		table->bits[bit[i] / 64] |= mask;
		append_row(table, i, columns);
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_table_add(GpucolRecRun *run, GpucolRecTable *table, uint32_t n,
					 const uint32_t *const *columns)
{
	uint32_t	i;

	table->candidates += n;
	GPUCOL_REC_TRY(reserve_rows(run, table, n));
	switch (table->set)
	{
		case GPUCOL_REC_SET_NONE:
			if (table->arity == 0)
				table->end += n;
			else
				for (i = 0; i < n; i++)
					append_row(table, i, columns);
			return GPUCOL_OK;
		case GPUCOL_REC_SET_UNIT:
			if (n > 0)
				table->end = 1;
			return GPUCOL_OK;
		case GPUCOL_REC_SET_BITS:
			return add_bits(run, table, n, columns);
		case GPUCOL_REC_SET_PAIRS:
			return add_pairs(run, table, n, columns);
		case GPUCOL_REC_SET_ROWS:
			break;
	}
	return add_rows(run, table, n, columns);
}

GpucolStatus
gpucol_rec_table_append(GpucolRecRun *run, GpucolRecTable *table, uint64_t n,
						const uint32_t *pairs)
{
	GPUCOL_REC_TRY(reserve_rows(run, table, n));
	memcpy(table->tuples + table->end * 2, pairs, n * 2 * sizeof(uint32_t));
	table->end += n;
	return GPUCOL_OK;
}

void
gpucol_rec_table_commit(GpucolRecRun *run, GpucolRecTable *table)
{
	uint64_t	fresh = table->end - table->committed;

	run->progress.full += fresh;
	if (table->bag && (table->decl->flags & GPUCOL_REC_DERIVED))
	{
		/* Only the delta of a derived bag is kept. */
		if (table->arity > 0 && fresh > 0)
			memmove(table->tuples,
					table->tuples + table->committed * table->arity,
					fresh * table->arity * sizeof(uint32_t));
		table->committed = 0;
		table->end = fresh;
		table->emitted = 0;
	}
	table->delta = table->committed;
	table->committed = table->end;
}

bool
gpucol_rec_table_current(const GpucolRecTable *table, uint64_t row)
{
	const uint32_t *tuple = table->tuples + row * table->arity;
	uint64_t	hash = hash_row(table, tuple);
	uint64_t	at = slot_home(table, hash);

	for (;; at = slot_next(table, at))
	{
		uint64_t	slot = table->slots[at];

		if ((slot & ~UINT64_C(0xffffffff)) == (hash & ~UINT64_C(0xffffffff)) &&
			same_key(table, table->tuples +
					 (uint64_t) ((uint32_t) slot - 1) * table->arity, tuple))
			return (uint32_t) slot - 1 == row;
	}
}

GpucolStatus
gpucol_rec_table_compact(GpucolRecRun *run, GpucolRecTable *table)
{
	size_t		width = table->arity * sizeof(uint32_t);
	uint64_t	kept = 0;
	uint64_t	row;

	while (table->indexes != NULL)
		gpucol_rec_index_free(run, table, table->indexes);
	for (row = 0; row < table->end; row++)
	{
		if (gpucol_rec_poll(run, row))
			return GPUCOL_CANCELLED;
		if (!gpucol_rec_table_current(table, row))
			continue;

		/*
		 * Rows move towards the front only, and the slot of a moved row is
		 * looked up through the place that it is moved from.
		 */
		if (kept != row)
		{
			const uint32_t *tuple = table->tuples + row * table->arity;
			uint64_t	at = slot_home(table, hash_row(table, tuple));

			while ((uint32_t) table->slots[at] != (uint32_t) (row + 1))
				at = slot_next(table, at);
			memcpy(table->tuples + kept * table->arity, tuple, width);
			table->slots[at] = (table->slots[at] & ~UINT64_C(0xffffffff)) |
				(uint32_t) (kept + 1);
		}
		kept++;
	}
	table->delta = table->committed = table->end = kept;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_table_to_bits(GpucolRecRun *run, GpucolRecTable *table,
						 uint64_t domain)
{
	uint64_t   *bits;
	uint64_t	row;

	domain = (domain + 63) / 64 * 64;
	bits = gpucol_rec_alloc_zeroed(&run->memory, bits_size(table, domain));
	if (bits == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (row = 0; row < table->end; row++)
	{
		uint64_t	bit = table->tuples[row * 2] * domain +
			table->tuples[row * 2 + 1];

		if (gpucol_rec_poll(run, row))
		{
			gpucol_rec_free(&run->memory, bits, bits_size(table, domain));
			return GPUCOL_CANCELLED;
		}
		bits[bit / 64] |= UINT64_C(1) << (bit % 64);
	}
	gpucol_rec_table_free_set(run, table);
	table->set = GPUCOL_REC_SET_BITS;
	table->bits = bits;
	table->domain = domain;
	return GPUCOL_OK;
}

/* ---- several threads ---- */

bool
gpucol_rec_buffer_init(GpucolRecMemory *memory, const GpucolRecTable *table,
					   GpucolRecBuffer *buffer, uint32_t room)
{
	memset(buffer, 0, sizeof(*buffer));
	buffer->room = room;
	buffer->tuples = gpucol_rec_alloc(memory, (size_t) room * table->arity *
									  sizeof(uint32_t));
	buffer->hash = gpucol_rec_alloc(memory, room * sizeof(uint64_t));
	buffer->keep = gpucol_rec_alloc(memory, room);
	if (buffer->tuples && buffer->hash && buffer->keep)
		return true;
	gpucol_rec_buffer_free(memory, table, buffer);
	return false;
}

void
gpucol_rec_buffer_free(GpucolRecMemory *memory, const GpucolRecTable *table,
					   GpucolRecBuffer *buffer)
{
	gpucol_rec_free(memory, buffer->tuples, (size_t) buffer->room *
					table->arity * sizeof(uint32_t));
	gpucol_rec_free(memory, buffer->hash, buffer->room * sizeof(uint64_t));
	gpucol_rec_free(memory, buffer->keep, buffer->room);
	memset(buffer, 0, sizeof(*buffer));
}

bool
gpucol_rec_table_shareable(const GpucolRecTable *table)
{
	return table->arity > 1 ||
		(table->arity == 1 && table->set != GPUCOL_REC_SET_BITS);
}

void
gpucol_rec_table_offer(const GpucolRecTable *table, GpucolRecBuffer *buffer,
					   uint32_t n, const uint32_t *const *columns)
{
	uint32_t   *tuples = buffer->tuples + (size_t) buffer->n * table->arity;
	uint64_t   *hash = buffer->hash + buffer->n;
	bool		all = table->set == GPUCOL_REC_SET_NONE;
	uint32_t	i;
	int			c;

	for (c = 0; c < table->arity; c++)
		for (i = 0; i < n; i++)
			tuples[(size_t) i * table->arity + c] = columns[c][i];
	if (table->set == GPUCOL_REC_SET_PAIRS)
		for (i = 0; i < n; i++)
			hash[i] = gpucol_rec_mix(pair_key(columns[0][i], columns[1][i]));
	else if (table->set == GPUCOL_REC_SET_BITS)
		for (i = 0; i < n; i++)
			hash[i] = gpucol_rec_mix(columns[0][i]);
	else if (table->set == GPUCOL_REC_SET_ROWS)
		for (i = 0; i < n; i++)
			hash[i] = hash_row(table, tuples + (size_t) i * table->arity);
	memset(buffer->keep + buffer->n, all, n);
	buffer->n += n;
}

GpucolStatus
gpucol_rec_table_open(GpucolRecRun *run, GpucolRecTable *table,
					  const GpucolRecBuffer *buffers, int nbuffers)
{
	uint64_t	n = 0;
	int			b;

	for (b = 0; b < nbuffers; b++)
		n += buffers[b].n;
	table->candidates += n;
	GPUCOL_REC_TRY(reserve_rows(run, table, n));
	if (table->set != GPUCOL_REC_SET_PAIRS && table->set != GPUCOL_REC_SET_ROWS)
		return GPUCOL_OK;
	GPUCOL_REC_TRY(open_slots(run, table, n));
	if (table->old == NULL || moves_by_region(table))
		return GPUCOL_OK;		/* the owners of the regions move them */
	if (!move_slots(run, table, 0, table->nold, true))
		return GPUCOL_CANCELLED;
	close_slots(run, table);
	return GPUCOL_OK;
}

/* Candidates list[0 .. n-1] of a buffer, for a table of packed pairs. */
static void
decide_pairs(GpucolRecTable *table, GpucolRecBuffer *buffer,
			 const uint32_t *list, uint32_t n)
{
	uint32_t	j;

	for (j = 0; j < n; j++)
		__builtin_prefetch(&table->slots[slot_home(table,
												   buffer->hash[list[j]])], 1);
	for (j = 0; j < n; j++)
	{
		const uint32_t *tuple = buffer->tuples + (size_t) list[j] * 2;
		uint64_t	key = pair_key(tuple[0], tuple[1]);
		uint64_t	at = slot_home(table, buffer->hash[list[j]]);

		while (table->slots[at] != 0 && table->slots[at] != key)
			at = slot_next(table, at);
		if (table->slots[at] == key)
			continue;
		table->slots[at] = key;
		buffer->keep[list[j]] = 1;
	}
}

/* The same for a bitmap. */
static void
decide_bits(GpucolRecTable *table, GpucolRecBuffer *buffer,
			const uint32_t *list, uint32_t n)
{
	uint64_t	bit[GPUCOL_REC_VECTOR];
	uint32_t	j;

	for (j = 0; j < n; j++)
	{
		const uint32_t *tuple = buffer->tuples + (size_t) list[j] * 2;

		bit[j] = tuple[0] * table->domain + tuple[1];
		__builtin_prefetch(&table->bits[bit[j] / 64], 1);
	}
	for (j = 0; j < n; j++)
	{
		uint64_t	mask = UINT64_C(1) << (bit[j] % 64);

		buffer->keep[list[j]] = !(table->bits[bit[j] / 64] & mask);
		table->bits[bit[j] / 64] |= mask;
	}
}

/* The row that a slot names: of the table, or of a buffer. */
static inline uint32_t *
slot_tuple(const GpucolRecTable *table, GpucolRecBuffer *buffers,
		   uint64_t slot)
{
	uint32_t	number = (uint32_t) slot;
	uint32_t	place = UINT32_MAX - number;
	uint32_t	room = buffers[0].room;

	if (number <= MAX_ROWS)
		return table->tuples + ((uint64_t) number - 1) * table->arity;
	return buffers[place / room].tuples +
		(uint64_t) (place % room) * table->arity;
}

/* The same for a table that is hashed by row number. */
static void
decide_rows(const GpucolRecRun *run, GpucolRecTable *table,
			GpucolRecBuffer *buffers, int b, const uint32_t *list, uint32_t n)
{
	GpucolRecBuffer *buffer = &buffers[b];
	uint32_t	j;

	for (j = 0; j < n; j++)
		__builtin_prefetch(&table->slots[slot_home(table,
												   buffer->hash[list[j]])], 1);
	for (j = 0; j < n; j++)
	{
		uint32_t	i = list[j];
		const uint32_t *tuple = buffer->tuples + (size_t) i * table->arity;
		uint64_t	tag = buffer->hash[i] & ~UINT64_C(0xffffffff);
		uint32_t	number = UINT32_MAX - ((uint32_t) b * buffer->room + i);
		uint64_t	at = slot_home(table, buffer->hash[i]);

		for (;; at = slot_next(table, at))
		{
			uint64_t	slot = table->slots[at];
			uint32_t   *old;

			if (slot == 0)
			{
				table->slots[at] = tag | number;
				buffer->keep[i] = 1;
				break;
			}
			if ((slot & ~UINT64_C(0xffffffff)) != tag)
				continue;
			old = slot_tuple(table, buffers, slot);
			if (!same_key(table, old, tuple))
				continue;
			if (table->decl->merge != GPUCOL_REC_MERGE_NONE &&
				merge_row(run, table, old,
						  (uint32_t) slot <= table->committed, tuple))
			{
				point_slot(&table->slots[at], number);
				buffer->keep[i] = 2;
			}
			break;
		}
		/* others still read whose it is */
		buffer->hash[i] = (PARTITION(buffer->hash[i]) << PARTITION_SHIFT) | at;
	}
}

bool
gpucol_rec_table_decide(GpucolRecRun *run, GpucolRecTable *table,
						GpucolRecBuffer *buffers, int nbuffers, int owner,
						int nowners)
{
	bool		mine[PARTITIONS];
	uint32_t	list[GPUCOL_REC_VECTOR];
	uint32_t	from;
	int			p;
	int			b;

	if (table->set == GPUCOL_REC_SET_NONE)
		return true;
	/* A small hash table has no regions: one thread fills it. */
	for (p = 0; p < PARTITIONS; p++)
		mine[p] = (table->set != GPUCOL_REC_SET_BITS &&
				   table->region == table->nslots ? 0 : p % nowners) == owner;
	for (p = 0; p < PARTITIONS && table->old != NULL; p++)
		if (mine[p] && !move_slots(run, table, p * table->old_region,
								   (p + 1) * table->old_region, owner == 0))
			return false;
	for (b = 0; b < nbuffers; b++)
		for (from = 0; from < buffers[b].n; from += GPUCOL_REC_VECTOR)
		{
			uint32_t	to = buffers[b].n - from < GPUCOL_REC_VECTOR ?
				buffers[b].n : from + GPUCOL_REC_VECTOR;
			uint32_t	n = 0;
			uint32_t	i;

			if (owner == 0 && gpucol_rec_cancelled(run))
				return false;
			for (i = from; i < to; i++)
			{
				list[n] = i;
				n += mine[PARTITION(buffers[b].hash[i])];
			}
			if (table->set == GPUCOL_REC_SET_PAIRS)
				decide_pairs(table, &buffers[b], list, n);
			else if (table->set == GPUCOL_REC_SET_BITS)
				decide_bits(table, &buffers[b], list, n);
			else
				decide_rows(run, table, buffers, b, list, n);
		}
	return true;
}

void
gpucol_rec_table_count(GpucolRecBuffer *buffer)
{
	uint32_t	i;

	buffer->kept = buffer->entered = 0;
	for (i = 0; i < buffer->n; i++)
	{
		buffer->kept += buffer->keep[i] != 0;
		buffer->entered += buffer->keep[i] == 1;
	}
}

void
gpucol_rec_table_take(GpucolRecTable *table, const GpucolRecBuffer *buffers,
					  int own)
{
	const GpucolRecBuffer *buffer = &buffers[own];
	uint64_t	row = table->end;
	uint32_t	i;
	int			b;
	int			c;

	for (b = 0; b < own; b++)
		row += buffers[b].kept;
	for (i = 0; i < buffer->n; i++)
	{
		const uint32_t *from = buffer->tuples + (size_t) i * table->arity;

		if (!buffer->keep[i])
			continue;
		for (c = 0; c < table->arity; c++)
			table->tuples[row * table->arity + c] = from[c];
		row++;
		if (table->set == GPUCOL_REC_SET_ROWS)
			point_slot(&table->slots[WITHOUT_PARTITION(buffer->hash[i])],
					   (uint32_t) row);
	}
}

void
gpucol_rec_table_close(GpucolRecRun *run, GpucolRecTable *table,
					   const GpucolRecBuffer *buffers, int nbuffers)
{
	int			b;

	close_slots(run, table);
	for (b = 0; b < nbuffers; b++)
	{
		table->end += buffers[b].kept;
		table->nused += buffers[b].entered;
	}
}
