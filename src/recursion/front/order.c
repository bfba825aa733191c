/*-------------------------------------------------------------------------
 *
 * order.c
 *	  The order in which the atoms of a rule's body are joined.
 *
 * Greedy: always the atom with the fewest expected rows for each row so far, from
 * the sizes and distinct values of its relation and the columns that are known.  The
 * atom to begin with is the one whose greedy order has the least cost.  What is asked for
 * is a good beginning, but may become more: behind it, all of that is not paired with rows
 * that nothing connects it to.
 *
 * Atoms wait in a heap.  A variable that gets a value moves only the atoms that
 * mention it, so an order of n atoms takes n log n steps.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "lib/pairingheap.h"
#include "miscadmin.h"

#include "recursion/front/order.h"

/* Atoms whose orders are costed, at most: those with the fewest rows. */
#define MOST_STARTS		64

typedef struct Atom
{
	pairingheap_node node;
	int			position;		/* in the body */
	const DatalogLiteral *literal;
	double		matches;		/* expected rows for each row so far */
	bool		waits;			/* is in the heap */
} Atom;

struct DatalogOrder
{
	List	   *body;
	List	   *const *uses;
	double		unknown_rows;
	Bitmapset  *bound;
	bool		begun;			/* an atom has been joined */
	Atom	   *atoms;			/* by position in the body */
	pairingheap *waiting;
};

/* The fewest matches first, of equal ones the first of the body. */
static int
compare_atoms(const pairingheap_node *a, const pairingheap_node *b,
			  void *arg pg_attribute_unused())
{
	const Atom *x = pairingheap_const_container(Atom, node, a);
	const Atom *y = pairingheap_const_container(Atom, node, b);

	if (x->matches != y->matches)
		return x->matches < y->matches ? 1 : -1;
	return y->position - x->position;
}

/* Rows of an atom's relation that match one row so far. */
static double
expected_matches(const DatalogOrder *order, const DatalogLiteral *atom)
{
	const DatalogRelation *relation = atom->relation;
	double		rows = relation->input && !relation->derived ?
		relation->rows : !relation->few ? order->unknown_rows : order->begun ? sqrt(order->unknown_rows) : 1;
	double		keys = 1;
	bool		all = true;
	ListCell   *lc;

	foreach(lc, atom->args)
	{
		const DatalogExpr *arg = lfirst(lc);
		int			column = foreach_current_index(lc);

		if (arg->kind == DATALOG_CONSTANT ||
			(arg->kind == DATALOG_VARIABLE &&
			 bms_is_member(arg->variable, order->bound)))
			keys *= relation->distinct != NULL && !relation->derived ?
				relation->distinct[column] : pow(rows, 0.75);
		else
			all = false;
	}
	if (all)
		return 0.5;				/* a lookup, which drops rows */
	return Max(rows, 1) / Max(1, Min(keys, Max(rows, 1)));
}

static void
add_waiting(DatalogOrder *order, Atom *atom)
{
	pairingheap_add(order->waiting, &atom->node);
	atom->waits = true;
}

DatalogOrder *
gpucol_datalog_order_create(List *body, List *const *uses, const Bitmapset *bound,
							double unknown_rows)
{
	DatalogOrder *order = palloc(sizeof(DatalogOrder));
	ListCell   *lc;

	order->body = body;
	order->uses = uses;
	order->unknown_rows = unknown_rows;
	order->bound = bms_copy(bound);
	order->begun = false;
	order->atoms = palloc0(sizeof(Atom) * (list_length(body) + 1));
	order->waiting = pairingheap_allocate(compare_atoms, NULL);
	foreach(lc, body)
	{
		Atom	   *atom = &order->atoms[foreach_current_index(lc)];

		atom->position = foreach_current_index(lc);
		atom->literal = lfirst(lc);
		if (atom->literal->kind != DATALOG_ATOM)
			continue;
		atom->matches = expected_matches(order, atom->literal);
		add_waiting(order, atom);
	}
	return order;
}

