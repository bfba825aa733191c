/*-------------------------------------------------------------------------
 *
 * recursive_trial.c
 *	  When a recursion that began on the CPU engine goes to the device, and when it
 *	  stays; that its reader sees every row once, in either case from one engine.
 *
 * The recursion is r(n, k + 1) :- r(n, k), k < limit, so that a round brings a row for
 * each row that was loaded; without a limit it ends only where the trial ends it.
 *
 *-------------------------------------------------------------------------
 */
#include "check.h"

#include "recursion/client/trial.h"

#define WIDE	200000			/* rows of a round that a device is better at */
#define LONG_LOAD	(UINT64_C(1) << 40)	/* rows that a device loads for hours */

typedef struct Plan
{
	GpucolRecPlan plan;
	GpucolRecRelation relations[2];
	GpucolRecRule rules[2];
	GpucolRecStep steps[6];
	GpucolRecOperand operands[12];
	GpucolRecConstant constants[2];
	uint8_t		types[4];
} Plan;

static void
add_step(Plan *p, GpucolRecStep step, const GpucolRecOperand *operands)
{
	step.type = GPUCOL_REC_INT8;
	step.operands = p->plan.noperands;
	memcpy(p->operands + p->plan.noperands, operands, step.noperands * sizeof(*operands));
	p->plan.noperands += step.noperands;
	p->steps[p->plan.nsteps++] = step;
}

static void
make_plan(Plan *p, int64_t limit, int flags)
{
	static const GpucolRecOperand bind[] = {{GPUCOL_REC_BIND, 0}, {GPUCOL_REC_BIND, 1}};
	static const GpucolRecOperand both[] = {{GPUCOL_REC_REGISTER, 0}, {GPUCOL_REC_REGISTER, 1}};
	static const GpucolRecOperand next[] = {{GPUCOL_REC_REGISTER, 0}, {GPUCOL_REC_REGISTER, 2}};
	static const GpucolRecOperand one[] = {{GPUCOL_REC_REGISTER, 1}, {GPUCOL_REC_CONSTANT, 0}};
	static const GpucolRecOperand less[] = {{GPUCOL_REC_REGISTER, 1}, {GPUCOL_REC_CONSTANT, 1}};

	memset(p, 0, sizeof(*p));
	p->plan = (GpucolRecPlan) {.nstrata = 1,.nrelations = 2,.nrules = 2,.nconstants = 2,
		.ntypes = 4,.relations = p->relations,.rules = p->rules,.steps = p->steps,
		.operands = p->operands,.constants = p->constants,.types = p->types};
	memset(p->types, GPUCOL_REC_INT8, sizeof(p->types));
	p->constants[0].value = 1;
	p->constants[1].value = limit;
	p->relations[0] = (GpucolRecRelation) {.arity = 2,.flags = GPUCOL_REC_INPUT};
	p->relations[1] = (GpucolRecRelation) {.arity = 2,.types = 2,
		.flags = (uint8_t) (GPUCOL_REC_DERIVED | GPUCOL_REC_OUTPUT | flags)};
	p->rules[0] = (GpucolRecRule) {.nsteps = 2,.nregisters = 3};
	add_step(p, (GpucolRecStep) {.kind = GPUCOL_REC_ATOM,.noperands = 2}, bind);
	add_step(p, (GpucolRecStep) {.kind = GPUCOL_REC_EMIT,.relation = 1,.noperands = 2}, both);
	p->rules[1] = (GpucolRecRule) {.flags = GPUCOL_REC_RECURSIVE,.steps = 2,.nsteps = 4,
		.nregisters = 3};
	add_step(p, (GpucolRecStep) {.kind = GPUCOL_REC_ATOM,.relation = 1,.noperands = 2,
			 .version = GPUCOL_REC_DELTA}, bind);
	add_step(p, (GpucolRecStep) {.kind = GPUCOL_REC_TEST,.function = GPUCOL_REC_LT,
			 .noperands = 2}, less);
	add_step(p, (GpucolRecStep) {.kind = GPUCOL_REC_COMPUTE,.function = GPUCOL_REC_ADD,
			 .target = 2,.noperands = 2}, one);
	add_step(p, (GpucolRecStep) {.kind = GPUCOL_REC_EMIT,.relation = 1,.noperands = 2}, next);
}

