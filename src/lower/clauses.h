/*-------------------------------------------------------------------------
 *
 * clauses.h
 *	  Which conditions of a table an engine takes, and what a path costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_CLAUSES_H
#define GPUCOL_LOWER_CLAUSES_H

#include "nodes/pathnodes.h"

#include "lower/lower.h"

/*
 * Lower the conditions (RestrictInfos) of a table that can be; *pushed are
 * their clauses in execution order, *rest the clauses that PostgreSQL keeps, and
 * *behind, if wanted, says of each pushed one behind how many of these it stands.
 * Reasons are noted as those of `what` over the table.
 */
extern void gpucol_clauses_split(PlannerInfo *root, GpucolLower *l,
								 List *rinfos, const char *what,
								 List **pushed, List **rest, List **behind);

/* cost.c */
extern int	gpucol_cost_threads(BlockNumber pages);
extern bool gpucol_cost_is_beaten(RelOptInfo *rel, int ncolumns);
extern void gpucol_cost_scan(PlannerInfo *root, RelOptInfo *rel, Path *path,
							 int ncolumns, List *pushed, List *rest,
							 int workers);
extern void gpucol_cost_agg(PlannerInfo *root, RelOptInfo *rel, Path *path,
							int ncolumns, List *pushed, int nkeys, int naggs,
							double groups, double joined, List *evaluated,
							PathTarget *target, List *having);
extern void gpucol_cost_agg_fed(Path *path, double rows, int nkeys, int naggs);
extern void gpucol_cost_topn(RelOptInfo *rel, Path *path, int nlooked,
							 int nothers, List *pushed);
extern void gpucol_cost_window(Path *path, const Path *child, double nsorts, int nfunctions);

#endif							/* GPUCOL_LOWER_CLAUSES_H */
