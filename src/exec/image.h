/*-------------------------------------------------------------------------
 *
 * image.h
 *	  Values told apart by their bytes: hashed and compared without a call of the type's functions.
 *
 * As datum_image_hash and datum_image_eq, for which a value that is compressed or elsewhere is the
 * same as one that is not; but without a call for what lies there plainly.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_IMAGE_H
#define GPUCOL_EXEC_IMAGE_H

#include "postgres.h"

#include "fmgr.h"
#include "utils/datum.h"

#include "compat.h"
#include "kernel/hash.h"

/* Are the bytes of a value where it points to? */
static inline bool
gpucol_image_is_plain(Datum value, int16 typlen, bool typbyval)
{
	return typbyval || typlen > 0 ||
		(typlen == -1 && !VARATT_IS_EXTERNAL(DatumGetPointer(value)) && !VARATT_IS_COMPRESSED(DatumGetPointer(value)));
}

/* The bytes of a plain value. */
static inline const char *
gpucol_image_bytes(const Datum *value, int16 typlen, bool typbyval, Size *length)
{
	if (typbyval)
	{
		*length = sizeof(Datum);
		return (const char *) value;
	}
	if (typlen > 0)
	{
		*length = typlen;
		return DatumGetPointer(*value);
	}
	*length = VARSIZE_ANY_EXHDR(DatumGetPointer(*value));
	return VARDATA_ANY(DatumGetPointer(*value));
}

/* The hash of a value, of which the upper half is as good as the lower. */
static inline uint64
gpucol_image_hash(Datum value, int16 typlen, bool typbyval)
{
	const char *bytes;
	Size		length;
	uint64		hash;

	if (typbyval)
		return gpucol_hash_fold(value, UINT64CONST(0x9e3779b97f4a7c15));
	if (typlen == -2)
		return gpucol_hash_bytes(DatumGetCString(value), strlen(DatumGetCString(value)));
	if (!gpucol_image_is_plain(value, typlen, typbyval))
	{
		Datum		plain = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));

		hash = gpucol_image_hash(plain, typlen, typbyval);
		pfree(DatumGetPointer(plain));
		return hash;
	}
	bytes = gpucol_image_bytes(&value, typlen, typbyval, &length);
	return gpucol_hash_bytes(bytes, length);
}

/* Are two values the same? */
static inline bool
gpucol_image_same(Datum a, Datum b, int16 typlen, bool typbyval)
{
	Size		a_length;
	Size		b_length;
	const char *a_bytes;
	const char *b_bytes;

	if (typbyval)
		return a == b;
	if (!gpucol_image_is_plain(a, typlen, typbyval) || !gpucol_image_is_plain(b, typlen, typbyval))
		return datum_image_eq(a, b, typbyval, typlen);
	a_bytes = gpucol_image_bytes(&a, typlen, typbyval, &a_length);
	b_bytes = gpucol_image_bytes(&b, typlen, typbyval, &b_length);
	return a_length == b_length && gpucol_hash_same(a_bytes, b_bytes, a_length);
}

#endif							/* GPUCOL_EXEC_IMAGE_H */
