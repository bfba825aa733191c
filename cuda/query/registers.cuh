/*-------------------------------------------------------------------------
 *
 * registers.cuh
 *	  The registers of a program, in as few as the kernels have.
 *
 * A program writes each of its registers once; the interpreter has GPUCOL_MAX_REGS.  Where a
 * program has more, those whose values are not read any more are used again: linear scan
 * (Poletto and Sarkar 1999) over the instructions in the order in which they run.  That is
 * the order of time for every value, since a stage that runs again reads nothing but
 * constants of what came before it (sections.cuh).  A register keeps its class.
 *
 * Nothing here knows CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_REGISTERS_CUH
#define GPUCOL_CUDA_REGISTERS_CUH

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel/program.h"

/* A register that is read between instructions: behind those before `at`. */
struct RegisterRead
{
	size_t		at;
	uint16_t   *reg;			/* rewritten; may be GPUCOL_NO_REG */
};

class RegisterMap
{
public:
	/* Of a program with registers of these classes. */
	explicit RegisterMap(const std::vector<uint8_t> &classes);

	/*
	 * Rewrite instructions, of which the first nconstants load constants, that are read as long
	 * as there are instructions, and what is read between them, in order of `at`; `last` are
	 * registers that are read in the end.  False, and nothing is of use, where more than `most`
	 * registers are needed at a time.
	 */
	bool		narrow(std::vector<GpucolInstr> *instrs, size_t nconstants, const std::vector<RegisterRead> &reads,
					   const std::vector<uint16_t> &last, size_t most);

	/* Where a register that is read in the end is then. */
	uint16_t	in_the_end(uint16_t reg) const { return reg == GPUCOL_NO_REG ? reg : now_[reg]; }

	/* Classes of the registers that are used. */
	const std::vector<uint8_t> &classes() const { return used_; }

private:
	struct Value
	{
		uint16_t	reg;		/* of the program */
		size_t		read;		/* by which instruction last */
	};

	void		read(uint16_t reg, size_t at);
	void		find_values(const std::vector<GpucolInstr> &instrs, size_t nconstants,
							const std::vector<RegisterRead> &reads, const std::vector<uint16_t> &last);
	void		rewrite(uint16_t *reg) const;
	bool		place(uint16_t reg, size_t most);

	std::vector<uint8_t> classes_;
	std::vector<Value> values_; /* by instruction that writes one */
	std::vector<size_t> writer_;	/* by register: the last so far, or NONE */
	std::vector<uint16_t> now_;	/* by register: where its value is */
	std::vector<uint8_t> used_; /* classes, by register of the kernels */
	std::vector<std::vector<uint16_t>> free_;	/* by class */
};

#endif
