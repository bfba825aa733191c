/*-------------------------------------------------------------------------
 *
 * window_screen.c
 *	  Few rows of each partition matter: rows that come in are held against a bar that their
 *	  partition has set.
 *
 * When rows have been dropped (window_few.c), a partition of which as many are left as matter
 * sets a bar: the first key of the order of the last one.  A row that comes later and sorts
 * behind it by that key alone has all of them before it, so it is passed over before anything
 * of it is copied or computed.  So is one that ties, where the order has no other key and peers
 * do not matter: rows that tie are numbered as they come.  Bars are made anew, and higher, whenever rows are dropped.
 *
 * Where very few rows of each partition matter, and nothing is computed of rows while they come in, they have
 * places: the rows that are kept of each partition are known from the first on, and one that sorts before the last
 * of them takes its place, values and all.  So rows may come in any order (the latest row of
 * each key, of a log that grows by time), and hardly any have to be dropped.  One that ties with the last one by
 * the first key is kept without a place.
 *
 * Partitions are told apart by the bytes of their keys: equal keys of other bytes find no bar,
 * so their rows are kept until they are sorted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"

#include "base/hash_table.h"
#include "exec/image.h"
#include "exec/window.h"

/* After so many rows of which fewer than one in FEWEST was passed over, no more are tried. */
#define TRIED_ROWS	16384
#define FEWEST		8

/* So many rows before they are needed bars are fetched, rows in last places, and their values by reference. */
#define BARS_AHEAD		24
#define ROWS_AHEAD		16
#define VALUES_AHEAD	6

/* At most so many rows of a partition have places, and for so many partitions there is room at first. */
#define MOST_PLACES		8
#define FIRST_PARTITIONS	1024

/* How the first key of the order becomes an integer. */
typedef enum CodeKind
{
	CODE_PLAIN,					/* its code */
	CODE_NUMERIC,				/* a mantissa */
	CODE_BYTES,					/* its first eight bytes, which may be equal where values are not */
} CodeKind;

/* What the last row that matters of a partition sets. */
typedef struct Bar
{
	uint64		code;
	bool		isnull;			/* none: its key is NULL */
	uint8		nplaces;		/* that are taken */
	uint8		last;			/* the place of the row */
	uint32		row;			/* a kept one of the partition */
	Datum		first;			/* its first key, if that is passed by value and not NULL */
} Bar;

/* A row that has a place. */
typedef struct Place
{
	uint64		code;
	uint32		row;
	bool		isnull;
} Place;

struct GpucolWindowScreen
{
	GpucolWindowRows *rows;
	const GpucolWindowKey *keys;	/* of partitions, then the first one of the order */
	int			npartition;
	CodeKind	kind;
	int			scale;			/* of numerics */
	bool		descending;
	bool		equal_too;		/* what equals a bar is behind it */
	GpucolHashTable table;
	Bar		   *bars;
	uint32		n;
	uint32		room;			/* for bars */
	uint32		limit;			/* places of a partition; 0: bars alone */
	Place	   *places;			/* by bar */
	uint64		seen;			/* rows held against bars, and passed over */
	uint64		passed_over;
	uint64		hashes[GPUCOL_WINDOW_TAKEN];	/* of rows that are being held against bars, */
	uint64		codes[GPUCOL_WINDOW_TAKEN];
	bool		known[GPUCOL_WINDOW_TAKEN]; /* and have they codes? */
};

/* The first eight bytes of a value, as an integer that sorts as they do. */
static uint64
first_bytes(Datum value)
{
	const char *bytes = VARDATA_ANY(DatumGetPointer(value));
	uint64		word = 0;

	memcpy(&word, bytes, Min(VARSIZE_ANY_EXHDR(DatumGetPointer(value)), sizeof(word)));
	return pg_ntoh64(word);
}

