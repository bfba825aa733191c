/*-------------------------------------------------------------------------
 *
 * parser_clause.c
 *	  Literals and clauses of datalog programs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "recursion/front/functors.h"
#include "recursion/front/parser.h"

static DatalogLiteral *
make_literal(DatalogLiteralKind kind, int position)
{
	DatalogLiteral *literal = palloc0(sizeof(DatalogLiteral));

	literal->kind = kind;
	literal->position = position;
	return literal;
}

/* R(expr, ...) */
DatalogLiteral *
gpucol_datalog_parse_atom(DatalogParser *parser, DatalogLiteralKind kind)
{
	DatalogLiteral *literal = make_literal(kind, parser->token.position);

	literal->scope = parser->scope;
	literal->name = gpucol_datalog_expect_dotted(parser, "an atom");
	gpucol_datalog_expect(parser, "(");
	while (!gpucol_datalog_at_symbol(parser, ")"))
	{
		literal->args = lappend(literal->args, gpucol_datalog_parse_expr(parser));
		gpucol_datalog_expect_more(parser);
	}
	gpucol_datalog_advance(parser);
	return literal;
}

static DatalogLiteral *
parse_constraint(DatalogParser *parser)
{
	static const struct
	{
		const char *symbol;
		GpucolRecFunction function;
	}			known[] = {
		{"=", GPUCOL_REC_EQ}, {"!=", GPUCOL_REC_NE}, {"<=", GPUCOL_REC_LE},
		{">=", GPUCOL_REC_GE}, {"<", GPUCOL_REC_LT}, {">", GPUCOL_REC_GT}
	};
	DatalogLiteral *literal = make_literal(DATALOG_CONSTRAINT,
										   parser->token.position);
	int			i;

	literal->left = gpucol_datalog_parse_expr(parser);
	for (i = 0; i < (int) lengthof(known); i++)
		if (gpucol_datalog_at_symbol(parser, known[i].symbol))
			break;
	if (i == (int) lengthof(known))
		gpucol_datalog_unexpected(parser, "a comparison");
	literal->function = known[i].function;
	literal->position = parser->token.position;
	gpucol_datalog_advance(parser);
	literal->right = gpucol_datalog_parse_expr(parser);
	return literal;
}

/* Conjunctions separated by ";". */
static List *
parse_alternatives(DatalogParser *parser)
{
	List	   *alternatives = list_make1(gpucol_datalog_parse_body(parser));

	while (gpucol_datalog_accept(parser, ";"))
		alternatives = lappend(alternatives, gpucol_datalog_parse_body(parser));
	return alternatives;
}

/* Does match(..) or contains(..) begin here? */
static bool
at_test(DatalogParser *parser)
{
	return (gpucol_datalog_at_name(parser, "match") ||
			gpucol_datalog_at_name(parser, "contains")) &&
		gpucol_datalog_followed_by(parser, "(");
}

/* match(..) and contains(..): a functor's result that is not 0. */
static DatalogLiteral *
parse_test(DatalogParser *parser)
{
	DatalogLiteral *literal = make_literal(DATALOG_CONSTRAINT, parser->token.position);

	literal->function = GPUCOL_REC_NE;
	literal->left = gpucol_datalog_parse_call(parser);
	literal->right = gpucol_datalog_make_expr(DATALOG_CONSTANT, literal->position);
	literal->right->name = "0";
	return literal;
}

/* The comparison that holds when one does not. */
static GpucolRecFunction
opposite(GpucolRecFunction comparison)
{
	switch (comparison)
	{
		case GPUCOL_REC_EQ:
			return GPUCOL_REC_NE;
		case GPUCOL_REC_NE:
			return GPUCOL_REC_EQ;
		case GPUCOL_REC_LT:
			return GPUCOL_REC_GE;
		case GPUCOL_REC_LE:
			return GPUCOL_REC_GT;
		case GPUCOL_REC_GT:
			return GPUCOL_REC_LE;
		default:
			return GPUCOL_REC_LT;
	}
}

/*
 * The literal that alternatives are: a literal of one alternative of one literal is
 * that literal itself.
 */
static DatalogLiteral *
any_of(List *alternatives, int position)
{
	DatalogLiteral *literal;

	if (list_length(alternatives) == 1 &&
		list_length((List *) linitial(alternatives)) == 1)
		return linitial((List *) linitial(alternatives));
	literal = make_literal(DATALOG_OR, position);
	literal->alternatives = alternatives;
	return literal;
}

