/*-------------------------------------------------------------------------
 *
 * small_rounds.cu
 *	  Small rounds of a fixpoint: the program's buffers, its launches, what it brought.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/base/launch.cuh"
#include "cuda/recursion/small_rounds.cuh"
#include "cuda/recursion/small_rounds_device.cuh"
#include "cuda/recursion/small_rounds_rules.cuh"

namespace
{

/*
 * Rows of a tail, at most and at least; with a small delta, so many if they may be; and bytes
 * of all buffers.  Of bindings, there is one row for so many of a tail.
 */
constexpr uint32_t MOST_HEIGHT = 1u << 21;
constexpr uint32_t LEAST_HEIGHT = 1u << 14;
constexpr uint32_t USUAL_HEIGHT = 1u << 19;
constexpr size_t MOST_BYTES = (size_t) 1 << 29;
constexpr uint32_t HEIGHT_TO_WIDTH = 4;

/* Rows of bindings for each of the delta, at least: rules fan out; and rows of a tail. */
constexpr uint32_t WIDTH_TO_DELTA = 4;
constexpr uint64_t HEIGHT_TO_DELTA = 64;

/* Slots of a table for each row of a tail. */
constexpr uint32_t SLOTS = 4;

/*
 * Blocks by the rows of the delta.  Twice as many rows are let through first, and half
 * as many as the next smaller takes, so that the kernel is not left for one round.
 */
constexpr struct
{
	uint64_t	rows;			/* at most */
	int			blocks;			/* at most */
	bool		cluster;
} GRIDS[] = {{256, 1, false}, {4096, 8, true}, {16384, 32, false}, {UINT64_MAX, 128, false}};

/*
 * Rows of a run of which a hash table is made, at most: of relations that change it is made
 * in each call of run, of others once.  Larger runs are bisected.
 */
constexpr size_t MOST_HASHED = (size_t) 1 << 22;
constexpr size_t MOST_HASHED_LASTING = (size_t) 1 << 26;

/*
 * Prefixes a slot of them: most lookups find nothing, and of the lanes of a warp the one that
 * looks longest counts.
 */
constexpr double HASH_LOAD = 0.4;

/* A launch ends after so long, and a call of run. */
constexpr uint64_t LAUNCH_NANOSECONDS = 10000000;
constexpr int LAUNCHES = 5;

/*
 * Small rounds in the usual way before these are tried, at first and at most: twice as
 * many each time that they did not last.
 */
constexpr uint32_t PATIENCE = 4;
constexpr uint32_t MOST_PATIENCE = 1024;
constexpr uint64_t LASTING = 8;

}								/* namespace */

