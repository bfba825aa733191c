/*-------------------------------------------------------------------------
 *
 * program_check.cc
 *	  Unit test of what the device daemon believes of a program (cuda/query/program_check.h): one
 *	  that is right, each number of it wrong, and any bytes of it changed.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/program_check.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "cuda/scan/interp_plan.h"
#include "service/protocol.h"

#include "check_cc.h"

static const uint32_t NCOLUMNS = 4;
static const uint16_t NO = GPUCOL_NO_REG;

/*
 * A program with some of everything: columns of integers, decimals, floats and bytes; a
 * register of each class; two joins, of which the first has a residual and a column that is
 * read behind it.
 */
struct Program
{
	GpucolProgram head;
	GpucolProgramColumn columns[NCOLUMNS];
	GpucolConst consts[6];
	GpucolRange ranges[6];
	GpucolInstr instrs[14];
	uint8_t		classes[16];	/* of 14 registers */
	uint16_t	keys[4];		/* of which 1 */
	GpucolAgg	aggs[5];
	GpucolProbe probes[2];
	GpucolPayload payloads[2];
	uint16_t	probe_keys[4];	/* of which 2 */

	Program()
	{
		memset((void *) this, 0, sizeof(*this));
		head = {GPUCOL_PROGRAM_MAGIC, GPUCOL_PROGRAM_VERSION, GPUCOL_PROGRAM_AGG, sizeof(Program), NCOLUMNS,
				6, 6, 14, 2, 14, 1, 1, 5, 64, 2, 2, 2, 0, 0,
			offsetof(Program, columns), offsetof(Program, consts), offsetof(Program, ranges), offsetof(Program, instrs),
			offsetof(Program, classes), offsetof(Program, keys), offsetof(Program, aggs),
			offsetof(Program, probes), offsetof(Program, payloads), offsetof(Program, probe_keys)};
		columns[0] = {1, GPUCOL_KIND_INT, 0, 20};
		columns[1] = {2, GPUCOL_KIND_DECIMAL, 3, 1700};
		columns[2] = {4, GPUCOL_KIND_FLOAT8, 0, 701};
		columns[3] = {5, GPUCOL_KIND_BYTES, 0, 25};
		for (int i = 0; i < 3; i++)
		{
			consts[i].cls = GPUCOL_CLASS_I;
			consts[i].v.i = i;
		}
		consts[3].cls = GPUCOL_CLASS_D;
		consts[4].cls = GPUCOL_CLASS_F;
		consts[5].cls = GPUCOL_CLASS_B;
		consts[5].isnull = 1;
		ranges[0] = {0, GPUCOL_RANGE_BETWEEN, GPUCOL_RANGE_LO_OPEN, 0, NO, 0};
		ranges[1] = {0, GPUCOL_RANGE_IN, 0, 1, 0, 2};
		ranges[2] = {3, GPUCOL_RANGE_HOST, 0, 0, 0, 63};
		ranges[3] = {1, GPUCOL_RANGE_NOT_BETWEEN, 0, 3, 3, 0};
		ranges[4] = {2, GPUCOL_RANGE_BETWEEN, 0, 4, 5, 0};	/* up to NULL */
		ranges[5] = {3, GPUCOL_RANGE_IS_NULL, 0, NO, NO, 0};
		instrs[0] = {GPUCOL_OP_LOAD_I, 0, NO, NO, NO, NO, 0};
		instrs[1] = {GPUCOL_OP_IN_I, 1, 0, 1, 2, NO, 0};
		instrs[2] = {GPUCOL_OP_CONST_I, 2, NO, NO, NO, NO, 2};
		instrs[3] = {GPUCOL_OP_CASE_I, 3, 1, 0, 2, 1, 0};
		instrs[4] = {GPUCOL_OP_LOAD_S, 4, NO, NO, NO, NO, 3};
		instrs[5] = {GPUCOL_OP_HOST_TEST, 5, 4, NO, NO, NO, 63};
		instrs[6] = {GPUCOL_OP_ADD_I, 6, 0, 2, NO, 5, 8};
		instrs[7] = {GPUCOL_OP_LOAD_D, 7, NO, NO, NO, NO, 1};
		instrs[8] = {GPUCOL_OP_RESCALE_D, 8, 7, NO, NO, NO, 64};
		instrs[9] = {GPUCOL_OP_LOAD_F, 9, NO, NO, NO, NO, 2};
		instrs[10] = {GPUCOL_OP_F_TO_I, 10, 9, NO, NO, NO, 2};
		instrs[11] = {GPUCOL_OP_MUL_F, 11, 9, 9, NO, NO, 4};
		instrs[12] = {GPUCOL_OP_LOAD_I, 12, NO, NO, NO, NO, (int) NCOLUMNS};
		instrs[13] = {GPUCOL_OP_IS_NULL_I, 13, 12, NO, NO, NO, 0};
		probes[0] = {1, GPUCOL_JOIN_LEFT, 0, 1, 5, 14, 14, 13, NO, 0};
		probes[1] = {0, GPUCOL_JOIN_NOT_IN, 1, 1, 14, 14, 14, NO, 5, 0};
		payloads[0] = {0, 3, GPUCOL_KIND_INT, {}};
		payloads[1] = {1, 0, GPUCOL_KIND_BYTES, {}};
		probe_keys[0] = 4;
		probe_keys[1] = 9;
		const uint8_t of[] = {GPUCOL_CLASS_I, GPUCOL_CLASS_B, GPUCOL_CLASS_I, GPUCOL_CLASS_I, GPUCOL_CLASS_S,
							  GPUCOL_CLASS_B,
			GPUCOL_CLASS_I, GPUCOL_CLASS_D, GPUCOL_CLASS_D, GPUCOL_CLASS_F, GPUCOL_CLASS_I, GPUCOL_CLASS_F,
			GPUCOL_CLASS_I, GPUCOL_CLASS_B};

		memcpy(classes, of, sizeof(of));
		keys[0] = 3;
		aggs[0] = {GPUCOL_AGG_COUNT_STAR, 0, NO, 1, 0};
		aggs[1] = {GPUCOL_AGG_SUM, GPUCOL_CLASS_I, 2, NO, 0};
		aggs[2] = {GPUCOL_AGG_MAX, GPUCOL_CLASS_S, 4, NO, 3};
		aggs[3] = {GPUCOL_AGG_BOOL_AND, GPUCOL_CLASS_B, 1, NO, 0};
		aggs[4] = {GPUCOL_AGG_SUMSQ, GPUCOL_CLASS_D, 8, NO, 0};
	}
};

