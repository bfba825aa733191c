/*-------------------------------------------------------------------------
 *
 * jit_std.h
 *	  What the kernels' sources use of the standard headers, for the run-time
 *	  compiler, which has none of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_JIT_STD_H
#define GPUCOL_CUDA_JIT_STD_H

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;

#define INT64_MAX	0x7fffffffffffffffL
#define INT64_MIN	(-INT64_MAX - 1)
#define INT64_C(x)	x##L
#define UINT64_C(x)	x##UL
#define UINT32_MAX	0xffffffffu
#define UINT64_MAX	0xffffffffffffffffUL
#ifndef NULL
#define NULL 0
#endif

#endif
