/*-------------------------------------------------------------------------
 *
 * extreme.c
 *	  Least and greatest byte strings of groups: MIN and MAX of class S.
 *
 * The order is that of bytes, which the workers compare, or the host's
 * (GpucolHost's compare), which only the main thread may ask.  A state is three words:
 * address and length of the string kept so far, and a score within the current
 * segment.
 *
 *	  dictionary, order of bytes	entries ascend with their codes, so that the
 *							score of a row follows from its code;
 *	  dictionary, the host's order	the same once its entries are ranked.  Ranking
 *							takes a comparison for each entry where they ascend
 *							already, else a merge sort of the ascending runs that
 *							they have; it is done once more rows came up than
 *							there are entries, and not where it would take more
 *							comparisons than the segment has rows;
 *	  raw and delta, order of bytes	each row is compared with its group's string;
 *	  intervals				likewise, dictionaries too;
 *	  payload, order of bytes	likewise; entries of a built table are in no order;
 *	  all else				candidates: the main thread compares them with their
 *							groups' strings when the window is done, while
 *							its bytes are still there.
 *
 * Scores become strings at the end of the segment.  Of strings that compare equal and
 * differ in their bytes, the order of bytes decides, so that the answer depends on the
 * data alone.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/group.h"
#include "kernel/bytes_order.h"

#define FIRST_LIST 1024

/* Words of a state. */
enum
{
	WORD_DATA,					/* address; 0 = no string yet */
	WORD_SIZE,					/* length, and room in the upper half */
	WORD_SCORE					/* 0 = none in this segment; greater is better */
};

/* How the dictionary of the current segment is ordered, for one state. */
struct GpucolCpuRanks
{
	int			slot;			/* program column; -1: values are made, in the order of bytes */
	uint32_t   *positions;		/* by code, once ranked */
	uint32_t   *codes;			/* by position */
	uint32_t   *scratch;
	uint64_t	asked;			/* candidates so far */
	bool		hopeless;		/* ranking takes too long */
};

static bool
is_max(const GpucolCpuAcc *acc)
{
	return acc->op == GPUCOL_CPU_ACC_MAX_S;
}

/* Is the slot that of a built table's column? */
static bool
is_payload(const GpucolRun *run, int slot)
{
	return slot >= run->program->ncolumns;
}

/* Codes that a chunk may have. */
static uint32_t
code_space(const GpucolCpuColumn *column)
{
	return UINT32_C(1) << column->desc->width;
}

/* Order of two strings, as the state orders them. */
static int
compare(const GpucolRun *run, const GpucolCpuAcc *acc, GpucolBytes a, GpucolBytes b)
{
	return gpucol_host_order_compare(run->host, acc->order, &a, &b);
}

/* ---- strings ---- */

