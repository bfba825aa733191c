/*-------------------------------------------------------------------------
 *
 * plan_check.cc
 *	  Does a recursion plan hold together?
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/recursion/plan_check.h"

#include <algorithm>
#include <vector>

namespace
{

/* A rule's steps, and what they refer to. */
class RuleChecker
{
public:
	RuleChecker(const GpucolRecPlan &plan, const GpucolRecRule &rule)
		: plan_(plan), rule_(rule), steps_(plan.steps + rule.steps), bound_(rule.nregisters) {}

	bool		is_deep(int levels) const;
	void		check();

private:
	const GpucolRecPlan &plan_;
	const GpucolRecRule &rule_;
	const GpucolRecStep *steps_;
	std::vector<bool> bound_;	/* registers that have a value */

	const GpucolRecOperand *operands(const GpucolRecStep &step) const { return plan_.operands + step.operands; }

	void		check_operands(const GpucolRecStep &step) const;
	void		check_step(const GpucolRecStep &step) const;
	bool		sets(const GpucolRecStep &step, uint16_t reg) const;
	void		check_bodies(uint32_t from, uint32_t to) const;
	void		check_bound(uint32_t from, uint32_t to, std::vector<bool> &bound) const;
};

}								/* namespace */

static bool
looks_up(const GpucolRecStep &step)
{
	return step.kind == GPUCOL_REC_ATOM || step.kind == GPUCOL_REC_PRESENT || step.kind == GPUCOL_REC_ABSENT;
}

/* The operands that a function of COMPUTE or TEST reads; -1: it is none of theirs. */
static int
operands_of(int function)
{
	switch (function)
	{
		case GPUCOL_REC_HOST:
			return 0;
		case GPUCOL_REC_COPY:
		case GPUCOL_REC_NEG:
		case GPUCOL_REC_NOT:
		case GPUCOL_REC_ISNULL:
		case GPUCOL_REC_ISNOTNULL:
			return 1;
		default:
			return function < GPUCOL_REC_COUNT ? 2 : -1;
	}
}

/* Are there more bodies in bodies, perhaps, than a stack is deep? */
bool
RuleChecker::is_deep(int levels) const
{
	return std::count_if(steps_, steps_ + rule_.nsteps, [] (const GpucolRecStep &step) {
		return step.kind == GPUCOL_REC_AGGREGATE;
	}) > levels;
}

/* Operands are of kinds that there are, and point into the plan. */
void
RuleChecker::check_operands(const GpucolRecStep &step) const
{
	gpucol_require(step.operands <= plan_.noperands && step.noperands <= plan_.noperands - step.operands);
	for (int i = 0; i < step.noperands; i++)
	{
		const GpucolRecOperand &o = operands(step)[i];

		gpucol_require(o.kind <= GPUCOL_REC_CONSTANT);
		if (o.kind == GPUCOL_REC_CONSTANT)
			gpucol_require(o.index < plan_.nconstants);
		else if (o.kind != GPUCOL_REC_ANY)
			gpucol_require(o.index < rule_.nregisters);
	}
}

/* A step is one of those that there are, and has what it needs. */
void
RuleChecker::check_step(const GpucolRecStep &step) const
{
	gpucol_require(step.version <= GPUCOL_REC_PREVIOUS && step.type <= GPUCOL_REC_FLOAT8);
	check_operands(step);
	switch (step.kind)
	{
		case GPUCOL_REC_ATOM:
		case GPUCOL_REC_ABSENT:
		case GPUCOL_REC_PRESENT:
		case GPUCOL_REC_EMIT:
			gpucol_require(step.relation < plan_.nrelations && step.noperands == plan_.relations[step.relation].arity);
			gpucol_require(step.kind != GPUCOL_REC_EMIT || plan_.relations[step.relation].stratum == rule_.stratum);
			break;
		case GPUCOL_REC_COMPUTE:
			gpucol_require(step.target < rule_.nregisters);
			[[fallthrough]];
		case GPUCOL_REC_TEST:
			gpucol_require(operands_of(step.function) >= 0 && step.noperands >= operands_of(step.function));
			break;
		case GPUCOL_REC_AGGREGATE:
			gpucol_require(step.function >= GPUCOL_REC_COUNT && step.function <= GPUCOL_REC_MAX &&
						   step.target < rule_.nregisters && step.origin < rule_.nregisters);
			break;
		default:
			gpucol_require(step.kind == GPUCOL_REC_COLLECT);
	}
}

/* Does a step give a register a value? */
bool
RuleChecker::sets(const GpucolRecStep &step, uint16_t reg) const
{
	return (step.kind == GPUCOL_REC_COMPUTE && step.target == reg) ||
		(step.kind == GPUCOL_REC_AGGREGATE && (step.target == reg || step.origin == reg)) ||
		std::any_of(operands(step), operands(step) + step.noperands, [reg] (const GpucolRecOperand &o) {
			return o.kind == GPUCOL_REC_BIND && o.index == reg;
		});
}

