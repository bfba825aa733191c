/*-------------------------------------------------------------------------
 *
 * final.c
 *	  Groups that are complete when their vector is: those of a key in whose order rows lie.
 *
 * Series, logs and tables that are loaded in the order of a key have nearly every group of
 * it in one vector.  Zones say so: a value that no other vector's zone contains, nor any delta
 * row has, is met in this vector only.  Where most vectors of a segment have such values, a
 * vector's rows are grouped in a small table of the thread's own.  When the vector ends, groups
 * of such values are final.  What fails the tests of HAVING, or is behind k others, is dropped
 * at once, and the rest listed as it is: it is not looked up, drained or merged any more.  Only
 * the other groups, at the borders of vectors, are merged into the thread's ordinary table.
 *
 *	  segment 1             segment 2             zones of the key
 *	  [10   25][25   40]    [40   61][62   80]    ... of vectors
 *	   10..24   26..39       41..61   62..80      what is met in one vector only
 *
 * Zones of all segments are read before the scan begins, and so are the keys of delta rows, if
 * these are few; else nothing is final.  Where loads meet, as where short segments have been packed
 * into one, a vector's zone reaches over many others'.  If such vectors are few, their keys are
 * read like those of delta rows, and their zones do not count.  Where the first segment's vectors have no values of
 * their own, the others' are not looked at.  One of several keys will do: groups that differ by
 * it are different.  NULL is in no zone, and is merged.  Rows that a probe multiplies are of
 * their vector all the same.
 *
 * Which vectors are grouped so depends on the data alone, so that sums of floats do not depend
 * on the number of threads.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "engine/cpu/final.h"
#include "engine/cpu/final_zones.h"
#include "kernel/bitpack.h"

#define ZONES			512			/* read at a time */
#define FIRST_LIST		(32 * 1024) /* bytes of a thread's first list of final groups; others have twice */
#define MOST_LIST		(2 * 1024 * 1024)	/* those of the one before, up to this */
#define MOST_STRAYS		(UINT64_C(1) << 20) /* delta rows that are looked at, */
#define STRAYS_SHARE	8			/* and of so many rows in segments at most one */
#define MOST_VECTORS	(UINT32_C(1) << 28) /* of all segments, */
#define MEMORY_SHARE	8			/* whose zones take this part of memory at most */
#define LEAST_SHARE		4			/* of a zone's range, what is to be the vector's own */
#define MOST_FIRST		65536		/* groups wanted first that each thread keeps track of */

/* What is met in one vector only. */
typedef struct Own
{
	int64_t		lo;
	int64_t		hi;
} Own;

/* A segment of the source, in its order. */
typedef struct Part
{
	uint64_t	id;
	uint32_t	first;			/* vector, of those of all segments */
} Part;

/* What a thread has. */
typedef struct Thread
{
	GpucolCpuGroups *table;		/* groups of the vector at hand, */
	uint32_t	vector;
	GpucolCpuGroups *to;		/* and where they go that are not final */
	GpucolCpuGroups **lists;	/* final groups */
	uint32_t	nlists;
	uint32_t	lists_room;
	size_t		list_bytes;		/* of the next one */
	GpucolCpuKth kth;
	uint64_t	complete;
	uint64_t	dropped;
} Thread;

struct GpucolCpuFinal
{
	int			key;			/* of the program, */
	uint16_t	column;			/* the one it is of, */
	uint32_t	word;			/* its word in a group's key */

	Part	   *parts;
	uint32_t	nparts;
	uint32_t	parts_room;
	uint32_t	next;			/* of them, to come */
	int64_t    *strays;			/* values in delta rows, and in vectors whose zones do not count, ascending */
	uint64_t	nstrays;
	uint64_t	strays_room;

	GpucolSpan *spans;			/* zones of vectors that are not empty */
	uint32_t	nspans;
	uint32_t	room;
	Own		   *vectors;		/* by vector of all segments */
	uint32_t	nvectors;

	bool		on;				/* in this segment, */
	const Own  *own;			/* whose vectors these are */
	Thread	   *threads;
};

/* ---- zones ---- */

/* How many values an interval has, about. */
static double
width(int64_t lo, int64_t hi)
{
	return lo > hi ? 0 : (double) hi - (double) lo + 1;
}

