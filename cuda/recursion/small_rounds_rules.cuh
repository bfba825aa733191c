/*-------------------------------------------------------------------------
 *
 * small_rounds_rules.cuh
 *	  The recursive rules of a stratum as a program of small rounds
 *	  (small_rounds_program.cuh).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SMALL_ROUNDS_RULES_CUH
#define GPUCOL_CUDA_SMALL_ROUNDS_RULES_CUH

#include "cuda/recursion/relations.cuh"
#include "cuda/recursion/rule_columns.cuh"
#include "cuda/recursion/small_rounds_program.cuh"

/* Lowers one rule of a stratum. */
template <class K> class RoundLowering : private GpucolRuleColumns
{
public:
	/* `members`: relations of the stratum. */
	RoundLowering(GpucolDeviceRun &run, uint32_t number, const std::vector<uint32_t> &members)
		: GpucolRuleColumns(run, number), members_(members) {}

	/* Append the rule's steps; false: they cannot be expressed. */
	bool
	lower(std::vector<RoundStep<K>> &steps)
	{
		std::vector<bool> bound(rule_.nregisters + 1);

		if (rule_.nregisters > ROUND_REGISTERS)
			return false;
		for (uint32_t s = 0; s < rule_.nsteps; s++)
		{
			RoundStep<K> to = {};

			if (!translate(step(s), bound, to))
				return false;
			carry(s, bound, to);
			steps.push_back(to);
		}
		return true;
	}

	/* Fill in what EMIT of step s writes, in its relation's order. */
	void
	complete_emit(uint32_t s, const GpucolKeyOrder &order, RoundStep<K> &to) const
	{
		to.order = order;
		for (int i = 0; i < order.arity; i++)
			to.parts[i] = code(operand(step(s), order.columns[i]));
	}

private:
	RoundOperand
	code(const GpucolRecOperand &o) const
	{
		if (o.kind == GPUCOL_REC_CONSTANT)
			return {RoundOperand::CONSTANT, constant(o)};
		return {o.index, 0};
	}

	int
	member(uint32_t relation) const
	{
		for (size_t i = 0; i < members_.size(); i++)
			if (members_[i] == relation)
				return (int) i;
		return -1;
	}

	bool
	translate(const GpucolRecStep &from, const std::vector<bool> &bound, RoundStep<K> &to) const
	{
		to.kind = from.kind;
		to.function = from.function;
		to.type = from.type;
		to.version = from.version;
		to.target = from.target;
		to.chain = -1;
		to.relation = -1;
		switch ((GpucolRecStepKind) from.kind)
		{
			case GPUCOL_REC_ATOM:
			case GPUCOL_REC_PRESENT:
			case GPUCOL_REC_ABSENT:
				return look_up(from, bound, to);
			case GPUCOL_REC_EMIT:
				to.relation = (int8_t) member(from.relation);
				to.nparts = (uint8_t) from.noperands;
				return to.relation >= 0;	/* parts: once the order is known */
			case GPUCOL_REC_TEST:
			case GPUCOL_REC_COMPUTE:
				to.nparts = (uint8_t) from.noperands;
				for (int i = 0; i < from.noperands; i++)
					to.parts[i] = code(operand(from, i));
				return from.noperands <= 2;
			default:
				return false;
		}
	}

	bool
	look_up(const GpucolRecStep &from, const std::vector<bool> &bound, RoundStep<K> &to) const
	{
		to.relation = (int8_t) member(from.relation);
		to.nparts = (uint8_t) order_of(from, bound, to.order);
		for (int i = 0; i < to.nparts; i++)
			to.parts[i] = code(operand(from, to.order.columns[i]));
		/* a register twice that nothing has bound before */
		for (int i = to.nparts; i < from.noperands; i++)
			if (operand(from, to.order.columns[i]).kind == GPUCOL_REC_REGISTER)
				return false;
		return true;
	}

	/* What the step leaves bound, and what of it later ones read. */
	void
	carry(uint32_t s, std::vector<bool> &bound, RoundStep<K> &to) const
	{
		for (uint32_t r = 0; r < rule_.nregisters; r++)
			if (bound[r] && read_after(s, r))
				to.carried[to.ncarried++] = (uint8_t) r;
		if (to.kind == GPUCOL_REC_COMPUTE)
			bound[to.target] = true;
		if (to.kind != GPUCOL_REC_ATOM)
			return;
		for (int i = to.nparts; i < step(s).noperands; i++)
		{
			const GpucolRecOperand &o = operand(step(s), to.order.columns[i]);

			if (o.kind != GPUCOL_REC_BIND)
				continue;
			bound[o.index] = true;
			if (!read_after(s, o.index))
				continue;
			to.places[to.nbound] = (uint8_t) i;
			to.bound[to.nbound++] = (uint8_t) o.index;
		}
	}

	const std::vector<uint32_t> &members_;
};