/*
 * Steps [from, to) of a rule: the bodies of aggregates must lie inside, and each ends
 * with its COLLECT, which is nowhere else, like EMIT.  A body leaves alone the register
 * that says which accumulator its rows belong to.
 */
void
RuleChecker::check_bodies(uint32_t from, uint32_t to) const
{
	for (uint32_t s = from; s < to; s++)
	{
		const GpucolRecStep &step = steps_[s];

		gpucol_require(step.kind != GPUCOL_REC_COLLECT && step.kind != GPUCOL_REC_EMIT);
		if (step.kind != GPUCOL_REC_AGGREGATE)
			continue;
		gpucol_require(step.nsteps >= 1 && step.nsteps < to - s);

		const GpucolRecStep &collect = steps_[s + step.nsteps];

		gpucol_require(collect.kind == GPUCOL_REC_COLLECT && collect.origin == step.origin &&
					   (collect.noperands > 0 || step.function == GPUCOL_REC_COUNT));
		for (uint32_t b = s + 1; b < s + step.nsteps; b++)
			gpucol_require(!sets(steps_[b], step.origin));
		check_bodies(s + 1, s + step.nsteps);
		s += step.nsteps;
	}
}

/*
 * Steps [from, to) of a rule read only registers that have a value: bound says which,
 * before and after.  What the body of an aggregate binds is its own.
 */
void
RuleChecker::check_bound(uint32_t from, uint32_t to, std::vector<bool> &bound) const
{
	for (uint32_t s = from; s < to; s++)
	{
		const GpucolRecStep &step = steps_[s];
		std::vector<bool> here = bound;

		for (int i = 0; i < step.noperands && looks_up(step); i++)
			if (operands(step)[i].kind == GPUCOL_REC_BIND)
				here[operands(step)[i].index] = true;
		for (int i = 0; i < step.noperands && step.kind != GPUCOL_REC_AGGREGATE; i++)
		{
			const GpucolRecOperand &o = operands(step)[i];

			gpucol_require(o.kind == GPUCOL_REC_CONSTANT || (o.kind == GPUCOL_REC_REGISTER && here[o.index]) ||
						   (looks_up(step) && o.kind != GPUCOL_REC_REGISTER));
		}
		if (step.kind == GPUCOL_REC_ATOM)
			bound = here;
		if (step.kind == GPUCOL_REC_AGGREGATE)
		{
			check_bound(s + 1, s + 1 + step.nsteps, here);
			s += step.nsteps;
		}
		if (step.kind == GPUCOL_REC_COMPUTE || step.kind == GPUCOL_REC_AGGREGATE)
			bound[step.target] = true;
	}
}

void
RuleChecker::check()
{
	for (uint32_t s = 0; s < rule_.nsteps; s++)
		check_step(steps_[s]);
	gpucol_require(steps_[rule_.nsteps - 1].kind == GPUCOL_REC_EMIT);
	check_bodies(0, rule_.nsteps - 1);
	check_bound(0, rule_.nsteps, bound_);
}

/* ---- the plan ---- */

static void
check_relation(const GpucolRecPlan &plan, const GpucolRecRelation &r)
{
	const int	flags = GPUCOL_REC_INPUT | GPUCOL_REC_OUTPUT | GPUCOL_REC_BAG | GPUCOL_REC_READ | GPUCOL_REC_DERIVED;

	gpucol_require(r.arity <= GPUCOL_REC_MAX_ARITY && r.types <= plan.ntypes && r.arity <= plan.ntypes - r.types &&
				   (r.flags & ~flags) == 0 && r.merge <= GPUCOL_REC_MERGE_MAX &&
				   (r.merge == GPUCOL_REC_MERGE_NONE || r.merge_column < r.arity) &&
				   r.stratum < std::max<uint32_t>(plan.nstrata, 1));
}

bool
gpucol_rec_plan_check(const GpucolRecPlan *plan, int levels)
{
	gpucol_require(plan->nstrata <= UINT16_MAX && plan->nrelations <= UINT16_MAX);
	for (uint32_t i = 0; i < plan->ntypes; i++)
		gpucol_require(plan->types[i] <= GPUCOL_REC_FLOAT8);
	for (uint32_t i = 0; i < plan->nconstants; i++)
		gpucol_require(*(const uint8_t *) &plan->constants[i].isnull <= 1);
	for (uint32_t i = 0; i < plan->nrelations; i++)
		check_relation(*plan, plan->relations[i]);
	for (uint32_t i = 0; i < plan->nrules; i++)
	{
		const GpucolRecRule &r = plan->rules[i];

		gpucol_require(r.nsteps > 0 && r.steps <= plan->nsteps && r.nsteps <= plan->nsteps - r.steps &&
					   r.nregisters <= UINT16_MAX && (r.flags & ~GPUCOL_REC_RECURSIVE) == 0 &&
					   r.stratum < plan->nstrata && (i == 0 || r.stratum >= plan->rules[i - 1].stratum));

		RuleChecker checker(*plan, r);

		if (checker.is_deep(levels))
			return false;
		checker.check();
	}
	return true;
}
