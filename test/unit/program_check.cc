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

static int	passed,
			failed;

#define CHECK(what, condition) \
	do { if (condition) passed++; else { failed++; printf("%s:%d: failed: %s\n", __FILE__, __LINE__, std::string(what).c_str()); } } while (0)

static const uint32_t NCOLUMNS = 2;

/* A program with some of everything. */
struct Program
{
	GpucolProgram head;
	GpucolProgramColumn columns[NCOLUMNS];
	GpucolConst consts[3];
	GpucolRange ranges[3];
	GpucolInstr instrs[5];
	uint8_t		classes[8];		/* of 4 registers */
	uint16_t	keys[4];		/* of which 1 */
	GpucolAgg	aggs[2];

	Program()
	{
		memset((void *) this, 0, sizeof(*this));
		head = {GPUCOL_PROGRAM_MAGIC, GPUCOL_PROGRAM_VERSION, GPUCOL_PROGRAM_AGG, sizeof(Program), NCOLUMNS, 3, 3, 5, 2, 4, 1, 1, 2, 1, 0,
			offsetof(Program, columns), offsetof(Program, consts), offsetof(Program, ranges), offsetof(Program, instrs),
			offsetof(Program, classes), offsetof(Program, keys), offsetof(Program, aggs)};
		ranges[0] = {0, GPUCOL_RANGE_BETWEEN, 0, 0, GPUCOL_NO_REG, 0};
		ranges[1] = {1, GPUCOL_RANGE_IN, 0, 1, 0, 2};
		ranges[2] = {1, GPUCOL_RANGE_HOST, 0, 0, 0, 63};
		instrs[0] = {GPUCOL_OP_LOAD_I, 0, GPUCOL_NO_REG, GPUCOL_NO_REG, GPUCOL_NO_REG, GPUCOL_NO_REG, 1};
		instrs[1] = {GPUCOL_OP_IN_I, 1, 0, 1, 2, GPUCOL_NO_REG, 0};
		instrs[2] = {GPUCOL_OP_CONST_I, 2, GPUCOL_NO_REG, GPUCOL_NO_REG, GPUCOL_NO_REG, GPUCOL_NO_REG, 2};
		instrs[3] = {GPUCOL_OP_CASE_I, 3, 1, 0, 2, 1, 0};
		instrs[4] = {GPUCOL_OP_HOST_TEST, 1, 0, GPUCOL_NO_REG, GPUCOL_NO_REG, GPUCOL_NO_REG, 63};
		keys[0] = 3;
		aggs[0] = {GPUCOL_AGG_COUNT_STAR, 0, GPUCOL_NO_REG, 1, 0};
		aggs[1] = {GPUCOL_AGG_SUM, GPUCOL_CLASS_I, 2, GPUCOL_NO_REG, 0};
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
	program.head.filter = GPUCOL_NO_REG;
	program.ranges[1].n = 0;
	program.ranges[1].lo = GPUCOL_NO_REG;
	CHECK("a scan without a filter, of no values", reason(&program, sizeof(program)).empty());
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
	wrong("kind of program", [] (Program &p) { p.head.kind = 99; });
	wrong("more registers", [] (Program &p) {
		p.head.nregs = GPUCOL_MAX_REGS + 1;
		p.head.reg_classes = 0;	/* there is room */
	});
	wrong("program arrays", [] (Program &p) { p.head.filter = 4; });
	wrong("program arrays", [] (Program &p) { p.head.nfilter_instrs = 6; });
	wrong("program arrays", [] (Program &p) { p.head.nconsts = UINT16_MAX; });
	wrong("program arrays", [] (Program &p) { p.head.consts += 4; });
	wrong("program arrays", [] (Program &p) { p.head.instrs = UINT32_MAX - 3; });
	wrong("program arrays", [] (Program &p) { p.head.aggs = sizeof(Program) - 2; });
	wrong("program arrays", [] (Program &p) { p.head.keys |= 1; });
}

static void
test_numbers()
{
	for (uint16_t n : {(uint16_t) 4, (uint16_t) 77, (uint16_t) (GPUCOL_NO_REG - 1)})
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
	wrong("register of an instruction", [] (Program &p) { p.instrs[0].dst = GPUCOL_NO_REG; });
	wrong("operand of an instruction", [] (Program &p) { p.instrs[4].aux = GPUCOL_WIRE_MAX_HOST; });
	wrong("operand of an instruction", [] (Program &p) { p.instrs[0] = {GPUCOL_OP_RESCALE_D, 0, 0, 0, 0, GPUCOL_NO_REG, 65}; });
	wrong("operand of an instruction", [] (Program &p) { p.instrs[0] = {GPUCOL_OP_I_TO_D, 0, 0, 0, 0, GPUCOL_NO_REG, INT32_MAX}; });
	wrong("range", [] (Program &p) { p.ranges[2].n = GPUCOL_WIRE_MAX_HOST; });
	wrong("range", [] (Program &p) { p.ranges[1].lo = GPUCOL_NO_REG; });
	wrong("range", [] (Program &p) { p.ranges[1].n = UINT32_MAX; });
	wrong("key", [] (Program &p) { p.keys[0] = GPUCOL_NO_REG; });
	wrong("aggregate", [] (Program &p) { p.aggs[1].arg = GPUCOL_NO_REG; });
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
			bytes[random() % 4 ? random() % sizeof(program) : 8 + random() % (sizeof(GpucolProgram) - 8)] = (char) random();
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
	test_any();
	printf("program_check: %d passed, %d failed\n", passed, failed);
	return failed > 0;
}