/* The codes of n values of the order's key, less where a row sorts before; `known` says which have one. */
static void
find_codes(const GpucolWindowScreen *screen, const Datum *values, const bool *isnull, uint32 n, uint64 *codes,
		   bool *known)
{
	const GpucolWindowInput *in = &screen->rows->inputs[screen->keys[screen->npartition].input];

	if (screen->kind == CODE_PLAIN)
		(void) gpucol_window_plain_codes(in->type, values, isnull, n, codes);
	for (uint32 i = 0; i < n; i++)
	{
		known[i] = !isnull[i];
		if (isnull[i] || screen->kind == CODE_PLAIN)
			continue;
		if (screen->kind == CODE_NUMERIC)
			known[i] = gpucol_window_numeric_code(values[i], screen->scale, &codes[i]);
		else if ((known[i] = gpucol_image_is_plain(values[i], in->typlen, false)))
			codes[i] = first_bytes(values[i]);
	}
	for (uint32 i = 0; i < n && screen->descending; i++)
		codes[i] = ~codes[i];
}

/* Is a key one whose values are a column's? */
static bool
is_column(const GpucolWindowRows *rows, const GpucolWindowKey *key)
{
	const GpucolWindowInput *in = &rows->inputs[key->input];

	return in->expr == NULL && in->filter < 0 && !in->if_true && in->typlen >= -1;
}

/* Can bars be set by the first key of the order?  How it becomes an integer. */
static bool
choose_kind(GpucolWindowScreen *screen)
{
	const GpucolWindowKey *key = &screen->keys[screen->npartition];
	const GpucolWindowInput *in = &screen->rows->inputs[key->input];
	int			own = gpucol_window_own_order(in->type, key->sortop);
	bool		varies;

	for (int i = 0; i <= screen->npartition; i++)
	{
		if (!is_column(screen->rows, &screen->keys[i]))
			return false;
	}
	screen->descending = own < 0;
	if (own == 0)
		return false;
	if (gpucol_window_plain_codes(in->type, NULL, NULL, 0, NULL))
		screen->kind = CODE_PLAIN;
	else if (in->type == NUMERICOID)
	{
		screen->kind = CODE_NUMERIC;
		screen->scale = gpucol_window_greatest_scale(screen->rows, in, &varies);
		return screen->scale >= 0;
	}
	else if (gpucol_window_orders_by_bytes(in->type, key->collation))
		screen->kind = CODE_BYTES;
	else
		return false;
	return true;
}

/* A hash of a row's partition, and one of its keys more. */
static inline uint64
add_to_hash(uint64 hash, const GpucolWindowInput *in, Datum value, bool isnull)
{
	return gpucol_hash_mix(hash, isnull ? 0 : gpucol_image_hash(value, in->typlen, in->typbyval));
}

/* The first key of the partition of a kept row, where it is passed by value. */
static Datum
first_key(const GpucolWindowScreen *screen, uint32 row)
{
	const GpucolWindowInput *in = screen->npartition > 0 ? &screen->rows->inputs[screen->keys[0].input] : NULL;

	return in != NULL && in->typbyval ? in->values[row] : (Datum) 0;
}

/* Set the bar of the partition of a kept row. */
static void
set_bar(GpucolWindowScreen *screen, uint32 row)
{
	const GpucolWindowInput *in = &screen->rows->inputs[screen->keys[screen->npartition].input];
	Bar		   *bar = &screen->bars[screen->n];
	uint64		hash = 0;
	bool		known;

	find_codes(screen, &in->values[row], &in->isnull[row], 1, &bar->code, &known);
	bar->isnull = in->isnull[row];
	if (!known && !bar->isnull)
		return;
	for (int k = 0; k < screen->npartition; k++)
	{
		in = &screen->rows->inputs[screen->keys[k].input];
		if (!in->isnull[row] && !gpucol_image_is_plain(in->values[row], in->typlen, in->typbyval))
			return;
		hash = add_to_hash(hash, in, in->values[row], in->isnull[row]);
	}
	bar->first = first_key(screen, row);
	bar->row = row;
	gpucol_hash_add(&screen->table, hash, screen->n++);
}

/* Columns of rows that come in, and which of them will be kept: the first as this number, and so on. */
typedef struct Coming
{
	Datum	   *const *values;
	bool	   *const *isnull;
	uint32		base;
	uint16	   *passed;
} Coming;

