/*-------------------------------------------------------------------------
 *
 * builder.h
 *	  Growing a recursion plan piece by piece.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_BUILDER_H
#define GPUCOL_RECURSION_FRONT_BUILDER_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "kernel/recursion.h"

/* The arrays of a plan, each in a StringInfo. */
typedef struct GpucolRecBuilder
{
	StringInfoData relations;
	StringInfoData rules;
	StringInfoData steps;
	StringInfoData operands;
	StringInfoData constants;
	StringInfoData types;
	StringInfoData choices;
	uint32		nregisters;		/* of the rule that is being built */
} GpucolRecBuilder;

extern void gpucol_rec_builder_init(GpucolRecBuilder *builder);

/* Forget what was added since `before`, a copy of the builder made then. */
extern void gpucol_rec_builder_reset(GpucolRecBuilder *builder,
									 const GpucolRecBuilder *before);

/* Add a relation; its number. */
extern uint16 gpucol_rec_builder_relation(GpucolRecBuilder *builder, int arity,
										  const uint8 *types, int flags,
										  int stratum);

/* The relation, for changing it; valid until the next one is added. */
extern GpucolRecRelation *gpucol_rec_builder_get(GpucolRecBuilder *builder,
												 uint16 relation);

/* Have the relation, which must be derived, keep one row for each value of these columns. */
extern void gpucol_rec_builder_choice(GpucolRecBuilder *builder, uint16 relation,
									  uint32 columns);

/* Start a rule; steps that follow belong to it. */
extern void gpucol_rec_builder_rule(GpucolRecBuilder *builder, int stratum,
									int flags);

/* A register of the current rule. */
extern uint16 gpucol_rec_builder_register(GpucolRecBuilder *builder);

extern GpucolRecOperand gpucol_rec_builder_constant(GpucolRecBuilder *builder,
													int64 value, bool isnull);
extern GpucolRecOperand gpucol_rec_builder_operand(GpucolRecOperandKind kind,
												   uint16 index);

/*
 * Add a step; its offset in the current rule.  The step may be changed through
 * gpucol_rec_builder_step_at until the next one is added.
 */
extern uint32 gpucol_rec_builder_step(GpucolRecBuilder *builder,
									  GpucolRecStepKind kind, int relation,
									  int noperands,
									  const GpucolRecOperand *operands);
extern GpucolRecStep *gpucol_rec_builder_step_at(GpucolRecBuilder *builder,
												 uint32 offset);

/* target := function(a, b); b may be NULL.  Returns the target. */
extern GpucolRecOperand gpucol_rec_builder_compute(GpucolRecBuilder *builder,
												   GpucolRecFunction function,
												   GpucolRecType type,
												   GpucolRecOperand a,
												   const GpucolRecOperand *b);

/* Only if function(a, b). */
extern void gpucol_rec_builder_test(GpucolRecBuilder *builder,
									GpucolRecFunction function,
									GpucolRecType type, GpucolRecOperand a,
									const GpucolRecOperand *b);

/* The finished plan, palloc'd; its arrays are the builder's. */
extern GpucolRecPlan *gpucol_rec_builder_finish(GpucolRecBuilder *builder,
												int nstrata);

/* A plan as one value that a plan tree can hold, and back (in place). */
extern bytea *gpucol_rec_plan_pack(const GpucolRecPlan *plan);
extern GpucolRecPlan *gpucol_rec_plan_unpack(bytea *packed);

/*
 * describe.c: a rule of a plan in words: what it joins in which order, with the
 * columns that are known by then.  names are those of the plan's relations.
 */
extern char *gpucol_rec_plan_describe(const GpucolRecPlan *plan, uint32 number,
									  const char *const *names);

#endif							/* GPUCOL_RECURSION_FRONT_BUILDER_H */