/* Why `size` bytes are not believed, as far as they are there; "" where they are. */
static std::string
reason(const void *bytes, size_t size, uint32_t ncolumns = NCOLUMNS)
{
	std::vector<uint64_t> memory((size + 7) / 8 + (size == 0));

	memcpy(memory.data(), bytes, size);
	try
	{
		gpucol_program_check((const GpucolProgram *) memory.data(), size, ncolumns);
	}
	catch (const Failure &f)
	{
		return f.status == GPUCOL_UNSUPPORTED ? f.reason : "another status";
	}
	return "";
}

/* A program is refused, for this reason, once something of it is changed. */
static void
wrong(const char *why, const std::function<void(Program &)> &change)
{
	Program		program;
	std::string got;

	change(program);
	got = reason(&program, sizeof(program));
	CHECK(std::string(why) + ", not \"" + got + "\"", got.find(why) != std::string::npos);
}

static void
test_right()
{
	Program		program;

	CHECK("a program: " + reason(&program, sizeof(program)), reason(&program, sizeof(program)).empty());
	program.head.kind = GPUCOL_PROGRAM_SCAN;
	program.head.filter = NO;
	program.ranges[1].n = 0;
	program.ranges[1].lo = NO;
	CHECK("a scan without a filter, of no values", reason(&program, sizeof(program)).empty());
	for (uint16_t kind : {GPUCOL_JOIN_RIGHT, GPUCOL_JOIN_FULL, GPUCOL_JOIN_RIGHT_SEMI, GPUCOL_JOIN_RIGHT_ANTI})
	{
		program.probes[0].kind = kind;
		CHECK("a join that delivers rows of its table", reason(&program, sizeof(program)).empty());
	}
}

