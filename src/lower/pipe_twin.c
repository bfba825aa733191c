/*-------------------------------------------------------------------------
 *
 * pipe_twin.c
 *	  Columns of joined relations that are the same as others: the keys of tables, which
 *	  the rows that are looked up in them have as well.
 *
 * The table then need not have the column twice, as key and as payload.  A twin may have
 * twins of its own, in a table before; tables are within tables, so the columns that keys
 * are in the end are noted once (gpucol_pipe_settle_keys), those of the innermost first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "lower/pipe.h"

static const Node *settle(const GpucolPipe *pipe, const Node *node);

/*
 * The key of the rows that a column of a semi join's table is the same as.
 */
Node *
gpucol_pipe_semi_twin(const GpucolPipeStep *step, const Node *node)
{
	int			at = step->kind == GPUCOL_JOIN_SEMI ? gpucol_pipe_place(step->inner_keys, node) : -1;
	Node	   *twin = at < 0 ? NULL : list_nth(step->outer_keys, at);

	return twin != NULL && exprType(twin) == exprType(node) ? twin : NULL;
}

/* The number of a step's key that a column of its table is the same as, or -1. */
static int
find_key(const GpucolPipeStep *step, const Node *node)
{
	return gpucol_pipe_place(step->settled, settle(step->build, node));
}

/*
 * The column of the rows that a column of a step's table is the same as, or NULL: a semi join's, or the key of
 * an inner join by integers, which the table need not have twice then.
 */
Node *
gpucol_pipe_step_twin(const GpucolPipeStep *step, const Node *node)
{
	bool		may = step->kind == GPUCOL_JOIN_INNER && step->most == 0 && IsA(node, Var) &&
		gpucol_pipe_has(step->build, node);
	int			at = may ? find_key(step, node) : -1;
	Node	   *twin = at < 0 ? NULL : list_nth(step->outer_keys, at);

	if (twin == NULL)
		return gpucol_pipe_semi_twin(step, node);
	return IsA(twin, Var) && exprType(twin) == exprType(node) &&
		list_nth_int(step->classes, at) == GPUCOL_CLASS_I ? twin : NULL;
}

/* The same of all steps. */
Node *
gpucol_pipe_twin(const GpucolPipe *pipe, const Node *node)
{
	ListCell   *lc;

	foreach(lc, pipe->steps)
	{
		Node	   *twin = gpucol_pipe_step_twin(lfirst(lc), node);

		if (twin != NULL)
			return twin;
	}
	return NULL;
}

/* The column that one is the same as in the end. */
static const Node *
settle(const GpucolPipe *pipe, const Node *node)
{
	const Node *twin;

	while (IsA(node, Var) && (twin = gpucol_pipe_twin(pipe, node)) != NULL)
		node = twin;
	return node;
}

/*
 * Note as which columns the keys of all steps end, those of the tables' own steps first: a column is
 * then followed through each of them once, however deep they are within one another.
 */
void
gpucol_pipe_settle_keys(const GpucolPipe *pipe)
{
	ListCell   *ls;

	foreach(ls, pipe->steps)
	{
		GpucolPipeStep *step = lfirst(ls);
		ListCell   *lc;

		gpucol_pipe_settle_keys(step->build);
		step->settled = NIL;
		foreach(lc, step->inner_keys)
			step->settled = lappend(step->settled, (Node *) settle(step->build, lfirst(lc)));
	}
}
