/*-------------------------------------------------------------------------
 *
 * build.c
 *	  The sink of a BUILD: rows kept by the worker that had them.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/build.h"
#include "engine/cpu/lookup.h"

#define FIRST_ROWS 1024			/* of a worker's first chunk */
#define CHUNK_ROWS 16384
#define SPACE_BYTES 65536

GpucolStatus
gpucol_cpu_build_init(GpucolRun *run)
{
	for (int w = 0; w < run->nworkers; w++)
	{
		GpucolCpuBuilt *built = gpucol_cpu_alloc0(run, sizeof(GpucolCpuBuilt));

		if (built == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		run->workers[w].built = built;
		built->columns = gpucol_cpu_alloc0(run, sizeof(GpucolCpuBuiltColumn) *
										   (run->program->nkeys + 1u));
		if (built->columns == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		for (int k = 0; k < run->program->nkeys; k++)
		{
			built->columns[k].least = INT64_MAX;
			built->columns[k].greatest = INT64_MIN;
		}
	}
	return GPUCOL_OK;
}

/* ---- room ---- */

/* Room for one more item in an array. */
static bool
grow(GpucolRun *run, void **items, uint64_t n, uint64_t *room, size_t size)
{
	uint64_t	more = *room < 16 ? 16 : *room * 2;
	void	   *grown;

	if (n < *room)
		return true;
	grown = gpucol_cpu_realloc(run, *items, size * more);
	if (grown == NULL)
		return false;
	*items = grown;
	*room = more;
	return true;
}

/* A new chunk. */
static GpucolStatus
add_chunk(GpucolCpuWorker *worker)
{
	GpucolRun  *run = worker->run;
	GpucolCpuBuilt *built = worker->built;
	size_t		ncolumns = run->program->nkeys;
	uint64_t	room = built->chunks_room;
	GpucolCpuChunk *chunk;

	if (!grow(run, (void **) &built->chunks, built->nchunks, &room, sizeof(GpucolCpuChunk *)))
		return GPUCOL_OUT_OF_MEMORY;
	built->chunks_room = (uint32_t) room;
	chunk = gpucol_cpu_alloc0(run, sizeof(*chunk));
	if (chunk == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	built->chunks[built->nchunks++] = chunk;
	chunk->room = built->nchunks == 1 ? FIRST_ROWS : CHUNK_ROWS;
	chunk->worker = worker->index;
	chunk->values = gpucol_cpu_alloc(run, sizeof(int64_t) * chunk->room * ncolumns + 1);
	chunk->nulls = gpucol_cpu_alloc(run, chunk->room * ncolumns + 1);
	return chunk->values == NULL || chunk->nulls == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

/* Note that rows of a vector lie behind a chunk's end. */
static GpucolStatus
add_piece(GpucolCpuWorker *worker, const GpucolCpuVector *vector, GpucolCpuChunk *chunk,
		  uint32_t n)
{
	GpucolCpuBuilt *built = worker->built;
	GpucolCpuPiece *piece;

	if (!grow(worker->run, (void **) &built->pieces, built->npieces, &built->pieces_room,
			  sizeof(GpucolCpuPiece)))
		return GPUCOL_OUT_OF_MEMORY;
	piece = &built->pieces[built->npieces];
	piece->ordinal = vector->ordinal;
	piece->number = built->npieces++;
	piece->chunk = chunk;
	piece->start = chunk->n;
	piece->n = n;
	return GPUCOL_OK;
}

/* ---- strings ---- */

/* A copy of some bytes that the worker owns. */
static char *
keep_bytes(GpucolCpuWorker *worker, GpucolBytes value)
{
	GpucolCpuBuilt *built = worker->built;
	char	   *to;

	if (value.len > SPACE_BYTES / 4)
	{
		to = gpucol_cpu_alloc(worker->run, value.len);
		return to == NULL ? NULL : memcpy(to, value.data, value.len);
	}
	if (built->space_left < value.len)
	{
		built->space_left = 0;
		built->space = gpucol_cpu_alloc(worker->run, SPACE_BYTES);
		if (built->space == NULL)
			return NULL;
		built->space_left = SPACE_BYTES;
	}
	to = built->space;
	memcpy(to, value.data, value.len);
	built->space += value.len;
	built->space_left -= value.len;
	return to;
}

/* Add an entry; returns its number, or UINT32_MAX. */
static uint32_t
add_entry(GpucolCpuWorker *worker, GpucolCpuBuiltColumn *column, GpucolBytes value)
{
	uint64_t	room = column->entries_room;
	GpucolBytes kept = {"", value.len};

	if (column->nentries >= UINT32_MAX / 2 ||
		!grow(worker->run, (void **) &column->entries, column->nentries, &room,
			  sizeof(GpucolBytes)))
		return UINT32_MAX;
	column->entries_room = (uint32_t) room;
	if (value.len > 0 && (kept.data = keep_bytes(worker, value)) == NULL)
		return UINT32_MAX;
	column->entries[column->nentries] = kept;
	return column->nentries++;
}

/* Room for the codes of another dictionary. */
static GpucolStatus
open_map(GpucolRun *run, GpucolCpuBuiltColumn *column, const GpucolCpuColumn *of)
{
	uint64_t	serial = gpucol_cpu_codes_serial(run, of);
	size_t		space = of->desc->coding == GPUCOL_CODING_CONSTANT ? 1 :
		(size_t) 1 << of->desc->width;

	if (column->serial == serial)
		return GPUCOL_OK;
	column->serial = 0;
	if (column->map_room < space)
	{
		gpucol_cpu_free(run, column->map);
		column->map_room = 0;
		column->map = gpucol_cpu_alloc(run, sizeof(uint32_t) * space);
		if (column->map == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		column->map_room = space;
	}
	memset(column->map, 0, sizeof(uint32_t) * space);
	column->serial = serial;
	return GPUCOL_OK;
}

/* Numbers of the strings at[]. */
static GpucolStatus
put_strings(GpucolCpuWorker *worker, GpucolCpuBuiltColumn *column, const GpucolCpuReg *reg,
			const uint16_t *at, uint32_t n, int64_t *values)
{
	GpucolStatus status = reg->coded ? open_map(worker->run, column, reg->column) : GPUCOL_OK;

	for (uint32_t j = 0; j < n && status == GPUCOL_OK; j++)
	{
		uint32_t   *known = reg->coded ? &column->map[reg->codes[at[j]]] : NULL;
		uint32_t	number;

		values[j] = 0;
		if (reg->nulls != NULL && reg->nulls[at[j]])
			continue;
		if (known != NULL && *known != 0)
			number = *known - 1;
		else
			number = add_entry(worker, column, reg->coded ?
							   reg->column->entries[reg->codes[at[j]]] : reg->v.s[at[j]]);
		if (number == UINT32_MAX)
			return GPUCOL_OUT_OF_MEMORY;
		if (known != NULL)
			*known = number + 1;
		values[j] = number;
	}
	return status;
}

/* ---- values ---- */

/* Least and greatest of values where not NULL. */
GPUCOL_CPU_CLONES static void
find_range(const int64_t *values, const uint8_t *nulls, uint32_t n,
		   GpucolCpuBuiltColumn *column)
{
	int64_t		least = column->least;
	int64_t		greatest = column->greatest;

	for (uint32_t j = 0; j < n; j++)
	{
		int64_t		low = nulls[j] ? least : values[j];
		int64_t		high = nulls[j] ? greatest : values[j];

		least = low < least ? low : least;
		greatest = high > greatest ? high : greatest;
	}
	column->least = least;
	column->greatest = greatest;
}

GPUCOL_CPU_CLONES static void
put_words(const int64_t *from, const uint16_t *at, uint32_t n, int64_t *values)
{
	for (uint32_t j = 0; j < n; j++)
		values[j] = from[at[j]];
}

/* Room for the upper halves of an output's decimals: those before are of int64. */
static GpucolStatus
open_highs(GpucolRun *run, GpucolCpuChunk *chunk, int output)
{
	const int64_t *values = chunk->values + (size_t) output * chunk->room;

	if (chunk->highs == NULL)
		chunk->highs = gpucol_cpu_alloc0(run, sizeof(int64_t *) * run->program->nkeys);
	if (chunk->highs == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (chunk->highs[output] != NULL)
		return GPUCOL_OK;
	chunk->highs[output] = gpucol_cpu_alloc(run, sizeof(int64_t) * chunk->room);
	if (chunk->highs[output] == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t j = 0; j < chunk->n; j++)
		chunk->highs[output][j] = values[j] < 0 ? -1 : 0;
	return GPUCOL_OK;
}

/* Decimals; those of keys must be int64. */
static GpucolStatus
put_decimals(GpucolCpuWorker *worker, int output, GpucolCpuChunk *chunk, const GpucolCpuReg *reg,
			 const uint16_t *at, uint32_t n, int64_t *values)
{
	bool		fits = true;
	int64_t    *highs = chunk->highs == NULL ? NULL : chunk->highs[output];

	if (reg->narrow)
		put_words(reg->n, at, n, values);
	for (uint32_t j = 0; j < n && !reg->narrow; j++)
	{
		values[j] = (int64_t) reg->v.d[at[j]];
		fits &= values[j] == reg->v.d[at[j]] || (reg->nulls != NULL && reg->nulls[at[j]]);
	}
	if (fits && highs == NULL)
		return GPUCOL_OK;
	if (output < worker->run->program->njoin_keys)
		return GPUCOL_UNSUPPORTED;
	if (open_highs(worker->run, chunk, output) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	highs = chunk->highs[output];
	for (uint32_t j = 0; j < n; j++)
		highs[chunk->n + j] = reg->narrow ? (values[j] < 0 ? -1 : 0) :
			(int64_t) (reg->v.d[at[j]] >> 64);
	worker->built->columns[output].wide = true;
	return GPUCOL_OK;
}

/* Put rows at[] of an output behind a chunk's end. */
static GpucolStatus
put_column(GpucolCpuWorker *worker, int output, GpucolCpuChunk *chunk, const uint16_t *at,
		   uint32_t n)
{
	const GpucolCpuReg *reg = &worker->regs[worker->run->code.keys[output]];
	GpucolCpuBuiltColumn *column = &worker->built->columns[output];
	size_t		place = (size_t) output * chunk->room + chunk->n;
	int64_t    *values = chunk->values + place;
	uint8_t    *nulls = chunk->nulls + place;
	GpucolStatus status = GPUCOL_OK;

	if (reg->nulls == NULL)
		memset(nulls, 0, n);
	else
		for (uint32_t j = 0; j < n; j++)
		{
			nulls[j] = reg->nulls[at[j]];
			column->has_nulls |= nulls[j];
		}
	switch (reg->cls)
	{
		case GPUCOL_CLASS_B:
			for (uint32_t j = 0; j < n; j++)
				values[j] = reg->v.b[at[j]];
			break;
		case GPUCOL_CLASS_D:
			status = put_decimals(worker, output, chunk, reg, at, n, values);
			break;
		case GPUCOL_CLASS_S:
			status = put_strings(worker, column, reg, at, n, values);
			break;
		default:
			put_words(reg->v.i, at, n, values);
	}
	if (status == GPUCOL_OK && reg->cls != GPUCOL_CLASS_F && reg->cls != GPUCOL_CLASS_S)
		find_range(values, nulls, n, column);
	return status;
}

/* List the rows that are kept: those without a NULL key, unless all are. */
static uint32_t
list_rows(GpucolCpuWorker *worker, uint16_t *at)
{
	const GpucolRun *run = worker->run;
	const GpucolTablePart *part = run->join.part;
	bool		keep = (run->program->flags & GPUCOL_PROGRAM_KEEP_NULL_KEYS) != 0;
	uint8_t		drop[GPUCOL_VECTOR_VALUES] = {0};
	uint32_t	n = 0;
	uint8_t		any = 0;

	for (int k = 0; k < run->program->njoin_keys; k++)
	{
		const GpucolCpuReg *reg = &worker->regs[run->code.keys[k]];

		for (uint32_t j = 0; j < worker->nsel && reg->nulls != NULL; j++)
			drop[j] |= reg->nulls[j];
	}
	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		any |= drop[j];
		at[n] = (uint16_t) j;
		n += keep || !drop[j];
	}
	worker->built->has_null |= any;
	worker->built->has_rows |= n > 0;
	if (part == NULL)
		return n;
	n = gpucol_cpu_part_keep(worker, run->code.keys, run->program->njoin_keys, part->first, part->end,
							 at, n);
	return gpucol_cpu_part_keep(worker, run->code.keys, run->program->nkeys, part->first_row,
								part->end_row, at, n);
}

GpucolStatus
gpucol_cpu_build_rows(GpucolCpuWorker *worker, const GpucolCpuVector *vector)
{
	GpucolRun  *run = worker->run;
	GpucolCpuBuilt *built = worker->built;
	uint16_t	at[GPUCOL_VECTOR_VALUES];
	uint32_t	n;
	GpucolStatus status = gpucol_cpu_expr_run(worker, vector, run->join.last_section,
											  run->program->ninstrs);

	if (status != GPUCOL_OK)
		return status;
	n = list_rows(worker, at);
	for (uint32_t done = 0; done < n;)
	{
		GpucolCpuChunk *chunk = built->nchunks == 0 ? NULL : built->chunks[built->nchunks - 1];
		uint32_t	take = n - done;

		if (chunk == NULL || chunk->n == chunk->room)
		{
			status = add_chunk(worker);
			if (status != GPUCOL_OK)
				return status;
			continue;
		}
		if (take > chunk->room - chunk->n)
			take = chunk->room - chunk->n;
		for (int k = 0; k < run->program->nkeys && status == GPUCOL_OK; k++)
			status = put_column(worker, k, chunk, at + done, take);
		if (status == GPUCOL_OK)
			status = add_piece(worker, vector, chunk, take);
		if (status != GPUCOL_OK)
			return status;
		chunk->n += take;
		done += take;
		built->nrows += take;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_build(GpucolRun *run, GpucolLookup **lookup)
{
	GpucolStatus status;

	*lookup = NULL;
	if (run->program->kind != GPUCOL_PROGRAM_BUILD || run->ended != GPUCOL_OK)
		return GPUCOL_UNSUPPORTED;
	do
		status = gpucol_cpu_source_step(run);
	while (status == GPUCOL_OK);
	if (status == GPUCOL_END)
		status = gpucol_lookup_build(run);
	run->ended = status == GPUCOL_OK ? GPUCOL_END : status;
	if (status != GPUCOL_OK)
		return status;
	*lookup = run->join.lookup;
	run->join.lookup = NULL;
	return GPUCOL_OK;
}
