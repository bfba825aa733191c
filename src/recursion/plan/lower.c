/*-------------------------------------------------------------------------
 *
 * lower.c
 *	  The terms of WITH RECURSIVE as a recursion plan.
 *
 * The term must be a join of the self-reference with relations that do not depend
 * on it.  PostgreSQL has planned each of these alone, with the conditions that
 * concern it alone; these plans become the inputs.  What is left, the join
 * conditions, the conditions on the self-reference and the target list, is lowered
 * to the steps of one rule: the delta first, then the input with the most equality
 * conditions on what is known, and so on.  A LEFT JOIN makes two rules, for rows
 * with and without match; one that WHERE leaves only rows without match of, one rule.
 * An OR makes a rule for each arm (recursion/plan/arms.c).
 *
 * Expressions that the engine does not have are PostgreSQL's to compute, for a
 * vector of rows at a time (GPUCOL_REC_HOST).  Where values that are compared may be
 * equal and look different, equal ones are made the same, or keep their forms if only UNION
 * compares them (recursion/front/equality.h); if that makes a difference, PostgreSQL evaluates the
 * recursion instead, from the row on that would be next.
 *
 * The non-recursive term becomes a rule as well where all that it joins are
 * inputs of the recursive term anyway; otherwise it stays PostgreSQL's.  An
 * input that the query names more than once is loaded once.
 *
 * recursion/plan/terms.c gathers what a term consists of, recursion/plan/exprs.c and
 * recursion/plan/hosts.c lower its expressions; what they do not know is declined.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "utils/lsyscache.h"

#include "lower/harmless.h"
#include "recursion/front/values.h"
#include "recursion/plan/lowering.h"

/* Rules of a term that has an OR, whose arms multiply them. */
#define MOST_RULES		32

/* Rules double with every outer join. */
#define MAX_OPTIONAL	5

/* Are all relations that an expression names done? */
static bool
is_known(const GpucolRecLowering *lowering, Node *node)
{
	Relids		relids = pull_varnos(lowering->subroot, node);
	ListCell   *lc;

	foreach(lc, lowering->sources)
	{
		GpucolRecSource *source = lfirst(lc);

		if (!source->done && bms_overlap(source->relids, relids))
			return false;
	}
	return true;
}

/*
 * Does a condition concern one input alone?  Its plan has seen to it, unless that
 * input may be missing when the condition is tested.
 */
static bool
is_local(const GpucolRecLowering *lowering, const GpucolRecQual *qual)
{
	Relids		relids = pull_varnos(lowering->subroot, qual->clause);
	ListCell   *lc;

	if (bms_is_empty(relids))
		return false;
	foreach(lc, lowering->sources)
	{
		GpucolRecSource *source = lfirst(lc);

		if (bms_is_subset(relids, source->relids))
			return source->rel != NULL && source->function == NULL &&
				(source->mode == GPUCOL_SOURCE_INNER ? qual->on == NULL :
				 qual->on == source);
	}
	return false;
}

/*
 * If a condition says that a column of the source equals something known:
 * the column and the something.
 */
static bool
match_key(const GpucolRecLowering *lowering, const GpucolRecSource *source, const GpucolRecQual *qual,
		  int *column, Node **value)
{
	OpExpr	   *op = (OpExpr *) qual->clause;
	GpucolRecFunction function;
	int			side;

	if (qual->done || (qual->on != NULL && qual->on != source) ||
		!IsA(op, OpExpr) || list_length(op->args) != 2 ||
		!gpucol_rec_lower_comparison(op, &function) || function != GPUCOL_REC_EQ)
		return false;
	for (side = 0; side < 2; side++)
	{
		Node	   *arg = gpucol_rec_lower_strip(list_nth(op->args, side));

		*value = list_nth(op->args, 1 - side);
		if (IsA(arg, Var) &&
			gpucol_rec_lower_column(lowering, (Var *) arg, column) == source &&
			is_known(lowering, *value) &&
			!bms_is_empty(pull_varnos(lowering->subroot, *value)))
			return true;
	}
	return false;
}

/* Conditions that match_key accepts for a source. */
static int
count_keys(const GpucolRecLowering *lowering, const GpucolRecSource *source)
{
	int			n = 0;
	int			column;
	Node	   *value;
	ListCell   *lc;

	foreach(lc, lowering->quals)
		if (match_key(lowering, source, lfirst(lc), &column, &value))
			n++;
	return n;
}

