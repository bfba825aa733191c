/*-------------------------------------------------------------------------
 *
 * join_part.c
 *	  Tables that exceed memory, in parts.
 *
 * Where a table does not fit in what is left of gpucol.memory_limit, it is made of some of its
 * rows at a time, as many as half of that allows: those whose bucket (engine/engine.h) is in a
 * range, which is halved until they fit.  An engine goes over the rows that flow once for each
 * part (engine/cpu/turn.c), and asks here for the next.  Packed tables are read again; the
 * rows of plans are kept, in work_mem and then in temporary files, so that every turn has
 * the same.
 *
 * A table that exceeds memory may be made of rows that were joined with other tables.  Where such
 * a join has the same keys, a part by keys asks for no more of that other table than the same
 * buckets, so that both are made in as many parts as one of them needs, not each anew for each
 * part of the other.
 *
 * A part that still does not fit, since many rows have one key, or too many parts have the
 * node fall back; once rows have been delivered it is made all the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "exec/join_build.h"
#include "exec/plan_rows.h"

#define MOST_PARTS	128			/* of a table */
#define MOST_TURNS	256			/* of a run */
#define WHOLE_SIZE	((uint64) GPUCOL_PART_BUCKETS * GPUCOL_PART_BUCKETS)
#define MOST_HALVED	32			/* parts that are halved together, where keys may be unlike */

/* Does it not matter which part has which row?  Then rows of one key may be dealt to several. */
static bool
any_part_will_do(const GpucolPipeStep *step)
{
	return step->kind == GPUCOL_JOIN_INNER || step->kind == GPUCOL_JOIN_RIGHT ||
		step->kind == GPUCOL_JOIN_RIGHT_SEMI || step->kind == GPUCOL_JOIN_RIGHT_ANTI;
}

/* The turns of a run if a table had so many parts. */
static uint64
count_turns(const GpucolJoins *joins, int table, uint64 nparts)
{
	uint64		turns = nparts;

	for (int i = 0; i < joins->nsteps; i++)
	{
		if (i != table)
			turns *= Max(joins->turns[i].nparts, 1);
	}
	return turns;
}

/*
 * Are the keys of a table of a pipe the keys of what is made of the pipe's rows, and of the same form?  Those
 * of the table are where no row comes from without one of its.  Decimals may have another scale.
 */
static bool
keys_are_alike(const GpucolPipeStep *made, const GpucolPipeStep *step)
{
	if (made->inner_keys == NIL || !equal(made->classes, step->classes) ||
		list_member_int(step->classes, GPUCOL_CLASS_D))
		return false;
	if (any_part_will_do(step) && equal(made->inner_keys, step->inner_keys))
		return true;
	return equal(made->inner_keys, step->outer_keys) &&
		(step->kind == GPUCOL_JOIN_INNER || step->kind == GPUCOL_JOIN_LEFT ||
		 step->kind == GPUCOL_JOIN_SEMI || step->kind == GPUCOL_JOIN_ANTI);
}

/*
 * Does a part of a table, dealt by keys, ask for a part of another (NULL: of any) that its rows were joined
 * with?  Not where a third delivers what was not found in it, as rows of all parts would have to be looked up;
 * nor for NOT IN, each part of which must know of NULLs in any.
 */
static bool
asks_for_parts(const GpucolPipeStep *made, const GpucolPipeStep *of)
{
	const GpucolPipeStep *tail = NULL;
	ListCell   *lc;

	if (made->kind == GPUCOL_JOIN_NOT_IN)
		return false;
	foreach(lc, made->build->steps)
	{
		if (!gpucol_pipe_step_has_tail(lfirst(lc)))
			continue;
		if (tail != NULL)
			return false;
		tail = lfirst(lc);
	}
	foreach(lc, made->build->steps)
	{
		const GpucolPipeStep *step = lfirst(lc);

		if ((of == NULL || of == step) && (tail == NULL || tail == step) && keys_are_alike(made, step))
			return true;
	}
	return false;
}