static void
test_heads()
{
	Program		program;

	for (size_t size : {(size_t) 0, (size_t) 1, sizeof(GpucolProgram) - 1, sizeof(GpucolProgram), sizeof(Program) - 8})
		CHECK("a part of it", reason(&program, size) == "malformed request: not a program");
	CHECK("of other columns", reason(&program, sizeof(program), NCOLUMNS + 1) == "malformed request: not a program");
	wrong("not a program", [] (Program &p) { p.head.magic++; });
	wrong("not a program", [] (Program &p) { p.head.version++; });
	wrong("not a program", [] (Program &p) { p.head.size += 8; });
	wrong("not a program", [] (Program &p) { p.head.flags = GPUCOL_PROGRAM_KEEP_NULL_KEYS; });
	wrong("not a program", [] (Program &p) {
		p.head.kind = GPUCOL_PROGRAM_BUILD;
		p.head.flags = 2;
	});
	wrong("not a program", [] (Program &p) { p.head.nhost = GPUCOL_WIRE_MAX_HOST + 1; });
	wrong("kind of program", [] (Program &p) { p.head.kind = 99; });
	wrong("more registers", [] (Program &p) {
		p.head.nregs = 1025;
		p.head.reg_classes = 0;	/* there is room */
	});
	wrong("program arrays", [] (Program &p) { p.head.filter = 14; });
	wrong("program arrays", [] (Program &p) { p.head.nfilter_instrs = 15; });
	wrong("program arrays", [] (Program &p) { p.head.nconsts = UINT16_MAX; });
	wrong("program arrays", [] (Program &p) { p.head.consts += 4; });
	wrong("program arrays", [] (Program &p) { p.head.instrs = UINT32_MAX - 3; });
	wrong("program arrays", [] (Program &p) { p.head.aggs = sizeof(Program) - 2; });
	wrong("program arrays", [] (Program &p) { p.head.keys |= 1; });
	wrong("program arrays", [] (Program &p) { p.head.probes = sizeof(Program) - 20; });
	wrong("program arrays", [] (Program &p) { p.head.payloads = sizeof(Program) - 4; });
	wrong("program arrays", [] (Program &p) { p.head.probe_keys = sizeof(Program); });
	wrong("keys of a table", [] (Program &p) { p.head.njoin_keys = 1; });
	wrong("keys of a table", [] (Program &p) { p.head.kind = GPUCOL_PROGRAM_BUILD; });
	wrong("keys of a table", [] (Program &p) {
		p.head.kind = GPUCOL_PROGRAM_BUILD;
		p.head.naggs = 0;
		p.head.njoin_keys = p.head.nkeys + 1;
	});
	wrong("more columns", [] (Program &p) {
		p.head.kind = GPUCOL_PROGRAM_BUILD;
		p.head.naggs = 0;
		p.head.njoin_keys = 1;
		p.head.nkeys = 65;
		p.head.keys = 0;
	});
	wrong("more joins", [] (Program &p) { p.head.nprobes = GPUCOL_MAX_PROBES + 1; });
	wrong("more joins", [] (Program &p) { p.head.nprobe_keys = GPUCOL_MAX_PROBE_KEYS + 1; });
	wrong("more joins", [] (Program &p) { p.head.npayloads = GPUCOL_MAX_PAYLOADS + 1; });
}

