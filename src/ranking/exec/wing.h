/*-------------------------------------------------------------------------
 *
 * wing.h
 *	  Ranking as the main building sees it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_EXEC_WING_H
#define GPUCOL_RANKING_EXEC_WING_H

/* Hand the wing to the main building; called once, from _PG_init. */
extern void gpucol_ranking_init(void);

#endif							/* GPUCOL_RANKING_EXEC_WING_H */