/* The part of a table that the rows can find that a run is for. */
static GpucolTablePart
wanted_part(const GpucolExec *exec, const GpucolBuild *build)
{
	GpucolTablePart part = {.end = GPUCOL_PART_BUCKETS,.end_row = GPUCOL_PART_BUCKETS};

	if (exec->kind == GPUCOL_PROGRAM_BUILD && exec->part != NULL &&
		asks_for_parts(((const GpucolBuild *) exec)->step, build->step))
	{
		part.first = exec->part->first;
		part.end = exec->part->end;
	}
	return part;
}

/* Is a part to be cut by keys, or else by rows? */
static bool
is_cut_by_keys(const GpucolBuild *build, const GpucolTablePart *part)
{
	return build->by_keys && (part->end - part->first > 1 || !any_part_will_do(build->step));
}

/* Cut a part into n, if it has as many buckets. */
static void
cut_part(const GpucolBuild *build, GpucolTablePart part, uint32 n, GpucolTablePart *to)
{
	bool		keys = is_cut_by_keys(build, &part);
	uint32		first = keys ? part.first : part.first_row;
	uint32		width = (keys ? part.end : part.end_row) - first;

	for (uint32 i = 0; i < n; i++)
	{
		uint32		low = first + (uint32) ((uint64) width * i / n);
		uint32		high = first + (uint32) ((uint64) width * (i + 1) / n);

		to[i] = part;
		*(keys ? &to[i].first : &to[i].first_row) = low;
		*(keys ? &to[i].end : &to[i].end_row) = high;
	}
}

/* How much of a table is a part, out of WHOLE_SIZE? */
static uint64
part_size(const GpucolTablePart *part)
{
	return (uint64) (part->end - part->first) * (part->end_row - part->first_row);
}

/* May a table have so many parts? */
static bool
may_have_parts(const GpucolJoins *joins, int table, uint64 nparts)
{
	const GpucolPipeStep *step = joins->builds[table].step;

	return nparts <= MOST_PARTS && count_turns(joins, table, nparts) <= MOST_TURNS &&
		(step->outer_keys != NIL || any_part_will_do(step));
}

/*
 * Halve the part of a table that is its turn, and those behind it unless there are many, of which one
 * key may have most rows: parts are the CPU engine's.
 */
static bool
halve_parts(GpucolExec *exec, int table)
{
	GpucolJoins *joins = exec->joins;
	GpucolBuild *build = &joins->builds[table];
	GpucolTurn *turn = &joins->turns[table];
	bool		one = build->by_keys && any_part_will_do(build->step) && turn->nparts >= MOST_HALVED;
	uint32		halved = one ? 1 : turn->nparts - turn->part;
	uint32		nparts = turn->nparts + halved;
	GpucolTablePart *parts;

	if (!may_have_parts(joins, table, nparts))
		return false;
	parts = MemoryContextAlloc(exec->node->ss.ps.state->es_query_cxt, nparts * sizeof(GpucolTablePart));
	for (uint32 p = 0, at = 0; p < turn->nparts; p++)
	{
		uint32		n = p >= turn->part && p < turn->part + halved ? 2 : 1;

		cut_part(build, build->parts[p], n, &parts[at]);
		at += n;
	}
	pfree(build->parts);
	build->parts = parts;
	turn->nparts = nparts;
	return true;
}

/* In how many parts would tables be made that a part of this one asks for parts of, were they alone? */
static uint64
count_parts_below(const GpucolBuild *build)
{
	const GpucolJoins *joins = build->exec.joins;
	uint64		most = 1;

	for (int i = 0; i < joins->nsteps; i++)
	{
		if (joins->builds[i].fitted > 0 && asks_for_parts(build->step, joins->builds[i].step))
			most = Max(most, WHOLE_SIZE / joins->builds[i].fitted);
	}
	return most;
}