/* Is everything known that decides the join with a source? */
static bool
is_ready(const GpucolRecLowering *lowering, const GpucolRecSource *source)
{
	ListCell   *lc;
	ListCell   *inner;

	foreach(lc, lowering->quals)
	{
		GpucolRecQual *qual = lfirst(lc);
		Relids		relids;

		if (qual->on != source)
			continue;
		relids = pull_varnos(lowering->subroot, qual->clause);
		foreach(inner, lowering->sources)
		{
			GpucolRecSource *other = lfirst(inner);

			if (other != source && !other->done &&
				bms_overlap(other->relids, relids))
				return false;
		}
	}
	return true;
}

/* Is a source one that only drops rows, by having a match or none? */
static bool
only_tests(const GpucolRecSource *source)
{
	return source->mode == GPUCOL_SOURCE_PRESENT ||
		source->mode == GPUCOL_SOURCE_ABSENT || source->padded;
}

/* The next input to join: one that only drops rows, most keys, fewest rows. */
static GpucolRecSource *
next_source(const GpucolRecLowering *lowering)
{
	GpucolRecSource *best = NULL;
	int			best_keys = 0;
	ListCell   *lc;

	foreach(lc, lowering->sources)
	{
		GpucolRecSource *source = lfirst(lc);
		int			keys;

		if (source->done ||
			(source->mode != GPUCOL_SOURCE_INNER && !is_ready(lowering, source)) ||
			(source->function != NULL && !is_known(lowering, source->function->funcexpr)))
			continue;
		if (only_tests(source))
			return source;
		keys = source->function != NULL ? 0 : count_keys(lowering, source);
		if (best == NULL || keys > best_keys ||
			(keys == best_keys && source->rel->rows < best->rel->rows))
		{
			best = source;
			best_keys = keys;
		}
	}
	return best;
}

/* Use a condition as a key of an atom; false after a gpucol_rec_lower_decline. */
static bool
lower_key(GpucolRecLowering *lowering, GpucolRecQual *qual, Node *value, GpucolRecOperand *operand)
{
	const OpExpr *op = (OpExpr *) qual->clause;
	Oid			type = exprType(linitial(op->args));

	if (!gpucol_rec_lower_value(lowering, value, operand))
		return false;
	if (exprType(lsecond(op->args)) == type)
		gpucol_rec_lower_note_equality(lowering, type, op->inputcollid);
	return true;
}

/* Add the atom of a source. */
static bool
lower_atom(GpucolRecLowering *lowering, GpucolRecSource *source)
{
	GpucolRecOperand operands[GPUCOL_REC_MAX_ARITY];
	int			n = list_length(source->columns);
	int			column;
	Node	   *value;
	uint32		step;
	ListCell   *lc;
	int			i;

	for (i = 0; i < n; i++)
		operands[i] = gpucol_rec_builder_operand(GPUCOL_REC_ANY, 0);
	if (source->rel != NULL)
		foreach(lc, lowering->quals)
		{
			GpucolRecOperand key;

			if (!match_key(lowering, source, lfirst(lc), &column, &value) ||
				operands[column].kind != GPUCOL_REC_ANY)
				continue;
			if (!lower_key(lowering, lfirst(lc), value, &key))
				return false;
			/* the null of a padded row: the condition is tested later */
			if (key.kind != GPUCOL_REC_REGISTER)
				continue;
			operands[column] = key;
			((GpucolRecQual *) lfirst(lc))->done = true;
			source->registers[column] = key.index;
		}
	for (i = 0; i < n; i++)
		if (operands[i].kind == GPUCOL_REC_ANY)
		{
			source->registers[i] =
				gpucol_rec_builder_register(&lowering->builder);
			operands[i] = gpucol_rec_builder_operand(GPUCOL_REC_BIND,
													 source->registers[i]);
		}
	step = gpucol_rec_builder_step(&lowering->builder, GPUCOL_REC_ATOM,
								   source->relation, n, operands);
	gpucol_rec_builder_step_at(&lowering->builder, step)->version =
		source->rel == NULL ? GPUCOL_REC_DELTA : GPUCOL_REC_FULL;
	source->done = true;
	return true;
}

/*
 * The conditions on a match in a source that its own plan does not see to; *lookup
 * says whether a lookup by its columns decides them.
 */
