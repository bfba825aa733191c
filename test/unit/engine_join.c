/*-------------------------------------------------------------------------
 *
 * engine_join.c
 *	  Joins in the CPU engine against nested loops: random tables, tables built of them
 *	  (of other joins too), probes of every kind, every number of threads.
 *
 * The nested loops below evaluate registers by recursion over values that are not packed,
 * and follow program.h literally; they share no code with the engine.
 *
 * Usage: engine_join [rounds [seed]]
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "engine/engine.h"

#include "array_source.h"
#include "check.h"
#include "program_builder.h"

#define MAX_TABLES 5
#define MAX_PROBES 4
#define MAX_OUTPUTS 12
#define MAX_ROWS 60000			/* that nested loops may make */

enum
{
	C_SMALL, C_ID, C_WIDE, C_BIG, C_FLOAT, C_WORD, C_TEXT, C_DEC, C_BOOL, NCOLUMNS
};

static const struct
{
	GpucolKind	kind;
	GpucolClass cls;
	GpucolOpcode load;
}			shapes[NCOLUMNS] = {
	[C_SMALL] = {GPUCOL_KIND_INT, GPUCOL_CLASS_I, GPUCOL_OP_LOAD_I},
	[C_ID] = {GPUCOL_KIND_INT, GPUCOL_CLASS_I, GPUCOL_OP_LOAD_I},
	[C_WIDE] = {GPUCOL_KIND_INT, GPUCOL_CLASS_I, GPUCOL_OP_LOAD_I},
	[C_BIG] = {GPUCOL_KIND_INT, GPUCOL_CLASS_I, GPUCOL_OP_LOAD_I},
	[C_FLOAT] = {GPUCOL_KIND_FLOAT8, GPUCOL_CLASS_F, GPUCOL_OP_LOAD_F},
	[C_WORD] = {GPUCOL_KIND_BYTES, GPUCOL_CLASS_S, GPUCOL_OP_LOAD_S},
	[C_TEXT] = {GPUCOL_KIND_BYTES, GPUCOL_CLASS_S, GPUCOL_OP_LOAD_S},
	[C_DEC] = {GPUCOL_KIND_DECIMAL, GPUCOL_CLASS_D, GPUCOL_OP_LOAD_D},
	[C_BOOL] = {GPUCOL_KIND_INT, GPUCOL_CLASS_B, GPUCOL_OP_LOAD_B},
};

static int
pick(int n)
{
	return (int) (check_random() % (uint64_t) n);
}

/* ---- tables of the source ---- */

static int64_t
float_bits(double x)
{
	int64_t		bits;

	memcpy(&bits, &x, 8);
	return bits;
}

static const double odd_floats[] = {0.0, -0.0, NAN, INFINITY, 1.5, -2.25, 1e300};
static const char *const words[] = {"", "a", "aa", "banana", "apple", "m", "night",
	"longer than eight bytes", "nightly", "b"};
static char texts[4000][24];

/* How many different values columns have, so that rows meet: changes from round to round. */
static int	spread = 30;

/* Are there numbers only in programs, all of which a device takes? */
static bool numbers;

static uint64_t round_seed;

static GpucolBytes
bytes_of(const char *text)
{
	return (GpucolBytes) {text, strlen(text)};
}

static int64_t
random_value(int c, uint32_t row, uint32_t base)
{
	switch (c)
	{
		case C_SMALL:
			return pick(spread);
		case C_ID:
			return base + row;
		case C_WIDE:
			return (pick(spread) - 5) * INT64_C(12345678901234567);
		case C_BIG:
			return (int64_t) ((uint64_t) (base + row) * UINT64_C(0x9e3779b97f4a7c15));
		case C_FLOAT:
			return float_bits(pick(3) ? (double) pick(spread) / 4 : odd_floats[pick(7)]);
		case C_DEC:
			return (pick(spread) - 7) * 100;
		default:
			return pick(2);
	}
}

static void
random_column(ArrayColumn *column, int c, uint32_t nrows, uint32_t base)
{
	static const int densities[] = {0, 0, 5, 50};
	uint32_t	space = GPUCOL_VECTORS(nrows) * GPUCOL_VECTOR_VALUES;
	int			density = densities[pick(4)];

	column->kind = shapes[c].kind;
	column->scale = c == C_DEC ? 2 : 0;
	if (column->kind == GPUCOL_KIND_BYTES)
		column->bytes = calloc(space + 1, sizeof(GpucolBytes));
	else
		column->values = calloc(space + 1, sizeof(int64_t));
	if (density > 0)
		column->nulls = calloc(space / 32 + 1, sizeof(uint32_t));
	for (uint32_t r = 0; r < nrows; r++)
	{
		bool		isnull = pick(100) < density;

		if (isnull)
			column->nulls[r / 32] |= UINT32_C(1) << (r % 32);
		if (column->kind == GPUCOL_KIND_BYTES)
			column->bytes[r] = bytes_of(isnull ? "" : c == C_WORD ? words[pick(10)] :
										texts[(base + r) * 7 % 4000]);
		else
			column->values[r] = isnull ? 0 : random_value(c, r, base);
	}
}

/* A table of up to `most` rows in segments and delta. */
static void
random_table(ArrayTable *table, int most)
{
	uint32_t	base = (uint32_t) pick(3) * 100;

	memset(table, 0, sizeof(*table));
	table->ncolumns = NCOLUMNS;
	table->nsegments = pick(3);
	for (int s = 0; s < table->nsegments; s++)
	{
		ArraySegment *segment = &table->segments[s];

		segment->nrows = (uint32_t) (1 + pick(most));
		segment->first_row = base;
		for (int c = 0; c < NCOLUMNS; c++)
			random_column(&segment->columns[c], c, segment->nrows, base);
		base += segment->nrows;
		if (pick(3) == 0)
		{
			segment->deleted = calloc(GPUCOL_VECTORS(segment->nrows) * 32, sizeof(uint32_t));
			for (uint32_t r = 0; r < segment->nrows; r++)
				if (pick(4) == 0)
				{
					segment->deleted[r / 32] |= UINT32_C(1) << (r % 32);
					segment->ndeleted++;
				}
		}
		CHECK(array_segment_encode(segment, NCOLUMNS) == GPUCOL_OK, "encode");
	}
	table->ndelta = (uint32_t) (pick(2) ? pick(most) : 0);
	table->tids = calloc(table->ndelta + 1, sizeof(uint64_t));
	for (int c = 0; c < NCOLUMNS; c++)
		random_column(&table->delta[c], c, table->ndelta, base);
}

/* ---- host predicates ---- */

/* Of C_WORD 0, of C_TEXT 1: an 'a' in it, or NULL. */
static void
host_test(void *context, int id, int n, const GpucolBytes *values, const bool *isnull,
		  uint8_t *result)
{
	(void) context;
	(void) id;
	for (int i = 0; i < n; i++)
		result[i] = (isnull != NULL && isnull[i]) ||
			(values[i].len > 0 && memchr(values[i].data, 'a', values[i].len) != NULL);
}

/* ---- values ---- */

typedef struct Val
{
	bool		null;
	int64_t		i;				/* B, I; mantissas */
	double		f;
	GpucolBytes s;
} Val;

/* A built table: what it is of, and its rows by nested loops. */
typedef struct Built
{
	int			nkeys;
	int			ncolumns;
	int			origin[MAX_OUTPUTS];	/* column of the source whose values these are */
	bool		keeps_nulls;
	bool		has_null;
	Val			(*rows)[MAX_OUTPUTS];
	int			nrows;
	GpucolLookup *lookup;
} Built;

static Built tables[MAX_TABLES];
static int	ntables;

