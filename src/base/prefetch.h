/*-------------------------------------------------------------------------
 *
 * prefetch.h
 *	  Asking for a cache line before it is needed.
 *
 * gcc takes a function that does nothing but __builtin_prefetch for one without any
 * effect, and leaves out the calls of it; an empty asm is an effect.  Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_BASE_PREFETCH_H
#define GPUCOL_BASE_PREFETCH_H

/* Arguments as those of __builtin_prefetch. */
#define GPUCOL_PREFETCH(...) \
	do \
	{ \
		__builtin_prefetch(__VA_ARGS__); \
		__asm__ volatile(""); \
	} while (0)

#endif							/* GPUCOL_BASE_PREFETCH_H */
