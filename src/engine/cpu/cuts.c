/*-------------------------------------------------------------------------
 *
 * cuts.c
 *	  Host predicates that the order of values decides, in sorted dictionaries.
 *
 * Of some predicates the host says at which places of the order of bytes they turn from
 * false to true and back (GpucolCuts).  The entries of a dictionary ascend in that order,
 * so a few probes find the codes between which the predicate holds: no entry is
 * tested, and a dictionary that nothing else needs is not read at all.  A segment that
 * has no such entry is passed over before any dictionary is read.
 *
 * Of raw bytes only the lengths are at hand: a predicate that tells strings without bytes from
 * all others (x <> '') is decided by them, and no byte is read for it.
 *
 * Of numerics that are packed as mantissas the words ascend with the values: then a cut is
 * computed, and codes decide (numeric_cut).
 *
 * So are the codes of a few elements that are sought in arrays of texts (arrays.h).
 *
 * A probe reads two offsets and as many bytes as the cut has, and checks that they lie
 * within their stream.  That entries ascend is not checked then, as it is where a whole
 * dictionary is loaded: wrong bytes give other codes, as wrong codes would.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/arrays.h"
#include "engine/cpu/host.h"
#include "engine/cpu/items.h"
#include "kernel/bitpack.h"
#include "kernel/numeric_code.h"

/* Entries whose reading and testing takes longer than finding a cut. */
#define ENTRIES_A_CUT	256

/* Turns of a predicate on numerics that are looked for: of these at most two may lie in a chunk. */
#define MOST_NUMBERS	64

/* A dictionary that is searched. */
typedef struct Search
{
	GpucolRun  *run;
	const GpucolCpuColumn *column;
	char	   *bytes;			/* room for the longest cut */
} Search;

/* Does entry `code` lie before the cut? */
static GpucolStatus
lies_before(Search *search, uint32_t code, const GpucolCut *cut, bool *before)
{
	GpucolRun  *run = search->run;
	const GpucolCpuColumn *column = search->column;
	uint64_t	ends[2];
	size_t		len;
	size_t		some;
	int			order = 0;
	GpucolStatus status;

	status = gpucol_cpu_stream_copy(run, column->slot, GPUCOL_STREAM_DICT,
									sizeof(uint64_t) * (uint64_t) code, sizeof(ends), ends);
	if (status != GPUCOL_OK)
		return status;
	if (ends[0] > ends[1] || ends[1] > column->desc->data_bytes)
		return GPUCOL_CORRUPT;
	len = (size_t) (ends[1] - ends[0]);
	some = len < cut->value.len ? len : cut->value.len;
	if (some > 0)
	{
		status = gpucol_cpu_stream_copy(run, column->slot, GPUCOL_STREAM_DATA, ends[0], some,
										search->bytes);
		if (status != GPUCOL_OK)
			return status;
		order = memcmp(search->bytes, cut->value.data, some);
	}
	if (order != 0 || len < cut->value.len)
		*before = order <= 0;
	else
		*before = cut->place == GPUCOL_CUT_BEHIND_PREFIX ||
			(cut->place == GPUCOL_CUT_BEHIND && len == cut->value.len);
	return GPUCOL_OK;
}

/*
 * The first code at or after *code that lies behind a cut; where `near`, it is thought to
 * be one of the next.
 */
