/*-------------------------------------------------------------------------
 *
 * interp_exponents.cu
 *	  Programs whose float sums are bounded: greatest exponents of their arguments.
 *
 * Compiled with -fmad=false: PostgreSQL's products and sums are rounded apart.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/scan/interp_kernel.cuh"

template const void *gpucol_interp_kernel<MODE_EXPONENTS>(bool probes);