/* Room for n more zones; *fits: there may be so many. */
static GpucolStatus
grow_spans(GpucolRun *run, GpucolCpuFinal *final, uint32_t n, bool *fits)
{
	uint32_t	room = final->room == 0 ? ZONES : final->room;
	GpucolSpan *spans;

	while (room < final->nspans + n)
		room *= 2;
	*fits = room <= MOST_VECTORS &&
		(sizeof(GpucolSpan) + sizeof(Own)) * room < gpucol_budget_left(&run->mem.budget) / MEMORY_SHARE;
	if (!*fits || room == final->room)
		return GPUCOL_OK;
	spans = gpucol_cpu_realloc(run, final->spans, sizeof(GpucolSpan) * room);
	if (spans == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	final->spans = spans;
	final->room = room;
	return GPUCOL_OK;
}

/* Add the zones of the segment at hand, but for empty ones; *fits: there may be so many. */
static GpucolStatus
add_zones(GpucolRun *run, uint16_t column, bool *fits)
{
	GpucolCpuFinal *final = run->agg.final;
	const GpucolChunkDesc *desc = run->input.segment.chunks[column];
	uint32_t	n = GPUCOL_VECTORS(run->input.segment.nrows);
	uint32_t	before = final->nvectors;
	GpucolZone	zones[ZONES];
	GpucolStatus status = grow_spans(run, final, n, fits);

	final->nvectors += n;
	if (status != GPUCOL_OK || !*fits || desc->flags & GPUCOL_CHUNK_ALL_NULL)
		return status;
	if (desc->streams[GPUCOL_STREAM_ZONES].nrows == 0)
	{
		/* every vector may have what the chunk has */
		zones[0] = desc->flags & GPUCOL_CHUNK_HAS_ZONE ? desc->zone : (GpucolZone) {INT64_MIN, INT64_MAX};
		for (uint32_t v = 0; v < n; v++)
			final->spans[final->nspans++] = (GpucolSpan) {zones[0].min, zones[0].max, before + v};
		return GPUCOL_OK;
	}
	run->input.cols[column].desc = desc;
	for (uint32_t v = 0; v < n; v += ZONES)
	{
		uint32_t	take = n - v < ZONES ? n - v : ZONES;

		status = gpucol_cpu_stream_copy(run, column, GPUCOL_STREAM_ZONES, sizeof(GpucolZone) * (uint64_t) v,
										sizeof(GpucolZone) * (uint64_t) take, zones);
		if (status != GPUCOL_OK)
			return status;
		for (uint32_t i = 0; i < take; i++)
			if (zones[i].min <= zones[i].max)
				final->spans[final->nspans++] = (GpucolSpan) {zones[i].min, zones[i].max, before + v + i};
	}
	return GPUCOL_OK;
}

/* Find what each vector has of its own; zones are forgotten. */
static GpucolStatus
divide(GpucolRun *run, GpucolCpuFinal *final)
{
	gpucol_cpu_free(run, final->vectors);
	final->vectors = gpucol_cpu_alloc(run, sizeof(Own) * ((size_t) final->nvectors + 1));
	if (final->vectors == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t v = 0; v < final->nvectors; v++)
		final->vectors[v] = (Own) {1, 0};
	/* zones, before they become what is the vector's own */
	for (uint32_t i = 0; i < final->nspans; i++)
		final->vectors[final->spans[i].number] = (Own) {final->spans[i].lo, final->spans[i].hi};
	gpucol_cpu_spans_own(final->spans, final->nspans);
	for (uint32_t i = 0; i < final->nspans; i++)
	{
		const GpucolSpan *span = &final->spans[i];
		Own		   *own = &final->vectors[span->number];
		bool		enough = width(span->lo, span->hi) * LEAST_SHARE >= width(own->lo, own->hi);

		*own = enough ? (Own) {span->lo, span->hi} : (Own) {1, 0};
	}
	final->nspans = 0;
	return GPUCOL_OK;
}

/* Have half of n vectors, from `first` on, values of their own? */
static bool
most_own(const GpucolCpuFinal *final, uint32_t first, uint32_t n)
{
	uint32_t	good = 0;

	for (uint32_t v = first; v < first + n; v++)
		good += final->vectors[v].lo <= final->vectors[v].hi;
	return good > 0 && good >= n / 2;
}

/* ---- the look ahead ---- */

/* The column of the source that a key is of, and whose zones tell its values; or -1. */
static int
key_column(const GpucolRun *run, int key)
{
	uint16_t	reg = run->code.keys[key];
	int			column = -1;

	for (int i = 0; i < run->program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];

		if (instr->dst != reg)
			continue;
		if (column >= 0 || (instr->op != GPUCOL_OP_LOAD_I && instr->op != GPUCOL_OP_LOAD_D) ||
			instr->aux >= run->program->ncolumns)
			return -1;
		column = instr->aux;
	}
	return column;
}

