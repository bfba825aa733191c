/*-------------------------------------------------------------------------
 *
 * buffers.c
 *	  Candidate rows that several threads have collected, and how all of them
 *	  enter a relation together.
 *
 * Each candidate's hash says which partition of the set it belongs to, and each partition
 * is one owner's: threads decide side by side which rows are new, without locks.
 * Then each thread copies what it collected to its place behind the relation's rows.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/set.h"

bool
gpucol_rec_buffer_init(GpucolBudget *memory, const GpucolRecTable *table,
					   GpucolRecBuffer *buffer, uint32_t room)
{
	memset(buffer, 0, sizeof(*buffer));
	buffer->room = room;
	buffer->tuples = gpucol_budget_alloc(memory, (size_t) room * table->arity *
										 sizeof(uint32_t));
	buffer->hash = gpucol_budget_alloc(memory, room * sizeof(uint64_t));
	buffer->keep = gpucol_budget_alloc(memory, room);
	if (buffer->tuples && buffer->hash && buffer->keep)
		return true;
	gpucol_rec_buffer_free(memory, table, buffer);
	return false;
}

void
gpucol_rec_buffer_free(GpucolBudget *memory, const GpucolRecTable *table,
					   GpucolRecBuffer *buffer)
{
	gpucol_budget_free(memory, buffer->tuples, (size_t) buffer->room *
					   table->arity * sizeof(uint32_t));
	gpucol_budget_free(memory, buffer->hash, buffer->room * sizeof(uint64_t));
	gpucol_budget_free(memory, buffer->keep, buffer->room);
	memset(buffer, 0, sizeof(*buffer));
}

bool
gpucol_rec_table_shareable(const GpucolRecTable *table)
{
	return table->arity > 1 ||
		(table->arity == 1 && table->set != GPUCOL_REC_SET_BITS);
}

/*
 * Add candidates for a bitmap: what it holds is left out at once.  Its bits change only while all
 * threads decide together.
 */
static void
offer_to_bits(const GpucolRecTable *table, GpucolRecBuffer *buffer, uint32_t n,
			  const uint32_t *const *columns)
{
	uint32_t   *tuples = buffer->tuples + (size_t) buffer->n * 2;
	uint64_t   *hash = buffer->hash + buffer->n;
	uint32_t	kept = 0;
	uint32_t	i;

	for (i = 0; i < n; i++)
	{
		uint64_t	bit = columns[0][i] * table->domain + columns[1][i];

		tuples[(size_t) kept * 2] = columns[0][i];
		tuples[(size_t) kept * 2 + 1] = columns[1][i];
		hash[kept] = gpucol_rec_mix(columns[0][i]);
		kept += !(table->bits[bit / 64] >> (bit % 64) & 1);
	}
	memset(buffer->keep + buffer->n, 0, kept);
	buffer->n += kept;
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

	if (table->set == GPUCOL_REC_SET_BITS && table->arity == 2)
	{
		offer_to_bits(table, buffer, n, columns);
		return;
	}
	for (c = 0; c < table->arity; c++)
		for (i = 0; i < n; i++)
			tuples[(size_t) i * table->arity + c] = columns[c][i];
	if (table->set == GPUCOL_REC_SET_PAIRS)
		for (i = 0; i < n; i++)
			hash[i] = gpucol_rec_mix(gpucol_rec_set_pair(columns[0][i], columns[1][i]));
	else if (table->set == GPUCOL_REC_SET_ROWS)
		for (i = 0; i < n; i++)
			hash[i] = gpucol_rec_set_hash(table, tuples + (size_t) i * table->arity);
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
	GPUCOL_REC_TRY(gpucol_rec_set_reserve_rows(run, table, n));
	if (table->set != GPUCOL_REC_SET_PAIRS && table->set != GPUCOL_REC_SET_ROWS)
		return GPUCOL_OK;
	GPUCOL_REC_TRY(gpucol_rec_set_open(run, table, n));
	if (table->old == NULL || gpucol_rec_set_regions(table))
		return GPUCOL_OK;		/* the owners of the regions move them */
	if (!gpucol_rec_set_move(run, table, 0, table->nold, true))
		return GPUCOL_CANCELLED;
	gpucol_rec_set_close(run, table);
	return GPUCOL_OK;
}