/* All of them, with the chains that their steps follow in tails. */
template <class K> class RoundRules
{
protected:
	RoundRules(GpucolDeviceRun &run, GpucolRelations<K> &relations, uint32_t stratum)
		: run_(run), relations_(relations), stratum_(stratum)
	{
		const GpucolRecPlan *plan = run.plan;

		for (uint32_t i = 0; i < plan->nrelations; i++)
			if (plan->relations[i].stratum == stratum &&
				(plan->relations[i].flags & GPUCOL_REC_DERIVED))
				members_.push_back(i);
	}

	/* Make the program; false: the rules cannot be expressed. */
	bool
	lower()
	{
		const GpucolRecPlan *plan = run_.plan;

		if (members_.size() > ROUND_RELATIONS)
			return false;
		for (uint32_t i = 0; i < plan->nrules; i++)
		{
			if (plan->rules[i].stratum != stratum_ ||
				!(plan->rules[i].flags & GPUCOL_REC_RECURSIVE))
				continue;
			RoundLowering<K> rule(run_, i, members_);
			uint32_t	from = (uint32_t) steps_.size();

			if (!rule.lower(steps_))
				return false;
			for (uint32_t s = 0; s < plan->rules[i].nsteps; s++)
			{
				RoundStep<K> &step = steps_[from + s];

				if (step.kind == GPUCOL_REC_EMIT)
					rule.complete_emit(s, relations_[members_[step.relation]].order(), step);
				else if (step.relation >= 0 && !add_chain(step))
					return false;
				step.cell = from + s;
			}
			rules_.push_back({from, plan->rules[i].nsteps});
			plan_steps_.push_back(plan->steps + plan->rules[i].steps);
			nregisters_ = std::max(nregisters_, plan->rules[i].nregisters);
		}
		return true;
	}

	/* The step of the plan that a step was made from. */
	const GpucolRecStep &
	plan_step(uint32_t number) const
	{
		size_t		rule = 0;

		while (number >= rules_[rule].step + rules_[rule].nsteps)
			rule++;
		return plan_steps_[rule][number - rules_[rule].step];
	}

	GpucolDeviceRun &run_;
	GpucolRelations<K> &relations_;
	std::vector<uint32_t> members_; /* relations of the stratum */
	std::vector<RoundRule> rules_;
	std::vector<RoundStep<K>> steps_;
	std::vector<RoundChain> chains_[ROUND_RELATIONS];
	uint32_t	nregisters_ = 0;

private:
	/* The place of a column in an order. */
	static int
	place_of(const GpucolKeyOrder &order, uint8_t column)
	{
		int			place = 0;

		while (order.columns[place] != column)
			place++;
		return place;
	}

	/* Find or add the chain that a step follows in a tail. */
	bool
	add_chain(RoundStep<K> &step)
	{
		const GpucolKeyOrder declared = relations_[members_[step.relation]].order();
		auto	   &chains = chains_[step.relation];
		RoundChain	chain = {};

		for (int i = 0; i < step.nbound; i++)
			step.declared[i] = (uint8_t)
				place_of(declared, step.order.columns[step.places[i]]);
		if (step.nparts == 0)
			return true;
		chain.n = step.nparts;
		for (int i = 0; i < chain.n; i++)
			chain.places[i] = (uint8_t) place_of(declared, step.order.columns[i]);
		for (size_t c = 0; c < chains.size() && step.chain < 0; c++)
			if (chains[c].n == chain.n && std::equal(chain.places, chain.places + chain.n,
													 chains[c].places))
				step.chain = (int8_t) c;
		if (step.chain >= 0)
			return true;
		step.chain = (int8_t) chains.size();
		chains.push_back(chain);
		return chains.size() <= ROUND_CHAINS;
	}

	uint32_t	stratum_;
	std::vector<const GpucolRecStep *> plan_steps_; /* by rule */
};

#endif							/* GPUCOL_CUDA_SMALL_ROUNDS_RULES_CUH */
