/*-------------------------------------------------------------------------
 *
 * program_check.h
 *	  Does a program hold together?
 *
 * Lowering and kernels take a program's numbers as they are: registers, constants and
 * columns are looked up without another look.  So every one is checked when it comes.
 *
 * Nothing here knows CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PROGRAM_CHECK_H
#define GPUCOL_CUDA_PROGRAM_CHECK_H

#include <cstddef>
#include <cstdint>

#include "cuda/base/failure.h"
#include "kernel/program.h"

/* Which operands of an opcode are registers: bit 0 a, bit 1 b, bit 2 c. */
inline int
gpucol_operands(int op)
{
	static const uint8_t operands[] = {
#define GPUCOL_OPCODE(name, r, a, b, c) \
		(GPUCOL_CLASS_##a != GPUCOL_CLASS_NONE) | (GPUCOL_CLASS_##b != GPUCOL_CLASS_NONE) << 1 | \
		(GPUCOL_CLASS_##c != GPUCOL_CLASS_NONE) << 2,
#include "kernel/opcodes.h"
#undef GPUCOL_OPCODE
	};

	return operands[op];
}

/*
 * Check a program that `size` bytes were sent for, over ncolumns columns; the memory is
 * aligned to 8 bytes.  Throws Failure where something is wrong with it, or where the
 * device cannot run it.
 */
extern void gpucol_program_check(const GpucolProgram *program, size_t size, uint32_t ncolumns);

#endif
