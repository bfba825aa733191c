/*-------------------------------------------------------------------------
 *
 * rewrite.h
 *	  VACUUM FULL and CLUSTER: callback of the table access method.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_REWRITE_H
#define GPUCOL_COLUMNAR_REWRITE_H

#include "postgres.h"

#include "utils/rel.h"

extern void gpucol_rewrite_copy(Relation old_table, Relation new_table,
								Relation old_index, bool use_sort,
								TransactionId oldest_xmin,
								TransactionId *xid_cutoff,
								MultiXactId *multi_cutoff, double *num_tuples,
								double *tups_vacuumed,
								double *tups_recently_dead);

#endif							/* GPUCOL_COLUMNAR_REWRITE_H */
