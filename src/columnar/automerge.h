/*-------------------------------------------------------------------------
 *
 * automerge.h
 *	  A worker that merges what tables of one database need it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_AUTOMERGE_H
#define GPUCOL_COLUMNAR_AUTOMERGE_H

#include "postgres.h"

/*
 * The worker's main function, by name in service/launcher.c: the argument is the database,
 * the extra data the transaction whose rows, and those of later ones, are left alone.
 */
extern PGDLLEXPORT void gpucol_automerge_main(Datum arg);

#endif							/* GPUCOL_COLUMNAR_AUTOMERGE_H */
