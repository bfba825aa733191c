/*-------------------------------------------------------------------------
 *
 * ahead.h
 *	  INSERT ... SELECT reads ahead to see whether it is a load.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_AHEAD_H
#define GPUCOL_COLUMNAR_AHEAD_H

/* Install the executor's hook; called once. */
extern void gpucol_ahead_init(void);

#endif							/* GPUCOL_COLUMNAR_AHEAD_H */
