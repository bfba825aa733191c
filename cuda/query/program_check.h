/*-------------------------------------------------------------------------
 *
 * program_check.h
 *	  Does a program hold together?
 *
 * Lowering and kernels take a program's numbers as they are: registers, constants and
 * columns are looked up without another look, and values are what their classes say.  So
 * every field is checked when it comes.  Each register is written by one instruction,
 * before others read it.
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
#include "kernel/first.h"
#include "kernel/program.h"
#include "kernel/shape.h"

/* Classes of an opcode's result (0) and operands (1 to 3); NONE where there is none. */
inline int
gpucol_operand_class(int op, int operand)
{
	static const uint8_t classes[][4] = {
#define GPUCOL_OPCODE(name, r, a, b, c) \
		{GPUCOL_CLASS_##r, GPUCOL_CLASS_##a, GPUCOL_CLASS_##b, GPUCOL_CLASS_##c},
#include "kernel/opcodes.h"
#undef GPUCOL_OPCODE
	};

	return classes[op][operand];
}

/* Which operands of an opcode are registers: bit 0 a, bit 1 b, bit 2 c. */
inline int
gpucol_operands(int op)
{
	int			operands = 0;

	for (int i = 0; i < 3; i++)
		operands |= (gpucol_operand_class(op, i + 1) != GPUCOL_CLASS_NONE) << i;
	return operands;
}

/* Do something with each register that an instruction reads, and with its mask, which may be GPUCOL_NO_REG. */
template <class Instr, class Action> inline void
gpucol_for_operands(Instr &in, Action action)
{
	int			operands = gpucol_operands(in.op);

	if (operands & 1)
		action(in.a);
	if (operands & 2)
		action(in.b);
	if (operands & 4)
		action(in.c);
	action(in.mask);
}

/*
 * Check a program that `size` bytes were sent for, over ncolumns columns; the memory is
 * aligned to 8 bytes.  Throws Failure where something is wrong with it, or where the
 * device cannot run it.
 */
extern void gpucol_program_check(const GpucolProgram *program, size_t size, uint32_t ncolumns);

/* Check what becomes of the rows of a program that has been checked; throws likewise. */
extern void gpucol_shape_check(const GpucolProgram *program, const GpucolRowShape *shape);

/* Check which of its groups are wanted; throws likewise. */
extern void gpucol_first_check(const GpucolProgram *program, const GpucolFirst *first);

#endif
