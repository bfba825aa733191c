/*-------------------------------------------------------------------------
 *
 * parser.c
 *	  Recursive-descent parser of datalog programs in Souffle's syntax.
 *
 * What Souffle has and gpucol.datalog has not is refused by name, so that a
 * program either means here what it means there or is an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"

#include "recursion/front/functors.h"
#include "recursion/front/parser.h"

typedef struct RelationName
{
	const char *name;
	DatalogRelation *relation;
	uint32		hash;
	char		status;
} RelationName;

#define SH_PREFIX		relationnames
#define SH_ELEMENT_TYPE	RelationName
#define SH_KEY_TYPE		const char *
#define SH_KEY			name
#define SH_HASH_KEY(table, key) \
	hash_bytes((const unsigned char *) (key), (int) strlen(key))
#define SH_EQUAL(table, a, b) (strcmp(a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) ((entry)->hash)
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* .input R, .output R: applied when all declarations are known. */
typedef struct Mark
{
	char	   *name;
	int			position;
	const DatalogScope *scope;
	bool		input;
	bool		skip_nulls;
} Mark;

/* ---- tokens ---- */

void
gpucol_datalog_fail(DatalogParser *parser, int position, const char *hint, const char *message)
{
	gpucol_datalog_error(parser->program->text, position, ERRCODE_SYNTAX_ERROR,
						 hint, "%s", message);
}

void
gpucol_datalog_unsupported(DatalogParser *parser, int position, const char *what)
{
	gpucol_datalog_error(parser->program->text, position,
						 ERRCODE_FEATURE_NOT_SUPPORTED, NULL,
						 "%s not supported by gpucol.datalog", what);
}

void
gpucol_datalog_advance(DatalogParser *parser)
{
	parser->token = gpucol_datalog_lex(&parser->lexer);
}

bool
gpucol_datalog_at_symbol(DatalogParser *parser, const char *symbol)
{
	return parser->token.kind == TOKEN_SYMBOL &&
		strcmp(parser->token.text, symbol) == 0;
}

bool
gpucol_datalog_accept(DatalogParser *parser, const char *symbol)
{
	if (!gpucol_datalog_at_symbol(parser, symbol))
		return false;
	gpucol_datalog_advance(parser);
	return true;
}

/* Complain about the next token. */
void
gpucol_datalog_unexpected(DatalogParser *parser, const char *wanted)
{
	if (parser->token.kind == TOKEN_END)
		gpucol_datalog_error(parser->program->text, parser->token.position,
							 ERRCODE_SYNTAX_ERROR, NULL,
							 "syntax error at the end of the program: expected %s",
							 wanted);
	gpucol_datalog_error(parser->program->text, parser->token.position,
						 ERRCODE_SYNTAX_ERROR, NULL,
						 "syntax error at \"%s%s\": expected %s",
						 parser->token.kind == TOKEN_DIRECTIVE ? "." : "",
						 parser->token.text, wanted);
}

void
gpucol_datalog_expect(DatalogParser *parser, const char *symbol)
{
	if (!gpucol_datalog_accept(parser, symbol))
		gpucol_datalog_unexpected(parser, psprintf("\"%s\"", symbol));
}

void
gpucol_datalog_expect_more(DatalogParser *parser)
{
	if (!gpucol_datalog_at_symbol(parser, ")") && !gpucol_datalog_accept(parser, ","))
		gpucol_datalog_unexpected(parser, "\",\" or \")\"");
}

char *
gpucol_datalog_expect_name(DatalogParser *parser, const char *what)
{
	char	   *name = parser->token.text;

	if (parser->token.kind != TOKEN_NAME)
		gpucol_datalog_unexpected(parser, what);
	gpucol_datalog_advance(parser);
	return name;
}

bool
gpucol_datalog_at_dotted(DatalogParser *parser)
{
	DatalogLexer ahead = parser->lexer;
	DatalogToken dot = gpucol_datalog_lex(&ahead);
	DatalogToken token;

	if (parser->token.kind != TOKEN_NAME || dot.kind != TOKEN_SYMBOL || strcmp(dot.text, ".") != 0)
		return false;
	token = gpucol_datalog_lex(&ahead);
	return token.kind == TOKEN_NAME && token.position == dot.position + 1;
}

