/*-------------------------------------------------------------------------
 *
 * joins.c
 *	  The unit test of joins over the CUDA engine: random tables, tables built of them,
 *	  probes of every kind, nested loops as judge.
 *
 * Usage: joins SOCKET [rounds [seed]], the last ones as of the unit test; a
 * gpucol_gpud listens on SOCKET (both_engines.h).
 *
 *-------------------------------------------------------------------------
 */
#include "engine/engine.h"

#define WHOLE_SEGMENTS			/* the device takes no parts of them */
#define gpucol_engine_cpu both_engines
#define main unit_main
extern const GpucolEngine both_engines;
#include "../unit/engine_join.c"
#undef main
#undef gpucol_engine_cpu

#include "both_engines.h"

int
main(int argc, char **argv)
{
	return both_main(argc, argv, unit_main);
}
