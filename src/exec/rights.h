/*-------------------------------------------------------------------------
 *
 * rights.h
 *	  May the user call what a node computes in PostgreSQL's stead?
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_RIGHTS_H
#define GPUCOL_EXEC_RIGHTS_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/*
 * Raise PostgreSQL's error unless the user may call every function of an ordinary plan, which
 * is initialised only if the node falls back to it; eflags are those that the node begins with.
 */
extern void gpucol_check_rights(Plan *ordinary, int eflags);

/* The same of one function, called by such a user: the error names the kind of object. */
extern void gpucol_check_right(Oid function, Oid user, ObjectType type);

#endif							/* GPUCOL_EXEC_RIGHTS_H */
