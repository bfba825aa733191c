/*-------------------------------------------------------------------------
 *
 * relation.c
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

#include "recursion/cpu/set.h"

GpucolStatus
gpucol_rec_table_init(GpucolRecRun *run, uint32_t relation)
{
	const GpucolRecRelation *decl = &run->plan->relations[relation];
	GpucolRecTable *table = &run->tables[relation];

	memset(table, 0, sizeof(*table));
	table->decl = decl;
	table->arity = decl->arity;
	table->bag = (decl->flags & GPUCOL_REC_BAG) != 0;
	table->run = run;
	table->forms = relation == 0 && !table->bag ? run->options.forms : 0;
	if (table->bag)
		table->set = GPUCOL_REC_SET_NONE;
	else if (decl->merge != GPUCOL_REC_MERGE_NONE || table->arity > 2 || table->forms != 0)
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
	gpucol_budget_free(&run->memory, table->slots,
					   table->nslots * sizeof(uint64_t));
	gpucol_budget_free(&run->memory, table->old, table->nold * sizeof(uint64_t));
	gpucol_budget_free(&run->memory, table->bits,
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
	gpucol_rec_totals_free(run, table);
	gpucol_rec_choices_free(run, table);
	gpucol_rec_table_free_set(run, table);
	gpucol_budget_free(&run->memory, table->tuples,
					   table->allocated * table->arity * sizeof(uint32_t));
	table->tuples = NULL;
	table->allocated = table->delta = table->committed = table->end = 0;
}

/* Make room for n more rows. */
GpucolStatus
gpucol_rec_set_reserve_rows(GpucolRecRun *run, GpucolRecTable *table, uint64_t n)
{
	if (table->arity == 0)
		return GPUCOL_OK;
	if (table->end + n > GPUCOL_REC_MAX_ROWS)
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

/* The hash of what is in a slot, as far as it says where that belongs. */
static inline uint64_t
slot_hash(const GpucolRecTable *table, uint64_t slot)
{
	if (table->set == GPUCOL_REC_SET_PAIRS)
		return gpucol_rec_mix(slot);
	if (table->region <= GPUCOL_REC_TAGGED_REGION)
		return slot;
	return gpucol_rec_set_hash(table, table->tuples +
					(uint64_t) ((uint32_t) slot - 1) * table->arity);
}

/*
 * Make room in the hash table for n more entries.  If it must grow, the old slots
 * stay in table->old until gpucol_rec_set_move has emptied them and gpucol_rec_set_close frees them.
 */
GpucolStatus
gpucol_rec_set_open(GpucolRecRun *run, GpucolRecTable *table, uint64_t n)
{
	uint64_t	nslots = table->nslots ? table->nslots : 2048;
	uint64_t   *slots;

	if ((table->nused + n) * 10 <= table->nslots * 7)
		return GPUCOL_OK;
	while ((table->nused + n) * 10 > nslots * 7)
		nslots *= 2;
	slots = gpucol_budget_alloc_zeroed(&run->memory, nslots * sizeof(uint64_t));
	if (slots == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	table->old = table->slots;
	table->nold = table->nslots;
	table->old_region = table->region;
	table->slots = slots;
	table->nslots = nslots;
	table->region = nslots < GPUCOL_REC_REGIONS_FROM ? nslots : nslots / GPUCOL_REC_PARTITIONS;
	return GPUCOL_OK;
}

/* Move old slots [from, to); false if a cancel came, which only `polls` looks for. */
bool
gpucol_rec_set_move(const GpucolRecRun *run, GpucolRecTable *table, uint64_t from, uint64_t to,
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
		GPUCOL_REC_SET_PROBE(at, gpucol_rec_set_home(table, slot_hash(table, table->old[i])),
							 table, table->slots[at] == 0);
		table->slots[at] = table->old[i];
	}
	return true;
}

void
gpucol_rec_set_close(GpucolRecRun *run, GpucolRecTable *table)
{
	gpucol_budget_free(&run->memory, table->old, table->nold * sizeof(uint64_t));
	table->old = NULL;
	table->nold = 0;
}

/* Make the hash table large enough for n more entries. */
static GpucolStatus
reserve_slots(GpucolRecRun *run, GpucolRecTable *table, uint64_t n)
{
	bool		moved;

	GPUCOL_REC_TRY(gpucol_rec_set_open(run, table, n));
	if (table->old == NULL)
		return GPUCOL_OK;
	moved = gpucol_rec_set_move(run, table, 0, table->nold, true);
	gpucol_rec_set_close(run, table);
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
		uint64_t	key = gpucol_rec_set_pair(columns[0][i], columns[1][i]);

		home[i] = gpucol_rec_set_home(table, gpucol_rec_mix(key));
		__builtin_prefetch(&table->slots[home[i]], 1);
	}
	for (i = 0; i < n; i++)
	{
		uint64_t	key = gpucol_rec_set_pair(columns[0][i], columns[1][i]);
		uint64_t	at;

		GPUCOL_REC_SET_PROBE(at, home[i], table,
							 table->slots[at] == 0 || table->slots[at] == key);
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
bool
gpucol_rec_set_merge(const GpucolRecRun *run, const GpucolRecTable *table, uint32_t *old,
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

/* ---- rows whose equal values may differ ---- */

/* The value that stands for all that equal one of a column; NULL has none. */
static int64_t
form_of(const GpucolRecTable *table, int column, uint32_t id)
{
	const GpucolRecRun *run = table->run;

	return run->options.form(run->options.host_context, column, run->dictionary.values[id]);
}

/* Have values of this column forms, and is this id of one? */
static bool
has_form(const GpucolRecTable *table, int column, uint32_t id)
{
	return (table->forms >> column & 1) != 0 && id != GPUCOL_REC_NULL_ID;
}

uint64_t
gpucol_rec_set_hash_forms(const GpucolRecTable *table, const uint32_t *tuple)
{
	uint64_t	h = 0;

	for (int c = 0; c < table->arity; c++)
		h = gpucol_rec_mix(h) + (has_form(table, c, tuple[c]) ?
								 gpucol_rec_mix((uint64_t) form_of(table, c, tuple[c])) : tuple[c]);
	return gpucol_rec_mix(h);
}

bool
gpucol_rec_set_same_forms(const GpucolRecTable *table, const uint32_t *a, const uint32_t *b)
{
	for (int c = 0; c < table->arity; c++)
	{
		if (a[c] != b[c] && !(has_form(table, c, a[c]) && has_form(table, c, b[c]) &&
							  form_of(table, c, a[c]) == form_of(table, c, b[c])))
			return false;
	}
	return true;
}

void
gpucol_rec_set_meet(const GpucolRecTable *table, const uint32_t *old, uint32_t number, const uint32_t *tuple)
{
	/* one of an earlier round came first wherever rows of a round come from */
	if (table->run->in_stratum && number <= table->committed)
		return;
	for (int c = 0; c < table->arity; c++)
	{
		if (old[c] != tuple[c])
			atomic_store_explicit(&table->run->forms_lost, true, memory_order_relaxed);
	}
}

/* The row that a slot names. */
static inline uint32_t *
slot_row(const GpucolRecTable *table, uint64_t at)
{
	return table->tuples + (uint64_t) ((uint32_t) table->slots[at] - 1) * table->arity;
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
		hash[i] = gpucol_rec_set_hash(table, tuple);
		__builtin_prefetch(&table->slots[gpucol_rec_set_home(table, hash[i])], 1);
	}
	for (i = 0; i < n; i++)
	{
		uint64_t	at;

		for (c = 0; c < table->arity; c++)
			tuple[c] = columns[c][i];
		GPUCOL_REC_SET_PROBE(at, gpucol_rec_set_home(table, hash[i]), table,
							 table->slots[at] == 0 ||
							 (gpucol_rec_set_tagged(table->slots[at], hash[i]) &&
							  gpucol_rec_set_same(table, slot_row(table, at), tuple)));
		if (table->slots[at] == 0)
		{
			table->slots[at] = (hash[i] & ~UINT64_C(0xffffffff)) | (uint32_t) (table->end + 1);
			table->nused++;
			append_row(table, i, columns);
		}
		else if (table->forms != 0)
			gpucol_rec_set_meet(table, slot_row(table, at), (uint32_t) table->slots[at], tuple);
		else if (table->decl->merge != GPUCOL_REC_MERGE_NONE &&
				 gpucol_rec_set_merge(run, table, slot_row(table, at),
									  (uint32_t) table->slots[at] <= table->committed, tuple))
		{
			gpucol_rec_set_point(&table->slots[at], (uint32_t) (table->end + 1));
			append_row(table, i, columns);
		}
	}
	return GPUCOL_OK;
}

/* Is a pair in a table of packed pairs?  Its probing starts at `home`. */
static inline bool
holds_pair(const GpucolRecTable *table, uint64_t key, uint64_t home)
{
	uint64_t	at;

	GPUCOL_REC_SET_PROBE(at, home, table, table->slots[at] == 0 || table->slots[at] == key);
	return table->slots[at] == key;
}

bool
gpucol_rec_table_holds(const GpucolRecTable *table, uint32_t n,
					   const uint32_t *const *columns, uint8_t *holds)
{
	uint64_t	home[GPUCOL_REC_VECTOR];
	uint32_t	i;

	if (table->arity != 2)
		return false;
	if (table->set == GPUCOL_REC_SET_BITS && table->bits != NULL)
	{
		for (i = 0; i < n; i++)
		{
			uint64_t	bit = columns[0][i] * table->domain + columns[1][i];

			holds[i] = columns[0][i] < table->domain && columns[1][i] < table->domain &&
				(table->bits[bit / 64] >> (bit % 64) & 1) != 0;
		}
		return true;
	}
	if (table->set != GPUCOL_REC_SET_PAIRS || table->slots == NULL)
		return false;
	for (i = 0; i < n; i++)
	{
		home[i] = gpucol_rec_set_home(table, gpucol_rec_mix(gpucol_rec_set_pair(columns[0][i],
																				columns[1][i])));
		__builtin_prefetch(&table->slots[home[i]]);
	}
	for (i = 0; i < n; i++)
		holds[i] = holds_pair(table, gpucol_rec_set_pair(columns[0][i], columns[1][i]), home[i]);
	return true;
}

/* Make the bitmap of a unary table cover an id. */
static GpucolStatus
cover_id(GpucolRecRun *run, GpucolRecTable *table, uint32_t id)
{
	uint64_t	domain = table->domain ? table->domain : 4096;
	uint64_t   *bits;

	while (domain <= id)
		domain *= 2;
	bits = gpucol_budget_alloc_zeroed(&run->memory, bits_size(table, domain));
	if (bits == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (table->bits != NULL)
	{
		memcpy(bits, table->bits, bits_size(table, table->domain));
		gpucol_budget_free(&run->memory, table->bits,
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
	GPUCOL_REC_TRY(gpucol_rec_set_reserve_rows(run, table, n));
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
	GPUCOL_REC_TRY(gpucol_rec_set_reserve_rows(run, table, n));
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
	uint64_t	hash = gpucol_rec_set_hash(table, tuple);
	uint64_t	at;

	GPUCOL_REC_SET_PROBE(at, gpucol_rec_set_home(table, hash), table,
						 table->slots[at] != 0 && gpucol_rec_set_tagged(table->slots[at], hash) &&
						 gpucol_rec_set_same(table, slot_row(table, at), tuple));
	return (uint32_t) table->slots[at] - 1 == row;
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
			uint64_t	at;

			GPUCOL_REC_SET_PROBE(at, gpucol_rec_set_home(table, gpucol_rec_set_hash(table, tuple)),
								 table, (uint32_t) table->slots[at] == (uint32_t) (row + 1));
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
gpucol_rec_table_distinct(GpucolRecRun *run, GpucolRecTable *table, uint64_t domain)
{
	size_t		size = (domain * domain + 63) / 64 * sizeof(uint64_t);
	uint64_t   *bits = gpucol_budget_alloc_zeroed(&run->memory, size);
	uint64_t	kept = 0;
	uint64_t	row;

	if (bits == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (row = 0; row < table->committed; row++)
	{
		uint32_t	first = table->tuples[row * 2];
		uint32_t	second = table->tuples[row * 2 + 1];
		uint64_t	bit = first * domain + second;
		uint64_t	known = bits[bit / 64] >> (bit % 64) & 1;

		if (gpucol_rec_poll(run, row))
		{
			gpucol_budget_free(&run->memory, bits, size);
			return GPUCOL_CANCELLED;
		}
		bits[bit / 64] |= UINT64_C(1) << (bit % 64);
		table->tuples[kept * 2] = first;
		table->tuples[kept * 2 + 1] = second;
		kept += !known;
	}
	gpucol_budget_free(&run->memory, bits, size);
	table->committed = table->end = kept;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_table_to_bits(GpucolRecRun *run, GpucolRecTable *table,
						 uint64_t domain)
{
	uint64_t   *bits;
	uint64_t	row;

	domain = (domain + 63) / 64 * 64;
	bits = gpucol_budget_alloc_zeroed(&run->memory, bits_size(table, domain));
	if (bits == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (row = 0; row < table->end; row++)
	{
		uint64_t	bit = table->tuples[row * 2] * domain +
			table->tuples[row * 2 + 1];

		if (gpucol_rec_poll(run, row))
		{
			gpucol_budget_free(&run->memory, bits, bits_size(table, domain));
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
