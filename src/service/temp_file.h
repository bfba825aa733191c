/*-------------------------------------------------------------------------
 *
 * temp_file.h
 *	  Reading temporary files of this session; what fails is an error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_SERVICE_TEMP_FILE_H
#define GPUCOL_SERVICE_TEMP_FILE_H

#include "postgres.h"

#include "storage/buffile.h"

/* Read so many bytes, which are there. */
extern void gpucol_temp_file_read(BufFile *file, void *to, Size size);

/* Go on at a place that BufFileTell has told. */
extern void gpucol_temp_file_seek(BufFile *file, int fileno, off_t offset);

#endif							/* GPUCOL_SERVICE_TEMP_FILE_H */