char *
gpucol_datalog_expect_dotted(DatalogParser *parser, const char *what)
{
	char	   *name = NULL;

	while (gpucol_datalog_at_dotted(parser))
	{
		name = psprintf("%s%s.", name == NULL ? "" : name, parser->token.text);
		gpucol_datalog_advance(parser);
		gpucol_datalog_advance(parser);
	}
	return name == NULL ? gpucol_datalog_expect_name(parser, what) :
		psprintf("%s%s", name, gpucol_datalog_expect_name(parser, what));
}

bool
gpucol_datalog_at_name(DatalogParser *parser, const char *name)
{
	return parser->token.kind == TOKEN_NAME &&
		strcmp(parser->token.text, name) == 0;
}

/* Is the next token followed by this symbol? */
bool
gpucol_datalog_followed_by(DatalogParser *parser, const char *symbol)
{
	DatalogLexer ahead = parser->lexer;
	DatalogToken token = gpucol_datalog_lex(&ahead);

	return token.kind == TOKEN_SYMBOL && strcmp(token.text, symbol) == 0;
}

/* ---- groups: what is in parentheses, and behind them ---- */

/* Is the parser at what follows an operand? */
static bool
follows_operand(DatalogParser *parser)
{
	static const char *const others[] = {
		"=", "!=", "<", "<=", ">", ">=", "^"
	};

	for (int i = 0; i < (int) lengthof(others); i++)
		if (gpucol_datalog_at_symbol(parser, others[i]))
			return true;
	return gpucol_datalog_at_operator(parser, -1) >= 0;
}

/* Note the group that opens at a position; its number. */
static int
open_group(DatalogParser *parser, int position)
{
	DatalogGroup group = {.position = position};

	/* room doubles whenever the number is a power of two */
	if (parser->groups == NULL)
		parser->groups = palloc(sizeof(DatalogGroup));
	else if ((parser->ngroups & (parser->ngroups - 1)) == 0)
		parser->groups = repalloc_huge(parser->groups,
									   sizeof(DatalogGroup) * 2 * parser->ngroups);
	parser->groups[parser->ngroups] = group;
	return parser->ngroups++;
}

/* Read ahead from an opening parenthesis to what follows the one that closes it. */
static void
read_group(DatalogParser *parser, int position)
{
	DatalogParser ahead = *parser;
	List	   *open = NIL;		/* numbers of groups that have not ended */
	int			closed = -1;	/* the group that ended last, if just now */

	ahead.lexer.at = position;
	do
	{
		CHECK_FOR_INTERRUPTS();
		gpucol_datalog_advance(&ahead);
		if (closed >= 0)
			ahead.groups[closed].is_operand = follows_operand(&ahead);
		closed = -1;
		if (gpucol_datalog_at_symbol(&ahead, "(") || gpucol_datalog_at_symbol(&ahead, "{"))
			open = lappend_int(open, open_group(&ahead, ahead.token.position));
		else if (open == NIL)
			break;
		else if (gpucol_datalog_at_symbol(&ahead, ","))
			ahead.groups[llast_int(open)].is_list = true;
		else if (gpucol_datalog_at_symbol(&ahead, ")") || gpucol_datalog_at_symbol(&ahead, "}"))
		{
			closed = llast_int(open);
			open = list_delete_last(open);
		}
		if (ahead.token.text != NULL)
			pfree(ahead.token.text);
	} while (ahead.token.kind != TOKEN_END && (open != NIL || closed >= 0));
	list_free(open);
	parser->groups = ahead.groups;
	parser->ngroups = ahead.ngroups;
}

/* For bsearch. */
static int
compare_position(const void *key, const void *group)
{
	return *(const int *) key - ((const DatalogGroup *) group)->position;
}

const DatalogGroup *
gpucol_datalog_group(DatalogParser *parser, int position)
{
	if (parser->ngroups == 0 || parser->groups[parser->ngroups - 1].position < position)
		read_group(parser, position);
	return bsearch(&position, parser->groups, parser->ngroups, sizeof(DatalogGroup),
				   compare_position);
}

/* ---- declarations ---- */

DatalogRelation *
gpucol_datalog_find(const DatalogProgram *program, const char *name)
{
	RelationName *entry = relationnames_lookup(program->names, name);

	return entry == NULL ? NULL : entry->relation;
}

