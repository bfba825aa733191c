/*-------------------------------------------------------------------------
 *
 * program_builder.h
 *	  Kernel descriptions assembled by hand, for tests of engines.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_PROGRAM_BUILDER_H
#define GPUCOL_TEST_PROGRAM_BUILDER_H

#include <stdlib.h>

#include "kernel/program.h"

#define BUILDER_MAX 256

typedef struct ProgramBuilder
{
	GpucolProgram head;
	GpucolProgramColumn columns[BUILDER_MAX];
	GpucolConst consts[BUILDER_MAX];
	GpucolRange ranges[BUILDER_MAX];
	GpucolInstr instrs[BUILDER_MAX];
	uint8_t		classes[BUILDER_MAX];
	uint16_t	keys[BUILDER_MAX];
	GpucolAgg	aggs[BUILDER_MAX];
	GpucolProbe probes[BUILDER_MAX];
	GpucolPayload payloads[BUILDER_MAX];
	uint16_t	probe_keys[BUILDER_MAX];
} ProgramBuilder;

static inline void
builder_init(ProgramBuilder *b, GpucolProgramKind kind)
{
	memset(b, 0, sizeof(*b));
	b->head.magic = GPUCOL_PROGRAM_MAGIC;
	b->head.version = GPUCOL_PROGRAM_VERSION;
	b->head.kind = (uint16_t) kind;
	b->head.filter = GPUCOL_NO_REG;
}

static inline int
builder_column(ProgramBuilder *b, GpucolKind kind, int8_t scale)
{
	GpucolProgramColumn *column = &b->columns[b->head.ncolumns];

	column->attnum = (int16_t) (b->head.ncolumns + 1);
	column->kind = (uint8_t) kind;
	column->scale = scale;
	return b->head.ncolumns++;
}

static inline uint16_t
builder_const_int(ProgramBuilder *b, GpucolClass cls, __int128 value)
{
	GpucolConst *c = &b->consts[b->head.nconsts];

	c->cls = (uint8_t) cls;
	if (cls == GPUCOL_CLASS_F)
		c->v.f = (double) value;
	else if (cls == GPUCOL_CLASS_D)
	{
		c->v.d.lo = (uint64_t) value;
		c->v.d.hi = (int64_t) (value >> 64);
	}
	else
		c->v.i = (int64_t) value;
	return b->head.nconsts++;
}

static inline uint16_t
builder_const_float(ProgramBuilder *b, double value)
{
	b->consts[b->head.nconsts].cls = GPUCOL_CLASS_F;
	b->consts[b->head.nconsts].v.f = value;
	return b->head.nconsts++;
}

static inline GpucolRange *
builder_range(ProgramBuilder *b, int column, GpucolRangeOp op)
{
	GpucolRange *range = &b->ranges[b->head.nranges++];

	range->column = (uint16_t) column;
	range->op = (uint8_t) op;
	range->lo = range->hi = GPUCOL_NO_REG;
	return range;
}

/* Add an instruction; returns its new register. */
static inline uint16_t
builder_instr(ProgramBuilder *b, GpucolOpcode op, GpucolClass cls, int x, int y,
			  int z, int aux)
{
	GpucolInstr *instr = &b->instrs[b->head.ninstrs++];

	instr->op = (uint16_t) op;
	instr->dst = b->head.nregs;
	instr->a = (uint16_t) x;
	instr->b = (uint16_t) y;
	instr->c = (uint16_t) z;
	instr->mask = GPUCOL_NO_REG;
	instr->aux = aux;
	b->classes[b->head.nregs] = (uint8_t) cls;
	return b->head.nregs++;
}

static inline void
builder_agg(ProgramBuilder *b, GpucolAggOp op, GpucolClass cls, int arg, int filter)
{
	GpucolAgg  *agg = &b->aggs[b->head.naggs++];

	agg->op = (uint8_t) op;
	agg->cls = (uint8_t) cls;
	agg->arg = (uint16_t) arg;
	agg->filter = (uint16_t) filter;
}

/* Begin a probe; its keys, residual and filter follow. */
static inline GpucolProbe *
builder_probe(ProgramBuilder *b, int table, GpucolJoinKind kind)
{
	GpucolProbe *probe = &b->probes[b->head.nprobes++];

	probe->table = (uint16_t) table;
	probe->kind = (uint16_t) kind;
	probe->first_key = b->head.nprobe_keys;
	probe->keys_end = probe->residual_end = probe->filter_end = b->head.ninstrs;
	probe->residual = probe->filter = GPUCOL_NO_REG;
	return probe;
}