/* May groups be final at all? */
static bool
may_be_final(const GpucolRun *run)
{
	const GpucolFirst *wanted = run->agg.first;

	/* any k groups may be settled for (first.c) */
	if (wanted != NULL && wanted->k > 0 && wanted->nkeys == 0 && wanted->ntests == 0)
		return false;
	return run->program->nkeys > 0 && run->agg.ndistinct == 0 && run->agg.nextremes == 0 &&
		run->join.next_turn == NULL && !run->source->in_parts && run->source->ops->rescan != NULL;
}

/* Choose the key by the first segment: one that most of its vectors have values of their own of. */
static GpucolStatus
choose_key(GpucolRun *run, bool *found)
{
	GpucolCpuFinal *final = run->agg.final;
	GpucolStatus status = GPUCOL_OK;

	*found = false;
	final->word = 1;
	for (final->key = 0; final->key < run->program->nkeys && status == GPUCOL_OK; final->key++)
	{
		int			column = key_column(run, final->key);
		bool		fits;

		if (column >= 0)
		{
			final->column = (uint16_t) column;
			final->nvectors = 0;
			status = add_zones(run, final->column, &fits);
			final->nspans = gpucol_cpu_spans_part(final->spans, final->nspans);
			if (status == GPUCOL_OK && fits)
				status = divide(run, final);
			final->nspans = 0;
			*found = status == GPUCOL_OK && fits && most_own(final, 0, final->nvectors);
			if (*found)
				break;
		}
		final->word += run->code.classes[run->code.keys[final->key]] == GPUCOL_CLASS_D ? 2 : 1;
	}
	final->nvectors = 0;
	return status;
}

