/*-------------------------------------------------------------------------
 *
 * interp_aggregate.cu
 *	  Programs whose rows are aggregated.
 *
 * Compiled with -fmad=false: PostgreSQL's products and sums are rounded apart.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/scan/interp_kernel.cuh"

template const void *gpucol_interp_kernel<MODE_AGGREGATE>(bool probes);
