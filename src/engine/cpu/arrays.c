/*-------------------------------------------------------------------------
 *
 * arrays.c
 *	  Host predicates on arrays (kernel/array_test.h), decided on packed elements: no array is formed.
 *
 * For each segment the constants become intervals of codes: integers less the frame of reference, texts by a
 * search in the dictionary of elements.  What the chunk does not have is in none of them.  Floats have no codes
 * in their order: theirs are intervals of this order, and elements are unpacked.
 *
 * For each vector and test the elements are tested 1,024 at a time, as they are packed, which gives bits.
 * From these to rows it is a walk over bits that are set, by the lengths: most tests ask whether an array
 * has an element that passes, or one that does not.  Elements of rows that nothing is asked about are passed over.
 *
 * Few intervals are tested one by one on packed codes; many by a map of all codes, or by a search.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/arrays.h"

#include "engine/cpu/host.h"
#include "engine/cpu/items.h"
#include "kernel/array_code.h"
#include "kernel/array_test.h"
#include "kernel/bitpack.h"
#include "kernel/bytes_order.h"

#define N GPUCOL_VECTOR_VALUES

#define NO		0
#define YES		1
#define UNKNOWN 2

#define FEW_INTERVALS	6		/* are tested one by one */
#define MAP_WIDTH		16		/* codes of up to so many bits have a map */

/* A test of the tree, in the code space of a chunk. */
typedef struct Leaf
{
	const GpucolArrayTest *test;
	uint32_t	n;
	uint64_t   *lo;				/* n intervals of codes, ascending and apart */
	uint64_t   *hi;
	uint8_t    *map;			/* a byte for each code of the width; or NULL */
	bool		floats;			/* intervals are of the order of floats */
	bool		lacks;			/* CONTAINS: an element that no array of the chunk has */
} Leaf;

struct GpucolCpuArrays
{
	const GpucolArrayTest *test;
	Leaf	   *leaves;			/* in the order in which the tree is walked */
	int			nleaves;
	bool		reads_items;
};

/* ---- for a segment ---- */

static int
count_leaves(const GpucolArrayTest *test)
{
	int			n = 0;

	for (int i = 0; i < test->nargs; i++)
		n += count_leaves(test->args[i]);
	return test->nargs == 0 ? 1 : n;
}

/* Are all elements that it looks at of a width? */
static bool
has_width(const GpucolArrayTest *test, int width)
{
	for (int i = 0; i < test->nargs; i++)
		if (!has_width(test->args[i], width))
			return false;
	return !gpucol_array_test_reads_items(test) || test->width == width;
}

static const GpucolArrayTest *
get_test(const GpucolRun *run, const GpucolCpuHostTest *test)
{
	if (run->host == NULL || run->host->array == NULL || test->mapped != NULL)
		return NULL;
	return run->host->array(run->host->context, test->id);
}

bool
gpucol_cpu_arrays_decide(const GpucolRun *run, const GpucolCpuHostTest *test)
{
	return get_test(run, test) != NULL;
}

/* How many strings does a test look for? */
static uint64_t
count_strings(const GpucolArrayTest *test)
{
	uint64_t	n = 0;

	for (int i = 0; i < test->nargs; i++)
		n += count_strings(test->args[i]);
	if (gpucol_array_test_reads_items(test) && test->cls == GPUCOL_CLASS_S)
		n += (uint64_t) test->n + 1;
	return n;
}

uint64_t
gpucol_cpu_arrays_strings(const GpucolRun *run, const GpucolCpuHostTest *test)
{
	return count_strings(get_test(run, test));
}

/* Add an interval of codes behind all others. */
static void
add_interval(Leaf *leaf, uint64_t lo, uint64_t hi)
{
	if (leaf->n > 0 && leaf->hi[leaf->n - 1] + 1 == lo)
		leaf->hi[leaf->n - 1] = hi;
	else
	{
		leaf->lo[leaf->n] = lo;
		leaf->hi[leaf->n++] = hi;
	}
}

