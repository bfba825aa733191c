/*-------------------------------------------------------------------------
 *
 * numeric_form.h
 *	  How many digits the numerics of a column without a scale have and display, as far as
 *	  its segments say.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_NUMERIC_FORM_H
#define GPUCOL_COLUMNAR_NUMERIC_FORM_H

#include "postgres.h"

#include "access/attnum.h"

/* Decimal digits of a mantissa at most. */
#define GPUCOL_NUMERIC_FORM_DIGITS	18

typedef struct GpucolNumericForm
{
	int			scale;			/* at which each value is a mantissa; -1: there are none */
	bool		alike;			/* each displays just so many digits */
	bool		within;			/* none displays more */
} GpucolNumericForm;

/*
 * The form of a table's column of type numeric; false if its segments have none in common.  It is a
 * hint: rows that are not packed, and segments that were not asked, may have values of another form,
 * so whoever relies on it looks at each value.
 */
extern bool gpucol_find_numeric_form(Oid table, AttrNumber attnum, GpucolNumericForm *form);

/* The backend has met a value of another form: a table has none until its segments change. */
extern void gpucol_refuse_numeric_form(Oid table);

#endif							/* GPUCOL_COLUMNAR_NUMERIC_FORM_H */
