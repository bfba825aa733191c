/*-------------------------------------------------------------------------
 *
 * plan_builder.h
 *	  Makes recursion plans for the programs that check and time the device engine.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_PLAN_BUILDER_H
#define GPUCOL_TEST_PLAN_BUILDER_H

#include <initializer_list>
#include <vector>

#include "kernel/recursion.h"

/* A plan of one stratum over int8; registers are bound by the first atom that names them. */
struct PlanBuilder
{
	std::vector<GpucolRecRelation> relations;
	std::vector<GpucolRecRule> rules;
	std::vector<GpucolRecStep> steps;
	std::vector<GpucolRecOperand> operands;
	std::vector<GpucolRecConstant> constants;
	std::vector<uint8_t> types;
	bool		bound[16];

	int
	relation(int arity, int flags, GpucolRecMerge merge = GPUCOL_REC_MERGE_NONE)
	{
		relations.push_back({(uint16_t) arity, (uint8_t) flags, (uint8_t) merge,
			(uint16_t) (arity - 1), 0, (uint32_t) types.size()});
		types.insert(types.end(), arity, GPUCOL_REC_INT8);
		return (int) relations.size() - 1;
	}

	void
	rule(int flags)
	{
		rules.push_back({0, (uint16_t) flags, (uint32_t) steps.size(), 0, 16});
		for (bool &b : bound)
			b = false;
	}

	GpucolRecStep &
	step(GpucolRecStepKind kind, int relation, int version, std::initializer_list<int> registers)
	{
		GpucolRecStep s = {};

		s.kind = (uint8_t) kind;
		s.type = GPUCOL_REC_INT8;
		s.relation = (uint16_t) relation;
		s.version = (uint8_t) version;
		s.noperands = (uint16_t) registers.size();
		s.operands = (uint32_t) operands.size();
		for (int r : registers)
		{
			bool		bind = kind == GPUCOL_REC_ATOM && !bound[r];

			bound[r] = true;
			operands.push_back({(uint16_t) (bind ? GPUCOL_REC_BIND : GPUCOL_REC_REGISTER),
				(uint16_t) r});
		}
		steps.push_back(s);
		rules.back().nsteps = (uint32_t) steps.size() - rules.back().steps;
		return steps.back();
	}

	void
	atom(int relation, int version, std::initializer_list<int> registers)
	{
		step(GPUCOL_REC_ATOM, relation, version, registers);
	}

	void
	emit(int relation, std::initializer_list<int> registers)
	{
		step(GPUCOL_REC_EMIT, relation, 0, registers);
	}

	/* Only rows in which two registers differ. */
	void
	differ(int a, int b)
	{
		step(GPUCOL_REC_TEST, 0, 0, {a, b}).function = GPUCOL_REC_NE;
	}

	/* target := a + b */
	void
	add(int target, int a, int b)
	{
		GpucolRecStep &s = step(GPUCOL_REC_COMPUTE, 0, 0, {a, b});

		s.function = GPUCOL_REC_ADD;
		s.target = (uint16_t) target;
		bound[target] = true;
	}

	/* Valid as long as the builder is not changed. */
	GpucolRecPlan
	plan() const
	{
		return {1, (uint32_t) relations.size(), (uint32_t) rules.size(),
			(uint32_t) steps.size(), (uint32_t) operands.size(),
			(uint32_t) constants.size(), (uint32_t) types.size(), relations.data(),
			rules.data(), steps.data(), operands.data(), constants.data(), types.data(), nullptr, 0};
	}
};

#endif							/* GPUCOL_TEST_PLAN_BUILDER_H */