/* The codes of integers least .. most, or their places in the order of floats. */
static bool
add_numbers(const GpucolChunkDesc *desc, Leaf *leaf, int64_t least, int64_t most)
{
	uint64_t	end = gpucol_bitpack_max(desc->item_width);
	__int128	lo = (__int128) least - desc->reference;
	__int128	hi = (__int128) most - desc->reference;

	if (least > most)
		return false;
	if (leaf->floats)
	{
		lo = (__int128) least - INT64_MIN;
		hi = (__int128) most - INT64_MIN;
		end = UINT64_MAX;
	}
	if (hi < 0 || lo > (__int128) end)
		return false;
	add_interval(leaf, lo < 0 ? 0 : (uint64_t) lo, hi > (__int128) end ? end : (uint64_t) hi);
	return true;
}

/* Find an entry of a dictionary that was read. */
static bool
find_entry(const GpucolCpuColumn *column, GpucolBytes text, uint32_t *code)
{
	const GpucolBytes *entries = column->decoder.entries;
	uint32_t	lo = 0;
	uint32_t	end = column->desc->ndict;

	while (lo < end)
	{
		uint32_t	at = lo + (end - lo) / 2;

		if (gpucol_bytes_compare(&entries[at], &text) < 0)
			lo = at + 1;
		else
			end = at;
	}
	*code = lo;
	return lo < column->desc->ndict && gpucol_bytes_compare(&entries[lo], &text) == 0;
}

/* The code of a text; *found: there is one. */
static GpucolStatus
add_text(GpucolRun *run, const GpucolCpuColumn *column, Leaf *leaf, GpucolBytes text, bool *found)
{
	GpucolStatus status = GPUCOL_OK;
	uint32_t	code;

	if (column->unread)
		status = gpucol_cpu_cuts_find_entry(run, column, text, &code, found);
	else
		*found = find_entry(column, text, &code);
	if (status == GPUCOL_OK && *found)
		add_interval(leaf, code, code);
	return status;
}

/* A byte for each code: is it in an interval? */
static bool
make_map(GpucolRun *run, const GpucolChunkDesc *desc, Leaf *leaf)
{
	leaf->map = gpucol_cpu_alloc0(run, (size_t) 1 << desc->item_width);
	for (uint32_t i = 0; i < leaf->n && leaf->map != NULL; i++)
		memset(leaf->map + leaf->lo[i], 1, (size_t) (leaf->hi[i] - leaf->lo[i]) + 1);
	return leaf->map != NULL;
}