/* Add a key to the last probe. */
static inline void
builder_probe_key(ProgramBuilder *b, uint16_t reg)
{
	GpucolProbe *probe = &b->probes[b->head.nprobes - 1];

	b->probe_keys[b->head.nprobe_keys++] = reg;
	probe->nkeys++;
	probe->keys_end = probe->residual_end = probe->filter_end = b->head.ninstrs;
}

static inline void
builder_residual(ProgramBuilder *b, uint16_t reg)
{
	GpucolProbe *probe = &b->probes[b->head.nprobes - 1];

	probe->residual = reg;
	probe->residual_end = probe->filter_end = b->head.ninstrs;
}

static inline void
builder_probe_filter(ProgramBuilder *b, uint16_t reg)
{
	GpucolProbe *probe = &b->probes[b->head.nprobes - 1];

	probe->filter = reg;
	probe->filter_end = b->head.ninstrs;
}

/* Number of a payload column; the slot that loads it is ncolumns more. */
static inline int
builder_payload(ProgramBuilder *b, int probe, int column, GpucolKind kind)
{
	GpucolPayload *payload = &b->payloads[b->head.npayloads];

	payload->probe = (uint16_t) probe;
	payload->column = (uint16_t) column;
	payload->kind = (uint8_t) kind;
	return b->head.npayloads++;
}

static inline uint32_t
builder_put(char *block, uint32_t *at, const void *array, size_t size)
{
	uint32_t	where = (*at + 15) / 16 * 16;

	if (block != NULL && size > 0)
		memcpy(block + where, array, size);
	*at = where + (uint32_t) size;
	return where;
}

/* Host predicates that ranges and instructions ask for. */
static inline uint16_t
builder_hosts(const ProgramBuilder *b)
{
	uint32_t	n = 0;

	for (int i = 0; i < b->head.nranges; i++)
		if (b->ranges[i].op == GPUCOL_RANGE_HOST && b->ranges[i].n >= n)
			n = b->ranges[i].n + 1;
	for (int i = 0; i < b->head.ninstrs; i++)
		if (b->instrs[i].op == GPUCOL_OP_HOST_TEST && (uint32_t) b->instrs[i].aux >= n)
			n = (uint32_t) b->instrs[i].aux + 1;
	return (uint16_t) n;
}

/* The program as one block from malloc. */
static inline GpucolProgram *
builder_finish(const ProgramBuilder *b)
{
	GpucolProgram *program = NULL;
	uint32_t	at = 0;

	for (int pass = 0; pass < 2; pass++)
	{
		char	   *block = (char *) program;
		GpucolProgram head = b->head;

		head.nhost = builder_hosts(b);
		at = sizeof(GpucolProgram);
		head.columns = builder_put(block, &at, b->columns, sizeof(b->columns[0]) * head.ncolumns);
		head.consts = builder_put(block, &at, b->consts, sizeof(b->consts[0]) * head.nconsts);
		head.ranges = builder_put(block, &at, b->ranges, sizeof(b->ranges[0]) * head.nranges);
		head.instrs = builder_put(block, &at, b->instrs, sizeof(b->instrs[0]) * head.ninstrs);
		head.reg_classes = builder_put(block, &at, b->classes, head.nregs);
		head.keys = builder_put(block, &at, b->keys, sizeof(b->keys[0]) * head.nkeys);
		head.aggs = builder_put(block, &at, b->aggs, sizeof(b->aggs[0]) * head.naggs);
		head.probes = builder_put(block, &at, b->probes, sizeof(b->probes[0]) * head.nprobes);
		head.payloads = builder_put(block, &at, b->payloads,
									sizeof(b->payloads[0]) * head.npayloads);
		head.probe_keys = builder_put(block, &at, b->probe_keys,
									  sizeof(b->probe_keys[0]) * head.nprobe_keys);
		head.size = at;
		if (pass == 0)
			program = calloc(1, at);
		else
			*program = head;
	}
	return program;
}

#endif							/* GPUCOL_TEST_PROGRAM_BUILDER_H */
