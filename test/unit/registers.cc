/*-------------------------------------------------------------------------
 *
 * registers.cc
 *	  Unit test of programs in fewer registers (cuda/query/registers.cuh): random ones, whose
 *	  values are the same before and after.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/registers.cuh"

#include <map>
#include <random>

#include "test/unit/check.h"

static std::mt19937 draw(7);

static const uint16_t NREGS = 200;
static const size_t NCONSTANTS = 5;

/* Instructions of which some are there twice, as stages have them, and what is read between and after them. */
struct Program
{
	std::vector<uint8_t> classes;
	std::vector<GpucolInstr> instrs;
	std::vector<size_t> at;
	std::vector<uint16_t> between;
	std::vector<uint16_t> last;

	/* A register of a class that has a value; NO_REG: there is none. */
	uint16_t
	some(int cls) const
	{
		for (int tries = 0; tries < 20; tries++)
		{
			const GpucolInstr &in = instrs[draw() % instrs.size()];

			if (classes[in.dst] == cls)
				return in.dst;
		}
		return GPUCOL_NO_REG;
	}

	Program()
	{
		for (uint16_t r = 0; r < NREGS; r++)
			classes.push_back(r < NCONSTANTS || draw() % 3 ? GPUCOL_CLASS_I : GPUCOL_CLASS_B);
		for (uint16_t r = 0; r < NREGS; r++)
		{
			GpucolInstr in = {};

			in.dst = r;
			in.aux = r;
			in.a = in.b = in.c = in.mask = GPUCOL_NO_REG;
			if (r < NCONSTANTS)
				in.op = GPUCOL_OP_CONST_I;
			else
			{
				in.op = classes[r] != GPUCOL_CLASS_I ? GPUCOL_OP_EQ_I : draw() % 2 ? GPUCOL_OP_ADD_I : GPUCOL_OP_LOAD_I;
				in.mask = draw() % 3 ? GPUCOL_NO_REG : some(GPUCOL_CLASS_B);
				if (in.op != GPUCOL_OP_LOAD_I)
				{
					in.a = near(GPUCOL_CLASS_I);
					in.b = near(GPUCOL_CLASS_I);
				}
			}
			instrs.push_back(in);
			if (r > 20 && draw() % 10 == 0)
				again();
			if (r > NCONSTANTS && draw() % 20 == 0)
			{
				at.push_back(instrs.size());
				between.push_back(draw() % 4 ? near(GPUCOL_CLASS_I) : GPUCOL_NO_REG);
			}
		}
		for (int i = 0; i < 8; i++)
			last.push_back(i == 0 ? GPUCOL_NO_REG : near(GPUCOL_CLASS_I));
	}

	/* One of the constants, or of what was written of late. */
	uint16_t
	near(int cls) const
	{
		for (int tries = 0; tries < 50; tries++)
		{
			size_t		back = draw() % 12 + 1;
			const GpucolInstr &in = instrs[back > instrs.size() ? 0 : instrs.size() - back];

			if (classes[in.dst] == cls)
				return in.dst;
		}
		return 0;
	}

	/* A load once more. */
	void
	again()
	{
		for (int tries = 0; tries < 20; tries++)
		{
			GpucolInstr in = instrs[NCONSTANTS + draw() % (instrs.size() - NCONSTANTS)];

			if (in.op != GPUCOL_OP_LOAD_I || in.mask != GPUCOL_NO_REG)
				continue;
			instrs.push_back(in);
			return;
		}
	}
};

/*
 * What instructions come to: values of what is read between them, and then of `last`; twice, as for
 * one vector after another, the constants once.
 */
static std::vector<uint64_t>
run(const std::vector<GpucolInstr> &instrs, const std::vector<size_t> &at, const std::vector<uint16_t> &between,
	const std::vector<uint16_t> &last)
{
	std::map<uint16_t, uint64_t> values;
	std::vector<uint64_t> seen;
	auto		value = [&] (uint16_t reg) { return reg == GPUCOL_NO_REG ? 1 : values[reg]; };

	for (int vector = 0; vector < 2; vector++)
	{
		size_t		next = 0;

		for (size_t i = vector == 0 ? 0 : NCONSTANTS; i <= instrs.size(); i++)
		{
			for (; next < at.size() && at[next] == i; next++)
				seen.push_back(value(between[next]));
			if (i < instrs.size())
				values[instrs[i].dst] = (uint64_t) instrs[i].aux +
					((value(instrs[i].a) * 31 + value(instrs[i].b)) * 31 + value(instrs[i].mask)) * 31;
		}
		for (uint16_t reg : last)
			seen.push_back(value(reg));
	}
	return seen;
}

static void
test_one(size_t *narrowed)
{
	Program		p;
	std::vector<GpucolInstr> instrs = p.instrs;
	std::vector<uint16_t> between = p.between;
	std::vector<uint16_t> last = p.last;
	std::vector<RegisterRead> reads;
	RegisterMap map(p.classes);

	for (size_t i = 0; i < between.size(); i++)
		reads.push_back({p.at[i], &between[i]});
	if (!map.narrow(&instrs, NCONSTANTS, reads, p.last, 64))
		return;
	++*narrowed;
	for (uint16_t &reg : last)
		reg = map.in_the_end(reg);
	CHECK(map.classes().size() <= 64, "few registers");
	CHECK(run(p.instrs, p.at, p.between, p.last) == run(instrs, p.at, between, last), "values");
	for (size_t i = 0; i < instrs.size(); i++)
		CHECK(map.classes()[instrs[i].dst] == p.classes[p.instrs[i].dst], "class");
}

int
main(void)
{
	size_t		narrowed = 0;
	Program		p;
	RegisterMap map(p.classes);

	for (int i = 0; i < 500; i++)
		test_one(&narrowed);
	CHECK(narrowed > 400, "most fit");
	CHECK(!map.narrow(&p.instrs, NCONSTANTS, {}, p.last, NCONSTANTS), "too many at a time");
	return check_summary("registers");
}
