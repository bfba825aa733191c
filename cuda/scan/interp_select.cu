/*-------------------------------------------------------------------------
 *
 * interp_select.cu
 *	  Programs that select rows.
 *
 * Compiled with -fmad=false: PostgreSQL's products and sums are rounded apart.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/scan/interp_kernel.cuh"

template const void *gpucol_interp_kernel<MODE_SELECT>(bool probes);
