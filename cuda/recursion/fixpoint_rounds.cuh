/*-------------------------------------------------------------------------
 *
 * fixpoint_rounds.cuh
 *	  Strata and rounds of a plan being run, one step at a time.
 *
 * A round runs every recursive rule over the last delta, sorts and
 * deduplicates what each relation got, subtracts FULL, and makes the rest the
 * next delta; the old delta joins the levels of FULL.  Rounds of small deltas
 * run in one kernel (small_rounds.cuh), and special strata without rounds
 * (components.cuh) or a HISA (special.cu).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_FIXPOINT_ROUNDS_CUH
#define GPUCOL_CUDA_FIXPOINT_ROUNDS_CUH

#include <cstring>

#include "cuda/recursion/components.cuh"
#include "cuda/recursion/small_rounds.cuh"

/* Is a relation derived in a stratum? */
inline bool
gpucol_rec_derived_in(const GpucolRecPlan *plan, uint32_t relation, uint32_t stratum)
{
	return plan->relations[relation].stratum == stratum &&
		(plan->relations[relation].flags & GPUCOL_REC_DERIVED);
}

inline bool
gpucol_rec_recursive_stratum(const GpucolRecPlan *plan, uint32_t stratum)
{
	for (uint32_t i = 0; i < plan->nrules; i++)
		if (plan->rules[i].stratum == stratum &&
			(plan->rules[i].flags & GPUCOL_REC_RECURSIVE))
			return true;
	return false;
}