static List *
match_conditions(const GpucolRecLowering *lowering, const GpucolRecSource *source,
				 bool *lookup)
{
	Bitmapset  *columns = NULL;
	List	   *clauses = NIL;
	int			column;
	Node	   *value;
	ListCell   *lc;

	*lookup = true;
	foreach(lc, lowering->quals)
	{
		GpucolRecQual *qual = lfirst(lc);

		if (qual->on != source || is_local(lowering, qual))
			continue;
		clauses = lappend(clauses, qual->clause);
		*lookup = *lookup && match_key(lowering, source, qual, &column, &value) &&
			!bms_is_member(column, columns);
		if (*lookup)
			columns = bms_add_member(columns, column);
	}
	return clauses;
}

/* Add the test that a source has a match, or none, by PostgreSQL's conditions. */
static bool
lower_match(GpucolRecLowering *lowering, GpucolRecSource *source, List *clauses)
{
	ListCell   *lc;

	foreach(lc, lowering->quals)
		if (((GpucolRecQual *) lfirst(lc))->on == source)
			((GpucolRecQual *) lfirst(lc))->done = true;
	source->done = true;
	return gpucol_rec_lower_match(lowering, source, clauses);
}

/* Add the keys of a condition to those of a look-up; false: it has none that are new, or cannot be lowered. */
static bool
lower_look_up_key(GpucolRecLowering *lowering, GpucolRecSource *source, GpucolRecQual *qual, GpucolRecOperand *operands)
{
	int			column;
	Node	   *value;

	return match_key(lowering, source, qual, &column, &value) && operands[column].kind == GPUCOL_REC_ANY &&
		lower_key(lowering, qual, value, &operands[column]);
}

/* Can look-ups, one for each arm of this condition, tell whether a source has no match? */
static bool
is_absent_by_arms(const GpucolRecLowering *lowering, const GpucolRecSource *source, const GpucolRecQual *arms)
{
	int			column;
	Node	   *value;
	ListCell   *lc;
	ListCell   *inner;

	foreach(lc, lowering->quals)
	{
		const GpucolRecQual *qual = lfirst(lc);

		if (qual->on == source && qual != arms && !is_local(lowering, qual))
			return false;
	}
	foreach(lc, ((BoolExpr *) arms->clause)->args)
	{
		Bitmapset  *columns = NULL;

		foreach(inner, gpucol_rec_lower_parts(lfirst(lc)))
		{
			if (!match_key(lowering, source, gpucol_rec_lower_make_qual(lfirst(inner), arms->on), &column, &value) ||
				bms_is_member(column, columns))
				return false;
			columns = bms_add_member(columns, column);
		}
	}
	return true;
}

/* The condition that tells by look-ups that a source has no match, or NULL. */
static GpucolRecQual *
absent_arms(const GpucolRecLowering *lowering, const GpucolRecSource *source)
{
	ListCell   *lc;

	if (source->mode != GPUCOL_SOURCE_ABSENT && !source->padded)
		return NULL;
	foreach(lc, lowering->quals)
	{
		GpucolRecQual *qual = lfirst(lc);

		if (qual->on == source && gpucol_rec_lower_has_arms(lowering, qual) &&
			is_absent_by_arms(lowering, source, qual))
			return qual;
	}
	return NULL;
}

/* Add the tests that no arm of a condition has a match. */
static bool
lower_absent_arms(GpucolRecLowering *lowering, GpucolRecSource *source, GpucolRecQual *arms)
{
	GpucolRecOperand operands[GPUCOL_REC_MAX_ARITY];
	int			n = list_length(source->columns);
	ListCell   *lc;
	ListCell   *inner;

	foreach(lc, ((BoolExpr *) arms->clause)->args)
	{
		for (int i = 0; i < n; i++)
			operands[i] = gpucol_rec_builder_operand(GPUCOL_REC_ANY, 0);
		foreach(inner, gpucol_rec_lower_parts(lfirst(lc)))
			if (!lower_look_up_key(lowering, source, gpucol_rec_lower_make_qual(lfirst(inner), source), operands))
				return false;
		gpucol_rec_builder_step(&lowering->builder, GPUCOL_REC_ABSENT, source->relation, n, operands);
	}
	foreach(lc, lowering->quals)
		if (((GpucolRecQual *) lfirst(lc))->on == source)
			((GpucolRecQual *) lfirst(lc))->done = true;
	source->done = true;
	return true;
}