/* A qualifier that stands for a directive: input, output, printsize. */
static bool
mark_relations(DatalogParser *parser, List *relations)
{
	bool		input = gpucol_datalog_at_name(parser, "input");
	ListCell   *lc;

	/* not the head of a clause */
	if ((!input && !gpucol_datalog_at_name(parser, "output") &&
		 !gpucol_datalog_at_name(parser, "printsize")) ||
		gpucol_datalog_followed_by(parser, "("))
		return false;
	foreach(lc, relations)
	{
		DatalogRelation *relation = lfirst(lc);

		relation->input |= input;
		relation->output |= !input;
	}
	gpucol_datalog_advance(parser);
	return true;
}

/* R(a, b) of a relation, from one and the same place. */
static DatalogLiteral *
make_pair(DatalogParser *parser, const DatalogRelation *relation, const char *a, const char *b)
{
	DatalogLiteral *atom = palloc0(sizeof(DatalogLiteral));
	const char *names[2] = {a, b};

	atom->kind = DATALOG_ATOM;
	atom->position = relation->position;
	atom->scope = parser->scope;
	atom->name = relation->name + strlen(parser->scope->prefix);
	for (int i = 0; i < 2; i++)
	{
		DatalogExpr *expr = gpucol_datalog_make_expr(DATALOG_VARIABLE, relation->position);

		expr->name = pstrdup(names[i]);
		atom->args = lappend(atom->args, expr);
	}
	return atom;
}

static void
add_rule(DatalogParser *parser, DatalogLiteral *head, List *body)
{
	DatalogClause *clause = palloc0(sizeof(DatalogClause));

	clause->position = head->position;
	clause->heads = list_make1(head);
	clause->body = body;
	parser->program->clauses = lappend(parser->program->clauses, clause);
}

/* eqrel: rules that make the relation reflexive, symmetric and transitive. */
static void
make_equivalence(DatalogParser *parser, DatalogRelation *relation)
{
	if (relation->arity != 2)
		gpucol_datalog_error(parser->program->text, relation->position,
							 ERRCODE_INVALID_OBJECT_DEFINITION, NULL,
							 "relation \"%s\" is an equivalence but has not two attributes",
							 relation->name);
	add_rule(parser, make_pair(parser, relation, "x", "x"),
			 list_make1(make_pair(parser, relation, "x", "y")));
	add_rule(parser, make_pair(parser, relation, "y", "x"),
			 list_make1(make_pair(parser, relation, "x", "y")));
	add_rule(parser, make_pair(parser, relation, "x", "z"),
			 list_make2(make_pair(parser, relation, "x", "y"),
						make_pair(parser, relation, "y", "z")));
}

/* The columns of a relation that a list of names in parentheses, or one name, means. */
static int
parse_choice(DatalogParser *parser, const DatalogRelation *relation)
{
	bool		several = gpucol_datalog_accept(parser, "(");
	int			columns = 0;

	do
	{
		int			position = parser->token.position;
		const char *name = gpucol_datalog_expect_name(parser, "the name of an attribute");
		int			c = 0;

		while (c < relation->arity && strcmp(relation->attributes[c].name, name) != 0)
			c++;
		if (c == relation->arity)
			gpucol_datalog_error(parser->program->text, position, ERRCODE_UNDEFINED_COLUMN, NULL,
								 "relation \"%s\" has no attribute \"%s\"", relation->name, name);
		columns |= (int) (UINT32_C(1) << c);
	} while (several && gpucol_datalog_accept(parser, ","));
	if (several)
		gpucol_datalog_expect(parser, ")");
	return columns;
}

/* choice-domain a, (b, c): of rows that agree on a, or on b and c, only one stays. */
static void
parse_choices(DatalogParser *parser, List *relations)
{
	List	   *choices = NIL;
	ListCell   *lc;

	gpucol_datalog_advance(parser);
	gpucol_datalog_expect(parser, "-");
	if (!gpucol_datalog_at_name(parser, "domain"))
		gpucol_datalog_unexpected(parser, "\"domain\"");
	gpucol_datalog_advance(parser);
	do
		choices = lappend_int(choices, parse_choice(parser, linitial(relations)));
	while (gpucol_datalog_accept(parser, ","));
	foreach(lc, relations)
	{
		DatalogRelation *relation = lfirst(lc);

		relation->choices = list_concat(relation->choices, choices);
	}
}