/* A row on its way: of the source (-1 = NULLs), and of each probe's table (-1 = none). */
typedef struct Way
{
	int			row;
	int			match[MAX_PROBES];
} Way;

/* A run of nested loops. */
typedef struct Naive
{
	const ProgramBuilder *b;
	Val			(*source)[NCOLUMNS];
	int			nsource;
	uint8_t    *marked[MAX_PROBES];
	Val			(*rows)[MAX_OUTPUTS];	/* outputs */
	int			nrows;
	long		work;
	bool		too_many;
} Naive;

static Val
column_value(const ArrayColumn *column, uint32_t row)
{
	Val			v = {0};

	v.null = column->nulls != NULL && (column->nulls[row / 32] >> (row % 32) & 1);
	if (v.null)
		return v;
	if (column->kind == GPUCOL_KIND_BYTES)
		v.s = column->bytes[row];
	else if (column->kind == GPUCOL_KIND_FLOAT8)
		memcpy(&v.f, &column->values[row], 8);
	else
		v.i = column->values[row];
	return v;
}

/* All rows of a table. */
static void
read_source(Naive *naive, const ArrayTable *table)
{
	int			room = (int) table->ndelta;

	for (int s = 0; s < table->nsegments; s++)
		room += (int) table->segments[s].nrows;
	naive->source = calloc((size_t) room + 1, sizeof(naive->source[0]));
	for (int s = 0; s < table->nsegments; s++)
		for (uint32_t r = 0; r < table->segments[s].nrows; r++)
		{
			const uint32_t *deleted = table->segments[s].deleted;

			if (deleted != NULL && (deleted[r / 32] >> (r % 32) & 1))
				continue;
			for (int c = 0; c < NCOLUMNS; c++)
				naive->source[naive->nsource][c] =
					column_value(&table->segments[s].columns[c], r);
			naive->nsource++;
		}
	for (uint32_t r = 0; r < table->ndelta; r++, naive->nsource++)
		for (int c = 0; c < NCOLUMNS; c++)
			naive->source[naive->nsource][c] = column_value(&table->delta[c], r);
}

static bool
same_val(GpucolClass cls, const Val *a, const Val *b)
{
	if (cls == GPUCOL_CLASS_F)
		return a->f == b->f || (isnan(a->f) && isnan(b->f));
	if (cls == GPUCOL_CLASS_S)
		return a->s.len == b->s.len && (a->s.len == 0 || memcmp(a->s.data, b->s.data, a->s.len) == 0);
	return a->i == b->i;
}

static Val	eval(const Naive *naive, uint16_t reg, const Way *way);

static Val
load(const Naive *naive, const GpucolInstr *instr, const Way *way)
{
	const GpucolPayload *payload;
	static const Val none = {.null = true};

	if (instr->aux < NCOLUMNS)
		return way->row < 0 ? none : naive->source[way->row][instr->aux];
	payload = &naive->b->payloads[instr->aux - NCOLUMNS];
	if (way->match[payload->probe] < 0)
		return none;
	return tables[naive->b->probes[payload->probe].table]
		.rows[way->match[payload->probe]][payload->column];
}

/* The value of a register for a row. */
static Val
eval(const Naive *naive, uint16_t reg, const Way *way)
{
	const GpucolInstr *instr = naive->b->instrs;
	Val			a;
	Val			b;
	Val			r = {0};

	while (instr->dst != reg)
		instr++;
	if (instr->op <= GPUCOL_OP_LOAD_S)
		return load(naive, instr, way);
	if (instr->op == GPUCOL_OP_CONST_I)
	{
		r.i = naive->b->consts[instr->aux].v.i;
		return r;
	}
	a = eval(naive, instr->a, way);
	switch (instr->op)
	{
		case GPUCOL_OP_IS_NULL_I:
		case GPUCOL_OP_IS_NULL_S:
			r.i = a.null;
			return r;
		case GPUCOL_OP_NOT:
			r.null = a.null;
			r.i = !a.null && !a.i;
			return r;
		case GPUCOL_OP_HOST_TEST:
			{
				uint8_t		verdict;

				host_test(NULL, 0, 1, &a.s, &a.null, &verdict);
				r.i = verdict;
				return r;
			}
		default:
			break;
	}
	b = eval(naive, instr->b, way);
	r.null = a.null || b.null;
	switch (instr->op)
	{
		case GPUCOL_OP_OR:
			r.i = (!a.null && a.i) || (!b.null && b.i);
			r.null = !r.i && r.null;
			break;
		case GPUCOL_OP_LE_I:
			r.i = a.i <= b.i;
			break;
		case GPUCOL_OP_NE_I:
			r.i = a.i != b.i;
			break;
		case GPUCOL_OP_DIV_I:
			r.i = r.null ? 0 : a.i / b.i;
			break;
		case GPUCOL_OP_ADD_I:
			r.i = (int64_t) ((uint64_t) a.i + (uint64_t) b.i);
			break;
		default:
			abort();
	}
	return r;
}

static bool
is_true(const Naive *naive, uint16_t reg, const Way *way)
{
	Val			v;

	if (reg == GPUCOL_NO_REG)
		return true;
	v = eval(naive, reg, way);
	return !v.null && v.i;
}

static void	go(Naive *naive, int p, Way way);

/* Behind probe p, whose filter is still to be applied. */
static void
hand_on(Naive *naive, int p, Way way)
{
	if (is_true(naive, naive->b->probes[p].filter, &way))
		go(naive, p + 1, way);
}

/* Has a row of a built table a NULL key? */
static bool
null_key(const Built *table, int row)
{
	for (int k = 0; k < table->nkeys; k++)
		if (table->rows[row][k].null)
			return true;
	return false;
}

/* Does a row meet one of the table? */
static bool
meets(Naive *naive, int p, const Val *keys, const Way *way, int row)
{
	const GpucolProbe *probe = &naive->b->probes[p];
	const Built *table = &tables[probe->table];
	Way			pair = *way;

	for (int k = 0; k < table->nkeys; k++)
		if (keys[k].null || table->rows[row][k].null ||
			!same_val(shapes[table->origin[k]].cls, &keys[k], &table->rows[row][k]))
			return false;
	pair.match[p] = row;
	return is_true(naive, probe->residual, &pair);
}

/* Take a row through probe p and what follows. */
static void
go(Naive *naive, int p, Way way)
{
	const GpucolProbe *probe = &naive->b->probes[p];
	const Built *table;
	Val			keys[MAX_OUTPUTS];
	bool		found = false;
	bool		null = false;

	if (naive->too_many)
		return;
	if (p == naive->b->head.nprobes)
	{
		if (naive->nrows == MAX_ROWS)
		{
			naive->too_many = true;
			return;
		}
		for (int k = 0; k < naive->b->head.nkeys; k++)
			naive->rows[naive->nrows][k] = eval(naive, naive->b->keys[k], &way);
		naive->nrows++;
		return;
	}
	table = &tables[probe->table];
	for (int k = 0; k < probe->nkeys; k++)
	{
		keys[k] = eval(naive, naive->b->probe_keys[probe->first_key + k], &way);
		null |= keys[k].null;
	}
	naive->work += table->nrows;
	naive->too_many |= naive->work > 3000000;
	for (int row = 0; row < table->nrows && !naive->too_many; row++)
	{
		Way			pair = way;

		if (!meets(naive, p, keys, &way, row))
			continue;
		found = true;
		naive->marked[p][row] = 1;
		pair.match[p] = row;
		if (probe->kind == GPUCOL_JOIN_INNER || probe->kind == GPUCOL_JOIN_LEFT ||
			probe->kind == GPUCOL_JOIN_RIGHT || probe->kind == GPUCOL_JOIN_FULL)
			hand_on(naive, p, pair);
	}
	if ((!found && (probe->kind == GPUCOL_JOIN_LEFT || probe->kind == GPUCOL_JOIN_FULL ||
					probe->kind == GPUCOL_JOIN_ANTI)) ||
		(found && probe->kind == GPUCOL_JOIN_SEMI) ||
		(!found && probe->kind == GPUCOL_JOIN_NOT_IN && !table->has_null &&
		 (!null || table->nrows == 0)))
		hand_on(naive, p, way);
}

