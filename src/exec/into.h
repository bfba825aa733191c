/*-------------------------------------------------------------------------
 *
 * into.h
 *	  Statements that fill a table from one scan of ours, in batches.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_INTO_H
#define GPUCOL_EXEC_INTO_H

/* Install the executor hooks; called once, from _PG_init. */
extern void gpucol_into_init(void);

#endif							/* GPUCOL_EXEC_INTO_H */
