/*-------------------------------------------------------------------------
 *
 * dictionary.h
 *	  Numbers for the distinct byte strings of one column over all segments, so
 *	  that the device can compare them by number.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_GPU_DICTIONARY_H
#define GPUCOL_ENGINE_GPU_DICTIONARY_H

#include "kernel/batch.h"

typedef struct GpucolGpuDictionary GpucolGpuDictionary;

/* An empty one, of one user; NULL without memory. */
extern GpucolGpuDictionary *gpucol_gpu_dictionary_create(void);

/* One user more, and one less: the last frees it.  NULL is fine. */
extern GpucolGpuDictionary *gpucol_gpu_dictionary_share(GpucolGpuDictionary *dictionary);
extern void gpucol_gpu_dictionary_free(GpucolGpuDictionary *dictionary);

/* Number of a string, given if it is new; false if there is no memory. */
extern bool gpucol_gpu_dictionary_number(GpucolGpuDictionary *dictionary,
										 const char *data, size_t len, uint32_t *number);

/* The strings in order of their numbers; *n their count. */
extern const GpucolBytes *gpucol_gpu_dictionary_strings(const GpucolGpuDictionary *dictionary,
														uint32_t *n);

/*
 * All numbers in the order that was set last, those given since at the end; and set one
 * of n numbers, which is forgotten where there is no memory.
 */
extern void gpucol_gpu_dictionary_sorted(const GpucolGpuDictionary *dictionary, uint32_t *numbers);
extern void gpucol_gpu_dictionary_set_sorted(GpucolGpuDictionary *dictionary,
											 const uint32_t *numbers, uint32_t n);

/* Memory that the dictionary takes. */
extern size_t gpucol_gpu_dictionary_bytes(const GpucolGpuDictionary *dictionary);

#endif							/* GPUCOL_ENGINE_GPU_DICTIONARY_H */