static void
test_numbers()
{
	for (uint16_t n : {(uint16_t) 14, (uint16_t) 77, (uint16_t) (NO - 1)})
	{
		wrong("register of an instruction", [n] (Program &p) { p.instrs[0].dst = n; });
		wrong("register of an instruction", [n] (Program &p) { p.instrs[0].mask = n; });
		wrong("register of an instruction", [n] (Program &p) { p.instrs[1].a = n; });
		wrong("register of an instruction", [n] (Program &p) { p.instrs[3].b = n; });
		wrong("register of an instruction", [n] (Program &p) { p.instrs[3].c = n; });
		wrong("operand of an instruction", [n] (Program &p) { p.instrs[1].c = n; });
		wrong("operand of an instruction", [n] (Program &p) { p.instrs[0].aux = n; });
		wrong("operand of an instruction", [n] (Program &p) { p.instrs[2].aux = -(int) n; });
		wrong("range", [n] (Program &p) { p.ranges[0].lo = n; });
		wrong("range", [n] (Program &p) { p.ranges[0].hi = n; });
		wrong("range", [n] (Program &p) { p.ranges[1].lo = n; });
		wrong("range", [n] (Program &p) { p.ranges[1].n = n; });
		wrong("range", [n] (Program &p) { p.ranges[2].column = n; });
		wrong("key", [n] (Program &p) { p.keys[0] = n; });
		wrong("aggregate", [n] (Program &p) { p.aggs[1].arg = n; });
		wrong("aggregate", [n] (Program &p) { p.aggs[0].filter = n; });
	}
	wrong("register of an instruction", [] (Program &p) { p.instrs[0].op = GPUCOL_OP_COUNT; });
	wrong("register of an instruction", [] (Program &p) { p.instrs[0].op = UINT16_MAX; });
	wrong("register of an instruction", [] (Program &p) { p.instrs[0].dst = NO; });
	wrong("operand of an instruction", [] (Program &p) { p.instrs[5].aux = GPUCOL_WIRE_MAX_HOST; });
	wrong("range", [] (Program &p) { p.ranges[2].n = GPUCOL_WIRE_MAX_HOST; });
	wrong("range", [] (Program &p) { p.ranges[1].lo = NO; });
	wrong("range", [] (Program &p) { p.ranges[1].n = UINT32_MAX; });
	wrong("key", [] (Program &p) { p.keys[0] = NO; });
	wrong("aggregate", [] (Program &p) { p.aggs[1].arg = NO; });
}

/* What an instruction, a range or an aggregate means otherwise than by number. */
static void
test_meanings()
{
	for (int aux : {-1, -64, INT32_MIN, 65, INT32_MAX})
		wrong("operand of an instruction", [aux] (Program &p) { p.instrs[8].aux = aux; });
	for (int aux : {-8, 0, 1, 3, 16})
	{
		wrong("operand of an instruction", [aux] (Program &p) { p.instrs[6].aux = aux; });
		wrong("operand of an instruction", [aux] (Program &p) { p.instrs[10].aux = aux; });
		wrong("operand of an instruction", [aux] (Program &p) { p.instrs[11].aux = aux; });
	}
	wrong("operand of an instruction", [] (Program &p) { p.instrs[11].aux = 2; });	/* no float has */
	wrong("operand of an instruction", [] (Program &p) { p.consts[2].v.i = 1; });	/* does not ascend */
	wrong("operand of an instruction", [] (Program &p) { p.instrs[1].b = 2; });	/* a decimal among them */
	wrong("operand of an instruction", [] (Program &p) { p.instrs[2].aux = 4; });
	for (int slot : {1, 2, 3})
		wrong("operand of an instruction",
			  [slot] (Program &p) { p.instrs[slot == 1 ? 9 : slot == 2 ? 4 : 7].aux = slot; });
	wrong("operand of an instruction", [] (Program &p) { p.head.nhost = 63; p.ranges[2].n = 0; });
	for (uint8_t op : {0, (int) GPUCOL_RANGE_HOST + 1, 255})
		wrong("range", [op] (Program &p) { p.ranges[0].op = op; });
	wrong("range", [] (Program &p) { p.ranges[0].flags = 4; });
	wrong("range", [] (Program &p) { p.ranges[0].lo = 3; });	/* a decimal */
	wrong("range", [] (Program &p) { p.ranges[3].lo = 0; });	/* an integer */
	wrong("range", [] (Program &p) { p.ranges[4].lo = 1; });
	wrong("range", [] (Program &p) { p.ranges[1].column = 3; });	/* a list of bytes */
	wrong("range", [] (Program &p) { p.ranges[2].column = 0; });	/* bytes for the host */
	for (uint8_t op : {0, (int) GPUCOL_AGG_COUNT_DISTINCT + 1, 255})
		wrong("aggregate", [op] (Program &p) { p.aggs[1].op = op; });
	wrong("aggregate", [] (Program &p) { p.aggs[1].cls = GPUCOL_CLASS_D; });
	wrong("aggregate", [] (Program &p) { p.aggs[1].op = GPUCOL_AGG_BOOL_OR; });
	wrong("aggregate", [] (Program &p) { p.aggs[1].order = 1; });
	wrong("aggregate", [] (Program &p) { p.aggs[2].op = GPUCOL_AGG_SUM; p.aggs[2].order = 0; });
	wrong("aggregate", [] (Program &p) { p.aggs[2].op = GPUCOL_AGG_COUNT; });
	wrong("aggregate", [] (Program &p) { p.aggs[3].op = GPUCOL_AGG_SUMSQ; });
	wrong("aggregate", [] (Program &p) { p.aggs[0].filter = 2; });
}

