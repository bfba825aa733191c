/*-------------------------------------------------------------------------
 *
 * demand_forms.c
 *	  The part of a recursive relation whose rows have some constants.
 *
 * The first of these forms that fits is taken, for path(1, z) here:
 *
 *	carried		path(x, z) :- path(x, y), edge(y, z).  Every recursive atom has the column of
 *				its head: the clauses that begin get the constant, and the engine's kernels
 *				still know the shape.
 *	handed on	path(x, z) :- edge(x, y), path(y, z).  The other columns come from the one
 *				recursive atom as they are: a relation `asked` begins with the constants and
 *				follows the recursion backwards, and what begins at one of its rows is an
 *				answer: asked(1). asked(y) :- asked(x), edge(x, y). path'(1, z) :- asked(x),
 *				begin(x, z).  So is a constant at the other end of the form above.
 *	square		path(x, z) :- path(x, y), path(y, z) is the first form over what begins.
 *	magic		Whatever else, and relations that are derived together: each is derived where
 *				it is asked for, what is asked for is derived in turn, and atoms to the left
 *				of a recursive one give it values.  More than the constants ask for is
 *				derived on the way, so the variant is not exact.
 *
 * What is asked for comes from atoms alone, never from arithmetic: asking ends where the
 * program ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "recursion/front/demand.h"

/* Relations, by the columns that are known, that one variant may be made of. */
#define MOST_ADORNED	64

static const DatalogExpr *
argument(const DatalogLiteral *literal, int column)
{
	return list_nth(literal->args, column);
}

static bool
same_variable(const DatalogExpr *a, const DatalogExpr *b)
{
	return a->kind == DATALOG_VARIABLE && b->kind == DATALOG_VARIABLE && a->variable == b->variable;
}

static bool
is_plain(const DatalogExpr *expr)
{
	return expr->kind == DATALOG_VARIABLE || expr->kind == DATALOG_CONSTANT;
}

/* The arguments of a literal in these columns. */
static List *
arguments(const DatalogLiteral *literal, const Bitmapset *columns)
{
	List	   *args = NIL;
	int			c = -1;

	while ((c = bms_next_member(columns, c)) >= 0)
		args = lappend(args, list_nth(literal->args, c));
	return args;
}

static bool
are_plain(List *args)
{
	ListCell   *lc;

	foreach(lc, args)
		if (!is_plain(lfirst(lc)))
			return false;
	return true;
}

/* The arguments of a head, those of a variant's columns being its constants. */
static List *
head_of(const DatalogVariant *variant, const DatalogLiteral *head, const Bitmapset *columns)
{
	List	   *args = NIL;

	for (int c = 0; c < variant->of->arity; c++)
		args = lappend(args, bms_is_member(c, columns) ? variant->values[c] :
					   list_nth(head->args, c));
	return args;
}

static bool
reads(const DatalogLiteral *literal, const DatalogRelation *relation)
{
	return literal->kind == DATALOG_ATOM && literal->relation == relation;
}

/* Add a clause to the program. */
static void
add_clause(DatalogDemand *demand, const DatalogClause *like, DatalogRelation *relation,
		   List *args, List *body)
{
	demand->clauses = lappend(demand->clauses,
							  gpucol_datalog_demand_clause(like, relation, args, body));
}

/* The fact that a variant's constants are asked for. */
static DatalogClause *
ask_for(const DatalogVariant *variant, const DatalogClause *like, DatalogRelation *asked,
		const Bitmapset *columns)
{
	List	   *args = NIL;
	int			c = -1;

	while ((c = bms_next_member(columns, c)) >= 0)
		args = lappend(args, variant->values[c]);
	return gpucol_datalog_demand_clause(like, asked, args, NIL);
}

/* The relation of what is asked for, in these columns. */
static DatalogRelation *
make_asked(const DatalogVariant *variant, const DatalogRelation *of, const Bitmapset *columns)
{
	DatalogRelation *asked;

	asked = gpucol_datalog_demand_relation(of, psprintf("%s asked for %s", variant->relation->name,
														of->name), columns);
	asked->few = true;
	return asked;
}

/* ---- carried ---- */

/* Of the columns, those that each recursive atom of a clause has as its head. */
static Bitmapset *
carried_by(const DatalogClause *clause, Bitmapset *columns)
{
	ListCell   *lc;

	foreach(lc, clause->body)
	{
		const DatalogLiteral *literal = lfirst(lc);
		int			c = -1;

		if (reads(literal, clause->head->relation))
			while ((c = bms_next_member(columns, c)) >= 0)
				if (!same_variable(argument(literal, c), argument(clause->head, c)))
					columns = bms_del_member(columns, c);
	}
	return columns;
}