/* The whole run. */
static void
run_naive(Naive *naive, const ProgramBuilder *b, const ArrayTable *table)
{
	Way			none;

	memset(naive, 0, sizeof(*naive));
	naive->b = b;
	naive->rows = calloc(MAX_ROWS, sizeof(naive->rows[0]));
	read_source(naive, table);
	for (int p = 0; p < b->head.nprobes; p++)
		naive->marked[p] = calloc((size_t) tables[b->probes[p].table].nrows + 1, 1);
	none.row = -1;
	for (int p = 0; p < MAX_PROBES; p++)
		none.match[p] = -1;
	for (int r = 0; r < naive->nsource; r++)
	{
		Way			way = none;

		way.row = r;
		if (b->head.nranges > 0 &&
			(naive->source[r][C_SMALL].null ||
			 naive->source[r][C_SMALL].i < b->consts[b->ranges[0].lo].v.i))
			continue;
		if (is_true(naive, b->head.filter, &way))
			go(naive, 0, way);
	}
	for (int p = 0; p < b->head.nprobes; p++)
		for (int row = 0; row < tables[b->probes[p].table].nrows; row++)
		{
			Way			way = none;
			bool		wanted = b->probes[p].kind == GPUCOL_JOIN_RIGHT_SEMI;

			if (b->probes[p].kind < GPUCOL_JOIN_RIGHT || naive->marked[p][row] != wanted)
				continue;
			way.match[p] = row;
			hand_on(naive, p, way);
		}
}

static void
naive_free(Naive *naive)
{
	for (int p = 0; p < MAX_PROBES; p++)
		free(naive->marked[p]);
	free(naive->source);
	free(naive->rows);
}

/* ---- programs ---- */

static GpucolOpcode
load_of(int origin)
{
	return shapes[origin].load;
}

/* A column of the source that may be read. */
static int
random_origin(void)
{
	int			origin = pick(NCOLUMNS);

	while (numbers && shapes[origin].cls == GPUCOL_CLASS_S)
		origin = pick(NCOLUMNS);
	return origin;
}

/* What a program under construction can read. */
typedef struct Scope
{
	ProgramBuilder *b;
	int			visible;		/* payload of this many probes is there, */
	bool		hidden[MAX_PROBES]; /* but not that of semi-joins */
	struct
	{
		uint16_t	reg;
		int			origin;
	}			loaded[BUILDER_MAX];	/* registers that later steps may use too */
	int			nloaded;
} Scope;

static uint16_t
load_payload(Scope *scope, int probe, int column)
{
	const Built *table = &tables[scope->b->probes[probe].table];
	int			origin = table->origin[column];

	return builder_instr(scope->b, load_of(origin), shapes[origin].cls, 0, 0, 0,
						 NCOLUMNS + builder_payload(scope->b, probe, column, shapes[origin].kind));
}

/* A register with values of an origin: loaded before, of the source, or of a probe's table. */
static uint16_t
find_register(Scope *scope, int origin, bool note)
{
	uint16_t	reg = GPUCOL_NO_REG;

	for (int try = 0; try < 8 && scope->nloaded > 0 && pick(2); try++)
	{
		int			l = pick(scope->nloaded);

		if (scope->loaded[l].origin == origin)
			return scope->loaded[l].reg;
	}
	for (int try = 0; try < 4 && scope->visible > 0 && reg == GPUCOL_NO_REG; try++)
	{
		int			p = pick(scope->visible);
		const Built *table = &tables[scope->b->probes[p].table];
		int			c = table->ncolumns > 0 ? pick(table->ncolumns) : -1;

		if (c >= 0 && !scope->hidden[p] && table->origin[c] == origin && pick(2))
			reg = load_payload(scope, p, c);
	}
	if (reg == GPUCOL_NO_REG)
		reg = builder_instr(scope->b, load_of(origin), shapes[origin].cls, 0, 0, 0, origin);
	if (note)
	{
		scope->loaded[scope->nloaded].reg = reg;
		scope->loaded[scope->nloaded++].origin = origin;
	}
	return reg;
}

/* A condition on what is in scope; of the payload of probe p where it has some that suits. */
static uint16_t
random_condition(Scope *scope, int p)
{
	ProgramBuilder *b = scope->b;
	const Built *table = p < 0 ? NULL : &tables[b->probes[p].table];
	int			c = table != NULL && table->ncolumns > 0 ? pick(table->ncolumns) : -1;
	int			origin = c >= 0 ? table->origin[c] : numbers || pick(3) ? C_SMALL : C_WORD + pick(2);
	uint16_t	x;
	uint16_t	y;

	if (c >= 0)
		x = load_payload(scope, p, c);
	else
		x = find_register(scope, origin, false);
	if (shapes[origin].cls == GPUCOL_CLASS_S)
	{
		if (pick(3))
			return builder_instr(b, GPUCOL_OP_HOST_TEST, GPUCOL_CLASS_B, x, 0, 0, origin == C_TEXT);
		return builder_instr(b, GPUCOL_OP_IS_NULL_S, GPUCOL_CLASS_B, x, 0, 0, 0);
	}
	if (shapes[origin].cls != GPUCOL_CLASS_I)
		x = find_register(scope, origin = C_SMALL, false);
	y = find_register(scope, origin, false);
	switch (pick(4))
	{
		case 0:
			return builder_instr(b, GPUCOL_OP_LE_I, GPUCOL_CLASS_B, x, y, 0, 0);
		case 1:
			x = builder_instr(b, GPUCOL_OP_LE_I, GPUCOL_CLASS_B, x, y, 0, 0);
			y = builder_instr(b, GPUCOL_OP_IS_NULL_I, GPUCOL_CLASS_B, y, 0, 0, 0);
			return builder_instr(b, GPUCOL_OP_OR, GPUCOL_CLASS_B, x, y, 0, 0);
		case 2:
			x = builder_instr(b, GPUCOL_OP_LE_I, GPUCOL_CLASS_B, x, y, 0, 0);
			return builder_instr(b, GPUCOL_OP_NOT, GPUCOL_CLASS_B, x, 0, 0, 0);
		default:
			return builder_instr(b, GPUCOL_OP_NE_I, GPUCOL_CLASS_B, x, y, 0, 0);
	}
}

static void
add_probe(Scope *scope)
{
	ProgramBuilder *b = scope->b;
	int			number = b->head.nprobes;
	int			t = pick(ntables);
	int			kind = GPUCOL_JOIN_INNER + pick(GPUCOL_JOIN_RIGHT_ANTI);
	const Built *table = &tables[t];

	if ((kind == GPUCOL_JOIN_NOT_IN && table->nkeys != 1) ||
		(kind >= GPUCOL_JOIN_RIGHT && table->has_null && !table->keeps_nulls))
		kind = GPUCOL_JOIN_INNER;
	builder_probe(b, t, (GpucolJoinKind) kind);
	scope->visible = number;
	for (int k = 0; k < table->nkeys; k++)
	{
		uint16_t	reg = find_register(scope, table->origin[k], true);

		builder_probe_key(b, reg);
	}
	scope->hidden[number] = kind == GPUCOL_JOIN_SEMI || kind == GPUCOL_JOIN_ANTI ||
		kind == GPUCOL_JOIN_NOT_IN;
	if (kind != GPUCOL_JOIN_NOT_IN && pick(3) == 0)
		builder_residual(b, random_condition(scope, number));
	scope->visible = number + 1;
	if (pick(4) == 0)
		builder_probe_filter(b, random_condition(scope, scope->hidden[number] ? -1 : number));
}