/* Registers have one value, of their class, before they are read. */
static void
test_registers()
{
	wrong("register of an instruction", [] (Program &p) { p.instrs[2].dst = 0; });	/* twice */
	wrong("register of an instruction", [] (Program &p) { p.instrs[1].a = 6; });	/* not yet */
	wrong("register of an instruction", [] (Program &p) { p.instrs[6].mask = 11; });	/* not yet */
	wrong("register of an instruction", [] (Program &p) { p.instrs[6].mask = 2; });	/* no truth */
	wrong("register of an instruction", [] (Program &p) { p.instrs[5].a = 2; });	/* no bytes */
	wrong("register of an instruction", [] (Program &p) { p.instrs[8].a = 2; });
	wrong("register of an instruction", [] (Program &p) { p.classes[3] = GPUCOL_CLASS_D; });
	wrong("register of an instruction", [] (Program &p) { p.classes[0] = 0; });
	wrong("register of an instruction", [] (Program &p) { p.classes[0] = 255; });
	wrong("filter", [] (Program &p) { p.head.filter = 0; });	/* no truth */
	wrong("filter", [] (Program &p) { p.head.filter = 5; });	/* made too late */
	wrong("filter", [] (Program &p) { p.head.nfilter_instrs = 1; });
	wrong("key", [] (Program &p) { p.head.ninstrs = 3; p.head.naggs = p.head.nprobes = 0; });	/* has none */
	wrong("aggregate", [] (Program &p) { p.head.ninstrs = 4; p.head.nprobes = 0; });
	wrong("column", [] (Program &p) { p.columns[0].attnum = 0; });
	wrong("column", [] (Program &p) { p.columns[0].attnum = -7; });
	wrong("column", [] (Program &p) { p.columns[0].kind = 0; });
	wrong("column", [] (Program &p) { p.columns[0].kind = GPUCOL_KIND_BYTES + 1; });
	wrong("column", [] (Program &p) { p.columns[0].scale = 1; });
	wrong("column", [] (Program &p) { p.columns[1].scale = -1; });
	wrong("column", [] (Program &p) { p.columns[1].scale = 19; });
	wrong("constant", [] (Program &p) { p.consts[0].cls = GPUCOL_CLASS_S; });
	wrong("constant", [] (Program &p) { p.consts[0].cls = 0; });
	wrong("constant", [] (Program &p) { p.consts[0].isnull = 2; });
}