/* Is row i of the partition of a bar? */
static inline bool
is_of(const GpucolWindowScreen *screen, const Bar *bar, const Coming *coming, uint32 i)
{
	for (int k = 0; k < screen->npartition; k++)
	{
		const GpucolWindowInput *in = &screen->rows->inputs[screen->keys[k].input];
		const Datum *values = in->values;
		const bool *isnull = in->nulls ? in->isnull : NULL;
		uint32		row = bar->row;
		bool		no_value;

		if (row >= coming->base)
		{
			row = coming->passed[row - coming->base];
			values = coming->values[in->column];
			isnull = coming->isnull[in->column];
		}
		no_value = isnull != NULL && isnull[row];
		if (no_value != coming->isnull[in->column][i] ||
			(!no_value && !gpucol_image_same(k == 0 && in->typbyval ? bar->first : values[row],
												coming->values[in->column][i], in->typlen, in->typbyval)))
			return false;
	}
	return true;
}

/* The bar that row i, of this hash, is held against; NULL where its partition has none. */
static inline Bar *
find_bar(const GpucolWindowScreen *screen, uint64 hash, const Coming *coming, uint32 i)
{
	uint64		at = gpucol_hash_home(&screen->table, hash);
	uint32		number;

	while (gpucol_hash_next(&screen->table, hash, &at, &number))
	{
		if (is_of(screen, &screen->bars[number], coming, i))
			return &screen->bars[number];
	}
	return NULL;
}

/* The hashes of the partitions of n rows. */
static void
find_hashes(GpucolWindowScreen *screen, Datum *const *values, bool *const *isnull, uint32 n)
{
	uint64	   *hashes = screen->hashes;

	memset(hashes, 0, n * sizeof(uint64));
	for (int k = 0; k < screen->npartition; k++)
	{
		const GpucolWindowInput *in = &screen->rows->inputs[screen->keys[k].input];

		for (uint32 i = 0; i < n; i++)
			hashes[i] = add_to_hash(hashes[i], in, values[in->column][i], isnull[in->column][i]);
	}
	for (uint32 i = 0; i < n; i++)
		__builtin_prefetch(&screen->table.slots[gpucol_hash_home(&screen->table, hashes[i])]);
}

/* How a row of this key sorts beside another, by the first key: below 0 before it, above behind it, 0: not told. */
static inline int
compare_keys(const GpucolWindowScreen *screen, uint64 code, bool isnull, uint64 other, bool other_null)
{
	bool		nulls_first = screen->keys[screen->npartition].nulls_first;

	if (isnull || other_null)
		return isnull == other_null ? 0 : isnull == nulls_first ? -1 : 1;
	return code < other ? -1 : code > other;
}

/* Does row i, whose key may be NULL, sort behind a bar? */
static inline bool
is_behind(const GpucolWindowScreen *screen, const Bar *bar, bool isnull, uint32 i)
{
	int			order = compare_keys(screen, screen->codes[i], isnull, bar->code, bar->isnull);

	return order > 0 || (order == 0 && screen->equal_too);
}

/* ---- places ---- */

/* Room for one partition more; false where memory does not suffice. */
static bool
make_room(GpucolWindowScreen *screen)
{
	GpucolWindowRows *rows = screen->rows;
	uint32		room = screen->room == 0 ? FIRST_PARTITIONS : screen->room * 2;
	uint64		nslots = gpucol_hash_slots(0, room);
	GpucolHashTable old = screen->table;
	uint64	   *slots;

	if (screen->n < screen->room)
		return true;
	if (room > PG_INT32_MAX / 2 || !gpucol_window_rows_fit(rows, nslots * sizeof(uint64) +
														   room * (sizeof(Bar) + screen->limit * sizeof(Place))))
		return false;
	slots = gpucol_window_rows_alloc(rows, nslots * sizeof(uint64));
	memset(slots, 0, nslots * sizeof(uint64));
	gpucol_hash_set_slots(&screen->table, slots, nslots);
	if (screen->room == 0)
	{
		screen->bars = gpucol_window_rows_alloc(rows, room * sizeof(Bar));
		screen->places = gpucol_window_rows_alloc(rows, room * screen->limit * sizeof(Place));
	}
	else
	{
		gpucol_hash_copy(&screen->table, &old, 0, old.nslots);
		pfree(old.slots);
		screen->bars = repalloc_huge(screen->bars, room * sizeof(Bar));
		screen->places = repalloc_huge(screen->places, (Size) room * screen->limit * sizeof(Place));
	}
	screen->room = room;
	return true;
}