static void
random_program(ProgramBuilder *b, GpucolProgramKind kind, int nprobes, Scope *scope)
{
	builder_init(b, kind);
	memset(scope, 0, sizeof(*scope));
	scope->b = b;
	for (int c = 0; c < NCOLUMNS; c++)
		builder_column(b, shapes[c].kind, c == C_DEC ? 2 : 0);
	if (pick(4) == 0)
		builder_range(b, C_SMALL, GPUCOL_RANGE_BETWEEN)->lo =
			builder_const_int(b, GPUCOL_CLASS_I, pick(4));
	if (pick(4) == 0)
	{
		find_register(scope, random_origin(), true);
		b->head.filter = random_condition(scope, -1);
	}
	b->head.nfilter_instrs = b->head.ninstrs;
	for (int p = 0; p < nprobes; p++)
		add_probe(scope);
}

/* Add an output; returns its origin. */
static int
add_output(Scope *scope)
{
	int			origin = random_origin();
	uint16_t	reg = GPUCOL_NO_REG;

	for (int try = 0; try < 3 && scope->visible > 0 && reg == GPUCOL_NO_REG; try++)
	{
		int			p = pick(scope->visible);
		const Built *table = &tables[scope->b->probes[p].table];
		int			c = table->ncolumns > 0 ? pick(table->ncolumns) : -1;

		if (c >= 0 && !scope->hidden[p])
		{
			origin = table->origin[c];
			reg = load_payload(scope, p, c);
		}
	}
	if (reg == GPUCOL_NO_REG)
		reg = find_register(scope, origin, true);
	scope->b->keys[scope->b->head.nkeys++] = reg;
	return origin;
}

/* ---- rows as text, to be compared in any order ---- */

static size_t
put_val(char *to, GpucolClass cls, const Val *v)
{
	if (v->null)
		return (size_t) sprintf(to, "N|");
	if (cls == GPUCOL_CLASS_F)
		return (size_t) (isnan(v->f) ? sprintf(to, "nan|") : sprintf(to, "%a|", v->f));
	if (cls == GPUCOL_CLASS_S)
		return (size_t) sprintf(to, "%.*s|", (int) v->s.len, v->s.data);
	return (size_t) sprintf(to, "%lld|", (long long) v->i);
}

static int
compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

typedef struct Lines
{
	char	  **lines;
	int			n;
	int			room;
} Lines;

static void
add_line(Lines *lines, const char *text)
{
	if (lines->n == lines->room)
	{
		lines->room = lines->room * 2 + 64;
		lines->lines = realloc(lines->lines, sizeof(char *) * (size_t) lines->room);
	}
	lines->lines[lines->n++] = strdup(text);
}

static void
free_lines(Lines *lines)
{
	for (int i = 0; i < lines->n; i++)
		free(lines->lines[i]);
	free(lines->lines);
}

static void
add_row(Lines *lines, const ProgramBuilder *b, const Val *row)
{
	char		text[1024];
	size_t		at = 0;

	text[0] = 0;
	for (int k = 0; k < b->head.nkeys; k++)
		at += put_val(text + at, (GpucolClass) b->classes[b->keys[k]], &row[k]);
	add_line(lines, text);
}

static Val
result_value(const GpucolResultColumn *column, uint32_t r)
{
	Val			v = {0};

	v.null = column->nulls != NULL && column->nulls[r];
	if (v.null)
		return v;
	if (column->cls == GPUCOL_CLASS_S)
		v.s = column->s[r];
	else if (column->cls == GPUCOL_CLASS_F)
		v.f = column->f[r];
	else
		v.i = column->cls == GPUCOL_CLASS_D ? (int64_t) column->d[r] : column->i[r];
	return v;
}

static void
add_result(Lines *lines, const ProgramBuilder *b, const GpucolResult *out)
{
	Val			row[MAX_OUTPUTS];

	for (uint32_t r = 0; r < out->nrows; r++)
	{
		for (int k = 0; k < b->head.nkeys; k++)
			row[k] = result_value(&out->columns[k], r);
		add_row(lines, b, row);
	}
}

/* ---- runs of the engine ---- */

/* The host's order: the longer first, then by bytes. */
static int
host_compare(void *context, int order, const GpucolBytes *a, const GpucolBytes *b)
{
	(void) context;
	(void) order;
	if (a->len != b->len)
		return a->len > b->len ? -1 : 1;
	return a->len > 0 ? memcmp(a->data, b->data, a->len) : 0;
}

static const GpucolHost host = {.test = host_test,.compare = host_compare};

static GpucolRunOptions
make_options(int threads, size_t limit, GpucolLookup **lookups)
{
	GpucolRunOptions options = {.threads = threads,.look_ahead = threads % 2 == 0,.memory_limit = limit,
	.lookups = lookups,.nlookups = ntables};

	for (int t = 0; t < ntables; t++)
		lookups[t] = tables[t].lookup;
	return options;
}

typedef struct Taken
{
	Lines		lines[64];
	const ProgramBuilder *b;
} Taken;

static GpucolStatus
take_rows(void *arg, int thread, uint64_t ordinal, const GpucolResult *rows)
{
	Taken	   *taken = arg;

	(void) ordinal;
	add_result(&taken->lines[thread], taken->b, rows);
	return rows->nrows > GPUCOL_VECTOR_VALUES ? GPUCOL_CORRUPT : GPUCOL_OK;
}

/* Run a SCAN; its rows are added to lines. */
static GpucolStatus
run_scan(const ProgramBuilder *b, const ArrayTable *table, int threads, size_t limit, bool take,
		 Lines *lines)
{
	GpucolProgram *program = builder_finish(b);
	GpucolLookup *lookups[MAX_TABLES];
	GpucolRunOptions options = make_options(threads, limit, lookups);
	ArraySource source;
	GpucolResult out;
	GpucolRun  *run;
	const char *why;
	GpucolStatus status;
	Taken		taken;

	memset(&taken, 0, sizeof(taken));
	taken.b = b;
	if (take)
	{
		options.take = take_rows;
		options.take_arg = &taken;
	}
	array_source_init(&source, table, 4096, pick(2));
	status = gpucol_engine_cpu.start(program, &source.base, &host, &options, &run, &why);
	if (status == GPUCOL_OK)
	{
		while ((status = gpucol_engine_cpu.next(run, &out)) == GPUCOL_OK)
			add_result(lines, b, &out);
		for (int p = 0; p < b->head.nprobes; p++)
		{
			GpucolProbeFigures figures;

			gpucol_engine_cpu.probe_figures(run, p, &figures);
		}
		gpucol_engine_cpu.finish(run);
	}
	else if (status == GPUCOL_UNSUPPORTED)
		printf("refused: %s\n", why);
	for (int t = 0; t < 64; t++)
	{
		for (int i = 0; i < taken.lines[t].n; i++)
			add_line(lines, taken.lines[t].lines[i]);
		free_lines(&taken.lines[t]);
	}
	free(program);
	return status;
}

/* Run a BUILD. */
static GpucolStatus
run_build(const ProgramBuilder *b, const ArrayTable *table, int threads, size_t limit,
		  GpucolLookup **lookup)
{
	GpucolProgram *program = builder_finish(b);
	GpucolLookup *lookups[MAX_TABLES];
	GpucolRunOptions options = make_options(threads, limit, lookups);
	ArraySource source;
	GpucolRun  *run;
	const char *why;
	GpucolStatus status;

	*lookup = NULL;
	array_source_init(&source, table, 4096, pick(2));
	status = gpucol_engine_cpu.start(program, &source.base, &host, &options, &run, &why);
	if (status == GPUCOL_OK)
	{
		status = gpucol_engine_cpu.build(run, lookup);
		gpucol_engine_cpu.finish(run);
	}
	else if (status == GPUCOL_UNSUPPORTED)
		printf("refused: %s\n", why);
	free(program);
	return status;
}

