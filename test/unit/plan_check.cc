/*-------------------------------------------------------------------------
 *
 * plan_check.cc
 *	  Unit test of what the device daemon believes of a recursion plan
 *	  (cuda/recursion/plan_check.h): one that is right, each field of it wrong, and any
 *	  bytes of it changed.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/recursion/plan_check.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "check_cc.h"

/*
 * edge(a, b) is loaded, path(a, b) and most(n) derived:
 *	  path(x, y) :- edge(x, y).
 *	  path(x, z) :- path(x, y), edge(y, z), !path(z, x), x + y > 7.
 *	  most(n) :- n = max y : { path(1, y), some edge(y, _) }.
 */
struct Plan
{
	GpucolRecRelation relations[3];
	GpucolRecRule rules[3];
	GpucolRecStep steps[13];
	GpucolRecOperand operands[25];
	GpucolRecConstant constants[2];
	uint8_t		types[8];

	Plan()
	{
		const GpucolRecOperandKind ANY = GPUCOL_REC_ANY,
					BIND = GPUCOL_REC_BIND,
					REG = GPUCOL_REC_REGISTER,
					CONST = GPUCOL_REC_CONSTANT;
		const GpucolRecOperand o[] = {
			{BIND, 0}, {BIND, 1}, {REG, 0}, {REG, 1},
			{BIND, 0}, {BIND, 1}, {REG, 1}, {BIND, 2}, {REG, 2}, {REG, 0}, {REG, 0}, {REG, 1}, {REG, 3},
			{CONST, 0}, {REG, 0}, {REG, 2},
			{CONST, 1}, {BIND, 2}, {REG, 2}, {ANY, 0}, {REG, 2}, {REG, 0}, {ANY, 0}, {ANY, 0}, {ANY, 0}
		};

		memset((void *) this, 0, sizeof(*this));
		relations[0] = {2, GPUCOL_REC_INPUT, 0, 0, 0, 0};
		relations[1] = {2, GPUCOL_REC_DERIVED | GPUCOL_REC_READ, GPUCOL_REC_MERGE_MIN, 1, 0, 2};
		relations[2] = {1, GPUCOL_REC_DERIVED | GPUCOL_REC_OUTPUT, 0, 0, 1, 4};
		rules[0] = {0, 0, 0, 2, 2};
		rules[1] = {0, GPUCOL_REC_RECURSIVE, 2, 6, 4};
		rules[2] = {1, 0, 8, 5, 3};
		memcpy(operands, o, sizeof(o));
		memset(types, GPUCOL_REC_INT8, sizeof(types));
		put(0, GPUCOL_REC_ATOM, 0, 0, 2);
		put(1, GPUCOL_REC_EMIT, 1, 2, 2);
		put(2, GPUCOL_REC_ATOM, 1, 4, 2)->version = GPUCOL_REC_DELTA;
		put(3, GPUCOL_REC_ATOM, 0, 6, 2);
		put(4, GPUCOL_REC_ABSENT, 1, 8, 2);
		put(5, GPUCOL_REC_COMPUTE, 0, 10, 2)->function = GPUCOL_REC_ADD;
		steps[5].target = 3;
		put(6, GPUCOL_REC_TEST, 0, 12, 2)->function = GPUCOL_REC_GT;
		put(7, GPUCOL_REC_EMIT, 1, 14, 2);
		put(8, GPUCOL_REC_AGGREGATE, 0, 0, 0)->function = GPUCOL_REC_MAX;
		steps[8].target = 0;
		steps[8].origin = 1;
		steps[8].nsteps = 3;
		put(9, GPUCOL_REC_ATOM, 1, 16, 2);
		put(10, GPUCOL_REC_PRESENT, 0, 18, 2);
		put(11, GPUCOL_REC_COLLECT, 0, 20, 1)->origin = 1;
		put(12, GPUCOL_REC_EMIT, 2, 21, 1);
	}

	GpucolRecStep *
	put(int at, GpucolRecStepKind kind, uint16_t relation, uint32_t first, uint16_t noperands)
	{
		GpucolRecStep &step = steps[at];

		step.kind = (uint8_t) kind;
		step.type = GPUCOL_REC_INT8;
		step.relation = relation;
		step.operands = first;
		step.noperands = noperands;
		return &step;
	}
};