/* In a rewritten body, have atoms of a relation read another. */
static List *
read_instead(List *body, const DatalogRelation *relation, DatalogRelation *instead)
{
	ListCell   *lc;

	foreach(lc, body)
		if (reads(lfirst(lc), relation))
			((DatalogLiteral *) lfirst(lc))->relation = instead;
	return body;
}

static void
derive_carried(DatalogDemand *demand, DatalogVariant *variant, List *clauses,
			   const Bitmapset *columns)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		DatalogClause *clause = lfirst(lc);

		if (gpucol_datalog_demand_is_recursive(clause))
			add_clause(demand, clause, variant->relation, clause->head->args,
					   read_instead(gpucol_datalog_demand_body(demand, clause), variant->of,
									variant->relation));
		else if ((clause = gpucol_datalog_demand_restrict(demand, variant, clause, columns)) != NULL)
			demand->clauses = lappend(demand->clauses, clause);
	}
	variant->exact = bms_equal(columns, variant->columns);
}

/* ---- handed on ---- */

/* The one recursive atom of a clause; NULL: there are several. */
static const DatalogLiteral *
recursive_atom(const DatalogClause *clause)
{
	const DatalogLiteral *atom = NULL;
	ListCell   *lc;

	foreach(lc, clause->body)
		if (reads(lfirst(lc), clause->head->relation))
		{
			if (atom != NULL)
				return NULL;
			atom = lfirst(lc);
		}
	return atom;
}

/* How often is a variable an argument of a literal? */
static int
times(const DatalogLiteral *literal, int variable)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, literal->args)
	{
		const DatalogExpr *arg = lfirst(lc);

		/* a computed argument counts as many */
		if (arg->kind == DATALOG_CALL &&
			bms_is_member(variable, gpucol_datalog_expr_variables(NULL, arg)))
			n += 2;
		n += arg->kind == DATALOG_VARIABLE && arg->variable == variable;
	}
	return n;
}

/* Do the head's columns but these come from the recursive atom, and are used nowhere else? */
static bool
hands_on(const DatalogClause *clause, const Bitmapset *columns)
{
	const DatalogLiteral *atom = recursive_atom(clause);
	List	  **uses = gpucol_datalog_uses(clause->body, clause->nvariables);

	if (atom == NULL || !are_plain(arguments(clause->head, columns)) ||
		!are_plain(arguments(atom, columns)))
		return false;
	for (int c = 0; c < clause->head->relation->arity; c++)
	{
		int			variable = argument(clause->head, c)->variable;

		if (!bms_is_member(c, columns) &&
			(!same_variable(argument(clause->head, c), argument(atom, c)) ||
			 list_length(uses[variable]) != 1 || times(atom, variable) != 1 ||
			 times(clause->head, variable) != 1))
			return false;
	}
	return true;
}

/* Have these variables values from atoms of a body? */
static bool
atoms_give(List *body, List *args)
{
	Bitmapset  *given = NULL;
	ListCell   *lc;

	foreach(lc, body)
		if (((const DatalogLiteral *) lfirst(lc))->kind == DATALOG_ATOM)
			given = gpucol_datalog_literal_variables(given, lfirst(lc));
	foreach(lc, args)
		if (!bms_is_subset(gpucol_datalog_expr_variables(NULL, lfirst(lc)), given))
			return false;
	return true;
}

/* Can all literals of a body be evaluated? */
static bool
is_safe(const DatalogDemand *demand, const DatalogClause *clause, List *body)
{
	Bitmapset  *bound = gpucol_datalog_bound_by(demand->program, clause, body);
	ListCell   *lc;

	foreach(lc, body)
	{
		const DatalogLiteral *literal = lfirst(lc);

		if (!bms_is_subset(literal->kind == DATALOG_REDUCTION ? gpucol_datalog_injected(literal) :
						   gpucol_datalog_literal_variables(NULL, literal), bound))
			return false;
	}
	return true;
}

/* The body of a recursive clause of this form that tells what else is asked for. */
static List *
asking_body(const DatalogClause *clause, DatalogRelation *asked, const Bitmapset *columns,
			List *body)
{
	List	   *result = list_make1(gpucol_datalog_demand_atom(clause->head, asked,
															   arguments(clause->head, columns)));
	ListCell   *lc;

	foreach(lc, body)
		if (!reads(lfirst(lc), clause->head->relation))
			result = lappend(result, lfirst(lc));
	return result;
}