/* ---- rounds ---- */

/* Say what a program that went wrong probes. */
static void
describe(const ProgramBuilder *b)
{
	static const char *const kinds[] = {"", "inner", "left", "semi", "anti", "not in", "right",
	"full", "right semi", "right anti"};

	for (int p = 0; p < b->head.nprobes; p++)
		printf("	%s: %d keys, %d rows%s%s\n", kinds[b->probes[p].kind], b->probes[p].nkeys,
			   tables[b->probes[p].table].nrows,
			   b->probes[p].residual != GPUCOL_NO_REG ? ", residual" : "",
			   b->probes[p].filter != GPUCOL_NO_REG ? ", filter" : "");
}

/* Are the same lines there, in whichever order? */
static void
compare_lines(Lines *expected, Lines *got, const char *what)
{
	bool		same;

	add_line(expected, "end");
	add_line(got, "end");
	same = expected->n == got->n;
	qsort(expected->lines, (size_t) expected->n, sizeof(char *), compare_texts);
	qsort(got->lines, (size_t) got->n, sizeof(char *), compare_texts);
	CHECK(same, "%s: %d rows, not %d", what, got->n, expected->n);
	for (int r = 0; r < expected->n && same; r++)
	{
		same = strcmp(expected->lines[r], got->lines[r]) == 0;
		CHECK(same, "%s: %s, not %s", what, got->lines[r], expected->lines[r]);
	}
}

/* Compare what the engine says with the rows of nested loops. */
static void
compare(const Naive *naive, Lines *got, const char *what)
{
	Lines		expected = {0};

	for (int r = 0; r < naive->nrows; r++)
		add_row(&expected, naive->b, naive->rows[r]);
	compare_lines(&expected, got, what);
	free_lines(&expected);
}

/* Build one more table, of a program whose outputs are chosen. */
static void
build_table(const ProgramBuilder *b, const ArrayTable *table)
{
	static Naive naive;
	Built	   *built = &tables[ntables];
	GpucolLookupFigures figures;
	GpucolStatus status;
	int			nrows = 0;

	run_naive(&naive, b, table);
	if (!naive.too_many)
	{
		status = run_build(b, table, 1 + pick(3), 0, &built->lookup);
		CHECK(status == GPUCOL_OK, "seed %llu: build: %d", (unsigned long long) round_seed, status);
		built->rows = naive.rows;
		built->nrows = naive.nrows;
		for (int r = 0; r < naive.nrows; r++)
			built->has_null |= null_key(built, r);
		/* without those of a NULL key, unless they are kept */
		for (int r = 0; r < naive.nrows; r++)
			if (built->keeps_nulls || !null_key(built, r))
				memmove(built->rows[nrows++], built->rows[r], sizeof(built->rows[0]));
		built->nrows = nrows;
		naive.rows = NULL;
		if (status == GPUCOL_OK)
		{
			nrows = 0;
			for (int r = 0; r < built->nrows; r++)
				nrows += !null_key(built, r);
			gpucol_engine_cpu.lookup_figures(built->lookup, &figures);
			CHECK(figures.rows == (uint64_t) nrows, "seed %llu: %d rows, not %d",
				  (unsigned long long) round_seed, (int) figures.rows, nrows);
			CHECK(figures.has_null == built->has_null, "seed %llu: NULL keys",
				  (unsigned long long) round_seed);
			ntables++;
		}
	}
	naive_free(&naive);
}

/* Build one more table, of a join now and then. */
static void
add_table(void)
{
	static ArrayTable table;
	static ProgramBuilder b;
	static Scope scope;
	Built	   *built = &tables[ntables];

	random_table(&table, pick(3) ? 40 : 1500);
	random_program(&b, GPUCOL_PROGRAM_BUILD, ntables > 0 && pick(3) == 0, &scope);
	memset(built, 0, sizeof(*built));
	built->nkeys = pick(6) == 0 ? 0 : 1 + (pick(3) == 0) + (pick(6) == 0);
	built->ncolumns = built->nkeys + pick(4);
	built->keeps_nulls = pick(2);
	b.head.njoin_keys = (uint16_t) built->nkeys;
	b.head.flags = built->keeps_nulls ? GPUCOL_PROGRAM_KEEP_NULL_KEYS : 0;
	for (int c = 0; c < built->ncolumns; c++)
		built->origin[c] = add_output(&scope);
	build_table(&b, &table);
	array_table_free(&table);
}

/* ---- aggregates ---- */

/* One group by hand. */
typedef struct Group
{
	char		key[512];
	int64_t		count;
	Val			args[MAX_OUTPUTS];	/* state of each aggregate */
	int64_t		counts[MAX_OUTPUTS];
	Val		   *seen[MAX_OUTPUTS];
} Group;

/* What a scan would deliver of an aggregation: the keys, then the arguments. */
static void
flatten(const ProgramBuilder *b, ProgramBuilder *flat)
{
	*flat = *b;
	flat->head.kind = GPUCOL_PROGRAM_SCAN;
	for (int a = 0; a < b->head.naggs; a++)
		flat->keys[flat->head.nkeys++] = b->aggs[a].arg;
	flat->head.naggs = 0;
}

/* Aggregates, and the same as a scan. */
static void
random_aggs(ProgramBuilder *b, ProgramBuilder *flat, Scope *scope)
{
	int			nkeys = pick(3);

	for (int k = 0; k < nkeys; k++)
		add_output(scope);
	for (int a = 1 + pick(4); a > 0; a--)
	{
		uint16_t	reg = (add_output(scope), b->keys[--b->head.nkeys]);
		GpucolClass cls = (GpucolClass) b->classes[reg];
		int			op = pick(3);

		if (cls == GPUCOL_CLASS_B || cls == GPUCOL_CLASS_F || (cls == GPUCOL_CLASS_D && op == 2))
			builder_agg(b, GPUCOL_AGG_COUNT, cls, reg, GPUCOL_NO_REG);
		else if (op == 2)
			builder_agg(b, GPUCOL_AGG_COUNT_DISTINCT, cls, reg, GPUCOL_NO_REG);
		else
			builder_agg(b, op == 0 ? GPUCOL_AGG_MIN : GPUCOL_AGG_MAX, cls, reg, GPUCOL_NO_REG);
		if (cls == GPUCOL_CLASS_S && op < 2)
			b->aggs[b->head.naggs - 1].order = (uint16_t) pick(2);
	}
	flatten(b, flat);
}

/* Which of two values an aggregate prefers: < 0 the first. */
static int
order_vals(const GpucolAgg *agg, const Val *a, const Val *b)
{
	int			order;

	if (agg->cls != GPUCOL_CLASS_S)
		order = a->i < b->i ? -1 : a->i > b->i;
	else if (agg->order > 0)
		order = host_compare(NULL, 0, &a->s, &b->s);
	else
	{
		size_t		n = a->s.len < b->s.len ? a->s.len : b->s.len;

		order = n > 0 ? memcmp(a->s.data, b->s.data, n) : 0;
		if (order == 0)
			order = a->s.len < b->s.len ? -1 : a->s.len > b->s.len;
	}
	return agg->op == GPUCOL_AGG_MAX ? -order : order;
}