/* Joins: their steps in order, of registers that are there, columns of tables where they are. */
static void
test_probes()
{
	for (uint16_t n : {(uint16_t) 15, (uint16_t) 77, NO})
	{
		wrong("key of a probe", [n] (Program &p) { p.probe_keys[0] = n; });
		wrong("steps of a probe", [n] (Program &p) { p.probes[1].filter_end = n; });
		wrong("probe", [n] (Program &p) { p.probes[0].nkeys = n; });
		wrong("probe", [n] (Program &p) { p.probes[0].first_key = n; });
		wrong("operand of an instruction", [n] (Program &p) { p.instrs[12].aux = NCOLUMNS + n; });
		wrong("operand of an instruction", [n] (Program &p) { p.payloads[0].probe = n; });
	}
	for (uint16_t kind : {0, (int) GPUCOL_JOIN_RIGHT_ANTI + 1, 77})
		wrong("malformed request: probe", [kind] (Program &p) { p.probes[0].kind = kind; });
	wrong("malformed request: probe", [] (Program &p) { p.probes[0].table = GPUCOL_WIRE_MAX_PROBES; });
	wrong("malformed request: probe", [] (Program &p) { p.probes[0].kind = GPUCOL_JOIN_NOT_IN; });
	wrong("malformed request: probe", [] (Program &p) { p.probes[1].nkeys = 0; });
	wrong("steps of a probe", [] (Program &p) { p.probes[0].keys_end = 1; });
	wrong("steps of a probe", [] (Program &p) { p.probes[0].residual_end = 4; });
	wrong("steps of a probe", [] (Program &p) { p.probes[1].keys_end = 13; });
	wrong("key of a probe", [] (Program &p) { p.probe_keys[0] = 9; });	/* made too late */
	wrong("condition of a probe", [] (Program &p) { p.probes[0].residual = 12; });	/* no truth */
	wrong("condition of a probe", [] (Program &p) { p.probes[0].residual_end = 13; });
	wrong("condition of a probe", [] (Program &p) { p.probes[1].filter = 77; });
	wrong("operand of an instruction", [] (Program &p) { p.probes[0].keys_end = 13; });	/* before its look-up */
	wrong("operand of an instruction", [] (Program &p) { p.payloads[0].kind = GPUCOL_KIND_BYTES; });
	wrong("operand of an instruction", [] (Program &p) {
		p.probes[0].kind = GPUCOL_JOIN_SEMI;	/* behind a semi-join there is none */
		p.probes[0].residual = NO;
		p.probes[0].residual_end = 5;
	});
}

/* A scan whose outputs are registers 3 (I), 8 (D), 9 (F), 1 (B) and 4 (S), and what becomes of its rows. */
struct Rows
{
	Program		program;
	uint16_t	more[8];
	GpucolRowShape shape;

	Rows()
	{
		const uint16_t outputs[] = {3, 8, 9, 1, 4};

		memset(more, 0, sizeof(more));
		memcpy(more, outputs, sizeof(outputs));
		program.head.kind = GPUCOL_PROGRAM_SCAN;
		program.head.nkeys = 5;
		program.head.keys = offsetof(Rows, more) - offsetof(Rows, program);
		memset((void *) &shape, 0, sizeof(shape));
	}
};

/* Why a shape is not believed; "" where it is. */
static std::string
shape_reason(const std::function<void(GpucolRowShape &, GpucolProgram &)> &change, uint32_t kind)
{
	Rows		rows;

	rows.program.head.nprobes = rows.program.head.npayloads = rows.program.head.nprobe_keys = 0;
	rows.shape.kind = kind;
	rows.shape.nkeys = 1;
	rows.shape.k = 5;
	rows.shape.nsets = rows.shape.nrankings = 2;
	for (int i = 0; i < 2; i++)
	{
		rows.shape.sets[i] = {3, 0, i == 0 ? 1 : 2, 4, -1, 0, 1000.0};
		rows.shape.rankings[i] = {GPUCOL_RANK_U_TOPK, 3, i == 0 ? -1 : 0,
								  GPUCOL_WANTED_LABELS | GPUCOL_WANTED_PROBABILITY, (uint32_t) i, 0, 0};
	}
	change(rows.shape, rows.program.head);
	try
	{
		gpucol_shape_check(&rows.program.head, &rows.shape);
	}
	catch (const Failure &f)
	{
		return f.reason;
	}
	return "";
}

static void
wrong_shape(const char *why, uint32_t kind, const std::function<void(GpucolRowShape &, GpucolProgram &)> &change)
{
	std::string got = shape_reason(change, kind);

	CHECK(std::string(why) + ", not \"" + got + "\"", got.find(why) != std::string::npos);
}