static GpucolStatus
find_cut(Search *search, const GpucolCut *cut, bool near, uint32_t *code)
{
	uint32_t	end = search->column->desc->ndict;
	uint32_t	low = *code;
	uint32_t	step = 1;
	bool		before;

	while (low < end)
	{
		uint32_t	room = end - low;
		uint32_t	probe = low + (near ? (step < room ? step : room) - 1 : room / 2);
		GpucolStatus status = lies_before(search, probe, cut, &before);

		if (status != GPUCOL_OK)
			return status;
		if (before)
			low = probe + 1;
		else
		{
			end = probe;
			near = false;
		}
		step *= 2;
	}
	*code = low;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_cuts_find_entry(GpucolRun *run, const GpucolCpuColumn *column, GpucolBytes value, uint32_t *code,
						   bool *found)
{
	Search		search = {run, column, gpucol_cpu_alloc(run, value.len + 1)};
	GpucolCut	before = {value, GPUCOL_CUT_BEFORE};
	GpucolCut	behind = {value, GPUCOL_CUT_BEHIND};
	GpucolStatus status = GPUCOL_OUT_OF_MEMORY;

	*code = 0;
	*found = false;
	if (search.bytes != NULL)
		status = find_cut(&search, &before, false, code);
	if (status == GPUCOL_OK && *code < column->desc->ndict)
		status = lies_before(&search, *code, &behind, found);
	gpucol_cpu_free(run, search.bytes);
	return status;
}

/* Is a column's dictionary that of its arrays' elements, of which a few are looked for, and nothing else is wanted? */
static bool
seeks_items(const GpucolRun *run, const GpucolCpuColumn *column)
{
	uint64_t	sought = 0;

	if (column->desc->coding != GPUCOL_CODING_ARRAY || !column->used ||
		(column->loaded && !gpucol_cpu_column_has_sizes(column)))
		return false;
	for (int h = 0; h < run->digest.nhosts; h++)
		if (run->digest.hosts[h].column == column->slot)
		{
			if (!gpucol_cpu_arrays_decide(run, &run->digest.hosts[h]))
				return false;
			sought += gpucol_cpu_arrays_strings(run, &run->digest.hosts[h]);
		}
	return sought * ENTRIES_A_CUT < column->desc->ndict;
}

/* One more code at which the predicate turns: two at one code undo each other. */
static void
add_turn(GpucolCpuHostTest *test, uint64_t code, uint64_t ncodes)
{
	if (code == 0)
		test->first = !test->first;
	else if (test->nturns > 0 && test->turns[test->nturns - 1] == code)
		test->nturns--;
	else if (code < ncodes)
		test->turns[test->nturns++] = code;
}

/* Find the codes at which a predicate turns. */
static GpucolStatus
find_turns(GpucolRun *run, GpucolCpuHostTest *test, const GpucolCuts *cuts)
{
	Search		search = {run, &run->input.cols[test->column], NULL};
	GpucolStatus status = GPUCOL_OK;
	uint32_t	code = 0;
	size_t		longest = 1;

	for (int i = 0; i < cuts->n; i++)
		longest = cuts->cuts[i].value.len > longest ? cuts->cuts[i].value.len : longest;
	search.bytes = gpucol_cpu_alloc(run, longest);
	test->turns = gpucol_cpu_alloc(run, sizeof(uint64_t) * ((size_t) cuts->n + 1));
	if (search.bytes == NULL || test->turns == NULL)
		status = GPUCOL_OUT_OF_MEMORY;
	test->first = cuts->first;
	test->nturns = 0;
	for (int i = 0; i < cuts->n && status == GPUCOL_OK; i++)
	{
		/* behind a value is near before it */
		status = find_cut(&search, &cuts->cuts[i], i % 2 == 1, &code);
		if (status == GPUCOL_OK)
			add_turn(test, code, search.column->desc->ndict);
	}
	gpucol_cpu_free(run, search.bytes);
	return status;
}

/* The cuts of a predicate, if they are found sooner than all entries are tested. */
static const GpucolCuts *
useful_cuts(const GpucolRun *run, const GpucolCpuHostTest *test)
{
	const GpucolChunkDesc *desc = run->input.cols[test->column].desc;
	const GpucolCuts *cuts;

	if (run->host->cuts == NULL || (desc->flags & GPUCOL_CHUNK_ALL_NULL) ||
		desc->coding != GPUCOL_CODING_DICT)
		return NULL;
	cuts = run->host->cuts(run->host->context, test->id);
	return cuts != NULL && !cuts->numbers && (uint64_t) cuts->n * ENTRIES_A_CUT < desc->ndict ? cuts : NULL;
}

/*
 * Raw bytes of a predicate that turns where the string without bytes is, and nowhere else:
 * then lengths, which are the codes of the chunk, decide.
 */
static bool
find_length(GpucolRun *run, GpucolCpuHostTest *test)
{
	const GpucolCuts *cuts = NULL;
	bool		more;

	if (gpucol_cpu_stream_is_raw(&run->input.cols[test->column]) &&
		run->input.cols[test->column].desc->coding == GPUCOL_CODING_RAW && !test->by_instr &&
		run->host->cuts != NULL)
		cuts = run->host->cuts(run->host->context, test->id);
	if (cuts == NULL || cuts->numbers)
		return false;
	test->first = more = cuts->first;
	for (int i = 0; i < cuts->n; i++)
	{
		if (cuts->cuts[i].value.len > 0)
			return false;
		test->first ^= cuts->cuts[i].place == GPUCOL_CUT_BEFORE;
		more ^= cuts->cuts[i].place != GPUCOL_CUT_BEHIND_PREFIX;
	}
	gpucol_cpu_free(run, test->turns);
	test->turns = gpucol_cpu_alloc(run, sizeof(uint64_t));
	if (test->turns == NULL)
		return false;
	test->turns[0] = 1;
	test->nturns = more != test->first;
	test->in_order = true;
	return true;
}

/*
 * The first word of a chunk of numerics that lies behind a cut, which is far from int64's ends
 * where all words do; false if the cut has too many digits.
 */
static bool
numeric_cut(const GpucolChunkDesc *desc, const GpucolCut *cut, int64_t *word)
{
	__int128	packed = 0;
	__int128	mantissa;
	__int128	power;
	__int128	whole;
	int			more;
	bool		exact = true;

	if (gpucol_packed_read(cut->value.data, cut->value.len, &packed) != GPUCOL_OK)
		return false;
	more = desc->scale - gpucol_packed_scale(packed);
	mantissa = gpucol_packed_mantissa(packed);
	if (more < -37 || (more > 0 && gpucol_shift_digits(mantissa, more, &mantissa) != GPUCOL_OK))
		return false;
	power = more < 0 ? (__int128) gpucol_power10(-more) : 1;
	whole = mantissa / power;
	if (whole * power != mantissa)
	{
		exact = false;
		whole -= mantissa < 0;	/* the greatest that is less */
	}
	/* before a value stand those that are less; behind it those that are equal, too */
	if (!exact || cut->place != GPUCOL_CUT_BEFORE)
		whole++;
	*word = whole > INT64_MAX >> desc->hidden ? INT64_MAX : whole < INT64_MIN >> desc->hidden ? INT64_MIN :
		(int64_t) ((uint64_t) (int64_t) whole << desc->hidden);
	return true;
}

/* Numerics that are packed as mantissas, of a predicate that their order decides. */
static bool
find_numbers(GpucolRun *run, GpucolCpuHostTest *test)
{
	const GpucolChunkDesc *desc = run->input.cols[test->column].desc;
	const GpucolCuts *cuts = NULL;

	if (desc->coding == GPUCOL_CODING_NUMERIC && !(desc->flags & GPUCOL_CHUNK_ALL_NULL) && !test->by_instr &&
		run->host->cuts != NULL)
		cuts = run->host->cuts(run->host->context, test->id);
	if (cuts == NULL || !cuts->numbers || cuts->n > MOST_NUMBERS)
		return false;
	gpucol_cpu_free(run, test->turns);
	test->turns = gpucol_cpu_alloc(run, sizeof(uint64_t) * MOST_NUMBERS);
	if (test->turns == NULL)
		return false;
	test->first = cuts->first;
	test->nturns = 0;
	for (int i = 0; i < cuts->n; i++)
	{
		int64_t		word;

		if (!numeric_cut(desc, &cuts->cuts[i], &word))
			return false;
		add_turn(test, word <= desc->reference ? 0 : (uint64_t) word - (uint64_t) desc->reference,
				 gpucol_bitpack_max(desc->width) + 1);
	}
	test->in_order = test->nturns <= 2;
	return test->in_order;
}

GpucolStatus
gpucol_cpu_cuts_open(GpucolRun *run)
{
	for (int c = 0; c < run->program->ncolumns; c++)
	{
		GpucolCpuColumn *column = &run->input.cols[c];

		column->unread = column->used && column->desc->kind == GPUCOL_KIND_BYTES &&
			((!column->loaded && column->desc->coding == GPUCOL_CODING_DICT) || seeks_items(run, column));
	}
	for (int h = 0; h < run->digest.nhosts; h++)
	{
		GpucolCpuHostTest *test = &run->digest.hosts[h];
		const GpucolCuts *cuts = useful_cuts(run, test);

		if (find_length(run, test) || find_numbers(run, test))
			continue;
		test->in_order = cuts != NULL;
		if (cuts != NULL)
		{
			GpucolStatus status = find_turns(run, test, cuts);

			if (status != GPUCOL_OK)
				return status;
		}
		else if (!seeks_items(run, &run->input.cols[test->column]))
			run->input.cols[test->column].unread = false;
	}
	return GPUCOL_OK;
}

bool
gpucol_cpu_cuts_exclude(const GpucolRun *run)
{
	for (int d = 0; d < run->program->nranges; d++)
	{
		const GpucolCpuDomain *domain = &run->digest.domains[d];
		const GpucolCpuHostTest *test;

		if (domain->op != GPUCOL_CPU_HOST)
			continue;
		test = &run->digest.hosts[domain->host];
		if (test->in_order && test->nturns == 0 && !test->first &&
			!((run->input.cols[test->column].desc->flags & GPUCOL_CHUNK_HAS_NULLS) != 0 &&
			  test->null_verdict == 1))
			return true;
	}
	return false;
}

void
gpucol_cpu_cuts_fill(const GpucolCpuHostTest *test, uint32_t ndict, uint8_t *verdicts)
{
	uint32_t	from = 0;
	bool		holds = test->first;

	for (uint32_t i = 0; i <= test->nturns; i++)
	{
		uint32_t	end = i < test->nturns ? (uint32_t) test->turns[i] : ndict;

		memset(verdicts + from, holds, end - from);
		from = end;
		holds = !holds;
	}
}

void
gpucol_cpu_cuts_reset(GpucolRun *run)
{
	for (int h = 0; h < run->digest.nhosts; h++)
	{
		gpucol_cpu_free(run, run->digest.hosts[h].turns);
		run->digest.hosts[h].turns = NULL;
		run->digest.hosts[h].in_order = false;
	}
}