static void
advance(Group *group, int a, const GpucolAgg *agg, const Val *v, int nrows)
{
	if (v->null)
		return;
	if (agg->op == GPUCOL_AGG_COUNT_DISTINCT)
	{
		if (group->seen[a] == NULL)
			group->seen[a] = calloc((size_t) nrows, sizeof(Val));
		for (int64_t i = 0; i < group->args[a].i; i++)
			if (same_val((GpucolClass) agg->cls, &group->seen[a][i], v))
				return;
		group->seen[a][group->args[a].i++] = *v;
	}
	else if (agg->op != GPUCOL_AGG_COUNT &&
			 (group->counts[a] == 0 || order_vals(agg, v, &group->args[a]) < 0))
		group->args[a] = *v;
	group->counts[a]++;
}

/* A group's line: key, count, and each aggregate. */
static void
add_group(Lines *lines, const ProgramBuilder *b, const char *key, const int64_t *counts,
		  Val *values)
{
	char		text[2048];
	size_t		at = (size_t) sprintf(text, "%s", key);

	for (int a = 0; a < b->head.naggs; a++)
	{
		const GpucolAgg *agg = &b->aggs[a];

		if (agg->op == GPUCOL_AGG_COUNT)
			at += (size_t) sprintf(text + at, "%lld|", (long long) counts[a]);
		else if (agg->op == GPUCOL_AGG_COUNT_DISTINCT)
			at += (size_t) sprintf(text + at, "%lld|", (long long) values[a].i);
		else
		{
			values[a].null = counts[a] == 0;
			at += put_val(text + at, (GpucolClass) agg->cls, &values[a]);
		}
	}
	add_line(lines, text);
}

/* The key columns of a row; zeros are one. */
static void
key_text(const ProgramBuilder *b, const Val *row, char *text)
{
	size_t		at = 0;

	text[0] = 0;
	for (int k = 0; k < b->head.nkeys; k++)
	{
		Val			v = row[k];

		v.f = v.f == 0 ? 0 : v.f;
		at += put_val(text + at, (GpucolClass) b->classes[b->keys[k]], &v);
	}
}

static void
group_naive(const ProgramBuilder *b, const Naive *naive, Lines *lines)
{
	Group	   *groups = calloc((size_t) naive->nrows + 1, sizeof(Group));
	int			ngroups = b->head.nkeys == 0;

	for (int r = 0; r < naive->nrows; r++)
	{
		char		key[512];
		int			g = 0;

		key_text(b, naive->rows[r], key);
		while (g < ngroups && strcmp(groups[g].key, key) != 0)
			g++;
		if (g == ngroups)
			strcpy(groups[ngroups++].key, key);
		for (int a = 0; a < b->head.naggs; a++)
			advance(&groups[g], a, &b->aggs[a], &naive->rows[r][b->head.nkeys + a],
					naive->nrows);
	}
	for (int g = 0; g < ngroups; g++)
	{
		add_group(lines, b, groups[g].key, groups[g].counts, groups[g].args);
		for (int a = 0; a < b->head.naggs; a++)
			free(groups[g].seen[a]);
	}
	free(groups);
}

static GpucolStatus
run_agg(const ProgramBuilder *b, const ArrayTable *table, int threads, Lines *lines)
{
	GpucolProgram *program = builder_finish(b);
	GpucolLookup *lookups[MAX_TABLES];
	GpucolRunOptions options = make_options(threads, 0, lookups);
	ArraySource source;
	GpucolResult out;
	GpucolRun  *run;
	const char *why;
	GpucolStatus status;

	array_source_init(&source, table, 4096, false);
	status = gpucol_engine_cpu.start(program, &source.base, &host, &options, &run, &why);
	while (status == GPUCOL_OK &&
		   (status = gpucol_engine_cpu.next(run, &out)) == GPUCOL_OK)
		for (uint32_t g = 0; g < out.nrows; g++)
		{
			Val			row[MAX_OUTPUTS];
			Val			values[MAX_OUTPUTS] = {0};
			int64_t		counts[MAX_OUTPUTS];
			char		key[512];

			for (int k = 0; k < b->head.nkeys; k++)
				row[k] = result_value(&out.columns[k], g);
			key_text(b, row, key);
			for (int a = 0; a < b->head.naggs; a++)
			{
				const GpucolAggState *state = &out.states[g * b->head.naggs + a];

				counts[a] = state->count;
				values[a].i = state->v.value;
				if (b->aggs[a].cls == GPUCOL_CLASS_F)
					values[a].f = state->v.f;
				if (b->aggs[a].cls == GPUCOL_CLASS_S && b->aggs[a].op != GPUCOL_AGG_COUNT_DISTINCT)
					values[a].s = (GpucolBytes) {state->v.s.data, state->v.s.len};
			}
			add_group(lines, b, key, counts, values);
		}
	gpucol_engine_cpu.finish(run);
	free(program);
	return status;
}

/* An aggregation of a random join. */
static void
aggregate_round(const ArrayTable *table, const char *what)
{
	static ProgramBuilder b;
	static ProgramBuilder flat;
	static Scope scope;
	static Naive naive;

	random_program(&b, GPUCOL_PROGRAM_AGG, 1 + pick(MAX_PROBES), &scope);
	random_aggs(&b, &flat, &scope);
	run_naive(&naive, &flat, table);
	for (int t = 1; t <= 3 && !naive.too_many && naive.nrows < 3000; t += 2)
	{
		Lines		expected = {0};
		Lines		got = {0};
		GpucolStatus status = run_agg(&b, table, t, &got);

		CHECK(status == GPUCOL_END, "%s: status %d", what, status);
		group_naive(&b, &naive, &expected);
		compare_lines(&expected, &got, what);
		free_lines(&expected);
		free_lines(&got);
	}
	naive_free(&naive);
}

/* Sums of floats depend on the order of rows, and that on the data alone. */
static void
float_round(const ArrayTable *table, const char *what)
{
	static ProgramBuilder b;
	static Scope scope;
	Lines		one = {0};
	Lines		three = {0};

	random_program(&b, GPUCOL_PROGRAM_AGG, 1, &scope);
	builder_agg(&b, GPUCOL_AGG_SUM, GPUCOL_CLASS_F, find_register(&scope, C_FLOAT, false),
				GPUCOL_NO_REG);
	if (pick(2))
		add_output(&scope);
	CHECK(run_agg(&b, table, 1, &one) == GPUCOL_END, "%s: one thread", what);
	CHECK(run_agg(&b, table, 3, &three) == GPUCOL_END, "%s: three threads", what);
	compare_lines(&one, &three, what);
	free_lines(&one);
	free_lines(&three);
}

/* A program of rows, whose outputs are chosen. */
static void
scan_round(const ProgramBuilder *b, const ArrayTable *table, const char *what)
{
	static Naive naive;

	run_naive(&naive, b, table);
	for (int t = 1; t <= 3 && !naive.too_many; t += 2)
	{
		Lines		got = {0};
		size_t		limit = pick(4) == 0 ? (size_t) pick(3000000) : 0;
		GpucolStatus status = run_scan(b, table, t, limit, pick(2), &got);

		if (limit == 0 || status != GPUCOL_OUT_OF_MEMORY)
		{
			CHECK(status == GPUCOL_END, "%s: status %d", what, status);
			long		before = check_failed;

			compare(&naive, &got, what);
			if (check_failed > before)
				describe(b);
		}
		free_lines(&got);
	}
	naive_free(&naive);
}

static void
free_tables(void)
{
	for (int t = 0; t < ntables; t++)
	{
		gpucol_engine_cpu.lookup_free(tables[t].lookup);
		free(tables[t].rows);
	}
	ntables = 0;
}