/* What holds when a literal does not; the literal is used up. */
static DatalogLiteral *
negate(DatalogLiteral *literal)
{
	List	   *body = NIL;
	ListCell   *lc;
	ListCell   *inner;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (literal->kind)
	{
		case DATALOG_ATOM:
			literal->kind = DATALOG_NEGATION;
			break;
		case DATALOG_NEGATION:
			literal->kind = DATALOG_ATOM;
			break;
		case DATALOG_CONSTRAINT:
			literal->function = opposite(literal->function);
			break;
		case DATALOG_TRUTH:
			literal->truth = !literal->truth;
			break;
		default:
			/* not (a, b; c): one of not a, not b, and not c */
			foreach(lc, literal->alternatives)
			{
				List	   *any = NIL;

				foreach(inner, (List *) lfirst(lc))
					any = lappend(any, list_make1(negate(lfirst(inner))));
				body = lappend(body, any_of(any, literal->position));
			}
			return any_of(list_make1(body), literal->position);
	}
	return literal;
}

static DatalogLiteral *
parse_literal(DatalogParser *parser)
{
	int			position = parser->token.position;
	DatalogLiteral *literal;

	check_stack_depth();
	if (gpucol_datalog_accept(parser, "!"))
		return negate(parse_literal(parser));
	if (gpucol_datalog_at_symbol(parser, "(") && !gpucol_datalog_group(parser, position)->is_operand)
	{
		gpucol_datalog_advance(parser);
		literal = any_of(parse_alternatives(parser), position);
		gpucol_datalog_expect(parser, ")");
		return literal;
	}
	if (gpucol_datalog_at_name(parser, "true") || gpucol_datalog_at_name(parser, "false"))
	{
		literal = make_literal(DATALOG_TRUTH, position);
		literal->truth = gpucol_datalog_at_name(parser, "true");
		gpucol_datalog_advance(parser);
		return literal;
	}
	if (at_test(parser))
		return parse_test(parser);
	if (gpucol_datalog_at_dotted(parser))
		return gpucol_datalog_parse_atom(parser, DATALOG_ATOM);
	if (parser->token.kind == TOKEN_NAME && gpucol_datalog_followed_by(parser,
																	   "(") &&
		!gpucol_datalog_at_name(parser, "min") && !gpucol_datalog_at_name(parser,
																		  "max") &&
		gpucol_datalog_functor(parser->token.text) == NULL)
		return gpucol_datalog_parse_atom(parser, DATALOG_ATOM);
	return parse_constraint(parser);
}

/* Literals separated by ",". */
List *
gpucol_datalog_parse_body(DatalogParser *parser)
{
	List	   *body = list_make1(parse_literal(parser));

	while (gpucol_datalog_accept(parser, ","))
	{
		gpucol_datalog_poll(parser->program);
		body = lappend(body, parse_literal(parser));
	}
	return body;
}

/* Does an heir of the component have rules in the place of this one? */
static bool
is_overridden(const DatalogParser *parser, const DatalogClause *clause)
{
	const DatalogLiteral *head = linitial(clause->heads);

	return gpucol_datalog_is_overridden(parser->scope, head->name);
}

/* head, ... :- body.  R(..) <= R(..) :- body. */
void
gpucol_datalog_parse_clause(DatalogParser *parser)
{
	DatalogClause *clause = palloc0(sizeof(DatalogClause));
	DatalogLiteral *literal;

	parser->noperators = 0;
	clause->position = parser->token.position;
	clause->heads = list_make1(gpucol_datalog_parse_atom(parser, DATALOG_ATOM));
	if (gpucol_datalog_accept(parser, "<="))
	{
		clause->subsumption = true;
		clause->heads = lappend(clause->heads,
								gpucol_datalog_parse_atom(parser, DATALOG_ATOM));
		if (!gpucol_datalog_at_symbol(parser, ":-"))
			gpucol_datalog_unexpected(parser, "\":-\"");
	}
	else
		while (gpucol_datalog_accept(parser, ","))
			clause->heads = lappend(clause->heads,
									gpucol_datalog_parse_atom(parser, DATALOG_ATOM));
	if (gpucol_datalog_accept(parser, ":-"))
	{
		literal = make_literal(DATALOG_OR, parser->token.position);
		literal->alternatives = parse_alternatives(parser);
		clause->body = list_make1(literal);
	}
	gpucol_datalog_expect(parser, ".");
	/* Join orders are the planner's; Souffle's .plan is read over. */
	if (parser->token.kind == TOKEN_DIRECTIVE &&
		strcmp(parser->token.text, "plan") == 0)
	{
		gpucol_datalog_advance(parser);
		while (parser->token.kind == TOKEN_NUMBER ||
			   gpucol_datalog_at_symbol(parser, ":") || gpucol_datalog_at_symbol(parser, "(") ||
			   gpucol_datalog_at_symbol(parser, ")") || gpucol_datalog_at_symbol(parser, ","))
			gpucol_datalog_advance(parser);
	}
	if (!is_overridden(parser, clause))
		parser->program->clauses = lappend(parser->program->clauses, clause);
}
