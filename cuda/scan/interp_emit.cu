/*-------------------------------------------------------------------------
 *
 * interp_emit.cu
 *	  Programs that deliver the selected rows.
 *
 * Compiled with -fmad=false: PostgreSQL's products and sums are rounded apart.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/scan/interp_kernel.cuh"

template const void *gpucol_interp_kernel<MODE_EMIT>(bool probes);