/* Words after a declaration: representation hints are ignored. */
static void
parse_qualifiers(DatalogParser *parser, List *relations)
{
	ListCell   *lc;
	static const char *const ignored[] = {
		"brie", "btree", "btree_delete", "inline", "no_inline", "magic", "no_magic",
		"overridable", NULL
	};
	int			i;

	while (parser->token.kind == TOKEN_NAME)
	{
		for (i = 0; ignored[i] != NULL; i++)
			if (gpucol_datalog_at_name(parser, ignored[i]))
				break;
		if (gpucol_datalog_at_name(parser, "eqrel"))
		{
			foreach(lc, relations)
				make_equivalence(parser, lfirst(lc));
			gpucol_datalog_advance(parser);
			continue;
		}
		if (gpucol_datalog_at_name(parser, "choice") && gpucol_datalog_followed_by(parser, "-"))
		{
			parse_choices(parser, relations);
			continue;
		}
		if (mark_relations(parser, relations))
			continue;
		if (gpucol_datalog_at_name(parser, "inline"))
			foreach(lc, relations)
				((DatalogRelation *) lfirst(lc))->marked_inline = true;
		/* not a qualifier: the next clause begins */
		if (ignored[i] == NULL)
			return;
		gpucol_datalog_advance(parser);
	}
}

/* A relation's name in its declaration. */
static DatalogRelation *
parse_relation_name(DatalogParser *parser)
{
	DatalogRelation *relation = palloc0(sizeof(DatalogRelation));
	bool		found;

	relation->position = parser->token.position;
	relation->name = psprintf("%s%s", parser->scope->prefix,
							  gpucol_datalog_expect_name(parser, "the name of a relation"));
	relationnames_insert(parser->program->names, relation->name, &found)->relation = relation;
	if (found)
		gpucol_datalog_error(parser->program->text, relation->position,
							 ERRCODE_DUPLICATE_OBJECT, NULL,
							 "relation \"%s\" is declared twice",
							 relation->name);
	parser->program->relations = lappend(parser->program->relations, relation);
	return relation;
}

/* Give a relation its attributes; their types follow when all are known. */
static void
set_attributes(DatalogParser *parser, DatalogRelation *relation, List *names,
			   List *types)
{
	relation->arity = list_length(names);
	if (relation->arity > GPUCOL_REC_MAX_ARITY)
		gpucol_datalog_error(parser->program->text, relation->position,
							 ERRCODE_TOO_MANY_COLUMNS, NULL,
							 "relation \"%s\" has more than %d attributes",
							 relation->name, GPUCOL_REC_MAX_ARITY);
	relation->attributes = gpucol_datalog_make_attributes(parser, names, types);
}

/* .decl R, S, ...(a: type, ...) */
static void
parse_declaration(DatalogParser *parser)
{
	List	   *relations = NIL;
	List	   *names;
	List	   *types;
	ListCell   *lc;

	do
		relations = lappend(relations, parse_relation_name(parser));
	while (gpucol_datalog_accept(parser, ","));
	gpucol_datalog_expect(parser, "(");
	gpucol_datalog_parse_attributes(parser, ")", &names, &types);
	foreach(lc, relations)
		set_attributes(parser, lfirst(lc), names, types);
	parse_qualifiers(parser, relations);
}

/* nulls="skip" or nulls="error" of an input: are rows with a null to be left out? */
static bool
parse_nulls(DatalogParser *parser)
{
	bool		skip;

	gpucol_datalog_advance(parser);
	gpucol_datalog_expect(parser, "=");
	skip = parser->token.kind == TOKEN_STRING && strcmp(parser->token.text, "skip") == 0;
	if (!skip && (parser->token.kind != TOKEN_STRING || strcmp(parser->token.text, "error") != 0))
		gpucol_datalog_unexpected(parser, "\"skip\" or \"error\" in quotes");
	gpucol_datalog_advance(parser);
	return skip;
}

/*
 * (key=value, ...) after .input and the like: where Souffle keeps files, which is read over.
 * True: rows with nulls are to be left out.
 */
static bool
parse_parameters(DatalogParser *parser, bool input)
{
	bool		skip = false;

	if (!gpucol_datalog_accept(parser, "("))
		return false;
	while (!gpucol_datalog_accept(parser, ")"))
	{
		if (parser->token.kind == TOKEN_END)
			gpucol_datalog_unexpected(parser, "\")\"");
		if (input && gpucol_datalog_at_name(parser, "nulls") && gpucol_datalog_followed_by(parser, "="))
			skip = parse_nulls(parser);
		else
			gpucol_datalog_advance(parser);
	}
	return skip;
}