/* Do all clauses have this form, for these columns? */
static bool
fits_handed_on(const DatalogDemand *demand, List *clauses, const Bitmapset *columns)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const DatalogClause *clause = lfirst(lc);
		List	   *body;

		if (!gpucol_datalog_demand_is_recursive(clause))
		{
			if (!are_plain(arguments(clause->head, columns)))
				return false;
			continue;
		}
		if (!hands_on(clause, columns))
			return false;
		body = asking_body(clause, clause->head->relation, columns, clause->body);
		if (!atoms_give(body, arguments(recursive_atom(clause), columns)) ||
			!is_safe(demand, clause, body))
			return false;
	}
	return true;
}

/* The columns for which they have; NULL: none. */
static Bitmapset *
handed_on_columns(const DatalogDemand *demand, const DatalogVariant *variant, List *clauses)
{
	int			c = -1;

	if (fits_handed_on(demand, clauses, variant->columns))
		return variant->columns;
	while ((c = bms_next_member(variant->columns, c)) >= 0)
		if (fits_handed_on(demand, clauses, bms_make_singleton(c)))
			return bms_make_singleton(c);
	return NULL;
}

static void
derive_handed_on(DatalogDemand *demand, DatalogVariant *variant, List *clauses,
				 const Bitmapset *columns)
{
	DatalogRelation *asked = make_asked(variant, variant->of, columns);
	ListCell   *lc;

	demand->relations = lappend(demand->relations, asked);
	demand->clauses = lappend(demand->clauses, ask_for(variant, linitial(clauses), asked, columns));
	foreach(lc, clauses)
	{
		DatalogClause *clause = lfirst(lc);
		List	   *body = asking_body(clause, asked, columns,
									   gpucol_datalog_demand_body(demand, clause));

		if (gpucol_datalog_demand_is_recursive(clause))
			add_clause(demand, clause, asked, arguments(recursive_atom(clause), columns), body);
		else
			add_clause(demand, clause, variant->relation, head_of(variant, clause->head, columns),
					   body);
	}
	variant->exact = bms_equal(columns, variant->columns);
}

/* ---- square ---- */

/* The atoms of r(x, z) :- r(x, y), r(y, z), in this order. */
static bool
read_square(const DatalogClause *clause, const DatalogLiteral *atoms[2])
{
	const DatalogLiteral *head = clause->head;
	int			first;

	if (head->relation->arity != 2 || list_length(clause->body) != 2 ||
		!reads(linitial(clause->body), head->relation) ||
		!reads(lsecond(clause->body), head->relation))
		return false;
	first = same_variable(argument(linitial(clause->body), 0), argument(head, 0)) ? 0 : 1;
	atoms[0] = list_nth(clause->body, first);
	atoms[1] = list_nth(clause->body, !first);
	return same_variable(argument(atoms[0], 0), argument(head, 0)) &&
		same_variable(argument(atoms[0], 1), argument(atoms[1], 0)) &&
		same_variable(argument(atoms[1], 1), argument(head, 1)) &&
		!same_variable(argument(head, 0), argument(head, 1)) &&
		!same_variable(argument(atoms[0], 1), argument(head, 0)) &&
		!same_variable(argument(atoms[0], 1), argument(head, 1));
}

/* The recursive clause of a relation, if it has one only. */
static const DatalogClause *
only_recursive(List *clauses)
{
	const DatalogClause *only = NULL;
	ListCell   *lc;

	foreach(lc, clauses)
		if (gpucol_datalog_demand_is_recursive(lfirst(lc)))
		{
			if (only != NULL)
				return NULL;
			only = lfirst(lc);
		}
	return only;
}

/* A relation of the rows that the recursion begins with. */
static DatalogRelation *
make_begin(DatalogDemand *demand, const DatalogVariant *variant, List *clauses)
{
	DatalogRelation *begin;
	ListCell   *lc;

	begin = gpucol_datalog_demand_relation(variant->of, psprintf("%s begins", variant->of->name),
										   NULL);
	demand->relations = lappend(demand->relations, begin);
	foreach(lc, clauses)
	{
		DatalogClause *clause = lfirst(lc);

		if (!gpucol_datalog_demand_is_recursive(clause))
			add_clause(demand, clause, begin, clause->head->args,
					   gpucol_datalog_demand_body(demand, clause));
	}
	return begin;
}