/* Translate the constants of a test of elements. */
static GpucolStatus
open_leaf(GpucolRun *run, const GpucolCpuColumn *column, const GpucolArrayTest *test, Leaf *leaf)
{
	bool		set = test->kind >= GPUCOL_ARRAY_TEST_CONTAINS && test->kind <= GPUCOL_ARRAY_TEST_OVERLAPS;
	size_t		room = set ? (size_t) test->n + 1 : 1;
	const GpucolArrayComparison *c = &test->comparison;
	GpucolStatus status = GPUCOL_OK;
	bool		found;

	leaf->test = test;
	if (!gpucol_array_test_reads_items(test) || test->unknown)
		return GPUCOL_OK;
	leaf->floats = test->cls == GPUCOL_CLASS_F;
	leaf->lo = gpucol_cpu_alloc(run, sizeof(uint64_t) * room);
	leaf->hi = gpucol_cpu_alloc(run, sizeof(uint64_t) * room);
	if (leaf->lo == NULL || leaf->hi == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (!set && test->cls == GPUCOL_CLASS_S)
		status = add_text(run, column, leaf, c->equal, &found);
	else if (!set)
		(void) add_numbers(column->desc, leaf, c->least, c->most);
	for (int i = 0; i < test->n && set && status == GPUCOL_OK; i++)
	{
		if (test->cls == GPUCOL_CLASS_S)
			status = add_text(run, column, leaf, test->strings[i], &found);
		else
			found = add_numbers(column->desc, leaf, test->numbers[i], test->numbers[i]);
		leaf->lacks |= !found;
	}
	if (status != GPUCOL_OK)
		return status;
	if (leaf->n > FEW_INTERVALS && !leaf->floats && column->desc->item_width <= MAP_WIDTH &&
		test->kind != GPUCOL_ARRAY_TEST_CONTAINS && !make_map(run, column->desc, leaf))
		return GPUCOL_OUT_OF_MEMORY;
	return GPUCOL_OK;
}

static GpucolStatus
open_leaves(GpucolRun *run, const GpucolCpuColumn *column, const GpucolArrayTest *test, GpucolCpuArrays *arrays)
{
	GpucolStatus status = GPUCOL_OK;

	if (test->nargs == 0)
		return open_leaf(run, column, test, &arrays->leaves[arrays->nleaves++]);
	for (int i = 0; i < test->nargs && status == GPUCOL_OK; i++)
		status = open_leaves(run, column, test->args[i], arrays);
	return status;
}

/* Does an ANY or ALL look for elements in intervals?  Else for others. */
static bool
seeks_passing(const GpucolArrayTest *test)
{
	return (test->kind == GPUCOL_ARRAY_TEST_ANY) != test->comparison.negate;
}

/* Does it look at elements, as the chunk has some of the constants? */
static bool
reads_items(const GpucolChunkDesc *desc, const Leaf *leaf)
{
	const GpucolArrayTest *test = leaf->test;

	if (test->unknown)
		return false;
	switch (test->kind)
	{
		case GPUCOL_ARRAY_TEST_ITEM:
		case GPUCOL_ARRAY_TEST_CONTAINED:
			return true;
		case GPUCOL_ARRAY_TEST_ANY:
		case GPUCOL_ARRAY_TEST_ALL:
			return leaf->n > 0 || !seeks_passing(test) || (desc->flags & GPUCOL_CHUNK_ITEM_NULLS) != 0;
		case GPUCOL_ARRAY_TEST_CONTAINS:
			return !test->has_null && test->n > 0 && !leaf->lacks;
		case GPUCOL_ARRAY_TEST_OVERLAPS:
			return leaf->n > 0;
		default:
			return false;
	}
}

GpucolStatus
gpucol_cpu_arrays_open(GpucolRun *run, GpucolCpuHostTest *test)
{
	const GpucolCpuColumn *column = &run->input.cols[test->column];
	const GpucolArrayTest *array = get_test(run, test);
	GpucolStatus status;

	if (array == NULL || column->desc->coding != GPUCOL_CODING_ARRAY)
		return GPUCOL_OK;
	/* no program that was made has such a column */
	if (!has_width(array, column->desc->item_bytes))
		return GPUCOL_CORRUPT;
	test->arrays = gpucol_cpu_alloc0(run, sizeof(GpucolCpuArrays));
	if (test->arrays == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	test->arrays->test = array;
	test->arrays->leaves = gpucol_cpu_alloc0(run, sizeof(Leaf) * (size_t) count_leaves(array));
	if (test->arrays->leaves == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	status = open_leaves(run, column, array, test->arrays);
	for (int i = 0; i < test->arrays->nleaves && status == GPUCOL_OK; i++)
		test->arrays->reads_items |= reads_items(column->desc, &test->arrays->leaves[i]);
	return status;
}

void
gpucol_cpu_arrays_reset(GpucolRun *run, GpucolCpuHostTest *test)
{
	if (test->arrays == NULL)
		return;
	for (int i = 0; i < test->arrays->nleaves; i++)
	{
		gpucol_cpu_free(run, test->arrays->leaves[i].lo);
		gpucol_cpu_free(run, test->arrays->leaves[i].hi);
		gpucol_cpu_free(run, test->arrays->leaves[i].map);
	}
	gpucol_cpu_free(run, test->arrays->leaves);
	gpucol_cpu_free(run, test->arrays);
	test->arrays = NULL;
}

bool
gpucol_cpu_arrays_read_items(const GpucolCpuHostTest *test)
{
	return test->arrays != NULL && test->arrays->reads_items;
}

/* Is a part of the tree true for no row?  Its leaves are those from *leaf on. */
static bool
is_never(const GpucolArrayTest *test, const Leaf **leaf)
{
	bool		never = test->kind == GPUCOL_ARRAY_TEST_OR;

	if (test->nargs == 0)
	{
		const Leaf *own = (*leaf)++;

		if (test->unknown)
			return test->kind != GPUCOL_ARRAY_TEST_ALL;
		if (test->kind == GPUCOL_ARRAY_TEST_CONTAINS)
			return test->has_null || own->lacks;
		return own->n == 0 && (test->kind == GPUCOL_ARRAY_TEST_OVERLAPS ||
							   ((test->kind == GPUCOL_ARRAY_TEST_ANY || test->kind == GPUCOL_ARRAY_TEST_ITEM) &&
								!test->comparison.negate));
	}
	for (int i = 0; i < test->nargs; i++)
	{
		bool		one = is_never(test->args[i], leaf);

		never = test->kind == GPUCOL_ARRAY_TEST_OR ? never && one : never || one;
	}
	return never && test->kind != GPUCOL_ARRAY_TEST_NOT;
}

bool
gpucol_cpu_arrays_never(const GpucolCpuHostTest *test)
{
	const Leaf *leaf = test->arrays->leaves;

	return is_never(test->arrays->test, &leaf);
}

/* ---- for a vector ---- */

/* What is asked about. */
typedef struct Asked
{
	const GpucolDecoder *decoder;
	uint64_t	start;			/* of the elements in the chunk; */
	uint32_t	nitems;
	uint32_t	ends[N];		/* by row, from `start` */
	uint32_t	lengths[N];
	bool		some_null;
	uint8_t		nulls[N];		/* array is NULL */
} Asked;

/* ---- a byte for each row, 0 or 1, eight at a time ---- */

#define ONES UINT64_C(0x0101010101010101)

/* A byte for each bit. */
static void
spread_bits(const uint32_t *bits, uint8_t *bytes)
{
	for (uint32_t i = 0; i < N; i += 8)
	{
		uint64_t	some = (bits[i / 32] >> i % 32 & 0xff) * ONES & UINT64_C(0x8040201008040201);

		some = (some + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & ONES;
		memcpy(bytes + i, &some, sizeof(some));
	}
}

/* a = a AND b */
static void
and_bytes(uint8_t *a, const uint8_t *b)
{
	for (uint32_t i = 0; i < N; i += 8)
	{
		uint64_t	x;
		uint64_t	y;

		memcpy(&x, a + i, sizeof(x));
		memcpy(&y, b + i, sizeof(y));
		x &= y;
		memcpy(a + i, &x, sizeof(x));
	}
}

/* a = NOT a */
static void
invert_bytes(uint8_t *a)
{
	for (uint32_t i = 0; i < N; i += 8)
	{
		uint64_t	x;

		memcpy(&x, a + i, sizeof(x));
		x ^= ONES;
		memcpy(a + i, &x, sizeof(x));
	}
}

/* ---- bits of elements, and rows that they are of ---- */

/* What bits of elements are wanted. */
typedef enum Wanted
{
	PASSING,					/* those in intervals, */
	OTHERS,						/* those in none, */
	OTHERS_OR_NULL,				/* these and NULLs, */
	NULLS						/* or these alone */
} Wanted;

/* Is a value in one of the intervals? */
static bool
in_intervals(const Leaf *leaf, uint64_t value)
{
	uint32_t	lo = 0;
	uint32_t	end = leaf->n;

	while (lo < end)
	{
		uint32_t	at = lo + (end - lo) / 2;

		if (leaf->hi[at] < value)
			lo = at + 1;
		else
			end = at;
	}
	return lo < leaf->n && leaf->lo[lo] <= value;
}

/* Elements of 1,024 that are in intervals, by a map of codes. */
static void
look_up_codes(const Leaf *leaf, int width, const char *words, uint32_t *bits)
{
	uint32_t	codes[N];

	gpucol_bitpack_unpack32(width, words, codes);
	for (uint32_t w = 0; w < N / 32; w++)
	{
		uint32_t	word = 0;

		for (uint32_t i = 0; i < 32; i++)
			word |= (uint32_t) leaf->map[codes[w * 32 + i]] << i;
		bits[w] = word;
	}
}

/* The same by a search for each; apart, as its array is large. */
static __attribute__((noinline)) void
search_codes(const Leaf *leaf, const GpucolChunkDesc *desc, const char *words, uint32_t *bits)
{
	uint64_t	codes[N];

	gpucol_bitpack_unpack_for(desc->item_width, words, leaf->floats ? desc->reference : 0, (int64_t *) codes);
	memset(bits, 0, sizeof(uint32_t) * (N / 32));
	for (uint32_t i = 0; i < N; i++)
	{
		uint64_t	value = codes[i];

		if (leaf->floats)
			value = (uint64_t) gpucol_float_order(gpucol_cpu_items_float((int64_t) value, leaf->test->width)) ^
				UINT64_C(1) << 63;
		bits[i / 32] |= (uint32_t) in_intervals(leaf, value) << i % 32;
	}
}

/* Elements of 1,024 that are in intervals. */
static void
test_codes(const Leaf *leaf, const GpucolChunkDesc *desc, const char *words, uint32_t *bits)
{
	uint32_t	more[N / 32];

	if (leaf->map != NULL)
	{
		look_up_codes(leaf, desc->item_width, words, bits);
		return;
	}
	if (leaf->floats || leaf->n > FEW_INTERVALS)
	{
		search_codes(leaf, desc, words, bits);
		return;
	}
	memset(bits, 0, sizeof(more));
	for (uint32_t i = 0; i < leaf->n; i++)
	{
		(void) gpucol_bitpack_range(desc->item_width, words, leaf->lo[i], leaf->hi[i], more);
		for (uint32_t w = 0; w < N / 32; w++)
			bits[w] |= more[w];
	}
}

/* Bits of elements 1,024 group .. of the chunk. */
static GpucolStatus
make_bits(const Asked *asked, const Leaf *leaf, Wanted wanted, uint32_t group, uint32_t *bits)
{
	const GpucolChunkDesc *desc = asked->decoder->desc;
	GpucolItemWords words;
	GpucolStatus status = gpucol_decode_item_words(asked->decoder, group, &words);
	uint32_t	nulls[N / 32] = {0};

	if (status != GPUCOL_OK)
		return status;
	if (words.nulls != NULL)
		memcpy(nulls, words.nulls, sizeof(nulls));
	if (wanted == NULLS)
	{
		memcpy(bits, nulls, sizeof(nulls));
		return GPUCOL_OK;
	}
	test_codes(leaf, desc, words.codes, bits);
	for (uint32_t w = 0; w < N / 32; w++)
		bits[w] = wanted == PASSING ? bits[w] & ~nulls[w] : wanted == OTHERS ? ~(bits[w] | nulls[w]) :
			~bits[w] | nulls[w];
	return GPUCOL_OK;
}

/* Mark the rows from *row on of which an element from..to - 1 has its bit set; element 0 of bits[] is number `base`. */
static void
mark_rows(const Asked *asked, const uint32_t *bits, int64_t base, uint32_t from, uint32_t to, uint32_t *row,
		  uint8_t *marks)
{
	for (uint32_t w = from / 32; w * 32 < to; w++)
	{
		uint32_t	word = bits[w];

		if (from >= (w + 1) * 32)
			continue;
		if (from > w * 32)
			word &= UINT32_MAX << (from - w * 32);
		if (to < (w + 1) * 32)
			word &= (UINT32_C(1) << (to - w * 32)) - 1;
		while (word != 0)
		{
			uint32_t	item = (uint32_t) (base + w * 32 + __builtin_ctz(word));

			while (asked->ends[*row] <= item)
				(*row)++;
			marks[*row] = 1;
			/* on behind the row's last element */
			from = asked->ends[*row] - base < N ? (uint32_t) (asked->ends[*row] - base) : N;
			if (from >= (w + 1) * 32)
				break;
			word &= UINT32_MAX << (from - w * 32);
		}
	}
}

/*
 * marks[i] = has row i an element whose bit is set?  Rows that are not `open` may be left out.
 */
static GpucolStatus
find_rows(const Asked *asked, const Leaf *leaf, Wanted wanted, const uint8_t *open, uint8_t *marks)
{
	uint32_t	bits[N / 32];
	uint32_t	row = 0;

	memset(marks, 0, N);
	if (asked->nitems == 0 || (wanted == PASSING && leaf->n == 0))
		return GPUCOL_OK;
	for (uint64_t group = asked->start / N; group * N < asked->start + asked->nitems; group++)
	{
		int64_t		base = (int64_t) (group * N - asked->start);
		uint32_t	from = base < 0 ? (uint32_t) -base : 0;
		uint32_t	to = asked->nitems - base < N ? (uint32_t) (asked->nitems - base) : N;
		uint32_t	last;
		GpucolStatus status;

		while (asked->ends[row] <= base + from)
			row++;
		for (last = row; asked->ends[last] < base + to && !open[last];)
			last++;
		if (!open[last])
			continue;
		status = make_bits(asked, leaf, wanted, (uint32_t) group, bits);
		if (status != GPUCOL_OK)
			return status;
		mark_rows(asked, bits, base, from, to, &row, marks);
	}
	return GPUCOL_OK;
}

/* ANY: is one of the elements so?  ALL: are all?  NULLs leave doubt. */
static GpucolStatus
ask_each(const Asked *asked, const Leaf *leaf, const uint8_t *open, uint8_t *verdicts)
{
	bool		any = leaf->test->kind == GPUCOL_ARRAY_TEST_ANY;
	uint8_t		marks[N];
	GpucolStatus status = GPUCOL_OK;

	status = find_rows(asked, leaf, seeks_passing(leaf->test) ? PASSING : OTHERS, open, verdicts);
	if (!any)
		invert_bytes(verdicts);
	if (status != GPUCOL_OK || (asked->decoder->desc->flags & GPUCOL_CHUNK_ITEM_NULLS) == 0)
		return status;
	status = find_rows(asked, leaf, NULLS, open, marks);
	for (uint32_t i = 0; i < N; i++)
		verdicts[i] = marks[i] && verdicts[i] != any ? UNKNOWN : verdicts[i];
	return status;
}

/* All of a set, one after another. */
static GpucolStatus
ask_contains(const Asked *asked, const Leaf *leaf, const uint8_t *open, uint8_t *verdicts)
{
	const GpucolArrayTest *test = leaf->test;
	GpucolStatus status = GPUCOL_OK;
	uint8_t		marks[N];
	uint64_t	code;
	Leaf		one = *leaf;

	memset(verdicts, test->has_null || leaf->lacks ? NO : YES, N);
	if (test->has_null || leaf->lacks)
		return GPUCOL_OK;
	one.lo = one.hi = &code;
	one.n = 1;
	if (test->n > 0)
		memcpy(verdicts, open, N);
	for (uint32_t i = 0; i < N && test->n > 1; i++)
		verdicts[i] &= asked->lengths[i] >= (uint32_t) test->n;
	for (uint32_t i = 0; i < leaf->n; i++)
		for (code = leaf->lo[i];; code++)
		{
			status = find_rows(asked, &one, PASSING, verdicts, marks);
			and_bytes(verdicts, marks);
			if (status != GPUCOL_OK || memchr(verdicts, YES, N) == NULL)
				return status;
			if (code == leaf->hi[i])
				break;
		}
	return GPUCOL_OK;
}

static GpucolStatus
ask_set(const Asked *asked, const Leaf *leaf, const uint8_t *open, uint8_t *verdicts)
{
	bool		overlaps = leaf->test->kind == GPUCOL_ARRAY_TEST_OVERLAPS;
	GpucolStatus status = find_rows(asked, leaf, overlaps ? PASSING : OTHERS_OR_NULL, open, verdicts);

	if (!overlaps)
		invert_bytes(verdicts);
	return status;
}

/* One element of each. */
static GpucolStatus
ask_item(const Asked *asked, const Leaf *leaf, const uint8_t *open, uint8_t *verdicts)
{
	int64_t		subscript = leaf->test->subscript;
	bool		negate = leaf->test->comparison.negate;
	uint64_t	known = UINT64_MAX;
	uint32_t	passing[N / 32];
	uint32_t	nulls[N / 32];
	GpucolStatus status = GPUCOL_OK;

	memset(verdicts, UNKNOWN, N);
	for (uint32_t i = 0; i < N && status == GPUCOL_OK; i++)
	{
		uint64_t	item = asked->start + asked->ends[i] - asked->lengths[i] + (uint64_t) (subscript - 1);
		uint32_t	at = item % N;

		if (!open[i] || subscript < 1 || subscript > asked->lengths[i])
			continue;
		if (item / N != known)
		{
			known = item / N;
			status = make_bits(asked, leaf, negate ? OTHERS : PASSING, (uint32_t) known, passing);
			if (status == GPUCOL_OK)
				status = make_bits(asked, leaf, NULLS, (uint32_t) known, nulls);
		}
		if (status == GPUCOL_OK && (nulls[at / 32] >> at % 32 & 1) == 0)
			verdicts[i] = passing[at / 32] >> at % 32 & 1;
	}
	return status;
}

static GpucolStatus
ask_size(const Asked *asked, const Leaf *leaf, uint8_t *verdicts)
{
	const GpucolArrayComparison *c = &leaf->test->comparison;
	int32_t		shape[2] = {0, 1};
	GpucolArrayValue array = {.shape = (const char *) shape};
	int64_t		size;

	for (uint32_t i = 0; i < N; i++)
	{
		shape[0] = (int32_t) asked->lengths[i];
		array.nitems = asked->lengths[i];
		array.ndim = array.nitems > 0;
		verdicts[i] = !gpucol_array_size(&array, leaf->test->size, &size) ? UNKNOWN :
			(size >= c->least && size <= c->most) != c->negate;
	}
	return GPUCOL_OK;
}

/* A comparison with NULL. */
static GpucolStatus
ask_unknown(const Asked *asked, const Leaf *leaf, uint8_t *verdicts)
{
	bool		each = leaf->test->kind == GPUCOL_ARRAY_TEST_ANY || leaf->test->kind == GPUCOL_ARRAY_TEST_ALL;

	memset(verdicts, UNKNOWN, N);
	for (uint32_t i = 0; i < N && each; i++)
		if (asked->lengths[i] == 0 && !asked->nulls[i])
			verdicts[i] = leaf->test->kind == GPUCOL_ARRAY_TEST_ALL;
	return GPUCOL_OK;
}

/* One test of the tree. */
static GpucolStatus
ask_leaf(const Asked *asked, const Leaf *leaf, const uint8_t *open, uint8_t *verdicts)
{
	GpucolStatus status = GPUCOL_OK;

	if (leaf->test->unknown)
		return ask_unknown(asked, leaf, verdicts);
	switch (leaf->test->kind)
	{
		case GPUCOL_ARRAY_TEST_SIZE:
			status = ask_size(asked, leaf, verdicts);
			break;
		case GPUCOL_ARRAY_TEST_ITEM:
			status = ask_item(asked, leaf, open, verdicts);
			break;
		case GPUCOL_ARRAY_TEST_ANY:
		case GPUCOL_ARRAY_TEST_ALL:
			status = ask_each(asked, leaf, open, verdicts);
			break;
		case GPUCOL_ARRAY_TEST_CONTAINS:
			status = ask_contains(asked, leaf, open, verdicts);
			break;
		case GPUCOL_ARRAY_TEST_IS_NULL:
			for (uint32_t i = 0; i < N; i++)
				verdicts[i] = asked->nulls[i] != leaf->test->comparison.negate;
			return GPUCOL_OK;
		default:
			status = ask_set(asked, leaf, open, verdicts);
			break;
	}
	for (uint32_t i = 0; i < N && asked->some_null; i++)
		verdicts[i] = asked->nulls[i] ? UNKNOWN : verdicts[i];
	return status;
}

/* A part of the tree, whose leaves are those from *leaf on. */
static GpucolStatus
ask_tree(const Asked *asked, const GpucolArrayTest *test, const Leaf **leaf, const uint8_t *open, uint8_t *verdicts)
{
	/* of two verdicts, this one wins; else UNKNOWN does */
	uint8_t		strong = test->kind == GPUCOL_ARRAY_TEST_AND ? NO : YES;
	uint8_t		other[N];
	GpucolStatus status;

	if (test->nargs == 0)
		return ask_leaf(asked, (*leaf)++, open, verdicts);
	status = ask_tree(asked, test->args[0], leaf, open, verdicts);
	for (int a = 1; a < test->nargs && status == GPUCOL_OK; a++)
	{
		status = ask_tree(asked, test->args[a], leaf, open, other);
		for (uint32_t i = 0; i < N; i++)
			if (other[i] == strong || (other[i] == UNKNOWN && verdicts[i] != strong))
				verdicts[i] = other[i];
	}
	for (uint32_t i = 0; i < N && test->kind == GPUCOL_ARRAY_TEST_NOT; i++)
		verdicts[i] = verdicts[i] == UNKNOWN ? UNKNOWN : !verdicts[i];
	return status;
}

GpucolStatus
gpucol_cpu_arrays_ask(const GpucolCpuHostTest *test, const GpucolDecoder *decoder, uint32_t vector,
					  const uint32_t *which, uint8_t verdicts[N])
{
	const Leaf *leaf = test->arrays->leaves;
	Asked		asked;
	uint32_t	nulls[N / 32] = {0};
	uint32_t	left[N / 32];
	uint8_t		open[N];
	uint64_t	end;
	uint32_t	at = 0;
	GpucolStatus status = gpucol_decode_lengths(decoder, vector, asked.lengths, &asked.start, &end);

	asked.decoder = decoder;
	asked.some_null = (decoder->desc->flags & GPUCOL_CHUNK_HAS_NULLS) != 0;
	if (status == GPUCOL_OK && asked.some_null)
		status = gpucol_decode_nulls(decoder, vector, nulls);
	if (status == GPUCOL_OK && end - asked.start > GPUCOL_ARRAY_VECTOR_ITEMS)
		status = GPUCOL_CORRUPT;
	if (status != GPUCOL_OK)
		return status;
	asked.nitems = (uint32_t) (end - asked.start);
	for (uint32_t i = 0; i < N; i++)
	{
		at += asked.lengths[i];
		asked.ends[i] = at;
	}
	for (uint32_t w = 0; w < N / 32; w++)
		left[w] = which[w] & ~nulls[w];
	spread_bits(nulls, asked.nulls);
	spread_bits(left, open);
	return ask_tree(&asked, test->arrays->test, &leaf, open, verdicts);
}
