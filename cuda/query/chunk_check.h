/*-------------------------------------------------------------------------
 *
 * chunk_check.h
 *	  Does what a client says of a chunk hold together?
 *
 * Kernels take a chunk's figures as they are: widths and counts place its words,
 * codes are subtracted from bounds, entries of a dictionary are looked up by code.
 * So every figure is checked when it comes, against the size of the segment and
 * against the others.  What the packed codes themselves say is not: kernels look
 * up no more entries than there are, and groups that are numbered by a column's bounds
 * have these proven first (bounds.cc).
 *
 * Nothing here knows CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_CHUNK_CHECK_H
#define GPUCOL_CUDA_CHUNK_CHECK_H

#include <cstdint>

#include "service/protocol.h"

/*
 * What is wrong with the head of a chunk of a segment of nrows rows, which `total` bytes
 * (the head's own too) are to be sent for; NULL: nothing.
 */
extern const char *gpucol_chunk_check_head(const GpucolWireChunk &head, uint32_t nrows, uint64_t total);

/* What is wrong with the zones of its vectors, one each; NULL: nothing. */
extern const char *gpucol_chunk_check_zones(const GpucolChunkDesc &desc, const GpucolZone *zones, uint32_t nvectors);

/* What is wrong with the entries of a dictionary of numbers; NULL: nothing. */
extern const char *gpucol_chunk_check_dict(const GpucolChunkDesc &desc, const int64_t *entries);

#endif