/* A partition without rows, that of row i; NULL where it can have none. */
static Bar *
add_partition(GpucolWindowScreen *screen, uint64 hash, const Coming *coming, uint32 i)
{
	Bar		   *bar;

	for (int k = 0; k < screen->npartition; k++)
	{
		const GpucolWindowInput *in = &screen->rows->inputs[screen->keys[k].input];

		if (!coming->isnull[in->column][i] &&
			!gpucol_image_is_plain(coming->values[in->column][i], in->typlen, in->typbyval))
			return NULL;
	}
	if (!make_room(screen))
		return NULL;
	bar = &screen->bars[screen->n];
	*bar = (Bar) {0};
	if (screen->npartition > 0)
	{
		const GpucolWindowInput *in = &screen->rows->inputs[screen->keys[0].input];

		if (in->typbyval)
			bar->first = coming->values[in->column][i];
	}
	gpucol_hash_add(&screen->table, hash, screen->n++);
	return bar;
}

/* Put a row into a place of its partition. */
static void
take_place(GpucolWindowScreen *screen, Bar *bar, uint32 place, uint64 code, bool isnull, uint32 row)
{
	Place	   *places = &screen->places[(bar - screen->bars) * screen->limit];

	places[place] = (Place) {code, row, isnull};
	bar->last = 0;
	for (uint32 i = 1; i < bar->nplaces; i++)
	{
		const Place *last = &places[bar->last];

		if (compare_keys(screen, places[i].code, places[i].isnull, last->code, last->isnull) > 0)
			bar->last = (uint8) i;
	}
	bar->code = places[bar->last].code;
	bar->isnull = places[bar->last].isnull;
	bar->row = places[bar->last].row;
}

/* Is the row of the last place behind all others of its partition, or as good as any that ties? */
static bool
is_last(const GpucolWindowScreen *screen, const Bar *bar)
{
	const Place *places = &screen->places[(bar - screen->bars) * screen->limit];

	for (uint32 i = 0; i < bar->nplaces && !screen->equal_too; i++)
	{
		if (i != bar->last && compare_keys(screen, places[i].code, places[i].isnull, bar->code, bar->isnull) == 0)
			return false;
	}
	return true;
}

/* What becomes of a row. */
typedef enum Verdict
{
	IS_KEPT,					/* behind those that are */
	IS_PASSED_OVER,
	TAKES_A_PLACE				/* of a row that does not matter any more */
} Verdict;

/*
 * Decide about row i, which would be kept as the row of this number.  *old: the row whose place it takes; that
 * becomes its own number where it `moves` there.
 */
static Verdict
decide(GpucolWindowScreen *screen, const Coming *coming, uint32 i, bool isnull, uint32 row, bool moves, uint32 *old)
{
	uint64		code = screen->codes[i];
	Bar		   *bar = isnull || screen->known[i] ? find_bar(screen, screen->hashes[i], coming, i) : NULL;

	if (bar == NULL && (isnull || screen->known[i]))
		bar = add_partition(screen, screen->hashes[i], coming, i);
	if (bar == NULL)
		return IS_KEPT;
	if (bar->nplaces < screen->limit)
	{
		bar->nplaces++;
		take_place(screen, bar, bar->nplaces - 1, code, isnull, row);
		return IS_KEPT;
	}
	if (is_behind(screen, bar, isnull, i))
		return IS_PASSED_OVER;
	if (compare_keys(screen, code, isnull, bar->code, bar->isnull) == 0 || !is_last(screen, bar))
		return IS_KEPT;
	*old = bar->row;
	take_place(screen, bar, bar->last, code, isnull, moves ? bar->row : row);
	return TAKES_A_PLACE;
}