static void
test_shapes()
{
	typedef GpucolRowShape Shape;
	typedef GpucolProgram Head;
	const uint32_t TOP = GPUCOL_SHAPE_TOP,
				RANKED = GPUCOL_SHAPE_RANKED;

	for (uint32_t kind : {(uint32_t) GPUCOL_SHAPE_ROWS, TOP, RANKED})
	{
		CHECK("a shape: " + shape_reason([] (Shape &, Head &) {}, kind),
			  shape_reason([] (Shape &, Head &) {}, kind).empty());
		wrong_shape("shape of the rows", kind, [] (Shape &, Head &p) { p.kind = GPUCOL_PROGRAM_AGG; });
	}
	wrong_shape("first rows of a join", TOP, [] (Shape &, Head &p) { p.nprobes = 1; });
	wrong_shape("shape of the rows", RANKED + 1, [] (Shape &, Head &) {});
	wrong_shape("shape of the rows", TOP, [] (Shape &s, Head &) { s.nkeys = 0; });
	wrong_shape("shape of the rows", TOP, [] (Shape &s, Head &) { s.nkeys = GPUCOL_SHAPE_MAX_KEYS + 1; });
	wrong_shape("shape of the rows", TOP, [] (Shape &s, Head &) { s.k = 0; });
	wrong_shape("shape of the rows", RANKED, [] (Shape &s, Head &) { s.nkeys = 6; });
	wrong_shape("shape of the rows", RANKED, [] (Shape &s, Head &) { s.nsets = GPUCOL_SHAPE_MAX_SETS + 1; });
	wrong_shape("shape of the rows", RANKED, [] (Shape &s, Head &) { s.nrankings = UINT32_MAX; });
	for (int32_t output : {-2, 5, INT32_MAX, INT32_MIN})
	{
		wrong_shape("sort key", TOP, [output] (Shape &s, Head &) { s.keys[0].output = output; });
		wrong_shape("rows to be ranked", RANKED, [output] (Shape &s, Head &) { s.sets[0].filter = output; });
		wrong_shape("rows to be ranked", RANKED, [output] (Shape &s, Head &) { s.sets[0].score = output; });
		wrong_shape("rows to be ranked", RANKED, [output] (Shape &s, Head &) { s.sets[1].probability = output; });
		wrong_shape("rows to be ranked", RANKED, [output] (Shape &s, Head &) { s.sets[1].label = output; });
		wrong_shape("rows to be ranked", RANKED, [output] (Shape &s, Head &) { s.sets[1].x = output; });
	}
	wrong_shape("rows to be ranked", RANKED, [] (Shape &s, Head &) { s.sets[0].filter = 0; });	/* no truth */
	wrong_shape("rows to be ranked", RANKED, [] (Shape &s, Head &) { s.sets[0].score = 4; });	/* bytes */
	wrong_shape("rows to be ranked", RANKED, [] (Shape &s, Head &) { s.sets[0].score = -1; });
	wrong_shape("rows to be ranked", RANKED, [] (Shape &s, Head &) { s.sets[0].probability = 0; });	/* an integer */
	wrong_shape("rows to be ranked", RANKED, [] (Shape &s, Head &) { s.sets[0].divisor = 0; });
	wrong_shape("ranking", RANKED, [] (Shape &s, Head &) { s.rankings[0].k = 0; });
	wrong_shape("ranking", RANKED, [] (Shape &s, Head &) { s.rankings[1].k_key = 1; });
	wrong_shape("ranking", RANKED, [] (Shape &s, Head &) { s.nkeys = 2; s.rankings[1].k_key = 1; });	/* no integer */
	wrong_shape("ranking", RANKED, [] (Shape &s, Head &) { s.rankings[1].set = 2; });
	wrong_shape("ranking", RANKED, [] (Shape &s, Head &) { s.rankings[0].set = 1; s.rankings[1].set = 0; });
	wrong_shape("ranking", RANKED, [] (Shape &s, Head &) { s.rankings[0].ranking = 0; });
	wrong_shape("ranking", RANKED, [] (Shape &s, Head &) { s.rankings[0].ranking = GPUCOL_RANK_EXPECTED + 1; });
	wrong_shape("ranking", RANKED, [] (Shape &s, Head &) { s.rankings[0].wanted = 4; });
	wrong_shape("ranking", RANKED, [] (Shape &s, Head &) { s.sets[0].label = -1; });
	wrong_shape("ranking", RANKED, [] (Shape &s, Head &) { s.rankings[0].ranking = GPUCOL_RANK_PT_K; });
}