/* Is a plan believed?  It lies in memory of its own, which a sanitizer watches. */
static bool
believed(const Plan &p, const std::function<void(GpucolRecPlan &)> &change = [] (GpucolRecPlan &) {}, int levels = 16)
{
	std::vector<GpucolRecRelation> relations(p.relations, p.relations + 3);
	std::vector<GpucolRecRule> rules(p.rules, p.rules + 3);
	std::vector<GpucolRecStep> steps(p.steps, p.steps + 13);
	std::vector<GpucolRecOperand> operands(p.operands, p.operands + 22);
	std::vector<char> constants((const char *) p.constants, (const char *) (p.constants + 2));
	std::vector<uint8_t> types(p.types, p.types + 5);
	GpucolRecPlan plan = {2, 3, 3, 13, 22, 2, 5, relations.data(), rules.data(), steps.data(), operands.data(),
		(const GpucolRecConstant *) constants.data(), types.data(), nullptr, 0};

	change(plan);
	try
	{
		return gpucol_rec_plan_check(&plan, levels);
	}
	catch (const BadRecursion &)
	{
		return false;
	}
}

static void
wrong(const char *what, const std::function<void(Plan &)> &change)
{
	Plan		plan;

	change(plan);
	CHECK(what, !believed(plan));
}

static void
test_fields()
{
	Plan		plan;

	CHECK("a plan", believed(plan));
	CHECK("deeper than there are levels", !believed(plan, [] (GpucolRecPlan &) {}, 0));
	CHECK("strata", !believed(plan, [] (GpucolRecPlan &p) { p.nstrata = 1; }));
	CHECK("strata", !believed(plan, [] (GpucolRecPlan &p) { p.nstrata = UINT16_MAX + 1; }));
	wrong("arity", [] (Plan &p) { p.relations[0].arity = 3; });
	wrong("arity", [] (Plan &p) { p.relations[0].arity = GPUCOL_REC_MAX_ARITY + 1; });
	wrong("flags of a relation", [] (Plan &p) { p.relations[0].flags = 0x20; });
	wrong("merge", [] (Plan &p) { p.relations[1].merge = GPUCOL_REC_MERGE_MAX + 1; });
	wrong("merged column", [] (Plan &p) { p.relations[1].merge_column = 2; });
	wrong("stratum of a relation", [] (Plan &p) { p.relations[0].stratum = 2; });
	wrong("types", [] (Plan &p) { p.relations[2].types = 5; });
	wrong("types", [] (Plan &p) { p.relations[2].types = UINT32_MAX; });
	wrong("a type", [] (Plan &p) { p.types[4] = GPUCOL_REC_FLOAT8 + 1; });
	wrong("a constant", [] (Plan &p) { memset((void *) &p.constants[1].isnull, 2, 1); });
	wrong("stratum of a rule", [] (Plan &p) { p.rules[2].stratum = 2; });
	wrong("order of rules", [] (Plan &p) { p.rules[0].stratum = 1; p.relations[1].stratum = 1; });
	wrong("flags of a rule", [] (Plan &p) { p.rules[0].flags = 2; });
	wrong("steps of a rule", [] (Plan &p) { p.rules[2].steps = 9; });
	wrong("steps of a rule", [] (Plan &p) { p.rules[2].nsteps = UINT32_MAX; });
	wrong("no steps", [] (Plan &p) { p.rules[0].nsteps = 0; });
	wrong("registers of a rule", [] (Plan &p) { p.rules[1].nregisters = 3; });
	wrong("registers of a rule", [] (Plan &p) { p.rules[1].nregisters = UINT16_MAX + 1; });
}