/* Everything that the rounds of a stratum need. */
template <class K> class GpucolSmallRoundsState : private RoundRules<K>
{
public:
	GpucolSmallRoundsState(GpucolDeviceRun &run, GpucolRelations<K> &relations,
						   uint32_t stratum)
		: RoundRules<K>(run, relations, stratum),
		  patience_(run.options.small_rounds_after ? run.options.small_rounds_after : PATIENCE)
	{
		most_height_ = this->lower() ? most_height() : 0;
	}

	void
	note(uint64_t delta)
	{
		small_ = delta <= most_delta() ? small_ + 1 : 0;
	}

	bool
	wanted(uint64_t delta)
	{
		return most_height_ >= LEAST_HEIGHT && small_ >= patience_ && delta <= most_delta() &&
			on_device();
	}

	GpucolRoundsDone
	run(uint64_t most, uint64_t delta)
	{
		height_ = height_for(delta);
		prepare();
		RoundResult result = launch_all(most);
		GpucolRoundsDone done = {result.rounds, result.derived, result.delta};

		run_.codes.recount();
		if (done.rounds > 0)
			take_over(result);
		free_buffers();
		learn(result);
		return done;
	}

private:
	/* Rows of a delta that tails of some height are for. */
	static uint64_t
	delta_for(uint32_t height)
	{
		return height / HEIGHT_TO_WIDTH / WIDTH_TO_DELTA;
	}

	uint64_t most_delta() const { return delta_for(most_height_); }

	/* Rows of the tails for a delta of so many: room for some rounds. */
	uint32_t
	height_for(uint64_t delta) const
	{
		uint32_t	height = std::min(most_height_, USUAL_HEIGHT);

		while (height < most_height_ && height < HEIGHT_TO_DELTA * delta)
			height *= 2;
		return height;
	}

	/* ---- buffers ---- */

	/* Rows of the tails, at most: what a quarter of the room takes. */
	uint32_t
	most_height() const
	{
		size_t		row = 2 * nregisters_ * sizeof(uint32_t) / HEIGHT_TO_WIDTH + sizeof(int64_t);
		size_t		most = std::min(MOST_BYTES, run_.memory.room() / 4);
		uint32_t	height = MOST_HEIGHT;

		for (size_t i = 0; i < members_.size(); i++)
			row += 3 * sizeof(K) + SLOTS * (sizeof(uint32_t) + sizeof(uint64_t)) +
				2 * sizeof(uint32_t) + chains_[i].size() * 2 * sizeof(uint32_t);
		while (height >= LEAST_HEIGHT && row * height > most)
			height /= 2;
		return height;
	}

	bool
	on_device()
	{
		for (uint32_t i = 0; i < run_.plan->nrelations; i++)
			if (!relations_[i].on_device())
				return false;
		return true;
	}

	/* An array that lives until free_buffers, zeroed if asked. */
	template <class T>
	T *
	buffer(size_t n, bool zeroed = false)
	{
		buffers_.emplace_back(run_.memory, n * sizeof(T));
		if (zeroed)
			gpucol_check(cudaMemsetAsync(buffers_.back().data(), 0, n * sizeof(T),
										 run_.memory.stream));
		return (T *) buffers_.back().data();
	}

	/* The same with a copy of host data, which must stay until the stream is waited for. */
	template <class T>
	T *
	copied(const T *from, size_t n)
	{
		T		   *to = buffer<T>(n);

		gpucol_check(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyHostToDevice,
									 run_.memory.stream));
		return to;
	}

	void
	free_buffers()
	{
		buffers_.clear();
		views_.clear();
		/* what other strata derived stays as it is */
		tables_.erase(std::remove_if(tables_.begin(), tables_.end(), [](const Table &table) {
			return !table.lasting;
		}), tables_.end());
	}

	/* Append views of runs for lookups by so many columns; hash tables made for them are ours. */
	void
	add_views(const GpucolRuns<K> &runs, const GpucolKeyOrder &order, int places, bool lasting)
	{
		for (auto &run : runs)
		{
			GpucolRunView<K> view = run->view(run_.memory, order, places, 0);

			if (view.slots == nullptr && places > 0 && run->size() >= GPUCOL_HASH_FROM &&
				run->size() <= (lasting ? MOST_HASHED_LASTING : MOST_HASHED))
				use_table(run, view, lasting);
			views_.push_back(view);
		}
	}

	void
	use_table(const GpucolRunPtr<K> &run, GpucolRunView<K> &view, bool lasting)
	{
		const Table *found = nullptr;

		for (const Table &table : tables_)
			if (table.run == run && table.mask == view.mask)
				found = &table;
		if (found == nullptr)
		{
			tables_.push_back({run, view.mask, lasting,
				gpucol_hisa_table(run_.memory, run->keys(), view.mask,
								  run->size() <= MOST_HASHED ? HASH_LOAD : GPUCOL_HASH_LOAD)});
			found = &tables_.back();
		}
		if (found->slots.empty())
			return;
		view.slots = found->slots.data();
		view.slot_mask = found->slots.size() - 1;
	}

	void
	prepare()
	{
		bool		computes = run_.codes.computing();

		host_ = {};
		for (RoundStep<K> &step : steps_)
			prepare_step(step);
		for (size_t i = 0; i < members_.size(); i++)
			prepare_relation((int) i);
		host_.codes = computes ? run_.codes.slots() : GpucolCodeSlots{};
		host_.values = run_.codes.device();
		host_.null_code = run_.codes.null_code();
		host_.nregisters = nregisters_;
		host_.nrules = (uint32_t) rules_.size();
		host_.nrelations = (uint32_t) members_.size();
		host_.ncells = (uint32_t) (steps_.size() + 3 * members_.size()) + 1;
		host_.width = height_ / HEIGHT_TO_WIDTH;
		host_.height = height_;
		host_.slot_mask = SLOTS * height_ - 1;
		host_.head_mask = height_ - 1;
		host_.rules = copied(rules_.data(), rules_.size());
		host_.steps = copied(steps_.data(), steps_.size());
		host_.views = copied(views_.data(), views_.size());
		host_.columns = buffer<uint32_t>((size_t) 2 * nregisters_ * host_.width);
		host_.computed = buffer<int64_t>(computes ? host_.width : 0);
		host_.cells = buffer<unsigned long long>(2 * host_.ncells, true);
		result_ = RoundResult{};
		for (size_t i = 0; i < members_.size(); i++)
			result_.bounds[0][i].end = began_[i];
		host_.result = copied(&result_, 1);
		program_ = copied(&host_, 1);
	}

	void
	prepare_step(RoundStep<K> &step)
	{
		const GpucolRecStep &from = this->plan_step(step.cell);
		bool		member = step.relation >= 0;

		step.view = (uint32_t) views_.size();
		step.nviews = 0;
		if (step.kind != GPUCOL_REC_ATOM && step.kind != GPUCOL_REC_PRESENT &&
			step.kind != GPUCOL_REC_ABSENT)
			return;
		if (!member || step.version != GPUCOL_REC_DELTA)
			add_views(relations_[from.relation].runs(step.order, member ? GPUCOL_REC_PREVIOUS :
													 (GpucolRecVersion) from.version),
					  step.order, step.nparts, !member);
		step.nviews = (uint32_t) views_.size() - step.view;
	}

	void
	prepare_relation(int i)
	{
		GpucolRelation<K> &relation = relations_[members_[i]];
		RoundRelation<K> &to = host_.relations[i];
		int			places = relation.order().arity - relation.merges();
		uint32_t	width = height_ / HEIGHT_TO_WIDTH;

		to.order = relation.order();
		to.mask = key_mask<K>(to.order, places);
		to.bag = relation.forgets();
		to.merges = relation.merges();
		if (to.merges)
			to.best_by = relation.best();
		to.tail = buffer<K>(height_);
		to.candidates = buffer<K>(width);
		to.view = (uint32_t) views_.size();
		if (!to.bag)
		{
			to.known = buffer<K>(height_);
			to.slots = buffer<uint32_t>((size_t) SLOTS * height_, true);
			to.slot_of = buffer<uint32_t>(width);
			to.group_of = buffer<uint32_t>(width);
			add_views(relation.runs(to.order, GPUCOL_REC_FULL), to.order, places, false);
		}
		if (to.merges)
			to.best = buffer<unsigned long long>((size_t) SLOTS * height_);
		to.nviews = (uint32_t) views_.size() - to.view;
		to.nchains = (int) chains_[i].size();
		for (int c = 0; c < to.nchains; c++)
		{
			to.chains[c] = chains_[i][c];
			to.chains[c].heads = buffer<uint32_t>(height_, true);
			to.chains[c].next = buffer<uint32_t>(height_);
		}
		to.cells = (uint32_t) steps_.size() + 3 * i;
		began_[i] = 0;
		for (auto &run : relation.runs(to.order, GPUCOL_REC_DELTA))
		{
			gpucol_check(cudaMemcpyAsync(to.tail + began_[i], run->keys().data(),
										 run->size() * sizeof(K), cudaMemcpyDeviceToDevice,
										 run_.memory.stream));
			began_[i] += (uint32_t) run->size();
		}
	}

	/* ---- running ---- */

	RoundResult
	launch(uint64_t most, uint64_t delta, bool first)
	{
		size_t		grid = 0;
		uint64_t	least = 0;

		for (; delta > GRIDS[grid].rows || !usable(grid); grid++)
			if (usable(grid))
				least = GRIDS[grid].rows / 2;
		RoundLimits limits = {most, LAUNCH_NANOSECONDS, least,
			std::min(GRIDS[grid].rows, delta_for(height_) / 2) * 2,
			GRIDS[grid].cluster, first};
		RoundResult result;

		start(GRIDS[grid].blocks, limits);
		run_.wait();
		gpucol_check(cudaMemcpyAsync(&result, host_.result, sizeof(result),
									 cudaMemcpyDeviceToHost, run_.memory.stream));
		gpucol_check(cudaStreamSynchronize(run_.memory.stream));
		return result;
	}

	/* Blocks in clusters have a barrier where the device's code is such. */
	bool
	usable(size_t grid)
	{
		if (!GRIDS[grid].cluster || !run_.clusters)
			return !GRIDS[grid].cluster;
		if (code_ == 0)
			code_ = gpucol_launch_code(rounds_kernel<K>);
		return code_ >= GPUCOL_CODE_CLUSTERS;
	}

	/* Launch the kernel with at most so many blocks. */
	void
	start(int blocks, const RoundLimits &limits)
	{
		cudaLaunchConfig_t config = {};
		cudaLaunchAttribute attribute = {};

		if (limits.cluster)
		{
			attribute.id = cudaLaunchAttributeClusterDimension;
			attribute.val.clusterDim.x = (unsigned) blocks;
			attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
		}
		else
		{
			blocks = std::min(blocks, gpucol_launch_blocks(rounds_kernel<K>, ROUND_THREADS, 0));
			attribute.id = cudaLaunchAttributeCooperative;
			attribute.val.cooperative = 1;
		}
		config.gridDim = dim3(blocks);
		config.blockDim = dim3(ROUND_THREADS);
		config.stream = run_.memory.stream;
		config.attrs = &attribute;
		config.numAttrs = 1;
		gpucol_check(cudaLaunchKernelEx(&config, rounds_kernel<K>, program_, limits));
	}

	RoundResult
	launch_all(uint64_t most)
	{
		RoundResult result = {};
		uint64_t	delta = 0;

		for (size_t i = 0; i < members_.size(); i++)
			delta += began_[i];
		for (int i = 0; i < LAUNCHES; i++)
		{
			result = launch(most ? most - result.rounds : UINT64_MAX, delta, i == 0);
			if (result.rounds > 0)
				delta = result.delta;
			if (result.stop == ROUND_FIXPOINT || result.stop == ROUND_FULL ||
				result.stop == ROUND_REDO || delta > delta_for(height_) ||
				(most && result.rounds >= most))
				break;
			run_.check_cancel();
		}
		return result;
	}

	/* What lies in the tails becomes the relations' own. */
	void
	take_over(const RoundResult &result)
	{
		for (size_t i = 0; i < members_.size(); i++)
		{
			const RoundBounds &bounds = result.bounds[result.parity][i];

			relations_[members_[i]].advance(part(i, began_[i], bounds.begin),
											part(i, bounds.begin, bounds.end));
		}
	}

	GpucolArray<K>
	part(size_t i, uint32_t begin, uint32_t end)
	{
		GpucolArray<K> keys(run_.memory, end - begin);

		gpucol_check(cudaMemcpyAsync(keys.data(), host_.relations[i].tail + begin,
									 (end - begin) * sizeof(K), cudaMemcpyDeviceToDevice,
									 run_.memory.stream));
		return keys;
	}

	/* When to try again. */
	void
	learn(const RoundResult &result)
	{
		if (result.rounds < LASTING)
			patience_ = std::min(2 * patience_, MOST_PATIENCE);
		if (result.rounds < LASTING || result.stop == ROUND_REDO)
			small_ = 0;
	}

	/* A hash table that a run has not of its own. */
	struct Table
	{
		GpucolRunPtr<K> run;
		K			mask;
		bool		lasting;	/* the run stays as it is */
		GpucolArray<GpucolHashSlot<K>> slots;
	};

	using RoundRules<K>::run_;
	using RoundRules<K>::relations_;
	using RoundRules<K>::members_;
	using RoundRules<K>::rules_;
	using RoundRules<K>::steps_;
	using RoundRules<K>::chains_;
	using RoundRules<K>::nregisters_;

	uint32_t	most_height_ = 0;
	uint32_t	height_ = 0;	/* while rounds run */
	uint32_t	patience_;
	uint32_t	small_ = 0;		/* rounds of a small delta in a row */
	int			code_ = 0;		/* what the kernel was compiled for, 0: nobody has asked yet */

	/* while rounds run */
	std::vector<GpucolArray<char>> buffers_;
	std::vector<GpucolRunView<K>> views_;
	std::vector<Table> tables_;
	uint32_t	began_[ROUND_RELATIONS];	/* rows of the delta to begin with */
	RoundProgram<K> host_;
	RoundResult result_;
	const RoundProgram<K> *program_;
};

template <class K>
GpucolSmallRounds<K>::GpucolSmallRounds(GpucolDeviceRun &run, GpucolRelations<K> &relations,
										uint32_t stratum)
	: state_(new GpucolSmallRoundsState<K>(run, relations, stratum)) {}

template <class K> GpucolSmallRounds<K>::~GpucolSmallRounds() = default;

template <class K>
void
GpucolSmallRounds<K>::note(uint64_t delta)
{
	state_->note(delta);
}

template <class K>
bool
GpucolSmallRounds<K>::wanted(uint64_t delta)
{
	return state_->wanted(delta);
}

template <class K>
GpucolRoundsDone
GpucolSmallRounds<K>::run(uint64_t most, uint64_t delta)
{
	return state_->run(most, delta);
}

#define INSTANTIATE(K) template class GpucolSmallRounds<K>;

GPUCOL_FOR_KEYS(INSTANTIATE)
