/*-------------------------------------------------------------------------
 *
 * plan_columns.h
 *	  Which columns of the packed rows that a plan's scans find are read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_PLAN_COLUMNS_H
#define GPUCOL_COLUMNAR_PLAN_COLUMNS_H

extern void gpucol_plan_columns_init(void);

#endif							/* GPUCOL_COLUMNAR_PLAN_COLUMNS_H */
