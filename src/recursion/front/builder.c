/*-------------------------------------------------------------------------
 *
 * builder.c
 *	  Growing a recursion plan piece by piece.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "recursion/front/builder.h"

#define COUNT(info, type)	((info).len / sizeof(type))

void
gpucol_rec_builder_init(GpucolRecBuilder *builder)
{
	initStringInfo(&builder->relations);
	initStringInfo(&builder->rules);
	initStringInfo(&builder->steps);
	initStringInfo(&builder->operands);
	initStringInfo(&builder->constants);
	initStringInfo(&builder->types);
	initStringInfo(&builder->choices);
	builder->nregisters = 0;
}

void
gpucol_rec_builder_reset(GpucolRecBuilder *builder,
						 const GpucolRecBuilder *before)
{
	builder->relations.len = before->relations.len;
	builder->rules.len = before->rules.len;
	builder->steps.len = before->steps.len;
	builder->operands.len = before->operands.len;
	builder->constants.len = before->constants.len;
	builder->types.len = before->types.len;
	builder->choices.len = before->choices.len;
	builder->nregisters = before->nregisters;
}

uint16
gpucol_rec_builder_relation(GpucolRecBuilder *builder, int arity,
							const uint8 *types, int flags, int stratum)
{
	GpucolRecRelation relation = {
		.arity = arity,.flags = flags,.stratum = stratum,
		.types = builder->types.len
	};

	if (COUNT(builder->relations, GpucolRecRelation) >= PG_UINT16_MAX ||
		stratum >= PG_UINT16_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many relations in a recursion")));
	appendBinaryStringInfo(&builder->types, (const char *) types, arity);
	appendBinaryStringInfo(&builder->relations, (const char *) &relation,
						   sizeof(relation));
	return COUNT(builder->relations, GpucolRecRelation) - 1;
}

GpucolRecRelation *
gpucol_rec_builder_get(GpucolRecBuilder *builder, uint16 relation)
{
	return (GpucolRecRelation *) builder->relations.data + relation;
}

void
gpucol_rec_builder_choice(GpucolRecBuilder *builder, uint16 relation, uint32 columns)
{
	GpucolRecChoice choice = {.relation = relation,.columns = columns};

	appendBinaryStringInfo(&builder->choices, (const char *) &choice, sizeof(choice));
	gpucol_rec_builder_get(builder, relation)->flags |= GPUCOL_REC_CHOSEN;
}

/* The rule that is being built. */
static GpucolRecRule *
current_rule(GpucolRecBuilder *builder)
{
	return (GpucolRecRule *) builder->rules.data +
		COUNT(builder->rules, GpucolRecRule) - 1;
}

void
gpucol_rec_builder_rule(GpucolRecBuilder *builder, int stratum, int flags)
{
	GpucolRecRule rule = {
		.stratum = stratum,.flags = flags,
		.steps = COUNT(builder->steps, GpucolRecStep)
	};

	appendBinaryStringInfo(&builder->rules, (const char *) &rule, sizeof(rule));
	builder->nregisters = 0;
}

