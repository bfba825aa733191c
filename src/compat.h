/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  The only place that tests PG_VERSION_NUM: differences between PostgreSQL
 *	  15, 16, 17 and 18 are bridged here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COMPAT_H
#define GPUCOL_COMPAT_H

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "gpucol supports PostgreSQL 15 to 18"
#endif

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#endif							/* GPUCOL_COMPAT_H */