static bool
derive_square(DatalogDemand *demand, DatalogVariant *variant, List *clauses)
{
	const DatalogClause *clause = only_recursive(clauses);
	const DatalogLiteral *atoms[2];
	int			column = bms_next_member(variant->columns, -1);
	DatalogRelation *begin;
	DatalogRelation *of[2];
	DatalogClause *seed;
	List	   *body;

	if (clause == NULL || !read_square(clause, atoms))
		return false;
	begin = make_begin(demand, variant, clauses);
	of[column] = variant->relation;
	of[!column] = begin;
	seed = gpucol_datalog_demand_clause(clause, variant->relation,
										head_of(variant, clause->head, bms_make_singleton(column)),
										NIL);
	seed->body = list_make1(gpucol_datalog_demand_atom(clause->head, begin, seed->head->args));
	demand->clauses = lappend(demand->clauses, seed);
	body = list_make2(gpucol_datalog_demand_atom(atoms[0], of[0], atoms[0]->args),
					  gpucol_datalog_demand_atom(atoms[1], of[1], atoms[1]->args));
	add_clause(demand, clause, variant->relation, clause->head->args, body);
	variant->exact = bms_membership(variant->columns) == BMS_SINGLETON;
	return true;
}

/* ---- magic ---- */

/* A relation of which rows with known values in some columns are asked for. */
typedef struct Adorned
{
	const DatalogRelation *of;
	Bitmapset  *columns;
	DatalogRelation *rows;
	DatalogRelation *asked;
} Adorned;

typedef struct Magic
{
	DatalogDemand *demand;
	DatalogVariant *variant;
	List	   *adorned;		/* Adorned: the variant's first */
	List	   *clauses;
} Magic;

/* A body while it is walked from atom to atom. */
typedef struct Walk
{
	Magic	   *magic;
	const DatalogClause *clause;
	const Adorned *head;
	List	   *waiting;		/* atoms that have not been visited */
	List	   *visited;		/* what gives values, the head's row of `asked` first */
	Bitmapset  *bound;			/* variables with values */
} Walk;

/* NULL: they are too many, or cannot be derived so. */
static Adorned *
adorn(Magic *magic, DatalogRelation *of, Bitmapset *columns)
{
	Adorned    *adorned;
	ListCell   *lc;

	foreach(lc, magic->adorned)
	{
		adorned = lfirst(lc);
		if (adorned->of == of && bms_equal(adorned->columns, columns))
			return adorned;
	}
	if (columns == NULL || list_length(magic->adorned) >= MOST_ADORNED || of->input ||
		of->optional || of->merge != GPUCOL_REC_MERGE_NONE || of->choices != NIL)
		return NULL;
	adorned = palloc(sizeof(Adorned));
	adorned->of = of;
	adorned->columns = columns;
	adorned->rows = magic->adorned == NIL ? magic->variant->relation :
		gpucol_datalog_demand_relation(of, psprintf("%s, %s", magic->variant->relation->name,
													of->name), NULL);
	adorned->asked = make_asked(magic->variant, of, columns);
	magic->adorned = lappend(magic->adorned, adorned);
	return adorned;
}

/* The columns of an atom whose values are known. */
static Bitmapset *
known_columns(const Walk *walk, const DatalogLiteral *atom)
{
	Bitmapset  *columns = NULL;
	ListCell   *lc;

	foreach(lc, atom->args)
	{
		const DatalogExpr *arg = lfirst(lc);

		if (arg->kind == DATALOG_CONSTANT ||
			(arg->kind == DATALOG_VARIABLE && bms_is_member(arg->variable, walk->bound)))
			columns = bms_add_member(columns, foreach_current_index(lc));
	}
	return columns;
}

/* The atom to visit next: of lower strata first; NULL: what is left tells of nothing known. */
static DatalogLiteral *
next_atom(Walk *walk)
{
	DatalogLiteral *recursive = NULL;
	ListCell   *lc;

	foreach(lc, walk->waiting)
	{
		DatalogLiteral *atom = lfirst(lc);

		if (gpucol_datalog_demand_together(atom->relation, walk->clause->head->relation))
			recursive = recursive ? recursive : atom;
		else if (known_columns(walk, atom) != NULL)
		{
			walk->waiting = foreach_delete_current(walk->waiting, lc);
			return atom;
		}
	}
	walk->waiting = list_delete_ptr(walk->waiting, recursive);
	return recursive;
}