/* .input R, S and .output R, S */
static void
parse_mark(DatalogParser *parser, bool input)
{
	List	   *marks = NIL;
	bool		skip_nulls;
	ListCell   *lc;

	do
	{
		Mark	   *mark = palloc(sizeof(Mark));

		mark->input = input;
		mark->position = parser->token.position;
		mark->scope = parser->scope;
		mark->name = gpucol_datalog_expect_dotted(parser, "the name of a relation");
		marks = lappend(marks, mark);
	} while (gpucol_datalog_accept(parser, ","));
	skip_nulls = parse_parameters(parser, input);
	foreach(lc, marks)
		((Mark *) lfirst(lc))->skip_nulls = skip_nulls;
	parser->marks = list_concat(parser->marks, marks);
}

static void
parse_directive(DatalogParser *parser)
{
	DatalogToken directive = parser->token;

	gpucol_datalog_advance(parser);
	if (strcmp(directive.text, "decl") == 0)
		parse_declaration(parser);
	else if (strcmp(directive.text, "type") == 0)
		gpucol_datalog_parse_type_alias(parser, NULL);
	else if (strcmp(directive.text, "number_type") == 0)
		gpucol_datalog_parse_type_alias(parser, "number");
	else if (strcmp(directive.text, "symbol_type") == 0)
		gpucol_datalog_parse_type_alias(parser, "symbol");
	else if (strcmp(directive.text, "input") == 0)
		parse_mark(parser, true);
	else if (strcmp(directive.text, "output") == 0 ||
			 strcmp(directive.text, "printsize") == 0)
		parse_mark(parser, false);
	else if (strcmp(directive.text, "comp") == 0)
		gpucol_datalog_parse_component(parser);
	else if (strcmp(directive.text, "init") == 0)
		gpucol_datalog_parse_init(parser);
	else if (strcmp(directive.text, "override") == 0)
		gpucol_datalog_parse_override(parser);
	else if (strcmp(directive.text, "functor") == 0)
		gpucol_datalog_parse_functor(parser);
	else if (strcmp(directive.text, "pragma") == 0)
		while (parser->token.kind == TOKEN_STRING)
			gpucol_datalog_advance(parser);
	else
		gpucol_datalog_unsupported(parser, directive.position,
								   psprintf("the directive \".%s\" is",
											directive.text));
}

void
gpucol_datalog_parse_item(DatalogParser *parser)
{
	gpucol_datalog_poll(parser->program);
	parser->program->at = parser->token.position;
	if (parser->token.kind == TOKEN_DIRECTIVE)
		parse_directive(parser);
	else
		gpucol_datalog_parse_clause(parser);
}

/* ---- names ---- */

/* The relation that a name means in a scope, or NULL. */
static DatalogRelation *
find_in_scope(const DatalogProgram *program, const DatalogScope *scope, const char *name)
{
	DatalogRelation *relation = NULL;

	for (; scope != NULL && relation == NULL; scope = scope->outer)
		relation = gpucol_datalog_find(program, scope->prefix[0] == '\0' ? name :
									   psprintf("%s%s", scope->prefix, name));
	return relation;
}

static void resolve_body(DatalogParser *parser, List *body);

/* Point an atom at its relation and check its arguments' aggregates. */
static void
resolve_atom(DatalogParser *parser, DatalogLiteral *atom)
{
	atom->relation = find_in_scope(parser->program, atom->scope, atom->name);
	if (atom->relation == NULL)
		gpucol_datalog_error(parser->program->text, atom->position,
							 ERRCODE_UNDEFINED_TABLE,
							 "Declare it with .decl; .input makes a declared relation read the table or view of that name.",
							 "relation \"%s\" is not declared", atom->name);
	if (atom->relation->arity != list_length(atom->args))
		gpucol_datalog_error(parser->program->text, atom->position,
							 ERRCODE_SYNTAX_ERROR, NULL,
							 "wrong number of arguments of relation \"%s\": %d instead of %d",
							 atom->name, list_length(atom->args),
							 atom->relation->arity);
	atom->name = atom->relation->name;
}

static void resolve_expr(DatalogParser *parser, DatalogExpr *expr);

