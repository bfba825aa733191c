/*-------------------------------------------------------------------------
 *
 * merge_options.h
 *	  When a table is merged by itself: the settings, and what the table's label says.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_MERGE_OPTIONS_H
#define GPUCOL_COLUMNAR_MERGE_OPTIONS_H

#include "postgres.h"

#include "utils/rel.h"

typedef struct GpucolMergeOptions
{
	bool		enabled;
	int			threshold;		/* rows of the delta from which on it is merged, */
	double		scale_factor;	/* and this share of all rows more */
} GpucolMergeOptions;

/* The options of a table. */
extern void gpucol_merge_options(Relation table, GpucolMergeOptions *options);

/* Have PostgreSQL know the labels, and take that of a table that leaves; called once. */
extern void gpucol_merge_options_init(void);

#endif							/* GPUCOL_COLUMNAR_MERGE_OPTIONS_H */
