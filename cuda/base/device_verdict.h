/*-------------------------------------------------------------------------
 *
 * device_verdict.h
 *	  May a device be used, with which of the program's code, and why not.
 *
 * The program has machine code for some architectures and text (PTX) of an old one, which the
 * driver compiles for any other.  Nothing here knows CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_DEVICE_VERDICT_H
#define GPUCOL_CUDA_DEVICE_VERDICT_H

#include <cstdint>
#include <string>

/* What is known of a device. */
struct DeviceFacts
{
	int			capability = 0; /* ten times its compute capability: 90 of 9.0 */
	bool		prohibited = false; /* by its compute mode */
	bool		taken = false;	/* by a process that has it alone */
	std::string error;			/* else, why it could not be opened; "" if it could */
	int			code = 0;		/* for which the code that it runs was compiled; 0: there is none */
	int			machine = 0;	/* for which it became machine code */
	uint64_t	free = 0;		/* bytes of its memory */
};

/* Of the device's memory, that must be free. */
constexpr uint64_t GPUCOL_LEAST_FREE = (uint64_t) 256 << 20;

/* A compute capability as people write it: "9.0". */
extern std::string device_architecture(int capability);

/* The code that it runs: "sm_90" of machine code in the program, "PTX 7.5" of its text. */
extern std::string device_code(const DeviceFacts &facts);

/* Why it is not used; "" if it is. */
extern std::string device_refusal(const DeviceFacts &facts);

#endif
