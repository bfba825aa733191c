/*-------------------------------------------------------------------------
 *
 * group_rows.h
 *	  Groups of an engine's batch as datums, a column of some hundred groups at a
 *	  time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_GROUP_ROWS_H
#define GPUCOL_EXEC_GROUP_ROWS_H

#include "exec/batches.h"
#include "exec/result.h"

/*
 * Forms results beside the keys of groups first .. first + n - 1 of the batch, in a
 * context that lasts until the next are formed: values[column][n].
 */
typedef void (*GpucolFormResults) (void *arg, uint32 first, uint32 n, Datum **values,
								   bool **isnull);

typedef struct GpucolGroupRows
{
	/* columns: keys, then finished aggregates */
	Datum	  **values;
	bool	  **isnull;
	uint32		nrows;			/* that are formed */

	/* private */
	uint32		first;			/* row of the batch that they begin with */
	int			nkeys;
	int			naggs;
	MemoryContext context;		/* of what datums refer to */
	MemoryContext chosen;		/* of the batch's groups that have met tests */
	GpucolResult batch;
	const GpucolOutput *keys;
	const GpucolFinal *finals;
	int			nstates;
	GpucolFormResults form;
	void	   *form_arg;
} GpucolGroupRows;

/*
 * Prepare, in the current memory context, for groups of so many keys and aggregates,
 * which are finished from the batch's states, or formed by `form` if it is not NULL.
 */
extern void gpucol_group_rows_init(GpucolGroupRows *rows, int nkeys, int naggs,
								   GpucolFormResults form, void *form_arg);

/*
 * Turn to a batch, of `nstates` states a group; nothing is formed yet.  What is passed
 * must last until the batch is used up.
 */
extern void gpucol_group_rows_load(GpucolGroupRows *rows, const GpucolResult *batch,
								   const GpucolOutput *keys, const GpucolFinal *finals,
								   int nstates);

/* Is a group of the batch wanted? */
typedef bool (*GpucolGroupWanted) (void *arg, const GpucolGroupRows *rows, uint32 group);

/* Leave the batch only the groups that are wanted, before any is formed; how many were not. */
extern uint32 gpucol_group_rows_keep(GpucolGroupRows *rows, GpucolGroupWanted wanted, void *arg);

/* Form one group of a batch that has states: its keys and aggregates, in the current context. */
extern void gpucol_group_rows_one(const GpucolGroupRows *rows, uint32 group, Datum *values, bool *isnull);

/*
 * Form the next groups, at most GPUCOL_IN_PLACE_ROWS, in place of those formed before;
 * false if the batch is used up.
 */
extern bool gpucol_group_rows_form(GpucolGroupRows *rows);

/* The place of a column of a constant, NULL or another. */
#define GPUCOL_GROUP_ROWS_CONSTANT	(-1)

/*
 * All groups of the batch as columns of these places among keys and aggregates, or constants of a target list, of
 * types with these maps, until the next ones are formed; a copy, or they show what the engine has.  The batch is
 * used up.
 */
extern void gpucol_group_rows_columns(GpucolGroupRows *rows, const int *places, const List *targetlist,
									  const GpucolTypeMap *maps, bool copy, GpucolBatch *batch);

/* Forget the batch. */
extern void gpucol_group_rows_reset(GpucolGroupRows *rows);

#endif							/* GPUCOL_EXEC_GROUP_ROWS_H */