static void
test_steps()
{
	wrong("kind", [] (Plan &p) { p.steps[5].kind = GPUCOL_REC_EMIT + 1; });
	wrong("version", [] (Plan &p) { p.steps[2].version = GPUCOL_REC_PREVIOUS + 1; });
	wrong("type", [] (Plan &p) { p.steps[5].type = GPUCOL_REC_FLOAT8 + 1; });
	for (int at : {0, 1, 4, 10})
	{
		wrong("relation", [at] (Plan &p) { p.steps[at].relation = 3; });
		wrong("another arity", [at] (Plan &p) { p.steps[at].noperands = 1; });
		wrong("operands", [at] (Plan &p) { p.steps[at].operands = 21; });
		wrong("operands", [at] (Plan &p) { p.steps[at].operands = UINT32_MAX; });
	}
	wrong("a relation of another stratum", [] (Plan &p) { p.steps[12].relation = 1; p.steps[12].noperands = 2;
														 p.steps[12].operands = 2; });
	for (int function : {(int) GPUCOL_REC_COUNT, (int) GPUCOL_REC_MAX, (int) GPUCOL_REC_HOST + 1, 255})
	{
		wrong("function", [function] (Plan &p) { p.steps[5].function = (uint8_t) function; });
		wrong("function of a test", [function] (Plan &p) { p.steps[6].function = (uint8_t) function; });
	}
	for (int function : {0, (int) GPUCOL_REC_EITHER, (int) GPUCOL_REC_HOST, 255})
		wrong("function of an aggregate", [function] (Plan &p) { p.steps[8].function = (uint8_t) function; });
	for (int at : {5, 6})
		for (int n : {0, 1})
			wrong("too few operands", [at, n] (Plan &p) { p.steps[at].noperands = (uint16_t) n; });
	wrong("a target", [] (Plan &p) { p.steps[5].target = 4; });
	wrong("a target", [] (Plan &p) { p.steps[8].target = 3; });
	wrong("an origin", [] (Plan &p) { p.steps[8].origin = 3; });
	wrong("an origin that is set", [] (Plan &p) { p.operands[17].index = 1; });
	wrong("no COLLECT", [] (Plan &p) { p.steps[11].kind = GPUCOL_REC_TEST; });
	wrong("a COLLECT of another", [] (Plan &p) { p.steps[11].origin = 2; });
	wrong("a COLLECT of nothing", [] (Plan &p) { p.steps[11].noperands = 0; });
	wrong("no body", [] (Plan &p) { p.steps[8].nsteps = 0; });
	wrong("too long a body", [] (Plan &p) { p.steps[8].nsteps = 4; });
	wrong("too long a body", [] (Plan &p) { p.steps[8].nsteps = UINT32_MAX; });
	wrong("EMIT before the end", [] (Plan &p) { p.steps[4].kind = GPUCOL_REC_EMIT; });
	wrong("no EMIT", [] (Plan &p) { p.steps[7].kind = GPUCOL_REC_PRESENT; });
}

static void
test_operands()
{
	wrong("kind", [] (Plan &p) { p.operands[0].kind = GPUCOL_REC_CONSTANT + 1; });
	wrong("a constant", [] (Plan &p) { p.operands[13].index = 2; });
	wrong("a register", [] (Plan &p) { p.operands[2].index = 2; });
	wrong("a register", [] (Plan &p) { p.operands[4].index = 4; });
	wrong("a register without a value", [] (Plan &p) { p.operands[6].index = 3; });
	wrong("a register without a value",
		  [] (Plan &p) { p.operands[12].index = 2; p.operands[7] = {GPUCOL_REC_ANY, 0}; });
	wrong("a register of a body, outside", [] (Plan &p) { p.operands[21].index = 2; });
	wrong("EMIT of anything", [] (Plan &p) { p.operands[2] = {GPUCOL_REC_ANY, 0}; });
	wrong("EMIT that binds", [] (Plan &p) { p.operands[2].kind = GPUCOL_REC_BIND; });
	wrong("a sum with anything", [] (Plan &p) { p.operands[11] = {GPUCOL_REC_ANY, 0}; });
}

/* Whatever is changed, nothing outside of the plan is looked at (the sanitizer watches). */
static void
test_any()
{
	std::mt19937 random(7);
	int			n = 0;

	for (int i = 0; i < 50000; i++)
	{
		Plan		plan;
		char	   *bytes = (char *) &plan;

		for (int k = 1 + random() % 4; k > 0; k--)
			bytes[random() % sizeof(plan)] = (char) (random() % 2 ? random() : random() % 8);
		n += believed(plan);
	}
	CHECK("some are believed, some not", n > 1000 && n < 49000);
}

int
main()
{
	test_fields();
	test_steps();
	test_operands();
	test_any();
	return summary("plan_check");
}