/* Add the test that a source has a match, or none. */
static bool
lower_existence(GpucolRecLowering *lowering, GpucolRecSource *source)
{
	GpucolRecOperand operands[GPUCOL_REC_MAX_ARITY];
	int			n = list_length(source->columns);
	int			column;
	Node	   *value;
	bool		lookup;
	List	   *clauses = match_conditions(lowering, source, &lookup);
	GpucolRecQual *arms = lookup ? NULL : absent_arms(lowering, source);
	ListCell   *lc;
	int			i;

	if (arms != NULL)
		return lower_absent_arms(lowering, source, arms);
	if (!lookup)
		return lower_match(lowering, source, clauses);
	for (i = 0; i < n; i++)
		operands[i] = gpucol_rec_builder_operand(GPUCOL_REC_ANY, 0);
	foreach(lc, lowering->quals)
	{
		GpucolRecQual *qual = lfirst(lc);

		if (qual->on != source)
			continue;
		if (!is_local(lowering, qual) &&
			(!match_key(lowering, source, qual, &column, &value) ||
			 !lower_key(lowering, qual, value, &operands[column])))
			return false;
		qual->done = true;
	}
	gpucol_rec_builder_step(&lowering->builder, source->mode == GPUCOL_SOURCE_PRESENT ?
							GPUCOL_REC_PRESENT : GPUCOL_REC_ABSENT,
							source->relation, n, operands);
	source->done = true;
	return true;
}

/* Join with the next source. */
static bool
lower_source(GpucolRecLowering *lowering, GpucolRecSource *source)
{
	if (only_tests(source))
		return lower_existence(lowering, source);
	if (source->function == NULL)
		return lower_atom(lowering, source);
	source->done = gpucol_rec_lower_expand(lowering, source);
	return source->done;
}

/* Test what can be tested now, what the engine tests itself first. */
static bool
lower_tests(GpucolRecLowering *lowering)
{
	ListCell   *lc;
	int			pass;

	for (pass = 0; pass < 2; pass++)
		foreach(lc, lowering->quals)
		{
			GpucolRecQual *qual = lfirst(lc);
			bool		local = is_local(lowering, qual);

			if (qual->done || (qual->on != NULL && only_tests(qual->on)) ||
				!is_known(lowering, qual->clause) ||
				(pass == 0 && !local && !gpucol_rec_lower_is_native(lowering, qual->clause)))
				continue;
			if (!local && !gpucol_rec_lower_test(lowering, qual->clause))
				return false;
			qual->done = true;
		}
	return true;
}

/* Is a value of one type one of the other as it is (varchar and text)? */
static bool
same_values(Oid from, Oid to)
{
	return from == to ||
		(!get_typbyval(from) && !get_typbyval(to) && IsBinaryCoercible(from, to));
}

/*
 * A value as one of the result's type, as the planner makes it of the terms of a UNION.
 * The planner does not compute the cast of a constant, which may raise an error; so it is
 * computed only where it cannot.
 */
static Node *
coerce_value(const GpucolRecLowering *lowering, Node *value, Oid type)
{
	Node	   *coerced = coerce_to_common_type(NULL, value, type, "UNION");

	if (IsA(coerced, RelabelType) ||
		(IsA(coerced, FuncExpr) && gpucol_harmless_function(((FuncExpr *) coerced)->funcid)))
		return eval_const_expressions(lowering->subroot, coerced);
	return coerced;
}

/* The value of a column of the result, or of one that is only computed. */
static bool
lower_entry(GpucolRecLowering *lowering, const TargetEntry *entry, int column,
			GpucolRecOperand *out)
{
	Node	   *value = (Node *) entry->expr;
	Oid			type;
	Oid			collation;

	if (entry->resjunk)
		return gpucol_rec_lower_value(lowering, value, out);
	if (column >= list_length(lowering->types))
		return gpucol_rec_lower_decline(lowering, "the terms have different numbers of columns");
	type = list_nth_oid(lowering->types, column);
	collation = list_nth_oid(lowering->collations, column);
	if (!same_values(exprType(value), type))
		value = coerce_value(lowering, value, type);
	if (!gpucol_rec_type_comparable(type, collation) &&
		(exprType(value) != type || exprCollation(value) != collation))
		return gpucol_rec_lower_decline(lowering, "the terms have columns of different types");
	return gpucol_rec_lower_value(lowering, value, out);
}

/*
 * The columns of the result.  A set-returning function in the select list comes after all
 * that needs none of its rows.
 */
