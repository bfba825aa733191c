/*-------------------------------------------------------------------------
 *
 * owner.h
 *	  Running the code of a table's indexes as the table's owner.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_OWNER_H
#define GPUCOL_COLUMNAR_OWNER_H

#include "postgres.h"

#include "utils/rel.h"

/* Who ran before. */
typedef struct GpucolOwner
{
	Oid			user;
	int			context;
	int			nest_level;
} GpucolOwner;

/*
 * Index expressions, predicates and operators are whatever the table's owner has made
 * them.  Between these two they run with that role's rights, in a
 * security-restricted operation, with a search_path that finds PostgreSQL's own names
 * first, and settings that they change are set back: as REINDEX and VACUUM run them.  An
 * error ends it too.  The caller's rights are checked before.
 */
extern void gpucol_owner_begin(Relation table, GpucolOwner *before);
extern void gpucol_owner_end(const GpucolOwner *before);

#endif							/* GPUCOL_COLUMNAR_OWNER_H */