/* Make the string the state's. */
static GpucolStatus
keep(GpucolCpuGroups *groups, uint64_t *words, GpucolBytes value)
{
	uint64_t	room = words[WORD_SIZE] >> 32;

	if (words[WORD_DATA] == 0 || room < value.len)
	{
		char	   *space;

		room = (value.len + value.len / 4 + 15) & ~(uint64_t) 7;
		if (room > UINT32_MAX)
			return GPUCOL_UNSUPPORTED;
		space = gpucol_cpu_group_space(groups, room);
		if (space == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		words[WORD_DATA] = (uint64_t) (uintptr_t) space;
	}
	if (value.len > 0)
		memcpy((char *) (uintptr_t) words[WORD_DATA], value.data, value.len);
	words[WORD_SIZE] = room << 32 | value.len;
	return GPUCOL_OK;
}

GpucolBytes
gpucol_cpu_extreme_value(const uint64_t *words)
{
	GpucolBytes value = {"", (uint32_t) words[WORD_SIZE]};

	if (words[WORD_DATA] != 0)
		value.data = (const char *) (uintptr_t) words[WORD_DATA];
	return value;
}

/* Make the string the state's if it goes beyond the one it has. */
static GpucolStatus
consider(const GpucolRun *run, GpucolCpuGroups *groups, const GpucolCpuAcc *acc,
		 uint64_t *words, GpucolBytes value)
{
	if (words[WORD_DATA] != 0)
	{
		int			order = compare(run, acc, value, gpucol_cpu_extreme_value(words));

		if (is_max(acc) ? order <= 0 : order >= 0)
			return GPUCOL_OK;
	}
	return keep(groups, words, value);
}

GpucolStatus
gpucol_cpu_extreme_merge(const GpucolRun *run, GpucolCpuGroups *groups, uint64_t *to,
						 const uint64_t *from)
{
	for (int i = 0; i < run->agg.naccs; i++)
	{
		const GpucolCpuAcc *acc = &run->agg.accs[i];
		GpucolStatus status;

		if (!gpucol_cpu_extreme_is(acc) || from[acc->offset + WORD_DATA] == 0)
			continue;
		status = consider(run, groups, acc, to + acc->offset,
						  gpucol_cpu_extreme_value(from + acc->offset));
		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

/* ---- in the workers ---- */

/* Room for n more items of `size` bytes. */
static bool
reserve(GpucolRun *run, void **items, uint32_t count, uint32_t n, uint32_t *room, size_t size)
{
	uint32_t	need = count + n;
	void	   *grown;

	if (need <= *room)
		return true;
	if (need < 2 * *room)
		need = 2 * *room;
	if (need < FIRST_LIST)
		need = FIRST_LIST;
	grown = gpucol_cpu_realloc(run, *items, size * need);
	if (grown == NULL)
		return false;
	*items = grown;
	*room = need;
	return true;
}

/* A row's score, where codes or positions ascend. */
GPUCOL_CPU_INLINE void
raise_score(GpucolCpuExtreme *extreme, uint64_t *words, uint32_t group, uint64_t score)
{
	if (score <= words[WORD_SCORE])
		return;
	if (words[WORD_SCORE] == 0)
		extreme->touched[extreme->ntouched++] = group;
	words[WORD_SCORE] = score;
}

/* The score of a position of the dictionary, of n. */
GPUCOL_CPU_INLINE uint64_t
score_of(bool max, uint32_t n, uint32_t position)
{
	return max ? (uint64_t) position + 1 : n - position;
}

/* Advance the scores of the valid rows' groups. */
static GpucolStatus
update_scores(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuAcc *acc,
			  const uint8_t *valid)
{
	GpucolRun  *run = worker->run;
	const GpucolCpuReg *reg = &worker->regs[acc->arg];
	const uint32_t *positions = run->agg.ranks[acc->extreme].positions;
	GpucolCpuExtreme *extreme = &groups->extremes[acc->extreme];
	uint64_t   *states = groups->states + acc->offset;
	size_t		stride = run->agg.group_words;
	uint32_t	n = code_space(reg->column);
	bool		max = is_max(acc);

	if (!reserve(run, (void **) &extreme->touched, extreme->ntouched, worker->nsel,
				 &extreme->touched_room, sizeof(uint32_t)))
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		uint32_t	group = worker->ids[j];
		uint32_t	position = reg->codes[j];

		if (valid != NULL && !valid[j])
			continue;
		if (positions != NULL)
			position = positions[position];
		raise_score(extreme, states + group * stride, group, score_of(max, n, position));
	}
	return GPUCOL_OK;
}

/* Compare the valid rows' bytes with their groups'. */
static GpucolStatus
update_bytes(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuAcc *acc,
			 const uint8_t *valid)
{
	const GpucolCpuReg *reg = &worker->regs[acc->arg];
	uint64_t   *states = groups->states + acc->offset;
	size_t		stride = worker->run->agg.group_words;
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t j = 0; j < worker->nsel && status == GPUCOL_OK; j++)
		if (valid == NULL || valid[j])
			status = consider(worker->run, groups, acc, states + worker->ids[j] * stride,
							  reg->coded ? reg->column->entries[reg->codes[j]] : reg->v.s[j]);
	return status;
}

/* Is the value the one that the state has? */
static bool
is_kept(const uint64_t *words, const GpucolBytes *value)
{
	GpucolBytes kept = gpucol_cpu_extreme_value(words);

	return words[WORD_DATA] != 0 && kept.len == value->len &&
		memcmp(kept.data, value->data, kept.len) == 0;
}

/* Leave the valid rows to the main thread. */
static GpucolStatus
note_candidates(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuAcc *acc,
				const uint8_t *valid, const GpucolCpuVector *vector)
{
	const GpucolCpuReg *reg = &worker->regs[acc->arg];
	GpucolCpuExtreme *extreme = &groups->extremes[acc->extreme];
	uint64_t   *states = groups->states + acc->offset;
	size_t		stride = worker->run->agg.group_words;
	uint32_t	base = vector->delta != NULL || reg->coded ? 0 :
		vector->number * GPUCOL_VECTOR_VALUES - reg->column->window_row;

	if (!reserve(worker->run, (void **) &extreme->candidates, extreme->ncandidates,
				 worker->nsel, &extreme->candidates_room, sizeof(GpucolCpuCandidate)))
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		GpucolCpuCandidate *to = &extreme->candidates[extreme->ncandidates];

		if (valid != NULL && !valid[j])
			continue;
		to->group = worker->ids[j];
		to->value = reg->coded ? reg->codes[j] :
			base + (worker->full ? j : worker->sel[j]);
		extreme->ncandidates += reg->coded ||
			!is_kept(states + worker->ids[j] * stride, &reg->v.s[j]);
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_extreme_update(GpucolCpuWorker *worker, GpucolCpuGroups *groups,
						  const GpucolCpuAcc *acc, const uint8_t *valid,
						  const GpucolCpuVector *vector)
{
	const GpucolCpuReg *reg = &worker->regs[acc->arg];
	bool		payload = reg->column != NULL && is_payload(worker->run, reg->column->slot);

	if (reg->coded && !payload &&
		(acc->order == 0 || worker->run->agg.ranks[acc->extreme].positions != NULL))
		return update_scores(worker, groups, acc, valid);
	if (!gpucol_order_is_host(acc->order))
		return update_bytes(worker, groups, acc, valid);
	return note_candidates(worker, groups, acc, valid, vector);
}

/* ---- ranking a dictionary ---- */

/* Merge codes [a, b) and [b, c) of `from` into `to`. */
static void
merge_runs(const GpucolRun *run, const GpucolCpuAcc *acc, const GpucolBytes *entries,
		   const uint32_t *from, uint32_t a, uint32_t b, uint32_t c, uint32_t *to)
{
	uint32_t	i = a;
	uint32_t	j = b;

	for (uint32_t k = a; k < c; k++)
	{
		if (j == c || (i < b && compare(run, acc, entries[from[i]], entries[from[j]]) <= 0))
			to[k] = from[i++];
		else
			to[k] = from[j++];
	}
}

/*
 * Find where the ascending runs of the entries start; returns their number.  starts[] has
 * room for one entry more, which becomes the end.
 */
static uint32_t
find_runs(const GpucolRun *run, const GpucolCpuAcc *acc, const GpucolBytes *entries,
		  uint32_t n, uint32_t *starts)
{
	uint32_t	nruns = 0;

	starts[nruns++] = 0;
	for (uint32_t i = 1; i < n; i++)
		if (compare(run, acc, entries[i - 1], entries[i]) > 0)
			starts[nruns++] = i;
	starts[nruns] = n;
	return nruns;
}

/* Would merging this many runs of n entries take more comparisons than there are rows? */
static bool
is_hopeless(const GpucolRun *run, uint32_t n, uint32_t nruns)
{
	uint64_t	rounds = 0;

	while (nruns > UINT32_C(1) << rounds)
		rounds++;
	return n * rounds > run->input.segment.nrows;
}

/*
 * Rank the dictionary of the current segment, unless that takes too long.
 */
static GpucolStatus
rank_entries(GpucolRun *run, const GpucolCpuAcc *acc, GpucolCpuRanks *ranks)
{
	const GpucolCpuColumn *column = &run->input.cols[ranks->slot];
	uint32_t	n = column->ndict;
	size_t		size = sizeof(uint32_t) * ((size_t) code_space(column) + 1);
	uint32_t   *from;
	uint32_t   *to;
	uint32_t   *starts;
	uint32_t	nruns;

	ranks->hopeless = true;
	ranks->codes = gpucol_cpu_alloc0(run, size);
	ranks->scratch = gpucol_cpu_alloc(run, 2 * size);
	if (ranks->codes == NULL || ranks->scratch == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	from = ranks->codes;
	to = ranks->scratch;
	starts = ranks->scratch + size / sizeof(uint32_t);
	nruns = find_runs(run, acc, column->entries, n, starts);
	if (is_hopeless(run, n, nruns))
		return GPUCOL_OK;
	for (uint32_t i = 0; i < n; i++)
		from[i] = i;
	while (nruns > 1)
	{
		uint32_t	merged = 0;
		uint32_t   *swap = from;

		for (uint32_t r = 0; r < nruns; r += 2)
		{
			uint32_t	start = starts[r];
			uint32_t	middle = starts[r + 1];
			uint32_t	end = r + 2 <= nruns ? starts[r + 2] : middle;

			merge_runs(run, acc, column->entries, from, start, middle, end, to);
			starts[merged++] = start;
		}
		starts[merged] = n;
		nruns = merged;
		from = to;
		to = swap;
	}
	if (from != ranks->codes)
		memcpy(ranks->codes, from, sizeof(uint32_t) * n);
	ranks->positions = gpucol_cpu_alloc0(run, size);
	if (ranks->positions == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < n; i++)
		ranks->positions[ranks->codes[i]] = i;
	return GPUCOL_OK;
}

/* ---- in the main thread ---- */

/* The values that candidates of the window just done number. */
static const GpucolBytes *
candidate_values(const GpucolRun *run, const GpucolCpuRanks *ranks, const GpucolDelta *delta)
{
	const GpucolCpuColumn *column = &run->input.cols[ranks->slot];

	if (is_payload(run, ranks->slot))
		return column->entries;
	if (delta != NULL)
		return delta->columns[ranks->slot].bytes;
	return gpucol_cpu_stream_is_raw(column) ? column->raw : column->entries;
}

/* Compare the candidates of one partition with their groups' strings. */
static GpucolStatus
take_candidates(GpucolRun *run, GpucolCpuGroups *groups, const GpucolCpuAcc *acc,
				const GpucolBytes *values, bool ranked)
{
	const GpucolCpuRanks *ranks = &run->agg.ranks[acc->extreme];
	GpucolCpuExtreme *extreme = &groups->extremes[acc->extreme];
	GpucolStatus status = GPUCOL_OK;

	if (ranked && !reserve(run, (void **) &extreme->touched, extreme->ntouched,
						   extreme->ncandidates, &extreme->touched_room, sizeof(uint32_t)))
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < extreme->ncandidates && status == GPUCOL_OK; i++)
	{
		GpucolCpuCandidate candidate = extreme->candidates[i];
		uint64_t   *words = groups->states + acc->offset +
			(size_t) candidate.group * run->agg.group_words;

		if (ranked)
			raise_score(extreme, words, candidate.group,
						score_of(is_max(acc), code_space(&run->input.cols[ranks->slot]),
								 ranks->positions[candidate.value]));
		else if (!is_kept(words, &values[candidate.value]))
			status = consider(run, groups, acc, words, values[candidate.value]);
	}
	extreme->ncandidates = 0;
	return status;
}

/* The same for all partitions, after ranking the dictionary if that pays by now. */
static GpucolStatus
drain(GpucolRun *run, const GpucolCpuAcc *acc, const GpucolDelta *delta)
{
	GpucolCpuRanks *ranks = &run->agg.ranks[acc->extreme];
	const GpucolCpuColumn *column = &run->input.cols[ranks->slot];
	bool		coded = delta == NULL && !is_payload(run, ranks->slot) &&
		!gpucol_cpu_stream_is_raw(column);
	GpucolStatus status = GPUCOL_OK;

	for (int p = 0; p < run->agg.nparts && coded; p++)
		ranks->asked += run->agg.parts[p]->extremes[acc->extreme].ncandidates;
	if (coded && ranks->positions == NULL && !ranks->hopeless &&
		ranks->asked > column->ndict)
		status = rank_entries(run, acc, ranks);
	for (int p = 0; p < run->agg.nparts && status == GPUCOL_OK; p++)
		status = take_candidates(run, run->agg.parts[p], acc,
								 candidate_values(run, ranks, delta),
								 coded && ranks->positions != NULL);
	return status;
}

GpucolStatus
gpucol_cpu_extreme_drain(GpucolRun *run, const GpucolDelta *delta)
{
	GpucolStatus status = GPUCOL_OK;

	for (int i = 0; i < run->agg.naccs && run->agg.nextremes > 0 && status == GPUCOL_OK; i++)
		if (gpucol_cpu_extreme_is(&run->agg.accs[i]) && gpucol_order_is_host(run->agg.accs[i].order))
			status = drain(run, &run->agg.accs[i], delta);
	return status;
}

/* Turn the scores of one partition's groups into strings. */
static GpucolStatus
take_scores(GpucolRun *run, GpucolCpuGroups *groups, const GpucolCpuAcc *acc)
{
	const GpucolCpuRanks *ranks = &run->agg.ranks[acc->extreme];
	const GpucolCpuColumn *column = &run->input.cols[ranks->slot];
	GpucolCpuExtreme *extreme = &groups->extremes[acc->extreme];
	uint32_t	n = code_space(column);
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t i = 0; i < extreme->ntouched && status == GPUCOL_OK; i++)
	{
		uint64_t   *words = groups->states + acc->offset +
			(size_t) extreme->touched[i] * run->agg.group_words;
		uint32_t	position = (uint32_t) (is_max(acc) ? words[WORD_SCORE] - 1 :
										   n - words[WORD_SCORE]);

		words[WORD_SCORE] = 0;
		status = consider(run, groups, acc, words,
						  column->entries[ranks->positions == NULL ? position :
										  ranks->codes[position]]);
	}
	extreme->ntouched = 0;
	return status;
}

GpucolStatus
gpucol_cpu_extreme_close(GpucolRun *run)
{
	for (int i = 0; i < run->agg.naccs && run->agg.nextremes > 0; i++)
	{
		if (!gpucol_cpu_extreme_is(&run->agg.accs[i]) ||
			run->agg.ranks[run->agg.accs[i].extreme].slot < 0 ||
			is_payload(run, run->agg.ranks[run->agg.accs[i].extreme].slot))
			continue;
		for (int p = 0; p < run->agg.nparts; p++)
		{
			GpucolStatus status = take_scores(run, run->agg.parts[p], &run->agg.accs[i]);

			if (status != GPUCOL_OK)
				return status;
		}
	}
	return GPUCOL_OK;
}

void
gpucol_cpu_extreme_open(GpucolRun *run)
{
	for (int e = 0; e < run->agg.nextremes; e++)
	{
		GpucolCpuRanks *ranks = &run->agg.ranks[e];

		gpucol_cpu_free(run, ranks->positions);
		gpucol_cpu_free(run, ranks->codes);
		gpucol_cpu_free(run, ranks->scratch);
		ranks->positions = ranks->codes = ranks->scratch = NULL;
		ranks->asked = 0;
		ranks->hopeless = false;
	}
}

/* The column that a register of class S is loaded from, or -1. */
static int
loaded_column(const GpucolRun *run, uint16_t reg)
{
	for (int i = 0; i < run->program->ninstrs; i++)
		if (run->code.instrs[i].op == GPUCOL_OP_LOAD_S && run->code.instrs[i].dst == reg)
			return run->code.instrs[i].aux;
	return -1;
}

GpucolStatus
gpucol_cpu_extreme_init(GpucolRun *run)
{
	if (run->agg.nextremes == 0)
		return GPUCOL_OK;
	run->agg.ranks = gpucol_cpu_alloc0(run, sizeof(GpucolCpuRanks) * (size_t) run->agg.nextremes);
	if (run->agg.ranks == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int i = 0; i < run->agg.naccs; i++)
	{
		const GpucolCpuAcc *acc = &run->agg.accs[i];

		if (!gpucol_cpu_extreme_is(acc))
			continue;
		run->agg.ranks[acc->extreme].slot = loaded_column(run, acc->arg);
		if (gpucol_order_is_host(acc->order) &&
			(run->agg.ranks[acc->extreme].slot < 0 || run->host == NULL || run->host->compare == NULL))
			return GPUCOL_UNSUPPORTED;
	}
	return GPUCOL_OK;
}
