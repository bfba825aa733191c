/*-------------------------------------------------------------------------
 *
 * wing.h
 *	  Recursion as the main building sees it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_EXEC_WING_H
#define GPUCOL_RECURSION_EXEC_WING_H

/*
 * Hand the wing to the main building, make its nodes known and install its planner
 * hooks; called once, from _PG_init.
 */
extern void gpucol_recursion_init(void);

#endif							/* GPUCOL_RECURSION_EXEC_WING_H */
