/*-------------------------------------------------------------------------
 *
 * crc32c.h
 *	  CRC-32C (Castagnoli), as iSCSI and PostgreSQL's WAL use it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_CRC32C_H
#define GPUCOL_KERNEL_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/*
 * Checksum of `len` bytes; `crc` is 0, or the result for the bytes before them.
 * Uses the processor's instruction where it has one.
 */
extern uint32_t gpucol_crc32c(uint32_t crc, const void *data, size_t len);

#endif							/* GPUCOL_KERNEL_CRC32C_H */