/* Candidates list[0 .. n-1] of a buffer, for a table of packed pairs. */
static void
decide_pairs(GpucolRecTable *table, GpucolRecBuffer *buffer,
			 const uint32_t *list, uint32_t n)
{
	uint32_t	j;

	for (j = 0; j < n; j++)
		__builtin_prefetch(&table->slots[gpucol_rec_set_home(table,
												   buffer->hash[list[j]])], 1);
	for (j = 0; j < n; j++)
	{
		const uint32_t *tuple = buffer->tuples + (size_t) list[j] * 2;
		uint64_t	key = gpucol_rec_set_pair(tuple[0], tuple[1]);
		uint64_t	at;

		GPUCOL_REC_SET_PROBE(at, gpucol_rec_set_home(table, buffer->hash[list[j]]), table,
							 table->slots[at] == 0 || table->slots[at] == key);
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

	if (number <= GPUCOL_REC_MAX_ROWS)
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
		__builtin_prefetch(&table->slots[gpucol_rec_set_home(table,
												   buffer->hash[list[j]])], 1);
	for (j = 0; j < n; j++)
	{
		uint32_t	i = list[j];
		const uint32_t *tuple = buffer->tuples + (size_t) i * table->arity;
		uint64_t	hash = buffer->hash[i];
		uint32_t	number = UINT32_MAX - ((uint32_t) b * buffer->room + i);
		uint64_t	at;

		GPUCOL_REC_SET_PROBE(at, gpucol_rec_set_home(table, hash), table,
							 table->slots[at] == 0 ||
							 (gpucol_rec_set_tagged(table->slots[at], hash) &&
							  gpucol_rec_set_same(table, slot_tuple(table, buffers, table->slots[at]),
												  tuple)));
		if (table->slots[at] == 0)
		{
			table->slots[at] = (hash & ~UINT64_C(0xffffffff)) | number;
			buffer->keep[i] = 1;
		}
		else if (table->forms != 0)
			gpucol_rec_set_meet(table, slot_tuple(table, buffers, table->slots[at]), (uint32_t) table->slots[at],
								tuple);
		else if (table->decl->merge != GPUCOL_REC_MERGE_NONE &&
				 gpucol_rec_set_merge(run, table, slot_tuple(table, buffers, table->slots[at]),
									  (uint32_t) table->slots[at] <= table->committed, tuple))
		{
			gpucol_rec_set_point(&table->slots[at], number);
			buffer->keep[i] = 2;
		}
		/* others still read whose it is, which stays */
		__atomic_store_n(&buffer->hash[i],
						 (GPUCOL_REC_PARTITION(hash) << GPUCOL_REC_PARTITION_SHIFT) | at, __ATOMIC_RELAXED);
	}
}

bool
gpucol_rec_table_decide(GpucolRecRun *run, GpucolRecTable *table,
						GpucolRecBuffer *buffers, int nbuffers, int owner,
						int nowners)
{
	bool		mine[GPUCOL_REC_PARTITIONS];
	uint32_t	list[GPUCOL_REC_VECTOR];
	uint32_t	from;
	int			p;
	int			b;

	if (table->set == GPUCOL_REC_SET_NONE)
		return true;
	/* A small hash table has no regions: one thread fills it. */
	for (p = 0; p < GPUCOL_REC_PARTITIONS; p++)
		mine[p] = (table->set != GPUCOL_REC_SET_BITS &&
				   table->region == table->nslots ? 0 : p % nowners) == owner;
	for (p = 0; p < GPUCOL_REC_PARTITIONS && table->old != NULL; p++)
		if (mine[p] && !gpucol_rec_set_move(run, table, p * table->old_region,
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
				n += mine[GPUCOL_REC_PARTITION(__atomic_load_n(&buffers[b].hash[i], __ATOMIC_RELAXED))];
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
	if (table->set == GPUCOL_REC_SET_NONE && buffer->n > 0)
	{
		memcpy(table->tuples + row * table->arity, buffer->tuples,
			   (size_t) buffer->n * table->arity * sizeof(uint32_t));
		return;
	}
	for (i = 0; i < buffer->n; i++)
	{
		const uint32_t *from = buffer->tuples + (size_t) i * table->arity;

		if (!buffer->keep[i])
			continue;
		for (c = 0; c < table->arity; c++)
			table->tuples[row * table->arity + c] = from[c];
		row++;
		if (table->set == GPUCOL_REC_SET_ROWS)
			gpucol_rec_set_point(&table->slots[GPUCOL_REC_WITHOUT_PARTITION(buffer->hash[i])],
					   (uint32_t) row);
	}
}

void
gpucol_rec_table_close(GpucolRecRun *run, GpucolRecTable *table,
					   const GpucolRecBuffer *buffers, int nbuffers)
{
	int			b;

	gpucol_rec_set_close(run, table);
	for (b = 0; b < nbuffers; b++)
	{
		table->end += buffers[b].kept;
		table->nused += buffers[b].entered;
	}
}