static bool
lower_target(GpucolRecLowering *lowering)
{
	GpucolRecOperand operands[GPUCOL_REC_MAX_ARITY];
	GpucolRecOperand unused;
	GpucolRecSource *function = NULL;
	List	   *tlist = lowering->subroot->processed_tlist;
	int			n = 0;
	int			pass;
	ListCell   *lc;

	if (lowering->subroot->parse->hasTargetSRFs)
		tlist = gpucol_rec_lower_target_function(lowering, tlist, &function);
	for (pass = 0; pass < (function != NULL ? 2 : 1); pass++)
	{
		if (lowering->result->reason != NULL ||
			(pass == 1 && !gpucol_rec_lower_expand(lowering, function)))
			return false;
		n = 0;
		foreach(lc, tlist)
		{
			const TargetEntry *entry = lfirst(lc);
			int			column = entry->resjunk ? -1 : n++;
			bool		needs = function != NULL &&
				bms_overlap(pull_varnos(lowering->subroot, (Node *) entry->expr),
							function->relids);

			if (needs == (pass == 1) &&
				!lower_entry(lowering, entry, column, column < 0 ? &unused : &operands[column]))
				return false;
		}
	}
	if (n != list_length(lowering->types))
		return gpucol_rec_lower_decline(lowering, "the terms have different numbers of columns");
	gpucol_rec_builder_step(&lowering->builder, GPUCOL_REC_EMIT, 0, n, operands);
	return true;
}

/* Declare the result and the inputs. */
static bool
declare_relations(GpucolRecLowering *lowering)
{
	List	   *types = lowering->types;
	uint8		rec_types[GPUCOL_REC_MAX_ARITY];
	GpucolRecColumn column;
	ListCell   *lc;
	ListCell   *lc2;

	forboth(lc, types, lc2, lowering->collations)
	{
		gpucol_rec_column_init(&column, lfirst_oid(lc));
		rec_types[foreach_current_index(lc)] = column.rec_type;
		if (lowering->all)
			continue;
		if (!gpucol_rec_type_comparable(lfirst_oid(lc), lfirst_oid(lc2)) &&
			!gpucol_rec_type_hashable(lfirst_oid(lc)))
			return gpucol_rec_lower_decline(lowering, "a column's type cannot be hashed");
		if (gpucol_rec_type_exact(lfirst_oid(lc), lfirst_oid(lc2)))
			gpucol_rec_lower_note_equality(lowering, lfirst_oid(lc), lfirst_oid(lc2));
	}
	gpucol_rec_builder_relation(&lowering->builder, list_length(types),
								rec_types, GPUCOL_REC_DERIVED |
								GPUCOL_REC_OUTPUT |
								(lowering->all ? GPUCOL_REC_BAG : 0), 0);
	foreach(lc, lowering->result->input_types)
	{
		foreach(lc2, (List *) lfirst(lc))
		{
			gpucol_rec_column_init(&column, lfirst_oid(lc2));
			rec_types[foreach_current_index(lc2)] = column.rec_type;
		}
		gpucol_rec_builder_relation(&lowering->builder,
									list_length(lfirst(lc)), rec_types,
									GPUCOL_REC_INPUT | GPUCOL_REC_BAG, 0);
	}
	return true;
}

/* Bit i of `padded` says that rules are for rows without a match in the i-th optional relation. */
static void
set_padded(const GpucolRecLowering *lowering, int padded)
{
	ListCell   *lc;

	foreach(lc, lowering->sources)
	{
		GpucolRecSource *source = lfirst(lc);

		source->padded = source->mode == GPUCOL_SOURCE_OPTIONAL && (padded & 1) != 0;
		if (source->mode == GPUCOL_SOURCE_OPTIONAL)
			padded >>= 1;
	}
}

static void
begin_rule(GpucolRecLowering *lowering)
{
	ListCell   *lc;
	int			i;

	foreach(lc, lowering->quals)
		((GpucolRecQual *) lfirst(lc))->done = false;
	foreach(lc, lowering->sources)
	{
		GpucolRecSource *source = lfirst(lc);

		source->done = false;
		for (i = 0; i < list_length(source->columns); i++)
			source->registers[i] = -1;
	}
	gpucol_rec_builder_rule(&lowering->builder, 0,
							lowering->recursive ? GPUCOL_REC_RECURSIVE : 0);
}

