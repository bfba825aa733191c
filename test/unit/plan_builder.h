/*-------------------------------------------------------------------------
 *
 * plan_builder.h
 *	  Recursion plans assembled by hand, for tests of engines.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_PLAN_BUILDER_H
#define GPUCOL_TEST_PLAN_BUILDER_H

#include <string.h>

#include "kernel/recursion.h"

#define MAX_STEPS	64
#define MAX_REGISTERS	36

#define EDB		(GPUCOL_REC_INPUT)
#define IDB		(GPUCOL_REC_DERIVED | GPUCOL_REC_OUTPUT)
#define REC		GPUCOL_REC_RECURSIVE

typedef struct Builder
{
	GpucolRecPlan plan;
	GpucolRecRelation relations[16];
	GpucolRecRule rules[32];
	GpucolRecStep steps[MAX_STEPS];
	GpucolRecOperand operands[256];
	GpucolRecConstant constants[16];
	uint8_t		types[64];
} Builder;

static inline void
builder_init(Builder *b)
{
	memset(b, 0, sizeof(*b));
	b->plan.nstrata = 1;
	b->plan.relations = b->relations;
	b->plan.rules = b->rules;
	b->plan.steps = b->steps;
	b->plan.operands = b->operands;
	b->plan.constants = b->constants;
	b->plan.types = b->types;
}

static inline uint16_t
relation(Builder *b, int arity, int flags, int stratum)
{
	GpucolRecRelation *r = &b->relations[b->plan.nrelations];
	int			i;

	r->arity = (uint16_t) arity;
	r->flags = (uint8_t) flags;
	r->stratum = (uint16_t) stratum;
	r->types = b->plan.ntypes;
	for (i = 0; i < arity; i++)
		b->types[b->plan.ntypes++] = GPUCOL_REC_INT8;
	return (uint16_t) b->plan.nrelations++;
}

static inline void
rule(Builder *b, int stratum, int flags)
{
	GpucolRecRule *r = &b->rules[b->plan.nrules++];

	r->stratum = (uint16_t) stratum;
	r->flags = (uint16_t) flags;
	r->steps = b->plan.nsteps;
	r->nregisters = MAX_REGISTERS;
}

/*
 * Add a step to the last rule.  Operands: a digit or a small letter is a register
 * (bound by an atom where it is new), '_' any, 'A'.. a constant.
 */
static inline GpucolRecStep *
step(Builder *b, GpucolRecStepKind kind, uint16_t rel, GpucolRecVersion version,
	 const char *operands)
{
	GpucolRecRule *r = &b->rules[b->plan.nrules - 1];
	GpucolRecStep *s = &b->steps[b->plan.nsteps++];
	bool		bound[MAX_REGISTERS] = {false};
	uint32_t	i,
				j;

	for (i = r->steps; i < r->steps + r->nsteps; i++)
	{
		if (b->steps[i].kind == GPUCOL_REC_COMPUTE)
			bound[b->steps[i].target] = true;
		if (b->steps[i].kind != GPUCOL_REC_ATOM)
			continue;
		for (j = 0; j < b->steps[i].noperands; j++)
			if (b->operands[b->steps[i].operands + j].kind == GPUCOL_REC_BIND)
				bound[b->operands[b->steps[i].operands + j].index] = true;
	}
	r->nsteps++;
	s->kind = (uint8_t) kind;
	s->version = (uint8_t) version;
	s->relation = rel;
	s->type = GPUCOL_REC_INT8;
	s->operands = b->plan.noperands;
	for (; *operands; operands++)
	{
		GpucolRecOperand *o = &b->operands[b->plan.noperands++];

		s->noperands++;
		if (*operands == '_')
			o->kind = GPUCOL_REC_ANY;
		else if (*operands >= 'A' && *operands <= 'Z')
		{
			o->kind = GPUCOL_REC_CONSTANT;
			o->index = (uint16_t) (*operands - 'A');
		}
		else
		{
			o->index = (uint16_t) (*operands >= 'a' ? *operands - 'a' + 10 :
								   *operands - '0');
			o->kind = kind <= GPUCOL_REC_PRESENT && !bound[o->index] ?
				GPUCOL_REC_BIND : GPUCOL_REC_REGISTER;
			bound[o->index] = true;
		}
	}
	return s;
}

static inline uint16_t
constant(Builder *b, int64_t value)
{
	b->constants[b->plan.nconstants].value = value;
	return (uint16_t) b->plan.nconstants++;
}

#endif							/* GPUCOL_TEST_PLAN_BUILDER_H */