static void
one_round(uint64_t seed)
{
	static ArrayTable table;
	static ProgramBuilder b;
	static Scope scope;
	char		what[64];

	check_seed = round_seed = seed;
	spread = (int[]) {2, 10, 100}[pick(3)];
	numbers = pick(2);
	ntables = 0;
	for (int t = 0; t < 1 + pick(MAX_TABLES); t++)
		add_table();
	random_table(&table, pick(2) ? 100 : 3000);
	snprintf(what, sizeof(what), "seed %llu", (unsigned long long) seed);
	for (int i = 0; i < 3 && ntables > 0; i++)
	{
		random_program(&b, GPUCOL_PROGRAM_SCAN, 1 + pick(MAX_PROBES), &scope);
		for (int k = 1 + pick(6); k > 0; k--)
			add_output(&scope);
		scan_round(&b, &table, what);
		aggregate_round(&table, what);
		float_round(&table, what);
	}
	array_table_free(&table);
	free_tables();
}

/* ---- rows that tables deliver ---- */

/* A table of a few segments and delta, each of `nrows` rows, whose ids follow each other from `base` on. */
static void
segments_table(ArrayTable *table, int nsegments, uint32_t base, uint32_t nrows)
{
	memset(table, 0, sizeof(*table));
	table->ncolumns = NCOLUMNS;
	table->nsegments = nsegments;
	table->ndelta = nrows;
	table->tids = calloc(nrows, sizeof(uint64_t));
	for (int s = 0; s < nsegments; s++)
	{
		ArraySegment *segment = &table->segments[s];

		segment->nrows = nrows;
		segment->first_row = (uint32_t) s * nrows;
		for (int c = 0; c < NCOLUMNS; c++)
			random_column(&segment->columns[c], c, nrows, base + (uint32_t) s * nrows);
		CHECK(array_segment_encode(segment, NCOLUMNS) == GPUCOL_OK, "encode");
	}
	for (int c = 0; c < NCOLUMNS; c++)
		random_column(&table->delta[c], c, nrows, base + (uint32_t) nsegments * nrows);
}

/* Build table 0, of a key and the numbers of its rows. */
static void
build_numbers(int key, uint32_t nrows)
{
	static ArrayTable table;
	static ProgramBuilder b;
	static Scope scope;
	Built	   *built = &tables[0];

	segments_table(&table, 2, 0, nrows);
	ntables = 0;
	random_program(&b, GPUCOL_PROGRAM_BUILD, 0, &scope);
	memset(built, 0, sizeof(*built));
	built->nkeys = 1;
	built->ncolumns = 3;
	built->keeps_nulls = true;
	b.head.njoin_keys = 1;
	b.head.flags = GPUCOL_PROGRAM_KEEP_NULL_KEYS;
	for (int c = 0; c < built->ncolumns; c++)
	{
		built->origin[c] = c == 0 ? key : c == 1 ? C_ID : C_SMALL;
		b.keys[b.head.nkeys++] = find_register(&scope, built->origin[c], false);
	}
	build_table(&b, &table);
	array_table_free(&table);
}

/* A program of one join with table 0, that delivers the numbers of its rows. */
static void
tail_program(ProgramBuilder *b, GpucolProgramKind of, GpucolJoinKind kind, bool residual, bool filter,
			 Scope *scope)
{
	random_program(b, of, 0, scope);
	builder_probe(b, 0, kind);
	builder_probe_key(b, find_register(scope, tables[0].origin[0], true));
	if (residual)
		builder_residual(b, random_condition(scope, pick(3) == 0 ? -1 : 0));
	scope->visible = 1;
	if (filter)
		builder_probe_filter(b, random_condition(scope, 0));
}

/*
 * Each join that delivers rows without a match, or of its table, by keys that are unique and by
 * others, with and without conditions: other rows of the table are met by each segment and by the
 * delta.  Half of the aggregates read nothing of the table.
 */
static void
tail_round(uint64_t seed)
{
	static ArrayTable table;
	static ProgramBuilder b;
	static ProgramBuilder flat;
	static Scope scope;
	static Naive naive;
	char		what[64];

	check_seed = round_seed = seed;
	numbers = true;
	spread = 60;
	segments_table(&table, 6, 90, 40);
	for (int i = 0; i < 5 * 8; i++)
	{
		static const GpucolJoinKind kinds[] = {GPUCOL_JOIN_LEFT, GPUCOL_JOIN_RIGHT, GPUCOL_JOIN_FULL,
		GPUCOL_JOIN_RIGHT_SEMI, GPUCOL_JOIN_RIGHT_ANTI};
		GpucolJoinKind kind = kinds[i / 8];
		Lines		expected = {0};
		Lines		got = {0};

		build_numbers(i % 2 ? C_ID : C_SMALL, 110);
		snprintf(what, sizeof(what), "seed %llu, table's rows %d", (unsigned long long) seed, i);
		tail_program(&b, GPUCOL_PROGRAM_SCAN, kind, i / 2 % 2, i / 4 % 2, &scope);
		for (int c = 0; c < 3; c++)
			b.keys[b.head.nkeys++] = load_payload(&scope, 0, c);
		b.keys[b.head.nkeys++] = find_register(&scope, C_ID, true);
		scan_round(&b, &table, what);
		tail_program(&b, GPUCOL_PROGRAM_AGG, kind, i / 2 % 2, i / 4 % 2, &scope);
		if (pick(2))
			random_aggs(&b, &flat, &scope);
		else
		{
			builder_agg(&b, GPUCOL_AGG_COUNT, GPUCOL_CLASS_I,
						builder_instr(&b, GPUCOL_OP_CONST_I, GPUCOL_CLASS_I, 0, 0, 0,
									  builder_const_int(&b, GPUCOL_CLASS_I, 1)), GPUCOL_NO_REG);
			flatten(&b, &flat);
		}
		run_naive(&naive, &flat, &table);
		CHECK(run_agg(&b, &table, 2, &got) == GPUCOL_END, "%s", what);
		group_naive(&b, &naive, &expected);
		compare_lines(&expected, &got, what);
		free_lines(&expected);
		free_lines(&got);
		naive_free(&naive);
		free_tables();
	}
	array_table_free(&table);
}

/* ---- rows that multiply ---- */

/* A table of `nrows` rows in segments and delta, all columns of which are theirs. */
static void
plain_table(ArrayTable *table, uint32_t nrows)
{
	memset(table, 0, sizeof(*table));
	table->ncolumns = NCOLUMNS;
	table->nsegments = 1;
	table->segments[0].nrows = nrows - 500;
	table->ndelta = 500;
	table->tids = calloc(table->ndelta, sizeof(uint64_t));
	for (int c = 0; c < NCOLUMNS; c++)
	{
		random_column(&table->segments[0].columns[c], c, nrows - 500, 0);
		random_column(&table->delta[c], c, 500, nrows - 500);
	}
	CHECK(array_segment_encode(&table->segments[0], NCOLUMNS) == GPUCOL_OK, "encode");
}

/* A program that counts all pairs of rows, and adds 1.5 up for each, or delivers them. */
static void
cross_program(ProgramBuilder *b, GpucolProgramKind kind)
{
	builder_init(b, kind);
	for (int c = 0; c < NCOLUMNS; c++)
		builder_column(b, shapes[c].kind, c == C_DEC ? 2 : 0);
	builder_probe(b, 0, GPUCOL_JOIN_LEFT);
	if (kind == GPUCOL_PROGRAM_AGG)
	{
		builder_agg(b, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE, GPUCOL_NO_REG, GPUCOL_NO_REG);
		builder_agg(b, GPUCOL_AGG_SUM, GPUCOL_CLASS_F,
					builder_instr(b, GPUCOL_OP_CONST_F, GPUCOL_CLASS_F, 0, 0, 0, builder_const_float(b, 1.5)),
					GPUCOL_NO_REG);
	}
	else
		b->keys[b->head.nkeys++] = builder_instr(b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0,
												 NCOLUMNS + builder_payload(b, 0, 0, GPUCOL_KIND_INT));
}