/* What the trial asks of its caller. */
typedef struct Caller
{
	bool		device;			/* there is one */
	bool		cancel;
	int			asked;
} Caller;

static bool
device(void *context)
{
	Caller	   *caller = context;

	caller->asked++;
	return caller->device;
}

static bool
cancelled(void *context)
{
	return ((Caller *) context)->cancel;
}

/* Begin a trial over `width` rows, the first with a NULL. */
static void
begin(GpucolRecTrial *trial, Caller *caller, const Plan *p, int width, size_t memory_limit)
{
	GpucolRecOptions options = {.threads = 1,.memory_limit = memory_limit,
	.cancelled = cancelled,.context = caller};
	int64_t    *values[2] = {calloc((size_t) width, sizeof(int64_t)),
	calloc((size_t) width, sizeof(int64_t))};
	uint8_t    *nulls[2] = {calloc((size_t) width, 1), NULL};
	GpucolRecRun *run = NULL;

	for (int i = 0; i < width; i++)
		values[0][i] = i;
	nulls[0][0] = 1;
	gpucol_rec_trial_begin(trial, (uint64_t) width, &options, device, caller);
	CHECK(gpucol_recursive_cpu.start(&p->plan, &options, &run) == GPUCOL_OK, "start");
	CHECK(gpucol_recursive_cpu.load(run, 0, (uint32_t) width, (const int64_t *const *) values,
									(const uint8_t *const *) nulls) == GPUCOL_OK, "load");
	trial->run = run;
	free(values[0]);
	free(values[1]);
	free(nulls[0]);
}

static void
end(GpucolRecTrial *trial)
{
	gpucol_rec_trial_end(trial);
	gpucol_recursive_cpu.finish(trial->run);
}

/*
 * Read up to `most` rows; *sums get those of the columns' values, and *nnulls how many are
 * NULL.
 */
static GpucolStatus
read_rows(GpucolRecTrial *trial, const Plan *p, long most, long *nrows, int64_t sums[2],
		  long *nnulls)
{
	GpucolStatus status = GPUCOL_OK;
	GpucolRecBatch batch;

	*nrows = *nnulls = 0;
	sums[0] = sums[1] = 0;
	while (*nrows < most)
	{
		status = gpucol_rec_trial_next(trial, &p->plan, 1, &batch);
		if (status != GPUCOL_OK)
			break;
		for (uint32_t i = 0; i < batch.nrows; i++)
			for (int c = 0; c < 2; c++)
			{
				bool		isnull = batch.nulls && batch.nulls[c] && batch.nulls[c][i];

				*nnulls += isnull;
				sums[c] += isnull ? 0 : batch.columns[c][i];
			}
		*nrows += batch.nrows;
	}
	return status;
}

/* A short recursion stays, and is read and summed up to its end; no time passes for it, or
 * a busy machine would make it a long one. */
static void
test_short(int flags)
{
	Plan		p;

	make_plan(&p, 10, flags);
	for (int sum = 0; sum < 2; sum++)
	{
		GpucolRecTrial trial;
		Caller		caller = {.device = true};
		GpucolRecSummary columns[2];
		bool		want[2] = {true, true};
		int64_t		sums[2];
		uint64_t	counted;
		long		n,
					nnulls;

		begin(&trial, &caller, &p, 50, 0);
		trial.started += 1e9;
		if (sum)
		{
			CHECK(gpucol_rec_trial_summarise(&trial, 1, want, &counted, columns) == GPUCOL_OK &&
				  counted == 550 && columns[0].count == 539 &&
				  (int64_t) columns[0].sum == 11 * 1225 &&
				  (int64_t) columns[1].sum == 50 * 55, "short, summed up");
		}
		else
		{
			CHECK(read_rows(&trial, &p, 1000, &n, sums, &nnulls) == GPUCOL_END, "short, read");
			CHECK(n == 550 && nnulls == 11 && sums[0] == 11 * 1225 && sums[1] == 50 * 55,
				  "short: %ld rows, %ld nulls", n, nnulls);
			CHECK(read_rows(&trial, &p, 1000, &n, sums, &nnulls) == GPUCOL_END && n == 0,
				  "short, read again");
		}
		CHECK(caller.asked == 0, "short: went to the device");
		end(&trial);
	}
}