/* Halve what did not fit, a whole table until it has as many parts as what its rows are joined with. */
static bool
make_smaller(GpucolExec *exec, int table)
{
	const GpucolTurn *turn = &exec->joins->turns[table];
	bool		whole = turn->nparts == 1;
	uint64		wanted = count_parts_below(&exec->joins->builds[table]);

	if (!halve_parts(exec, table))
		return false;
	while (whole && turn->nparts < wanted && halve_parts(exec, table))
		;
	return true;
}

/*
 * Have rows of plans be kept.
 */
void
gpucol_join_keep_rows(GpucolExec *exec)
{
	exec->keeps = true;
	for (int i = 0; exec->joins != NULL && i < exec->joins->nsteps; i++)
		gpucol_join_keep_rows(&exec->joins->builds[i].exec);
}

/*
 * Begin with all that is wanted of a table, in parts as large as the largest first one that fitted when it
 * was made before.
 */
static void
begin_table(GpucolExec *exec, int table)
{
	GpucolJoins *joins = exec->joins;
	GpucolBuild *build = &joins->builds[table];
	GpucolTablePart all = wanted_part(exec, build);
	uint64		nparts = 1;

	build->by_keys = !any_part_will_do(build->step) || asks_for_parts(build->step, NULL);
	if (build->fitted > 0)
		nparts = (part_size(&all) + build->fitted - 1) / build->fitted;
	if (!may_have_parts(joins, table, nparts))
		nparts = 1;
	if (build->parts != NULL)
		pfree(build->parts);
	build->parts = MemoryContextAlloc(exec->node->ss.ps.state->es_query_cxt,
									  nparts * sizeof(GpucolTablePart));
	cut_part(build, all, (uint32) nparts, build->parts);
	joins->turns[table].nparts = (uint32) nparts;
	if (nparts > 1)
		gpucol_join_keep_rows(&build->exec);
	if (all.first > 0)
		return;
	build->counted = 0;
	build->counted_to = 0;
	memset(&build->figures, 0, sizeof(build->figures));
}

/* Where a part begins, or ends, among those of its table. */
static uint64
part_place(uint32 bucket, uint32 row)
{
	return (uint64) bucket * GPUCOL_PART_BUCKETS + row;
}

/* Add the figures of the part just made. */
static void
count_part(const GpucolJoins *joins, int table)
{
	GpucolBuild *build = &joins->builds[table];
	const GpucolTablePart *part = &build->parts[joins->turns[table].part];
	GpucolLookupFigures figures;

	joins->engines[table] = build->exec.engine;
	joins->engines[table]->lookup_figures(joins->lookups[table], &figures);
	if (part_place(part->first, part->first_row) < build->counted_to)
		return;
	figures.rows += build->figures.rows;
	figures.bytes = Max(figures.bytes, build->figures.bytes);
	build->figures = figures;
	build->counted++;
	build->counted_to = part->end_row == GPUCOL_PART_BUCKETS ? part_place(part->end, 0) :
		part_place(part->first, part->end_row);
}

/* Note how much of a table fitted, where nothing had been made of it before. */
static void
note_size(const GpucolJoins *joins, int table)
{
	GpucolBuild *build = &joins->builds[table];
	const GpucolTablePart *part = &build->parts[0];

	if (joins->turns[table].part == 0 && joins->turns[table].nparts > 1)
		build->fitted = Max(build->fitted, part_size(part));
}

/* May the node no longer fall back? */
static bool
is_final(const GpucolExec *exec)
{
	return exec->unlimited || (exec->emitted && !exec->withholds);
}