static bool
lower_rule(GpucolRecLowering *lowering)
{
	GpucolRecSource *source;
	ListCell   *lc;

	begin_rule(lowering);
	source = lowering->recursive ? linitial(lowering->sources) :
		next_source(lowering);
	for (; source != NULL; source = next_source(lowering))
		if (!lower_source(lowering, source) || !lower_tests(lowering))
			return false;
	foreach(lc, lowering->sources)
		if (!((GpucolRecSource *) lfirst(lc))->done)
			return gpucol_rec_lower_decline(lowering, "the joins of the recursive term depend on each other");
	return lower_target(lowering);
}

/* A rule for each arm of an OR, and each choice of optional relations that have no match. */
static bool
lower_rules(GpucolRecLowering *lowering)
{
	List	   *quals = lowering->quals;
	int			noptional = 0;
	ListCell   *lc;

	foreach(lc, lowering->sources)
		noptional += ((GpucolRecSource *) lfirst(lc))->mode == GPUCOL_SOURCE_OPTIONAL;
	if (noptional > (lowering->recursive ? MAX_OPTIONAL : 0))
		return gpucol_rec_lower_decline(lowering, "the term has too many outer joins");
	for (int padded = 0; padded < 1 << noptional; padded++)
	{
		List	   *alternatives;

		set_padded(lowering, padded);
		lowering->quals = quals;
		alternatives = gpucol_rec_lower_arms(lowering);
		if (list_length(alternatives) << noptional > MOST_RULES)
			alternatives = list_make1(quals);
		foreach(lc, alternatives)
		{
			lowering->quals = lfirst(lc);
			if (!lower_rule(lowering))
				return false;
		}
	}
	return true;
}

/* Add a rule for the non-recursive term; without one nothing has changed. */
static void
lower_base(GpucolRecLowering *lowering, PlannerInfo *subroot)
{
	GpucolLoweredRecursion *result = lowering->result;
	GpucolRecBuilder before = lowering->builder;
	GpucolLoweredRecursion kept = *result;
	int			nconstants = list_length(result->constants);
	int			nhosts = list_length(result->hosts);
	int			noperands = list_length(result->operands);
	int			nequalities = list_length(result->equalities);

	if (gpucol_rec_lower_open(lowering, subroot, false) && lower_rules(lowering))
	{
		result->has_base = true;
		return;
	}
	*result = kept;
	result->constants = list_truncate(result->constants, nconstants);
	result->hosts = list_truncate(result->hosts, nhosts);
	result->host_operands = list_truncate(result->host_operands, nhosts);
	result->host_matches = list_truncate(result->host_matches, nhosts);
	result->operands = list_truncate(result->operands, noperands);
	result->equalities = list_truncate(result->equalities, nequalities);
	gpucol_rec_builder_reset(&lowering->builder, &before);
}

/*
 * Values of the result that only UNION compares keep their forms: the row that it met first is the one that
 * shows.  Where joins or conditions compare values of the type as well, all equal ones are made the same.
 */
static void
note_forms(GpucolRecLowering *lowering)
{
	GpucolLoweredRecursion *result = lowering->result;
	ListCell   *lc;
	ListCell   *lc2;

	forboth(lc, lowering->types, lc2, lowering->collations)
	{
		Oid			type = lfirst_oid(lc);
		Oid			collation = lfirst_oid(lc2);

		if (!gpucol_rec_type_comparable(type, collation) &&
			!list_member(result->equalities, list_make3_oid(type, collation, InvalidOid)))
			result->equalities = list_append_unique(result->equalities, list_make3_oid(type, collation, type));
	}
}

void
gpucol_recursive_lower(PlannerInfo *subroot, PlannerInfo *base, List *types,
					   List *collations, bool all,
					   GpucolLoweredRecursion *result)
{
	GpucolRecLowering lowering = {.result = result,.types = types,
	.collations = collations,.all = all};

	memset(result, 0, sizeof(*result));
	gpucol_rec_builder_init(&lowering.builder);
	if (list_length(types) > GPUCOL_REC_MAX_ARITY)
	{
		result->reason = "the recursion has too many columns";
		return;
	}
	if (!gpucol_rec_lower_open(&lowering, subroot, true) ||
		!declare_relations(&lowering) || !lower_rules(&lowering))
		return;
	if (base != NULL)
		lower_base(&lowering, base);
	if (!all)
		note_forms(&lowering);
	result->plan = gpucol_rec_builder_finish(&lowering.builder, 1);
}