/*
 * A recursion of many rounds that the device would not have come further in stays, also where it never
 * ends, and the reader gets rows all the same.  The device is taken to load so many rows that
 * the slowest machine is ahead of it.
 */
static void
test_thin(int flags)
{
	Plan		p;
	GpucolRecTrial trial;
	Caller		caller = {.device = true};
	GpucolRecSummary columns[2];
	uint64_t	counted;
	int64_t		sums[2];
	long		n,
				nnulls;

	make_plan(&p, 100000, flags);
	begin(&trial, &caller, &p, 1, 0);
	trial.rows = LONG_LOAD;
	CHECK(gpucol_rec_trial_summarise(&trial, 1, NULL, &counted, columns) == GPUCOL_OK &&
		  counted == 100001 && caller.asked == 0, "thin, summed up: went to the device");
	end(&trial);

	make_plan(&p, INT64_MAX, flags);
	begin(&trial, &caller, &p, 1, 0);
	trial.rows = LONG_LOAD;
	CHECK(read_rows(&trial, &p, 1000, &n, sums, &nnulls) == GPUCOL_OK && n >= 1000 &&
		  nnulls == n && sums[1] == n * (n - 1) / 2 && caller.asked == 0,
		  "thin and endless: went to the device");
	end(&trial);
}

/* Long rounds go to the device before a row is out, or stay where there is none. */
static void
test_wide(int flags)
{
	Plan		p;
	GpucolRecTrial trial;
	GpucolRecSummary columns[2];
	int64_t		sums[2];
	uint64_t	counted;
	long		n,
				nnulls;
	Caller		with = {.device = true};
	Caller		without = {0};
	Caller		cancels = {0};

	make_plan(&p, INT64_MAX, flags);
	begin(&trial, &with, &p, WIDE, 0);
	CHECK(gpucol_rec_trial_summarise(&trial, 1, NULL, &counted, columns) ==
		  GPUCOL_UNPROFITABLE, "wide, summed up");
	CHECK(with.asked == 1 && trial.left, "wide, summed up: asked %d times", with.asked);
	end(&trial);

	begin(&trial, &with, &p, WIDE, 0);
	CHECK(read_rows(&trial, &p, 1, &n, sums, &nnulls) == GPUCOL_UNPROFITABLE && n == 0,
		  "wide, read: %ld rows", n);
	CHECK(with.asked == 2 && trial.left, "wide, read: asked %d times", with.asked - 1);
	end(&trial);

	begin(&trial, &without, &p, WIDE, 0);
	CHECK(read_rows(&trial, &p, 5 * WIDE, &n, sums, &nnulls) == GPUCOL_OK && n >= 5 * WIDE,
		  "wide, without a device: %ld rows", n);
	CHECK(without.asked <= 1, "wide, without a device: asked %d times", without.asked);
	end(&trial);

	begin(&trial, &cancels, &p, WIDE, 0);
	cancels.cancel = true;
	CHECK(gpucol_rec_trial_summarise(&trial, 1, NULL, &counted, columns) == GPUCOL_CANCELLED,
		  "wide, cancelled");
	CHECK(cancels.asked == 0, "wide, cancelled: went to the device");
	end(&trial);
}

/* What the CPU engine has no memory for goes to the device, if there is one. */
static void
test_memory(void)
{
	for (int there = 0; there < 2; there++)
	{
		Plan		p;
		GpucolRecTrial trial;
		Caller		caller = {.device = there != 0};
		uint64_t	counted;
		GpucolStatus status;

		make_plan(&p, INT64_MAX, 0);
		begin(&trial, &caller, &p, 20000, (size_t) 64 << 20);
		status = gpucol_rec_trial_summarise(&trial, 1, NULL, &counted,
											(GpucolRecSummary[2]) {{0}});
		CHECK(status == (there ? GPUCOL_UNPROFITABLE : GPUCOL_OUT_OF_MEMORY), "memory: %d",
			  (int) status);
		CHECK(caller.asked == 1, "memory: asked %d times", caller.asked);
		end(&trial);
	}
}

int
main(void)
{
	for (int flags = 0; flags <= GPUCOL_REC_BAG; flags += GPUCOL_REC_BAG)
	{
		test_short(flags);
		test_thin(flags);
		test_wide(flags);
	}
	test_memory();
	return check_summary("recursive_trial");
}
