/*-------------------------------------------------------------------------
 *
 * blocks.c
 *	  Blocks of bytes that are constants of instructions: tables of time zones, texts and their pictures.
 *
 * Each constant has sixteen bytes of one; they are put together once for the run.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "engine/cpu/expr.h"
#include "kernel/text_picture.h"
#include "kernel/time_zone.h"

/* The size of a block that begins with this constant, or 0 if it is none. */
static uint64_t
block_size(const GpucolInstr *instr, const GpucolConst *first)
{
	uint32_t	head[2];

	memcpy(head, &first->v.d, sizeof(head));
	if (instr->op == GPUCOL_OP_TEXT_S)
		return sizeof(uint32_t) + (uint64_t) head[0];
	if (instr->op == GPUCOL_OP_PICTURE_I)
		return head[0] <= GPUCOL_PICTURE_MOST ? sizeof(GpucolTextPicture) : 0;
	return head[0] % 16 == 0 && head[0] <= GPUCOL_ZONE_MOST_BYTES &&
		sizeof(GpucolTimeZone) + (uint64_t) head[1] * (sizeof(int64_t) + sizeof(int32_t)) <= head[0] ? head[0] : 0;
}

bool
gpucol_cpu_block_fits(const GpucolProgram *program, const GpucolInstr *instr)
{
	const GpucolConst *consts = GPUCOL_PROGRAM_ARRAY(program, const GpucolConst, consts);
	uint64_t	size = instr->b < program->nconsts ? block_size(instr, &consts[instr->b]) : 0;

	return size > 0 && (size + 15) / 16 <= (uint64_t) program->nconsts - instr->b;
}

GpucolStatus
gpucol_cpu_blocks_init(GpucolRun *run)
{
	run->digest.blocks = gpucol_cpu_alloc0(run, sizeof(void *) * (run->program->ninstrs + 1u));
	if (run->digest.blocks == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int i = 0; i < run->program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];
		const GpucolConst *consts = run->code.consts + instr->b;
		uint64_t	size;
		char	   *block;

		if (!GPUCOL_CPU_HAS_BLOCK(instr))
			continue;
		size = block_size(instr, consts);
		block = gpucol_cpu_alloc(run, size + 16);
		if (block == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		for (uint64_t at = 0; at < size; at += 16)
			memcpy(block + at, &consts[at / 16].v.d, 16);
		run->digest.blocks[i] = block;
	}
	return GPUCOL_OK;
}
