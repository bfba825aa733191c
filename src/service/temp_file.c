/*-------------------------------------------------------------------------
 *
 * temp_file.c
 *	  Reading temporary files of this session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "service/temp_file.h"

void
gpucol_temp_file_read(BufFile *file, void *to, Size size)
{
	if (BufFileRead(file, to, size) != size)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not read from temporary file")));
}

void
gpucol_temp_file_seek(BufFile *file, int fileno, off_t offset)
{
	if (BufFileSeek(file, fileno, offset, SEEK_SET) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not seek in temporary file")));
}