/* Make the part that is a table's turn. */
static GpucolStatus
make_part(GpucolExec *exec, int table, bool wanted)
{
	GpucolJoins *joins = exec->joins;
	GpucolBuild *build = &joins->builds[table];
	const GpucolTurn *turn = &joins->turns[table];
	const GpucolTablePart *part = &build->parts[turn->part];
	Size		left = gpucol_budget_left(build->exec.budget);

	build->whole = part_size(part) == WHOLE_SIZE;
	build->exec.part = build->whole ? NULL : part;
	build->exec.cpu_only |= !build->whole;
	/* leave something for later tables, and for what becomes of the rows */
	build->exec.most = turn->nparts > 1 ? left / 2 : left - left / 8;
	build->exec.joins->pipe->dry = !wanted;
	return gpucol_run_build(&build->exec, &joins->lookups[table]);
}

/*
 * Make a table, or the part of it that is its turn.
 */
GpucolStatus
gpucol_join_part_build(GpucolExec *exec, int table, bool wanted)
{
	GpucolJoins *joins = exec->joins;
	GpucolBuild *build = &joins->builds[table];
	GpucolStatus status;

	if (joins->turns[table].nparts == 1)
		begin_table(exec, table);
	build->exec.unlimited = false;
	while ((status = make_part(exec, table, wanted)) == GPUCOL_OUT_OF_MEMORY &&
		   !build->exec.unlimited)
	{
		if (!make_smaller(exec, table))
		{
			if (!is_final(exec))
				break;
			build->exec.unlimited = true;
		}
		gpucol_join_keep_rows(&build->exec);
		gpucol_run_end(&build->exec);
		build->exec.fallback = NULL;
	}
	if (status == GPUCOL_OK)
	{
		count_part(joins, table);
		note_size(joins, table);
	}
	/* also of a run that failed, since the node may begin again with fewer groups */
	gpucol_run_end(&build->exec);
	return status;
}

/* Make the part of a table that is its turn, and the first of those before it. */
static GpucolStatus
make_turn(GpucolExec *exec, int last)
{
	GpucolJoins *joins = exec->joins;

	for (int i = 0; i <= last; i++)
	{
		if (joins->turns[i].nparts == 1)
			continue;
		joins->engines[i]->lookup_free(joins->lookups[i]);
		joins->lookups[i] = NULL;
		if (i < last)
			joins->turns[i].part = 0;
	}
	for (int i = 0; i <= last; i++)
	{
		GpucolStatus status = joins->turns[i].nparts == 1 ? GPUCOL_OK :
			gpucol_join_part_build(exec, i, true);

		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

/*
 * The next turn.
 */
GpucolStatus
gpucol_joins_next_turn(void *arg, int *changed)
{
	GpucolExec *exec = arg;
	GpucolJoins *joins = exec->joins;
	int			last = 0;

	while (last < joins->nsteps && joins->turns[last].part + 1 == joins->turns[last].nparts)
		last++;
	if (last == joins->nsteps)
		return GPUCOL_END;
	joins->turns[last].part++;
	*changed = last;
	return make_turn(exec, last);
}

/*
 * Begin again with the first turn.
 */
GpucolStatus
gpucol_joins_first_turn(GpucolExec *exec)
{
	GpucolJoins *joins = exec->joins;
	int			last = joins->nsteps - 1;

	if (!joins->parted)
		return GPUCOL_OK;
	joins->turns[last].part = 0;
	return make_turn(exec, last);
}

/*
 * Let the rows go that a run has kept of a plan.
 */
void
gpucol_run_end_rows(GpucolExec *exec)
{
	if (exec->kept != NULL)
		gpucol_kept_rows_end(exec->kept);
	exec->kept = NULL;
}

/*
 * Forget the rows that a run and the makings of its tables have kept.
 */
void
gpucol_run_forget_rows(GpucolExec *exec)
{
	gpucol_run_end_rows(exec);
	exec->keeps = false;
	for (int i = 0; exec->joins != NULL && i < exec->joins->nsteps; i++)
		gpucol_run_forget_rows(&exec->joins->builds[i].exec);
}