/* Build table 0 of a table's C_ID, without a key. */
static void
build_cross(const ArrayTable *table)
{
	static ProgramBuilder b;

	builder_init(&b, GPUCOL_PROGRAM_BUILD);
	for (int c = 0; c < NCOLUMNS; c++)
		builder_column(&b, shapes[c].kind, c == C_DEC ? 2 : 0);
	b.keys[b.head.nkeys++] = builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, C_ID);
	ntables = 0;
	CHECK(run_build(&b, table, 2, 0, &tables[0].lookup) == GPUCOL_OK, "build");
	ntables = 1;
}

/*
 * All pairs of many rows: the engine comes back to look for interrupts again and again, and
 * a scan delivers them in memory that does not grow with them.
 */
static void
cross_join(uint32_t nrows)
{
	static ArrayTable table;
	static ProgramBuilder b;

	plain_table(&table, nrows);
	build_cross(&table);
	for (int kind = GPUCOL_PROGRAM_SCAN; kind <= GPUCOL_PROGRAM_AGG; kind++)
	{
		GpucolProgram *program;
		GpucolLookup *lookups[MAX_TABLES];
		GpucolRunOptions options = make_options(2, 8 << 20, lookups);
		ArraySource source;
		GpucolResult out;
		GpucolRun  *run;
		GpucolProbeFigures figures;
		const char *why;
		uint64_t	count = 0;
		GpucolStatus status;

		cross_program(&b, (GpucolProgramKind) kind);
		program = builder_finish(&b);
		array_source_init(&source, &table, 4096, false);
		status = gpucol_engine_cpu.start(program, &source.base, &host, &options, &run, &why);
		CHECK(status == GPUCOL_OK, "start: %s", why);
		while ((status = gpucol_engine_cpu.next(run, &out)) == GPUCOL_OK)
		{
			count += kind == GPUCOL_PROGRAM_AGG ? (uint64_t) out.states[0].count : out.nrows;
			if (kind == GPUCOL_PROGRAM_AGG)
				CHECK(out.states[1].v.f == 1.5 * nrows * nrows, "a sum of %g", out.states[1].v.f);
		}
		CHECK(status == GPUCOL_END, "status %d", status);
		CHECK(count == (uint64_t) nrows * nrows, "%llu pairs", (unsigned long long) count);
		gpucol_engine_cpu.probe_figures(run, 0, &figures);
		CHECK(figures.probed == nrows && figures.found == count, "figures");
		if (kind == GPUCOL_PROGRAM_SCAN)
			CHECK(source.calls > 100, "%ld calls", source.calls);
		gpucol_engine_cpu.finish(run);
		free(program);
	}
	gpucol_engine_cpu.lookup_free(tables[0].lookup);
	array_table_free(&table);
}

/*
 * A table of more hashed keys than are ordered at once, joined with itself: each row meets
 * itself alone.
 */
static void
large_hash(uint32_t nrows)
{
	static ArrayTable table;
	static ProgramBuilder b;
	GpucolLookupFigures figures;
	uint64_t	counts[2] = {0, 0};

	plain_table(&table, nrows);
	builder_init(&b, GPUCOL_PROGRAM_BUILD);
	for (int c = 0; c < NCOLUMNS; c++)
		builder_column(&b, shapes[c].kind, c == C_DEC ? 2 : 0);
	b.keys[b.head.nkeys++] = builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, C_BIG);
	b.keys[b.head.nkeys++] = builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, C_ID);
	b.head.njoin_keys = 1;
	ntables = 0;
	CHECK(run_build(&b, &table, 2, 0, &tables[0].lookup) == GPUCOL_OK, "build");
	ntables = 1;
	gpucol_engine_cpu.lookup_figures(tables[0].lookup, &figures);
	CHECK(!figures.dense && figures.unique && figures.ranges[0].known, "figures");
	for (int differ = 0; differ < 2; differ++)
	{
		Lines		lines = {0};
		uint16_t	payload;
		uint16_t	id;

		builder_init(&b, GPUCOL_PROGRAM_SCAN);
		for (int c = 0; c < NCOLUMNS; c++)
			builder_column(&b, shapes[c].kind, c == C_DEC ? 2 : 0);
		builder_probe(&b, 0, GPUCOL_JOIN_INNER);
		builder_probe_key(&b, builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, C_BIG));
		payload = builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0,
								NCOLUMNS + builder_payload(&b, 0, 1, GPUCOL_KIND_INT));
		id = builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, C_ID);
		if (differ)
			builder_probe_filter(&b, builder_instr(&b, GPUCOL_OP_NE_I, GPUCOL_CLASS_B, payload,
												   id, 0, 0));
		CHECK(run_scan(&b, &table, 2, 0, false, &lines) == GPUCOL_END, "scan");
		counts[differ] = (uint64_t) lines.n;
		free_lines(&lines);
	}
	CHECK(counts[0] == figures.rows && counts[1] == 0, "%d rows of %d, %d of others",
		  (int) counts[0], (int) figures.rows, (int) counts[1]);
	gpucol_engine_cpu.lookup_free(tables[0].lookup);
	array_table_free(&table);
}

/* The source leaves by longjmp in any of its calls: nothing is lost. */
static void
leave_midway(void)
{
	static ArrayTable table;

	plain_table(&table, 3000);
	build_cross(&table);
	for (volatile int kind = GPUCOL_PROGRAM_SCAN; kind <= GPUCOL_PROGRAM_BUILD; kind++)
		for (volatile long at = 1; at < 40; at += 3)
		{
			static ProgramBuilder b;
			GpucolProgram *program;
			GpucolLookup *lookups[MAX_TABLES];
			GpucolRunOptions options = make_options(2, 0, lookups);
			ArraySource source;
			GpucolResult out;
			GpucolRun  *run;
			GpucolLookup *lookup = NULL;
			const char *why;

			cross_program(&b, (GpucolProgramKind) kind);
			if (kind == GPUCOL_PROGRAM_BUILD)
				b.probes[0].kind = GPUCOL_JOIN_SEMI, b.head.ninstrs = b.head.nkeys = b.head.npayloads = 0;
			program = builder_finish(&b);
			array_source_init(&source, &table, 4096, false);
			CHECK(gpucol_engine_cpu.start(program, &source.base, &host, &options, &run, &why) ==
				  GPUCOL_OK, "start");
			source.fail_at = at;
			if (setjmp(source.jump) == 0)
			{
				if (kind == GPUCOL_PROGRAM_BUILD)
					(void) gpucol_engine_cpu.build(run, &lookup);
				else
					while (gpucol_engine_cpu.next(run, &out) == GPUCOL_OK)
						;
			}
			gpucol_engine_cpu.finish(run);
			gpucol_engine_cpu.lookup_free(lookup);
			array_source_abort(&source);
			free(program);
		}
	gpucol_engine_cpu.lookup_free(tables[0].lookup);
	array_table_free(&table);
}

int
main(int argc, char **argv)
{
	int			rounds = argc > 1 ? atoi(argv[1]) : 60;
	uint64_t	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

	for (int i = 0; i < 4000; i++)
		snprintf(texts[i], sizeof(texts[i]), "text %d of some", i * i % 4001);
	for (int r = 0; r < rounds; r++)
	{
		one_round(seed + (uint64_t) r);
		if (r % 5 == 0)
			tail_round(seed + (uint64_t) r);
	}
	cross_join(4000);
	large_hash(100000);
	leave_midway();
	return check_summary("engine_join");
}