uint16
gpucol_rec_builder_register(GpucolRecBuilder *builder)
{
	if (builder->nregisters >= PG_UINT16_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many variables in a rule of a recursion")));
	current_rule(builder)->nregisters = builder->nregisters + 1;
	return builder->nregisters++;
}

GpucolRecOperand
gpucol_rec_builder_operand(GpucolRecOperandKind kind, uint16 index)
{
	GpucolRecOperand operand = {.kind = kind,.index = index};

	return operand;
}

GpucolRecOperand
gpucol_rec_builder_constant(GpucolRecBuilder *builder, int64 value, bool isnull)
{
	const GpucolRecConstant *known =
		(const GpucolRecConstant *) builder->constants.data;
	GpucolRecConstant constant = {0};
	uint32		n = COUNT(builder->constants, GpucolRecConstant);
	uint32		i;

	for (i = 0; i < n; i++)
		if (known[i].value == value && known[i].isnull == isnull)
			return gpucol_rec_builder_operand(GPUCOL_REC_CONSTANT, i);
	if (n >= PG_UINT16_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many constants in a recursion")));
	constant.value = value;
	constant.isnull = isnull;
	appendBinaryStringInfo(&builder->constants, (const char *) &constant,
						   sizeof(constant));
	return gpucol_rec_builder_operand(GPUCOL_REC_CONSTANT, n);
}

uint32
gpucol_rec_builder_step(GpucolRecBuilder *builder, GpucolRecStepKind kind,
						int relation, int noperands,
						const GpucolRecOperand *operands)
{
	GpucolRecStep step = {
		.kind = kind,.relation = relation,.noperands = noperands,
		.operands = COUNT(builder->operands, GpucolRecOperand)
	};

	if (relation > PG_UINT16_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many expressions in a recursion")));
	if (noperands > 0)
		appendBinaryStringInfo(&builder->operands, (const char *) operands,
							   noperands * sizeof(GpucolRecOperand));
	appendBinaryStringInfo(&builder->steps, (const char *) &step, sizeof(step));
	return current_rule(builder)->nsteps++;
}

GpucolRecStep *
gpucol_rec_builder_step_at(GpucolRecBuilder *builder, uint32 offset)
{
	return (GpucolRecStep *) builder->steps.data +
		current_rule(builder)->steps + offset;
}

/* A step over one or two operands. */
static GpucolRecStep *
function_step(GpucolRecBuilder *builder, GpucolRecStepKind kind,
			  GpucolRecFunction function, GpucolRecType type,
			  GpucolRecOperand a, const GpucolRecOperand *b)
{
	GpucolRecOperand operands[2] = {a};
	GpucolRecStep *step;
	uint32		offset;

	if (b != NULL)
		operands[1] = *b;
	offset = gpucol_rec_builder_step(builder, kind, 0, b != NULL ? 2 : 1,
									 operands);
	step = gpucol_rec_builder_step_at(builder, offset);
	step->function = function;
	step->type = type;
	return step;
}

/* Does a step compute this? */
static bool
computes(const GpucolRecBuilder *builder, const GpucolRecStep *step, GpucolRecFunction function, GpucolRecType type,
		 GpucolRecOperand a, const GpucolRecOperand *b)
{
	const GpucolRecOperand *operands = (const GpucolRecOperand *) builder->operands.data + step->operands;

	return step->kind == GPUCOL_REC_COMPUTE && step->function == function && step->type == type &&
		step->noperands == (b != NULL ? 2 : 1) && operands[0].kind == a.kind && operands[0].index == a.index &&
		(b == NULL || (operands[1].kind == b->kind && operands[1].index == b->index));
}

/* The register in which the current rule has this already; -1: none.  Bodies of aggregates have their own. */
static int
find_computed(GpucolRecBuilder *builder, GpucolRecFunction function, GpucolRecType type, GpucolRecOperand a,
			  const GpucolRecOperand *b)
{
	const GpucolRecStep *steps = gpucol_rec_builder_step_at(builder, 0);
	uint32		nsteps = current_rule(builder)->nsteps;

	for (uint32 i = 0; i < nsteps; i++)
		if (steps[i].kind == GPUCOL_REC_AGGREGATE)
			return -1;
	for (uint32 i = 0; i < nsteps; i++)
		if (computes(builder, &steps[i], function, type, a, b))
			return steps[i].target;
	return -1;
}

GpucolRecOperand
gpucol_rec_builder_compute(GpucolRecBuilder *builder,
						   GpucolRecFunction function, GpucolRecType type,
						   GpucolRecOperand a, const GpucolRecOperand *b)
{
	int			known = find_computed(builder, function, type, a, b);
	uint16		target;

	if (known >= 0)
		return gpucol_rec_builder_operand(GPUCOL_REC_REGISTER, known);
	target = gpucol_rec_builder_register(builder);

	function_step(builder, GPUCOL_REC_COMPUTE, function, type, a, b)->target =
		target;
	return gpucol_rec_builder_operand(GPUCOL_REC_REGISTER, target);
}

void
gpucol_rec_builder_test(GpucolRecBuilder *builder, GpucolRecFunction function,
						GpucolRecType type, GpucolRecOperand a,
						const GpucolRecOperand *b)
{
	function_step(builder, GPUCOL_REC_TEST, function, type, a, b);
}

GpucolRecPlan *
gpucol_rec_builder_finish(GpucolRecBuilder *builder, int nstrata)
{
	GpucolRecPlan *plan = palloc0(sizeof(GpucolRecPlan));

	plan->nstrata = nstrata;
	plan->nrelations = COUNT(builder->relations, GpucolRecRelation);
	plan->nrules = COUNT(builder->rules, GpucolRecRule);
	plan->nsteps = COUNT(builder->steps, GpucolRecStep);
	plan->noperands = COUNT(builder->operands, GpucolRecOperand);
	plan->nconstants = COUNT(builder->constants, GpucolRecConstant);
	plan->ntypes = builder->types.len;
	plan->relations = (GpucolRecRelation *) builder->relations.data;
	plan->rules = (GpucolRecRule *) builder->rules.data;
	plan->steps = (GpucolRecStep *) builder->steps.data;
	plan->operands = (GpucolRecOperand *) builder->operands.data;
	plan->constants = (GpucolRecConstant *) builder->constants.data;
	plan->types = (uint8 *) builder->types.data;
	plan->nchoices = COUNT(builder->choices, GpucolRecChoice);
	plan->choices = (GpucolRecChoice *) builder->choices.data;
	return plan;
}

/* Append one array of a plan, aligned. */
static void
pack_array(StringInfo out, const void *array, Size size)
{
	while (out->len % 8 != 0)
		appendStringInfoChar(out, 0);
	if (size > 0)
		appendBinaryStringInfo(out, array, size);
}

bytea *
gpucol_rec_plan_pack(const GpucolRecPlan *plan)
{
	StringInfoData out;
	bytea	   *packed;

	initStringInfo(&out);
	pack_array(&out, plan, sizeof(GpucolRecPlan));
	pack_array(&out, plan->relations,
			   plan->nrelations * sizeof(GpucolRecRelation));
	pack_array(&out, plan->rules, plan->nrules * sizeof(GpucolRecRule));
	pack_array(&out, plan->steps, plan->nsteps * sizeof(GpucolRecStep));
	pack_array(&out, plan->operands, plan->noperands * sizeof(GpucolRecOperand));
	pack_array(&out, plan->constants,
			   plan->nconstants * sizeof(GpucolRecConstant));
	pack_array(&out, plan->types, plan->ntypes);
	pack_array(&out, plan->choices, plan->nchoices * sizeof(GpucolRecChoice));
	packed = palloc(VARHDRSZ + out.len);
	SET_VARSIZE(packed, VARHDRSZ + out.len);
	memcpy(VARDATA(packed), out.data, out.len);
	return packed;
}

/* The next array of a packed plan. */
static const void *
unpack_array(const char *data, Size *at, Size size)
{
	const void *array;

	*at = TYPEALIGN(8, *at);
	array = data + *at;
	*at += size;
	return array;
}

GpucolRecPlan *
gpucol_rec_plan_unpack(bytea *packed)
{
	Size		size = VARSIZE_ANY_EXHDR(packed);
	char	   *data = palloc(size);
	GpucolRecPlan *plan = (GpucolRecPlan *) data;
	Size		at = sizeof(GpucolRecPlan);

	memcpy(data, VARDATA_ANY(packed), size);
	plan->relations = unpack_array(data, &at, plan->nrelations *
								   sizeof(GpucolRecRelation));
	plan->rules = unpack_array(data, &at, plan->nrules * sizeof(GpucolRecRule));
	plan->steps = unpack_array(data, &at, plan->nsteps * sizeof(GpucolRecStep));
	plan->operands = unpack_array(data, &at, plan->noperands *
								  sizeof(GpucolRecOperand));
	plan->constants = unpack_array(data, &at, plan->nconstants *
								   sizeof(GpucolRecConstant));
	plan->types = unpack_array(data, &at, plan->ntypes);
	plan->choices = unpack_array(data, &at, plan->nchoices * sizeof(GpucolRecChoice));
	return plan;
}
