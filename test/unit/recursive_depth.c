/*-------------------------------------------------------------------------
 *
 * recursive_depth.c
 *	  Rules of thousands of atoms, and aggregates in aggregates, in threads with
 *	  little stack: answered, or refused as too deep.
 *
 *-------------------------------------------------------------------------
 */
#include "check.h"

#include <pthread.h>

#include "recursion/engine.h"

#define STACK_BYTES	(1024 * 1024)
#define LONGEST		6000
#define NROWS		64

static GpucolRecRelation relations[2];
static GpucolRecRule rule;
static GpucolRecStep steps[2 * LONGEST + 2];
static GpucolRecOperand operands[2 * LONGEST + 2];
static const uint8_t types[3] = {GPUCOL_REC_INT8, GPUCOL_REC_INT8, GPUCOL_REC_INT8};
static GpucolRecPlan plan;

static GpucolRecStep *
add_step(GpucolRecStepKind kind, uint16_t relation)
{
	GpucolRecStep *step = &steps[plan.nsteps++];

	memset(step, 0, sizeof(*step));
	step->kind = (uint8_t) kind;
	step->relation = relation;
	step->type = GPUCOL_REC_INT8;
	step->operands = plan.noperands;
	rule.nsteps++;
	return step;
}

static void
add_operand(GpucolRecStep *step, GpucolRecOperandKind kind, int index)
{
	operands[plan.noperands].kind = (uint16_t) kind;
	operands[plan.noperands++].index = (uint16_t) index;
	step->noperands++;
}

/* edge(a, b) is loaded, result(a) derived by one rule that has no steps yet. */
static void
begin_plan(void)
{
	memset(&plan, 0, sizeof(plan));
	memset(&rule, 0, sizeof(rule));
	relations[0] = (GpucolRecRelation) {.arity = 2,.flags = GPUCOL_REC_INPUT};
	relations[1] = (GpucolRecRelation) {.arity = 1,.flags = GPUCOL_REC_OUTPUT | GPUCOL_REC_DERIVED,.types = 2};
	plan.nstrata = plan.nrules = 1;
	plan.nrelations = 2;
	plan.ntypes = 3;
	plan.relations = relations;
	plan.rules = &rule;
	plan.steps = steps;
	plan.operands = operands;
	plan.types = types;
}

static void
end_plan(int nregisters)
{
	add_operand(add_step(GPUCOL_REC_EMIT, 1), GPUCOL_REC_REGISTER, 0);
	rule.nregisters = (uint32_t) nregisters;
}

/* result(x0) :- edge(x0, x1), edge(x1, x2), ... */
static void
plan_chain(int length)
{
	begin_plan();
	for (int i = 0; i < length; i++)
	{
		GpucolRecStep *step = add_step(GPUCOL_REC_ATOM, 0);

		add_operand(step, i == 0 ? GPUCOL_REC_BIND : GPUCOL_REC_REGISTER, i);
		add_operand(step, GPUCOL_REC_BIND, i + 1);
	}
	end_plan(length + 1);
}

/* result(x0) :- x0 = count : { x1 = count : { ... edge(_, _) } } */
static void
plan_nest(int depth)
{
	GpucolRecStep *atom;

	begin_plan();
	for (int i = 0; i < depth; i++)
	{
		GpucolRecStep *step = add_step(GPUCOL_REC_AGGREGATE, 0);

		step->function = GPUCOL_REC_COUNT;
		step->target = (uint16_t) (2 * i);
		step->origin = (uint16_t) (2 * i + 1);
		step->nsteps = (uint32_t) (2 * (depth - i));
	}
	atom = add_step(GPUCOL_REC_ATOM, 0);
	add_operand(atom, GPUCOL_REC_ANY, 0);
	add_operand(atom, GPUCOL_REC_ANY, 0);
	for (int i = depth - 1; i >= 0; i--)
		add_step(GPUCOL_REC_COLLECT, 0)->origin = (uint16_t) (2 * i + 1);
	end_plan(2 * depth);
}

typedef struct Answer
{
	GpucolStatus status;
	uint64_t	nrows;
	int64_t		first;
} Answer;

/* Run the plan over NROWS edges from each node to itself. */
static void *
run_plan(void *argument)
{
	Answer	   *answer = argument;
	GpucolRecOptions options = {.threads = 1};
	int64_t		nodes[NROWS];
	const int64_t *columns[2] = {nodes, nodes};
	GpucolRecRun *run;
	GpucolRecBatch batch;

	for (int i = 0; i < NROWS; i++)
		nodes[i] = i;
	answer->status = gpucol_recursive_cpu.start(&plan, &options, &run);
	if (answer->status == GPUCOL_OK)
		answer->status = gpucol_recursive_cpu.load(run, 0, NROWS, columns, NULL);
	while (answer->status == GPUCOL_OK &&
		   (answer->status = gpucol_recursive_cpu.next(run, 1, &batch)) == GPUCOL_OK)
	{
		answer->first = batch.columns[0][0];
		answer->nrows += batch.nrows;
	}
	gpucol_recursive_cpu.finish(run);
	return NULL;
}

static Answer
run_in_thread(void)
{
	Answer		answer = {0};
	pthread_attr_t attributes;
	pthread_t	thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (pthread_create(&thread, &attributes, run_plan, &answer) == 0)
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	return answer;
}

int
main(void)
{
	Answer		answer;

	plan_chain(300);
	answer = run_in_thread();
	CHECK(answer.status == GPUCOL_END && answer.nrows == NROWS, "%d, %d rows",
		  (int) answer.status, (int) answer.nrows);
	plan_chain(LONGEST);
	answer = run_in_thread();
	CHECK(answer.status == GPUCOL_TOO_DEEP, "%d", (int) answer.status);
	plan_nest(100);
	answer = run_in_thread();
	CHECK(answer.status == GPUCOL_END && answer.nrows == 1 && answer.first == 1,
		  "%d, %d rows, %d", (int) answer.status, (int) answer.nrows, (int) answer.first);
	plan_nest(LONGEST);
	answer = run_in_thread();
	CHECK(answer.status == GPUCOL_TOO_DEEP, "%d", (int) answer.status);
	return check_summary("recursive_depth");
}
