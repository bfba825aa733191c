/*-------------------------------------------------------------------------
 *
 * picture.h
 *	  Formats of to_char() as pictures that engines have.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_PICTURE_H
#define GPUCOL_LOWER_PICTURE_H

#include "kernel/text_picture.h"

/* The picture of a format of timestamps; false if there is none that makes the same texts. */
extern bool gpucol_picture_create(const text *format, GpucolTextPicture *picture);

#endif							/* GPUCOL_LOWER_PICTURE_H */