/* A recursive atom asks for rows by the values that are known by then. */
static bool
visit_recursive(Walk *walk, DatalogLiteral *atom)
{
	Bitmapset  *columns = known_columns(walk, atom);
	Adorned    *adorned = adorn(walk->magic, atom->relation, columns);
	List	   *args;
	List	   *known;

	if (adorned == NULL)
		return false;
	args = arguments(atom, columns);
	known = ((DatalogLiteral *) linitial(walk->visited))->args;
	atom->relation = adorned->rows;
	for (int i = 0; adorned == walk->head; i++)
	{
		/* what is asked for is asked for already */
		if (i == list_length(args))
			return true;
		if (!same_variable(list_nth(args, i), list_nth(known, i)))
			break;
	}
	walk->magic->clauses = lappend(walk->magic->clauses,
								   gpucol_datalog_demand_clause(walk->clause, adorned->asked, args,
																list_copy(walk->visited)));
	return true;
}

/* The clauses that one becomes. */
static bool
derive_clause(Magic *magic, const Adorned *head, const DatalogClause *clause)
{
	List	   *body = gpucol_datalog_demand_body(magic->demand, clause);
	List	   *args = arguments(clause->head, head->columns);
	DatalogLiteral *asked = gpucol_datalog_demand_atom(clause->head, head->asked, args);
	Walk		walk = {.magic = magic,.clause = clause,.head = head};
	DatalogLiteral *atom;
	ListCell   *lc;

	if (!are_plain(args))
		return false;
	foreach(lc, body)
		if (((DatalogLiteral *) lfirst(lc))->kind == DATALOG_ATOM)
			walk.waiting = lappend(walk.waiting, lfirst(lc));
	walk.visited = list_make1(asked);
	walk.bound = gpucol_datalog_literal_variables(NULL, asked);
	while ((atom = next_atom(&walk)) != NULL)
	{
		if (gpucol_datalog_demand_together(atom->relation, clause->head->relation) &&
			!visit_recursive(&walk, atom))
			return false;
		walk.visited = lappend(walk.visited, atom);
		walk.bound = gpucol_datalog_literal_variables(walk.bound, atom);
	}
	magic->clauses = lappend(magic->clauses,
							 gpucol_datalog_demand_clause(clause, head->rows, clause->head->args,
														  lcons(asked, body)));
	return true;
}

static bool
derive_magic(DatalogDemand *demand, DatalogVariant *variant)
{
	Magic		magic = {.demand = demand,.variant = variant};
	List	   *clauses = gpucol_datalog_demand_clauses(demand, variant->of);
	Adorned    *adorned = adorn(&magic, unconstify(DatalogRelation *, variant->of),
								variant->columns);

	magic.clauses = list_make1(ask_for(variant, linitial(clauses), adorned->asked,
									   variant->columns));
	/* the list grows */
	for (int i = 0; i < list_length(magic.adorned); i++)
	{
		ListCell   *lc;

		adorned = list_nth(magic.adorned, i);
		foreach(lc, gpucol_datalog_demand_clauses(demand, adorned->of))
			if (!derive_clause(&magic, adorned, lfirst(lc)))
				return false;
	}
	demand->clauses = list_concat(demand->clauses, magic.clauses);
	for (int i = 0; i < list_length(magic.adorned); i++)
	{
		adorned = list_nth(magic.adorned, i);
		demand->relations = lappend(demand->relations, adorned->asked);
		if (i > 0)				/* the first is the variant's */
			demand->relations = lappend(demand->relations, adorned->rows);
	}
	return true;
}

/* ---- the choice ---- */

/* Is the relation derived by itself? */
static bool
is_alone(const DatalogRelation *relation, List *clauses)
{
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, clauses)
		foreach(lc2, ((const DatalogClause *) lfirst(lc))->body)
		{
			const DatalogLiteral *literal = lfirst(lc2);

			if (literal->relation != NULL && literal->relation != relation &&
				gpucol_datalog_demand_together(literal->relation, relation))
				return false;
		}
	return true;
}

bool
gpucol_datalog_demand_recursive(DatalogDemand *demand, DatalogVariant *variant)
{
	List	   *clauses = gpucol_datalog_demand_clauses(demand, variant->of);
	Bitmapset  *columns = bms_copy(variant->columns);
	ListCell   *lc;

	if (!is_alone(variant->of, clauses))
		return derive_magic(demand, variant);
	foreach(lc, clauses)
		columns = carried_by(lfirst(lc), columns);
	if (!bms_is_empty(columns))
	{
		derive_carried(demand, variant, clauses, columns);
		return true;
	}
	columns = handed_on_columns(demand, variant, clauses);
	if (columns != NULL)
	{
		derive_handed_on(demand, variant, clauses, columns);
		return true;
	}
	return derive_square(demand, variant, clauses) || derive_magic(demand, variant);
}
