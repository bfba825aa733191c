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
 * Partitions are told apart by the bytes of their keys: equal keys of other bytes find no bar,
 * so their rows are kept until they are sorted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "port/pg_bswap.h"

#include "base/hash_table.h"
#include "exec/image.h"
#include "exec/window.h"

/* After so many rows of which fewer than one in FEWEST was passed over, no more are tried. */
#define TRIED_ROWS	16384
#define FEWEST		8

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
	Datum		first;			/* its first key, unless that is NULL */
	uint32		row;			/* a kept one of the partition */
} Bar;

struct GpucolWindowScreen
{
	const GpucolWindowRows *rows;
	const GpucolWindowKey *keys;	/* of partitions, then the first one of the order */
	int			npartition;
	CodeKind	kind;
	int			scale;			/* of numerics */
	bool		descending;
	bool		equal_too;		/* what equals a bar is behind it */
	GpucolHashTable table;
	Bar		   *bars;
	uint32		n;
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
	bar->first = screen->npartition > 0 ? screen->rows->inputs[screen->keys[0].input].values[row] : 0;
	bar->row = row;
	gpucol_hash_add(&screen->table, hash, screen->n++);
}

GpucolWindowScreen *
gpucol_window_screen_make(GpucolWindowState *state, const uint32 *last, uint32 n, bool peers)
{
	const GpucolWindowClauseState *clause = &state->clauses[0];
	GpucolWindowRows *rows = &state->rows;
	uint64		nslots = gpucol_hash_slots(0, n);
	GpucolWindowScreen *screen;
	uint64	   *slots;

	if (n == 0 || clause->nkeys == clause->npartition ||
		!gpucol_window_rows_fit(rows, sizeof(GpucolWindowScreen) + nslots * sizeof(uint64) + n * sizeof(Bar)))
		return NULL;
	screen = gpucol_window_rows_alloc(rows, sizeof(GpucolWindowScreen));
	memset(screen, 0, sizeof(GpucolWindowScreen));
	screen->rows = rows;
	screen->keys = clause->keys;
	screen->npartition = clause->npartition;
	if (!choose_kind(screen))
		return NULL;
	screen->equal_too = !peers && clause->nkeys == clause->npartition + 1 && screen->kind != CODE_BYTES;
	slots = gpucol_window_rows_alloc(rows, nslots * sizeof(uint64));
	memset(slots, 0, nslots * sizeof(uint64));
	gpucol_hash_set_slots(&screen->table, slots, nslots);
	screen->bars = gpucol_window_rows_alloc(rows, n * sizeof(Bar));
	for (uint32 i = 0; i < n; i++)
		set_bar(screen, last[i]);
	return screen;
}

/* Is row i of columns of the partition of a bar? */
static inline bool
is_of(const GpucolWindowScreen *screen, const Bar *bar, Datum *const *values, bool *const *isnull, uint32 i)
{
	for (int k = 0; k < screen->npartition; k++)
	{
		const GpucolWindowInput *in = &screen->rows->inputs[screen->keys[k].input];
		bool		no_value = in->isnull[bar->row];

		if (no_value != isnull[in->column][i] ||
			(!no_value && !gpucol_image_same(k == 0 ? bar->first : in->values[bar->row], values[in->column][i],
											 in->typlen, in->typbyval)))
			return false;
	}
	return true;
}

/* The bar that row i of columns, of this hash, is held against; NULL where its partition has none. */
static inline const Bar *
find_bar(const GpucolWindowScreen *screen, uint64 hash, Datum *const *values, bool *const *isnull, uint32 i)
{
	uint64		at = gpucol_hash_home(&screen->table, hash);
	uint32		number;

	while (gpucol_hash_next(&screen->table, hash, &at, &number))
	{
		if (is_of(screen, &screen->bars[number], values, isnull, i))
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

/* Does row i, whose key may be NULL, sort behind a bar? */
static inline bool
is_behind(const GpucolWindowScreen *screen, const Bar *bar, bool isnull, uint32 i)
{
	bool		nulls_first = screen->keys[screen->npartition].nulls_first;

	if (isnull || bar->isnull)
		return isnull != bar->isnull ? isnull != nulls_first : screen->equal_too;
	return screen->codes[i] > bar->code || (screen->equal_too && screen->codes[i] == bar->code);
}

uint32
gpucol_window_screen_pass(GpucolWindowScreen *screen, Datum *const *values, bool *const *isnull, uint32 n,
						  uint16 *passed)
{
	int			column = screen->rows->inputs[screen->keys[screen->npartition].input].column;
	const bool *nulls = isnull[column];
	uint32		npassed = 0;

	find_hashes(screen, values, isnull, n);
	find_codes(screen, values[column], nulls, n, screen->codes, screen->known);
	for (uint32 i = 0; i < n; i++)
	{
		const Bar  *bar = nulls[i] || screen->known[i] ? find_bar(screen, screen->hashes[i], values, isnull, i) : NULL;

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