/* Why groups that are wanted of the program are not believed; "" where they are. */
static std::string
first_reason(const std::function<void(GpucolFirst &, GpucolProgram &)> &change)
{
	Program		program;
	GpucolFirst first;

	memset((void *) &first, 0, sizeof(first));
	first.ntests = first.nkeys = 1;
	first.k = 3;
	first.tests[0] = {GPUCOL_FIRST_COUNT, 0, 2, INT64_MAX};
	first.keys[0] = {GPUCOL_FIRST_KEY, 0, true, false};
	change(first, program.head);
	try
	{
		gpucol_first_check(&program.head, &first);
	}
	catch (const Failure &f)
	{
		return f.reason;
	}
	return "";
}

static void
wrong_first(const char *why, const std::function<void(GpucolFirst &, GpucolProgram &)> &change)
{
	std::string got = first_reason(change);

	CHECK(std::string(why) + ", not \"" + got + "\"", got.find(why) != std::string::npos);
}

static void
test_first()
{
	typedef GpucolFirst First;
	typedef GpucolProgram Head;

	CHECK("first groups: " + first_reason([] (First &, Head &) {}), first_reason([] (First &, Head &) {}).empty());
	wrong_first("which groups", [] (First &, Head &p) { p.kind = GPUCOL_PROGRAM_SCAN; });
	wrong_first("which groups", [] (First &f, Head &) { f.ntests = -1; });
	wrong_first("which groups", [] (First &f, Head &) { f.ntests = GPUCOL_FIRST_MAX_TESTS + 1; });
	wrong_first("which groups", [] (First &f, Head &) { f.nkeys = -1; });
	wrong_first("which groups", [] (First &f, Head &) { f.nkeys = GPUCOL_FIRST_MAX_KEYS + 1; });
	wrong_first("which groups", [] (First &f, Head &) { f.k = -1; });
	wrong_first("which groups", [] (First &f, Head &) { memset((void *) &f.all_ties, 2, 1); });
	wrong_first("condition", [] (First &f, Head &) { f.tests[0].by = 0; });
	wrong_first("condition", [] (First &f, Head &) { f.tests[0].by = GPUCOL_FIRST_AVERAGE + 1; });
	wrong_first("condition", [] (First &f, Head &p) { f.tests[0].number = p.naggs; });
	wrong_first("condition", [] (First &f, Head &) { f.tests[0].number = UINT16_MAX; });
	wrong_first("order", [] (First &f, Head &p) { f.keys[0].number = p.nkeys; });
	wrong_first("order", [] (First &f, Head &) { memset((void *) &f.keys[0].descending, 7, 1); });
	wrong_first("order", [] (First &f, Head &) { memset((void *) &f.keys[0].nulls_first, 7, 1); });

	/* what an aggregate has nothing of */
	for (uint16_t by : {GPUCOL_FIRST_DISTINCT, GPUCOL_FIRST_VALUE, GPUCOL_FIRST_SUM, GPUCOL_FIRST_AVERAGE})
	{
		Program		program;
		int			fits = 0;

		for (uint16_t a = 0; a < program.head.naggs; a++)
			fits += first_reason([by, a] (First &f, Head &) { f.keys[0] = {by, a, false, false}; }).empty();
		CHECK("not of every aggregate", fits < program.head.naggs);
	}
}

/* Whatever is changed, nothing outside of the program is looked at (the sanitizer watches). */
static void
test_any()
{
	std::mt19937 random(7);
	int			believed = 0;

	for (int i = 0; i < 50000; i++)
	{
		Program		program;
		char	   *bytes = (char *) &program;

		for (int n = 1 + random() % 4; n > 0; n--)
			bytes[random() % 4 ? random() % sizeof(program) : 8 + random() % (sizeof(GpucolProgram) - 8)] =
				(char) random();
		believed += reason(bytes, sizeof(program)).empty();
	}
	CHECK("some are believed, some not", believed > 1000 && believed < 49000);
}

int
main()
{
	test_right();
	test_heads();
	test_numbers();
	test_meanings();
	test_registers();
	test_probes();
	test_shapes();
	test_first();
	test_any();
	return summary("program_check");
}
