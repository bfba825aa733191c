/*-------------------------------------------------------------------------
 *
 * plans.c
 *	  The engines' unit test over the CUDA engine: random tables, random kernel
 *	  descriptions, a naive interpreter as judge.
 *
 * Usage: plans SOCKET [rounds [seed [random]]], the last ones as of the unit test; a
 * gpucol_gpud listens on SOCKET (both_engines.h).
 *
 *-------------------------------------------------------------------------
 */
#include "engine/engine.h"

#define WHOLE_SEGMENTS			/* the device takes no parts of them */
#define gpucol_engine_cpu both_engines
#define main unit_main
extern const GpucolEngine both_engines;
#include "../unit/engine_cpu.c"
#undef main
#undef gpucol_engine_cpu

#include "both_engines.h"

int
main(int argc, char **argv)
{
	return both_main(argc, argv, unit_main);
}