/* Note a segment; *fits: its zones are noted, too. */
static GpucolStatus
note_segment(GpucolRun *run, GpucolCpuFinal *final, bool *fits)
{
	if (final->nparts == final->parts_room)
	{
		uint32_t	room = final->parts_room == 0 ? 64 : 2 * final->parts_room;
		Part	   *parts = gpucol_cpu_realloc(run, final->parts, sizeof(Part) * room);

		if (parts == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		final->parts = parts;
		final->parts_room = room;
	}
	final->parts[final->nparts++] = (Part) {run->input.segment.id, final->nvectors};
	return add_zones(run, final->column, fits);
}

static int
compare_values(const void *a, const void *b)
{
	int64_t		x = *(const int64_t *) a;
	int64_t		y = *(const int64_t *) b;

	return (x > y) - (x < y);
}

/* Room for n more strays. */
static GpucolStatus
grow_strays(GpucolRun *run, GpucolCpuFinal *final, uint64_t n)
{
	uint64_t	room = 2 * (final->nstrays + n);
	int64_t    *strays;

	if (final->nstrays + n <= final->strays_room)
		return GPUCOL_OK;
	strays = gpucol_cpu_realloc(run, final->strays, sizeof(int64_t) * room);
	if (strays == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	final->strays = strays;
	final->strays_room = room;
	return GPUCOL_OK;
}

/* Note the values of the delta rows; *few: there are no more than `most`. */
static GpucolStatus
note_delta(GpucolRun *run, GpucolCpuFinal *final, uint64_t most, bool *few)
{
	GpucolDelta delta;
	GpucolStatus status;

	while ((status = run->source->ops->next_delta(run->source, &delta)) == GPUCOL_OK)
	{
		const GpucolDeltaColumn *column = &delta.columns[final->column];

		*few = final->nstrays + delta.nrows <= most;
		if (!*few)
			return GPUCOL_OK;
		status = grow_strays(run, final, delta.nrows);
		if (status != GPUCOL_OK)
			return status;
		/* 0 for NULL does no harm, nor does the lower half of what no segment has */
		memcpy(final->strays + final->nstrays, column->values, sizeof(int64_t) * delta.nrows);
		final->nstrays += delta.nrows;
		run->source->ops->check_interrupts(run->source);
	}
	*few = true;
	return status == GPUCOL_END ? GPUCOL_OK : status;
}

/* Note the values of a vector of the segment at hand; *known: they can be told here. */
static GpucolStatus
note_vector(GpucolRun *run, GpucolCpuFinal *final, uint32_t vector, bool *known)
{
	const GpucolChunkDesc *desc = run->input.segment.chunks[final->column];
	_Alignas(GPUCOL_ROW_BYTES) char words[64 * GPUCOL_ROW_BYTES];
	uint64_t	size = (uint64_t) desc->width * GPUCOL_ROW_BYTES;
	GpucolStatus status = grow_strays(run, final, GPUCOL_VECTOR_VALUES);

	*known = (desc->coding == GPUCOL_CODING_FOR || desc->coding == GPUCOL_CODING_STEP) && size > 0;
	if (status != GPUCOL_OK || !*known)
		return status;
	run->input.cols[final->column].desc = desc;
	status = gpucol_cpu_stream_copy(run, final->column, GPUCOL_STREAM_CODES, vector * size, size, words);
	if (status != GPUCOL_OK)
		return status;
	/* those of NULLs and behind the last row do no harm */
	gpucol_cpu_column_unpack(desc, words, final->strays + final->nstrays);
	final->nstrays += GPUCOL_VECTOR_VALUES;
	return GPUCOL_OK;
}

/*
 * Note the values of vectors whose zones are in the way of many others' (wide spans, by number):
 * then their zones need not count.  Reads the segments once more.
 */
static GpucolStatus
note_wide(GpucolRun *run, GpucolCpuFinal *final, const GpucolSpan *wide, uint32_t n, bool *known)
{
	GpucolStatus status = GPUCOL_OK;
	uint32_t	w = 0;

	run->source->ops->rescan(run->source);
	for (uint32_t p = 0; p < final->nparts && w < n && status == GPUCOL_OK; p++)
	{
		uint32_t	end = p + 1 < final->nparts ? final->parts[p + 1].first : final->nvectors;

		status = run->source->ops->next_segment(run->source, &run->input.segment);
		if (status == GPUCOL_OK && run->input.segment.id != final->parts[p].id)
			status = GPUCOL_CORRUPT;
		while (status == GPUCOL_OK && w < n && wide[w].number < end)
		{
			status = note_vector(run, final, wide[w++].number - final->parts[p].first, known);
			if (!*known)
				return status;
		}
		run->source->ops->check_interrupts(run->source);
	}
	return status == GPUCOL_END ? GPUCOL_CORRUPT : status;
}

/* The strays: values of delta rows, and of vectors in the way; *few: there are no more than `most`. */
static GpucolStatus
note_strays(GpucolRun *run, GpucolCpuFinal *final, uint64_t most, bool *few)
{
	uint32_t	n = gpucol_cpu_spans_part(final->spans, final->nspans);
	uint32_t	nwide = final->nspans - n;
	GpucolStatus status = note_delta(run, final, most, few);

	if (status != GPUCOL_OK || !*few)
		return status;
	if (nwide > 0 && final->nstrays + (uint64_t) nwide * GPUCOL_VECTOR_VALUES <= most)
	{
		uint64_t	nstrays = final->nstrays;
		bool		known = true;

		gpucol_cpu_spans_number(final->spans + n, nwide);
		status = note_wide(run, final, final->spans + n, nwide, &known);
		if (known)
			final->nspans = n;
		else
			final->nstrays = nstrays;
	}
	if (status == GPUCOL_OK && final->nstrays > 0)
		qsort(final->strays, final->nstrays, sizeof(int64_t), compare_values);
	return status;
}

/* What the threads have. */
static GpucolStatus
open_threads(GpucolRun *run, GpucolCpuFinal *final)
{
	const GpucolFirst *wanted = run->agg.first;
	bool		first = wanted != NULL && wanted->nkeys > 0 && wanted->k > 0 && wanted->k <= MOST_FIRST;

	final->threads = gpucol_cpu_alloc0(run, sizeof(Thread) * (size_t) run->nworkers);
	for (int w = 0; w < run->nworkers && final->threads != NULL; w++)
	{
		Thread	   *thread = &final->threads[w];
		__int128   *heap = first ? gpucol_cpu_alloc(run, sizeof(__int128) * (size_t) (wanted->k + 1)) : NULL;

		thread->table = gpucol_cpu_group_create(run);
		if (thread->table == NULL || (first && heap == NULL))
			return GPUCOL_OUT_OF_MEMORY;
		thread->table->by_hash = true;
		thread->list_bytes = FIRST_LIST;
		if (wanted != NULL)
			gpucol_cpu_kth_open(run, &thread->kth, heap);
	}
	return final->threads == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

/* Look at all segments and at the delta; *pays: groups may be final. */
static GpucolStatus
look_ahead(GpucolRun *run, GpucolCpuFinal *final, bool *pays)
{
	GpucolStatus status;
	uint64_t	rows = 0;

	do
	{
		rows += run->input.segment.nrows;
		status = note_segment(run, final, pays);
		run->source->ops->check_interrupts(run->source);
		if (status == GPUCOL_OK && *pays)
			status = run->source->ops->next_segment(run->source, &run->input.segment);
	} while (status == GPUCOL_OK && *pays);
	if (status != GPUCOL_END)
		return status;
	rows /= STRAYS_SHARE;
	status = note_strays(run, final, rows < MOST_STRAYS ? rows : MOST_STRAYS, pays);
	if (status == GPUCOL_OK && *pays)
		status = divide(run, final);
	return status == GPUCOL_OK && *pays ? open_threads(run, final) : status;
}

GpucolStatus
gpucol_cpu_final_init(GpucolRun *run)
{
	bool		found = false;
	GpucolStatus status;

	if (!run->input.look_ahead || !may_be_final(run))
		return GPUCOL_OK;
	status = run->source->ops->next_segment(run->source, &run->input.segment);
	if (status != GPUCOL_OK)
		return status == GPUCOL_END ? GPUCOL_OK : status;	/* rows of no segment come once */
	run->agg.final = gpucol_cpu_alloc0(run, sizeof(GpucolCpuFinal));
	if (run->agg.final == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	status = choose_key(run, &found);
	if (status == GPUCOL_OK && found)
		status = look_ahead(run, run->agg.final, &found);
	gpucol_cpu_free(run, run->agg.final->spans);
	if (!found)
	{
		gpucol_cpu_free(run, run->agg.final->vectors);
		run->agg.final = NULL;
	}
	if (status == GPUCOL_OK)
		run->source->ops->rescan(run->source);
	return status;
}

/* ---- segments ---- */

GpucolStatus
gpucol_cpu_final_next_segment(GpucolRun *run)
{
	GpucolCpuFinal *final = run->agg.final;

	if (final == NULL)
		return GPUCOL_OK;
	final->on = false;
	/* it was looked at before, under the same snapshot */
	return final->next < final->nparts && final->parts[final->next++].id == run->input.segment.id ?
		GPUCOL_OK : GPUCOL_CORRUPT;
}

void
gpucol_cpu_final_open(GpucolRun *run)
{
	GpucolCpuFinal *final = run->agg.final;

	if (final == NULL)
		return;
	final->own = final->vectors + final->parts[final->next - 1].first;
	final->on = most_own(final, final->parts[final->next - 1].first, run->input.nvectors);
}

bool
gpucol_cpu_final_is_on(const GpucolRun *run)
{
	return run->agg.final != NULL && run->agg.final->on;
}

/* ---- vectors ---- */

GpucolCpuGroups *
gpucol_cpu_final_table(GpucolCpuWorker *worker, const GpucolCpuVector *vector, GpucolCpuGroups *to)
{
	GpucolCpuFinal *final = worker->run->agg.final;
	Thread	   *thread;

	if (final == NULL || !final->on || vector->delta != NULL ||
		final->own[vector->number].lo > final->own[vector->number].hi)
		return NULL;
	thread = &final->threads[worker->index];
	thread->vector = vector->number;
	thread->to = to;
	return thread->table;
}

/*
 * Number the runs of equal keys among n rows, and list where each begins.  Zero where rows are
 * not in the order of the key's word, so that a group may have several runs.
 */
GPUCOL_CPU_CLONES static uint32_t
find_runs(const uint64_t *keys, uint32_t nwords, uint32_t word, uint32_t n, uint32_t *ids, uint16_t *first)
{
	const int64_t *values = (const int64_t *) keys + (size_t) word * GPUCOL_VECTOR_VALUES;
	uint64_t	differs[GPUCOL_VECTOR_VALUES];
	uint32_t	bad = 0;
	uint32_t	run = 0;

	memset(differs, 0, sizeof(differs));
	for (uint32_t k = 0; k < nwords; k++)
	{
		const uint64_t *words = keys + (size_t) k * GPUCOL_VECTOR_VALUES;

		for (uint32_t j = 1; j < n; j++)
			differs[j] |= words[j] ^ words[j - 1];
	}
	for (uint32_t j = 1; j < n; j++)
		bad |= differs[j] != 0 && values[j] <= values[j - 1];
	if (bad)
		return 0;
	first[0] = 0;
	ids[0] = 0;
	for (uint32_t j = 1; j < n; j++)
	{
		run += differs[j] != 0;
		first[run] = (uint16_t) (differs[j] != 0 ? j : first[run]);
		ids[j] = run;
	}
	return run + 1;
}

/* Is the key NULL in any of n rows? */
static bool
has_null(const uint64_t *nulls, int key, uint32_t n)
{
	uint64_t	all = 0;

	for (uint32_t j = 0; j < n; j++)
		all |= nulls[j];
	return all >> key & 1;
}

GpucolStatus
gpucol_cpu_final_lookup(GpucolCpuWorker *worker, GpucolCpuGroups *groups)
{
	const GpucolRun *run = worker->run;
	const GpucolCpuFinal *final = run->agg.final;
	uint16_t	first[GPUCOL_VECTOR_VALUES + 1];

	if (groups->n == 0 && !has_null(worker->keys, final->key, worker->nsel))
	{
		uint32_t	n = find_runs(worker->keys, run->agg.key_words, final->word, worker->nsel, worker->ids, first);

		if (n > 0)
			return gpucol_cpu_group_append_rows(groups, worker->keys, GPUCOL_VECTOR_VALUES, first, n);
	}
	return gpucol_cpu_group_lookup(groups, worker->keys, GPUCOL_VECTOR_VALUES, worker->nsel, worker->hashes,
								   worker->ids);
}

/* Strays in an interval: the first one, and how many there are. */
static uint64_t
find_strays(const GpucolCpuFinal *final, Own own, const int64_t **first)
{
	uint64_t	from = 0;
	uint64_t	to = final->nstrays;
	uint64_t	n = 0;

	while (from < to)
	{
		uint64_t	middle = from + (to - from) / 2;

		if (final->strays[middle] < own.lo)
			from = middle + 1;
		else
			to = middle;
	}
	*first = final->strays + from;
	while (from + n < final->nstrays && final->strays[from + n] <= own.hi)
		n++;
	return n;
}

/* The list of final groups that has room for another. */
static GpucolCpuGroups *
open_list(GpucolRun *run, Thread *thread)
{
	size_t		bytes = sizeof(uint64_t) * run->agg.group_words;
	uint32_t	capacity = (uint32_t) (thread->list_bytes / bytes) + 1;
	GpucolCpuGroups *list;

	if (thread->nlists > 0 && thread->lists[thread->nlists - 1]->n < thread->lists[thread->nlists - 1]->capacity)
		return thread->lists[thread->nlists - 1];
	if (thread->nlists == thread->lists_room)
	{
		uint32_t	room = thread->lists_room == 0 ? 16 : 2 * thread->lists_room;
		GpucolCpuGroups **lists = gpucol_cpu_realloc(run, thread->lists, sizeof(GpucolCpuGroups *) * room);

		if (lists == NULL)
			return NULL;
		thread->lists = lists;
		thread->lists_room = room;
	}
	list = gpucol_cpu_group_create(run);
	if (list == NULL)
		return NULL;
	list->keys = gpucol_cpu_alloc(run, bytes * capacity);
	if (list->keys == NULL)
	{
		gpucol_cpu_group_destroy(list);
		return NULL;
	}
	list->states = list->keys + run->agg.key_words;
	list->capacity = capacity;
	if (thread->list_bytes < MOST_LIST)
		thread->list_bytes *= 2;
	thread->lists[thread->nlists++] = list;
	return list;
}

/* List groups [first, first + n) of the vector's. */
static GpucolStatus
list_groups(GpucolRun *run, Thread *thread, uint32_t first, uint32_t n)
{
	size_t		words = run->agg.group_words;

	while (n > 0)
	{
		GpucolCpuGroups *list = open_list(run, thread);
		uint32_t	take;

		if (list == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		take = list->capacity - list->n < n ? list->capacity - list->n : n;
		memcpy(list->keys + list->n * words, thread->table->keys + first * words, sizeof(uint64_t) * words * take);
		list->n += take;
		first += take;
		n -= take;
	}
	return GPUCOL_OK;
}

/* Merge groups of the vector's into the thread's ordinary table. */
static GpucolStatus
merge_borders(GpucolCpuWorker *worker, Thread *thread, const uint32_t *groups, uint32_t n)
{
	GpucolCpuMerge merge = {worker->run, thread->to, thread->table, NULL};

	worker->grouped += n;
	return n == 0 ? GPUCOL_OK : gpucol_cpu_merge_some(&merge, worker, groups, n);
}

/* Is a group's value of the vector's own ones? */
GPUCOL_CPU_INLINE bool
is_final(const GpucolCpuFinal *final, const uint64_t *key, Own own, const int64_t *strays, uint64_t nstrays)
{
	int64_t		value = (int64_t) key[final->word];

	return !(key[0] >> final->key & 1) && value >= own.lo && value <= own.hi &&
		(nstrays == 0 || bsearch(&value, strays, nstrays, sizeof(int64_t), compare_values) == NULL);
}

GpucolStatus
gpucol_cpu_final_close(GpucolCpuWorker *worker)
{
	GpucolRun  *run = worker->run;
	GpucolCpuFinal *final = run->agg.final;
	Thread	   *thread = &final->threads[worker->index];
	GpucolCpuGroups *table = thread->table;
	const int64_t *strays;
	uint32_t	borders[GPUCOL_VECTOR_VALUES];
	uint32_t	nborders = 0;
	uint32_t	from = 0;		/* of the groups before g, those from here on are to be listed */
	uint64_t	nstrays;
	Own			own;
	GpucolStatus status = GPUCOL_OK;

	if (table->n == 0)
		return GPUCOL_OK;
	own = final->own[thread->vector];
	nstrays = find_strays(final, own, &strays);
	for (uint32_t g = 0; g < table->n && status == GPUCOL_OK; g++)
	{
		bool		complete = is_final(final, table->keys + (size_t) g * run->agg.group_words, own, strays, nstrays);

		thread->complete += complete;
		if (complete && (run->agg.first == NULL || gpucol_cpu_kth_take(&thread->kth, table, g)))
			continue;
		status = list_groups(run, thread, from, g - from);
		from = g + 1;
		thread->dropped += complete;
		if (complete)
			continue;
		borders[nborders++] = g;
		if (nborders < GPUCOL_VECTOR_VALUES || status != GPUCOL_OK)
			continue;
		status = merge_borders(worker, thread, borders, nborders);
		nborders = 0;
	}
	if (status == GPUCOL_OK)
		status = list_groups(run, thread, from, table->n - from);
	if (status == GPUCOL_OK)
		status = merge_borders(worker, thread, borders, nborders);
	gpucol_cpu_group_clear(table);
	return status;
}

/* ---- the end ---- */

void
gpucol_cpu_final_note(GpucolRun *run)
{
	const GpucolCpuFinal *final = run->agg.final;
	GpucolReduction *reduction = &run->stats.reduction;

	for (int w = 0; final != NULL && w < run->nworkers; w++)
	{
		const Thread *thread = &final->threads[w];

		reduction->complete += thread->complete;
		reduction->dropped += thread->dropped;
		for (uint32_t i = 0; i < thread->nlists; i++)
			reduction->bytes += sizeof(uint64_t) * run->agg.group_words * thread->lists[i]->capacity;
	}
}

GpucolStatus
gpucol_cpu_final_deliver(GpucolRun *run)
{
	GpucolCpuFinal *final = run->agg.final;
	GpucolCpuGroups **parts;
	size_t		n = 0;

	for (int w = 0; final != NULL && w < run->nworkers; w++)
		n += final->threads[w].nlists;
	if (n == 0)
		return GPUCOL_OK;
	parts = gpucol_cpu_alloc(run, sizeof(GpucolCpuGroups *) * ((size_t) run->agg.nparts + n));
	if (parts == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	memcpy(parts, run->agg.parts, sizeof(GpucolCpuGroups *) * (size_t) run->agg.nparts);
	for (int w = 0; w < run->nworkers; w++)
		for (uint32_t i = 0; i < final->threads[w].nlists; i++)
			parts[run->agg.nparts++] = final->threads[w].lists[i];
	run->agg.parts = parts;
	return GPUCOL_OK;
}