/*
 * Have what rows will be held against come into the cache: while row i is, the bar of one that comes soon, by
 * what its slot says, the row of the last place of one that comes sooner, and that row's values by reference.
 */
static inline void
prefetch_ahead(const GpucolWindowScreen *screen, uint32 i, uint32 n, uint32 base, uint32 *bars)
{
	uint32		at = i + BARS_AHEAD;

	if (at < n)
	{
		uint64		slot = screen->table.slots[gpucol_hash_home(&screen->table, screen->hashes[at])];

		bars[at] = slot == 0 ? screen->n : (uint32) slot - 1;
		__builtin_prefetch(&screen->bars[bars[at]]);
		__builtin_prefetch(&screen->places[(Size) bars[at] * screen->limit]);
	}
	at = i + ROWS_AHEAD;
	if (at < n && i >= BARS_AHEAD && bars[at] < screen->n && screen->bars[bars[at]].row < base)
		gpucol_window_rows_prefetch(screen->rows, screen->bars[bars[at]].row);
	at = i + VALUES_AHEAD;
	if (at < n && i >= BARS_AHEAD && bars[at] < screen->n && screen->bars[bars[at]].row < base)
		gpucol_window_rows_prefetch_values(screen->rows, screen->bars[bars[at]].row);
}

/* Hold n rows against the places, and have those that take one do so; which of the others are to be kept. */
static uint32
pass_with_places(GpucolWindowScreen *screen, Datum *const *values, bool *const *isnull, const bool *nulls, uint32 n,
				 uint16 *passed)
{
	Coming		coming = {.values = values,.isnull = isnull,.base = screen->rows->nrows,.passed = passed};
	uint32		bars[GPUCOL_WINDOW_TAKEN];
	uint32		npassed = 0;

	for (uint32 i = 0; i < n; i++)
	{
		uint32		old;
		Verdict		verdict;

		prefetch_ahead(screen, i, n, coming.base, bars);
		passed[npassed] = (uint16) i;
		verdict = decide(screen, &coming, i, nulls[i], coming.base + npassed, true, &old);
		npassed += verdict == IS_KEPT;
		if (verdict != TAKES_A_PLACE)
			continue;
		if (old >= coming.base)
			passed[old - coming.base] = (uint16) i;
		else
			gpucol_window_rows_replace(screen->rows, old, values, isnull, i);
	}
	return npassed;
}

uint32
gpucol_window_screen_pass(GpucolWindowScreen *screen, Datum *const *values, bool *const *isnull, uint32 n,
						  uint16 *passed)
{
	int			column = screen->rows->inputs[screen->keys[screen->npartition].input].column;
	Coming		coming = {.values = values,.isnull = isnull,.base = screen->rows->nrows};
	const bool *nulls = isnull[column];
	uint32		npassed = 0;

	find_hashes(screen, values, isnull, n);
	find_codes(screen, values[column], nulls, n, screen->codes, screen->known);
	if (screen->limit > 0)
		npassed = pass_with_places(screen, values, isnull, nulls, n, passed);
	for (uint32 i = 0; i < n && screen->limit == 0; i++)
	{
		const Bar  *bar = nulls[i] || screen->known[i] ? find_bar(screen, screen->hashes[i], &coming, i) : NULL;

		passed[npassed] = (uint16) i;
		npassed += bar == NULL || !is_behind(screen, bar, nulls[i], i);
	}
	screen->seen += n;
	screen->passed_over += n - npassed;
	return npassed;
}

bool
gpucol_window_screen_pays(const GpucolWindowScreen *screen)
{
	return screen->seen < TRIED_ROWS || screen->passed_over > screen->seen / FEWEST;
}

/* ---- set-up ---- */

/* May rows have places: are few wanted, and all inputs columns?  Ranks without gaps count values, not rows. */
static bool
have_places(const GpucolWindowState *state)
{
	const GpucolWindowFew *few = &state->few;

	for (int i = 0; i < state->rows.ninputs; i++)
	{
		const GpucolWindowInput *in = &state->rows.inputs[i];

		if (in->expr != NULL || in->filter >= 0 || in->if_true || in->typlen < -1)
			return false;
	}
	return few->limit >= 1 && few->limit <= MOST_PLACES && few->kind != GPUCOL_WINDOW_DENSE_RANK;
}

