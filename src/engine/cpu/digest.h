/*-------------------------------------------------------------------------
 *
 * digest.h
 *	  MD5 of strings, several at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_DIGEST_H
#define GPUCOL_ENGINE_CPU_DIGEST_H

#include "kernel/batch.h"

#define GPUCOL_MD5_TEXT		32	/* hexadecimal digits */

/*
 * Write the digests of n strings at `to`, each as its GPUCOL_MD5_TEXT digits, one behind the
 * other; strings of NULL data are passed over, and so is their room.
 */
extern void gpucol_md5_texts(const GpucolBytes *strings, uint32_t n, char *to);

#endif							/* GPUCOL_ENGINE_CPU_DIGEST_H */