/* The fields of a record, and the branch that it names. */
static void
resolve_tuple(DatalogParser *parser, DatalogExpr *expr)
{
	ListCell   *lc;

	foreach(lc, expr->body)
		resolve_expr(parser, lfirst(lc));
	if (expr->name == NULL)
		return;
	expr->branch = gpucol_datalog_find_branch(parser->program, expr->scope, expr->name);
	if (expr->branch == NULL)
		gpucol_datalog_error(parser->program->text, expr->position, ERRCODE_UNDEFINED_OBJECT, NULL,
							 "no type has the branch \"%s\"", expr->name);
	if (expr->branch->nfields != list_length(expr->body))
		gpucol_datalog_error(parser->program->text, expr->position, ERRCODE_SYNTAX_ERROR, NULL,
							 "wrong number of fields of \"%s\": %d instead of %d", expr->name,
							 list_length(expr->body), expr->branch->nfields);
}

static void
resolve_expr(DatalogParser *parser, DatalogExpr *expr)
{
	check_stack_depth();
	if (expr == NULL)
		return;
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		resolve_expr(parser, expr->args[i]);
	if (expr->kind == DATALOG_CALL && expr->name != NULL)
		gpucol_datalog_resolve_functor(parser, expr);
	if (expr->cast != NULL)
		expr->type = gpucol_datalog_resolve_type(parser, expr->cast);
	if (expr->kind == DATALOG_AGGREGATE)
		resolve_body(parser, expr->body);
	if (expr->kind == DATALOG_TUPLE)
		resolve_tuple(parser, expr);
}

static void
resolve_body(DatalogParser *parser, List *body)
{
	ListCell   *lc;
	ListCell   *inner;

	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);

		if (literal->kind == DATALOG_ATOM || literal->kind == DATALOG_NEGATION)
			resolve_atom(parser, literal);
		foreach(inner, literal->args)
			resolve_expr(parser, lfirst(inner));
		foreach(inner, literal->alternatives)
			resolve_body(parser, lfirst(inner));
		resolve_expr(parser, literal->left);
		resolve_expr(parser, literal->right);
	}
}

static void
resolve(DatalogParser *parser)
{
	ListCell   *lc;

	gpucol_datalog_resolve_types(parser);
	foreach(lc, parser->program->clauses)
	{
		DatalogClause *clause = lfirst(lc);
		ListCell   *inner;

		parser->program->at = clause->position;
		resolve_body(parser, clause->heads);
		resolve_body(parser, clause->body);
		if (!clause->subsumption)
			foreach(inner, clause->heads)
				((DatalogLiteral *) lfirst(inner))->relation->derived = true;
	}
	foreach(lc, parser->marks)
	{
		Mark	   *mark = lfirst(lc);
		DatalogRelation *relation = find_in_scope(parser->program, mark->scope, mark->name);

		if (relation == NULL)
			gpucol_datalog_error(parser->program->text, mark->position,
								 ERRCODE_UNDEFINED_TABLE, NULL,
								 "relation \"%s\" is not declared", mark->name);
		relation->skip_nulls |= mark->skip_nulls;
		if (mark->input)
			relation->input = true;
		else
			relation->output = true;
	}
	/* Without rules or facts, rows can only come from outside, if from anywhere. */
	foreach(lc, parser->program->relations)
	{
		DatalogRelation *relation = lfirst(lc);

		if (!relation->derived && !relation->input)
			relation->input = relation->optional = true;
		relation->derived |= relation->choices != NIL;
	}
}

void
gpucol_datalog_poll(const DatalogProgram *program)
{
	CHECK_FOR_INTERRUPTS();
	gpucol_recursion_count(program->memory, 0);
}

DatalogProgram *
gpucol_datalog_parse(const char *text, GpucolRecursionMemory *memory)
{
	DatalogScope scope = {.prefix = ""};
	DatalogParser parser = {.scope = &scope};
	ErrorContextCallback callback = {.previous = error_context_stack,
	.callback = gpucol_datalog_context};

	parser.program = palloc0(sizeof(DatalogProgram));
	parser.program->text = text;
	parser.program->memory = memory;
	parser.program->names = relationnames_create(CurrentMemoryContext, 64, NULL);
	parser.lexer.text = text;
	callback.arg = parser.program;
	error_context_stack = &callback;
	gpucol_datalog_advance(&parser);
	while (parser.token.kind != TOKEN_END)
		gpucol_datalog_parse_item(&parser);
	gpucol_datalog_make_instances(&parser, 0);
	resolve(&parser);
	error_context_stack = callback.previous;
	return parser.program;
}