/* What is known of a waiting atom has changed. */
static void
expect_again(DatalogOrder *order, Atom *atom)
{
	if (!atom->waits)
		return;
	pairingheap_remove(order->waiting, &atom->node);
	atom->matches = expected_matches(order, atom->literal);
	add_waiting(order, atom);
}

void
gpucol_datalog_order_bind(DatalogOrder *order, int variable)
{
	ListCell   *lc;

	if (bms_is_member(variable, order->bound))
		return;
	order->bound = bms_add_member(order->bound, variable);
	foreach(lc, order->uses[variable])
		expect_again(order, &order->atoms[lfirst_int(lc)]);
}

void
gpucol_datalog_order_take(DatalogOrder *order, int position)
{
	pairingheap_remove(order->waiting, &order->atoms[position].node);
	order->atoms[position].waits = false;
	if (order->begun)
		return;
	order->begun = true;
	for (int i = 0; i < list_length(order->body); i++)
		if (order->atoms[i].waits && order->atoms[i].literal->relation->few)
			expect_again(order, &order->atoms[i]);
}

int
gpucol_datalog_order_next(DatalogOrder *order)
{
	if (pairingheap_is_empty(order->waiting))
		return -1;
	return pairingheap_container(Atom, node,
								 pairingheap_first(order->waiting))->position;
}

/* ---- the first atom ---- */

/* Make `trial` what `order` is; both are of the same body. */
static void
begin_trial(const DatalogOrder *order, DatalogOrder *trial)
{
	bms_free(trial->bound);
	trial->bound = bms_copy(order->bound);
	trial->begun = order->begun;
	pairingheap_reset(trial->waiting);
	for (int i = 0; i < list_length(order->body); i++)
	{
		trial->atoms[i].matches = order->atoms[i].matches;
		trial->atoms[i].waits = false;
		if (order->atoms[i].waits)
			add_waiting(trial, &trial->atoms[i]);
	}
}

/*
 * Cost of the greedy order that begins with an atom, the sum of all row counts, or more
 * than `most`.
 */
static double
order_cost(const DatalogOrder *order, DatalogOrder *trial, int first, double most)
{
	double		rows = 1;
	double		cost = 0;

	begin_trial(order, trial);
	for (int at = first; at >= 0 && cost <= most; at = gpucol_datalog_order_next(trial))
	{
		ListCell   *lc;

		rows *= trial->atoms[at].matches;
		cost += rows;
		gpucol_datalog_order_take(trial, at);
		foreach(lc, trial->atoms[at].literal->args)
			if (((DatalogExpr *) lfirst(lc))->kind == DATALOG_VARIABLE)
				gpucol_datalog_order_bind(trial, ((DatalogExpr *) lfirst(lc))->variable);
	}
	return cost;
}

/* Of the waiting atoms those with the fewest rows, as a set of positions. */
static Bitmapset *
starts(DatalogOrder *order, DatalogOrder *trial)
{
	Bitmapset  *result = NULL;

	begin_trial(order, trial);
	for (int i = 0; i < MOST_STARTS && !pairingheap_is_empty(trial->waiting); i++)
	{
		int			at = gpucol_datalog_order_next(trial);

		gpucol_datalog_order_take(trial, at);
		result = bms_add_member(result, at);
	}
	return result;
}

int
gpucol_datalog_order_first(DatalogOrder *order)
{
	DatalogOrder *trial = gpucol_datalog_order_create(order->body, order->uses,
													  order->bound,
													  order->unknown_rows);
	Bitmapset  *candidates = starts(order, trial);
	double		best_cost = INFINITY;
	int			best = -1;
	int			at = -1;

	while ((at = bms_next_member(candidates, at)) >= 0)
	{
		double		cost;

		CHECK_FOR_INTERRUPTS();
		cost = order_cost(order, trial, at, best_cost);
		if (best < 0 || cost < best_cost)
		{
			best = at;
			best_cost = cost;
		}
	}
	return best;
}