/* A screen without bars, or NULL. */
static GpucolWindowScreen *
make_screen(GpucolWindowState *state, bool peers)
{
	const GpucolWindowClauseState *clause = &state->clauses[0];
	GpucolWindowRows *rows = &state->rows;
	GpucolWindowScreen *screen;

	if (clause->nkeys == clause->npartition || !gpucol_window_rows_fit(rows, sizeof(GpucolWindowScreen)))
		return NULL;
	screen = gpucol_window_rows_alloc(rows, sizeof(GpucolWindowScreen));
	memset(screen, 0, sizeof(GpucolWindowScreen));
	screen->rows = rows;
	screen->keys = clause->keys;
	screen->npartition = clause->npartition;
	if (!choose_kind(screen))
		return NULL;
	screen->equal_too = !peers && clause->nkeys == clause->npartition + 1 && screen->kind != CODE_BYTES;
	if (!have_places(state))
		return screen;
	screen->limit = (uint32) state->few.limit;
	return make_room(screen) ? screen : NULL;
}

/* Have the rows that are kept take places. */
static void
place_rows(GpucolWindowScreen *screen)
{
	GpucolWindowRows *rows = screen->rows;
	int			column = rows->inputs[screen->keys[screen->npartition].input].column;
	int			ncolumns = 0;
	Datum	  **values;
	bool	  **isnull;

	for (int i = 0; i < rows->ninputs; i++)
		ncolumns = Max(ncolumns, rows->inputs[i].column + 1);
	values = palloc(ncolumns * sizeof(Datum *));
	isnull = palloc(ncolumns * sizeof(bool *));
	for (uint32 first = 0; first < rows->nrows; first += GPUCOL_WINDOW_TAKEN)
	{
		uint32		n = Min(rows->nrows - first, GPUCOL_WINDOW_TAKEN);
		Coming		coming = {.values = values,.isnull = isnull,.base = rows->nrows};
		uint32		old;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < rows->ninputs; i++)
		{
			values[rows->inputs[i].column] = rows->inputs[i].values + first;
			isnull[rows->inputs[i].column] = rows->inputs[i].isnull + first;
		}
		find_hashes(screen, values, isnull, n);
		find_codes(screen, values[column], isnull[column], n, screen->codes, screen->known);
		for (uint32 i = 0; i < n; i++)
			(void) decide(screen, &coming, i, isnull[column][i], first + i, false, &old);
	}
	pfree(values);
	pfree(isnull);
}

GpucolWindowScreen *
gpucol_window_screen_begin(GpucolWindowState *state, bool peers)
{
	const GpucolWindowClauseState *clause = &state->clauses[0];

	/* the scale of numerics is known of rows */
	if (!have_places(state) || clause->nkeys == clause->npartition ||
		state->rows.inputs[clause->keys[clause->npartition].input].type == NUMERICOID)
		return NULL;
	return make_screen(state, peers);
}

GpucolWindowScreen *
gpucol_window_screen_make(GpucolWindowState *state, const uint32 *last, uint32 n, bool peers)
{
	GpucolWindowRows *rows = &state->rows;
	uint64		nslots = gpucol_hash_slots(0, n);
	GpucolWindowScreen *screen = n == 0 ? NULL : make_screen(state, peers);
	uint64	   *slots;

	if (screen == NULL)
		return NULL;
	if (screen->limit > 0)
	{
		place_rows(screen);
		return screen;
	}
	if (!gpucol_window_rows_fit(rows, nslots * sizeof(uint64) + n * sizeof(Bar)))
		return NULL;
	slots = gpucol_window_rows_alloc(rows, nslots * sizeof(uint64));
	memset(slots, 0, nslots * sizeof(uint64));
	gpucol_hash_set_slots(&screen->table, slots, nslots);
	screen->bars = gpucol_window_rows_alloc(rows, n * sizeof(Bar));
	for (uint32 i = 0; i < n; i++)
		set_bar(screen, last[i]);
	return screen;
}