template <class K> class GpucolFixpointRounds : private GpucolPairSource
{
public:
	explicit GpucolFixpointRounds(GpucolDeviceRun &run)
		: run_(run), plan_(*run.plan), relations_(run), special_(plan_.nrelations) {}

	GpucolRelation<K> &operator[](uint32_t relation) { return relations_[relation]; }

	/* The result of a relation that was found without a HISA, or null. */
	GpucolSpecialStratum *special(uint32_t relation) const { return special_[relation].get(); }

	/* Are all strata over? */
	bool done() const { return done_; }

	/* One step forward: the start of a stratum, a round or some, or its end. */
	void
	advance()
	{
		run_.check_cancel();
		if (!in_stratum_)
			begin_stratum();
		else if (delta_ == 0)
			end_stratum();
		else
		{
			if (run_.options.max_rounds && rounds_ >= run_.options.max_rounds)
				throw GpucolFailure{GPUCOL_ROUNDS_EXCEEDED};
			if (!small_rounds())
				round();
			check_profit();
		}
		run_.note_memory();
	}

	/* Rows are out: no other engine can begin anew. */
	void stay() { stays_ = true; }

private:
	/*
	 * Rounds after which a recursion that may go elsewhere does, if they were smaller than
	 * this: where a round brings 100 rows, the device needs 13 to 21 us and a thread of the
	 * CPU engine 3 to 15; where it brings 300, 23 to 38 and 9 to 73 (rounds_bench on a host of
	 * H200).
	 */
	static constexpr int64_t THIN_ROUNDS = 256;
	static constexpr uint64_t THIN_DELTA = 256;

	/* Methods. */
	static constexpr const char *HISA = "HISA";
	static constexpr const char *HISA_SMALL = "HISA in small rounds";
	static constexpr const char *COMPONENTS = "union-find";

	/* All rows of a binary relation, for a special stratum. */
	GpucolArray<uint64_t>
	pairs(uint32_t relation, int from) override
	{
		GpucolKeyOrder order = relations_[relation].order();

		order.columns[0] = (uint8_t) from;
		order.columns[1] = (uint8_t) (1 - from);
		return gpucol_hisa_pairs(run_.memory, relations_[relation].runs(order, GPUCOL_REC_FULL),
								 order);
	}

	void
	run_rules(bool recursive)
	{
		for (uint32_t i = 0; i < plan_.nrules; i++)
			if (plan_.rules[i].stratum == stratum_ &&
				((plan_.rules[i].flags & GPUCOL_REC_RECURSIVE) != 0) == recursive)
				gpucol_rules_run(run_, relations_, i);
	}

	/* Commit every relation of the stratum. */
	void
	commit()
	{
		delta_ = 0;
		for (uint32_t i = 0; i < plan_.nrelations; i++)
			if (gpucol_rec_derived_in(&plan_, i, stratum_))
				delta_ += relations_[i].commit();
		run_.progress.delta = delta_;
		run_.progress.full += delta_;
	}

	void
	begin_stratum()
	{
		uint32_t	relation;

		in_stratum_ = true;
		rounds_ = 0;
		derived_ = 0;
		run_.progress.stratum = stratum_;
		run_.progress.method = HISA;
		run_rules(false);
		commit();
		if (!gpucol_rec_recursive_stratum(&plan_, stratum_))
			delta_ = 0;
		if (delta_ == 0)
			return;
		if (auto special = gpucol_special_start(run_, *this, stratum_, &relation))
		{
			/* its rows include those that there were */
			special_[relation] = std::move(special);
			delta_ = 0;
			return;
		}
		if (gpucol_components_run(run_, relations_, stratum_))
		{
			run_.progress.method = COMPONENTS;
			commit();
			delta_ = 0;
			return;
		}
		small_.reset(new GpucolSmallRounds<K>(run_, relations_, stratum_));
		small_->note(delta_);
	}

	void
	end_stratum()
	{
		for (uint32_t i = 0; i < plan_.nrelations; i++)
			if (gpucol_rec_derived_in(&plan_, i, stratum_))
				relations_[i].compact();
		in_stratum_ = false;
		stratum_++;
		done_ = stratum_ >= plan_.nstrata;
	}

	/* Rounds without the host, if they are wanted and can be. */
	bool
	small_rounds()
	{
		int64_t		most = run_.options.max_rounds;
		GpucolRoundsDone done = {};

		/* not past the round after which it may be left to another engine */
		if (run_.options.device_rows && rounds_ < THIN_ROUNDS && (!most || most > THIN_ROUNDS))
			most = THIN_ROUNDS;
		if (small_->wanted(delta_))
			done = small_->run(most ? (uint64_t) (most - rounds_) : 0, delta_);
		if (done.rounds == 0)
			return false;
		rounds_ += (int64_t) done.rounds;
		derived_ += done.derived;
		delta_ = done.delta;
		run_.progress.full += done.derived;
		run_.progress.small_rounds += done.rounds;
		if (strcmp(run_.progress.method, HISA) == 0)
			run_.progress.method = HISA_SMALL;
		run_.note_rounds(done.rounds, delta_);
		return true;
	}

	/* A round in the usual way. */
	void
	round()
	{
		rounds_++;
		run_rules(true);
		commit();
		derived_ += delta_;
		run_.note_rounds(1, delta_);
		small_->note(delta_);
	}

	/* Leave a recursion of many small rounds to who is better at it. */
	void
	check_profit()
	{
		if (run_.options.device_rows && !stays_ && delta_ > 0 &&
			rounds_ >= THIN_ROUNDS && derived_ < (uint64_t) rounds_ * THIN_DELTA)
			throw GpucolFailure{GPUCOL_UNPROFITABLE};
	}

	GpucolDeviceRun &run_;
	const GpucolRecPlan &plan_;
	GpucolRelations<K> relations_;
	std::vector<std::unique_ptr<GpucolSpecialStratum>> special_;	/* by relation, or null */
	uint32_t	stratum_ = 0;
	bool		in_stratum_ = false;
	std::unique_ptr<GpucolSmallRounds<K>> small_;	/* of the stratum */
	bool		done_ = false;
	int64_t		rounds_ = 0;	/* of the stratum */
	uint64_t	delta_ = 0;		/* 0: the stratum is over */
	uint64_t	derived_ = 0;	/* in them */
	bool		stays_ = false; /* see stay */
};

#endif							/* GPUCOL_CUDA_FIXPOINT_ROUNDS_CUH */
