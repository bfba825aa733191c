/*-------------------------------------------------------------------------
 *
 * components.c
 *	  Components of datalog programs: .comp, .init and .override.
 *
 * A component is kept as the place where its text begins.  When the program has been
 * read, each .init reads that text again in a scope of its own (scope.h), and those of
 * the components that it inherits from in scopes inside; then the instances that the
 * component itself makes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "recursion/front/parser.h"

/* Instances inside instances, and heirs of heirs. */
#define MOST_LEVELS		100

/* Instances of a program. */
#define MOST_INSTANCES	10000

/* A component as it is named: with what its parameters stand for. */
typedef struct ComponentUse
{
	NamedType  *name;
	List	   *arguments;		/* NamedType */
} ComponentUse;

typedef struct Component
{
	const char *name;
	List	   *parameters;		/* char * */
	List	   *bases;			/* ComponentUse, their scope not yet set */
	DatalogLexer body;			/* behind the opening brace */
} Component;

/* .init name = use */
typedef struct Init
{
	const char *name;
	ComponentUse *use;
} Init;

const NamedType *
gpucol_datalog_bound(const DatalogScope *scope, const char *name)
{
	ListCell   *lc;

	foreach(lc, scope->bindings)
	{
		const DatalogBinding *binding = lfirst(lc);

		if (strcmp(binding->parameter, name) == 0)
			return binding->actual;
	}
	return NULL;
}

bool
gpucol_datalog_is_overridden(const DatalogScope *scope, const char *name)
{
	ListCell   *lc;

	foreach(lc, scope->overridden)
		if (strcmp(lfirst(lc), name) == 0)
			return true;
	return false;
}

/* ---- reading ---- */

/* Names in angle brackets, if there are any. */
static List *
parse_arguments(DatalogParser *parser)
{
	List	   *arguments = NIL;

	if (!gpucol_datalog_accept(parser, "<"))
		return NIL;
	do
		arguments = lappend(arguments, (void *) gpucol_datalog_parse_type(parser));
	while (gpucol_datalog_accept(parser, ","));
	gpucol_datalog_expect(parser, ">");
	return arguments;
}

static ComponentUse *
parse_use(DatalogParser *parser)
{
	ComponentUse *use = palloc(sizeof(ComponentUse));

	use->name = palloc(sizeof(NamedType));
	use->name->position = parser->token.position;
	use->name->scope = parser->scope;
	use->name->name = gpucol_datalog_expect_name(parser, "the name of a component");
	use->arguments = parse_arguments(parser);
	return use;
}

/* Go to behind the brace that closes the one just read. */
static void
skip_body(DatalogParser *parser)
{
	for (int depth = 1; depth > 0;)
	{
		CHECK_FOR_INTERRUPTS();
		if (parser->token.kind == TOKEN_END)
			gpucol_datalog_unexpected(parser, "\"}\"");
		if (gpucol_datalog_at_symbol(parser, "{"))
			depth++;
		else if (gpucol_datalog_at_symbol(parser, "}"))
			depth--;
		if (depth > 0 && parser->token.text != NULL)
			pfree(parser->token.text);
		gpucol_datalog_advance(parser);
	}
}

void
gpucol_datalog_parse_component(DatalogParser *parser)
{
	Component  *component = palloc0(sizeof(Component));
	int			position = parser->token.position;
	ListCell   *lc;

	component->name = gpucol_datalog_expect_name(parser, "the name of the component");
	foreach(lc, parser->scope->components)
		if (strcmp(((Component *) lfirst(lc))->name, component->name) == 0)
			gpucol_datalog_error(parser->program->text, position, ERRCODE_DUPLICATE_OBJECT, NULL,
								 "component \"%s\" is defined twice", component->name);
	foreach(lc, parse_arguments(parser))
		component->parameters = lappend(component->parameters, ((NamedType *) lfirst(lc))->name);
	if (gpucol_datalog_accept(parser, ":"))
		do
			component->bases = lappend(component->bases, parse_use(parser));
		while (gpucol_datalog_accept(parser, ","));
	if (!gpucol_datalog_at_symbol(parser, "{"))
		gpucol_datalog_unexpected(parser, "\"{\"");
	component->body = parser->lexer;
	gpucol_datalog_advance(parser);
	skip_body(parser);
	parser->scope->components = lappend(parser->scope->components, component);
}

void
gpucol_datalog_parse_init(DatalogParser *parser)
{
	Init	   *init = palloc(sizeof(Init));

	init->name = gpucol_datalog_expect_name(parser, "the name of the instance");
	gpucol_datalog_expect(parser, "=");
	init->use = parse_use(parser);
	parser->scope->inits = lappend(parser->scope->inits, init);
}

void
gpucol_datalog_parse_override(DatalogParser *parser)
{
	if (parser->scope->outer == NULL)
		gpucol_datalog_fail(parser, parser->token.position, NULL,
							".override stands outside of a component");
	parser->scope->overrides = lappend(parser->scope->overrides,
									   gpucol_datalog_expect_name(parser, "the name of a relation"));
}

/* ---- instances ---- */

/* The component that a name means, whichever parameters it goes through. */
static const Component *
find_component(DatalogParser *parser, const NamedType *name)
{
	const NamedType *sought = name;
	const DatalogScope *scope = name->scope;

	while (scope != NULL)
	{
		const NamedType *actual = gpucol_datalog_bound(scope, sought->name);
		ListCell   *lc;

		CHECK_FOR_INTERRUPTS();
		if (actual != NULL)
		{
			sought = actual;
			scope = actual->scope;
			continue;
		}
		foreach(lc, scope->components)
			if (strcmp(((Component *) lfirst(lc))->name, sought->name) == 0)
				return lfirst(lc);
		scope = scope->outer;
	}
	gpucol_datalog_error(parser->program->text, name->position, ERRCODE_UNDEFINED_OBJECT,
						 "Components are defined by .comp.", "component \"%s\" is not defined",
						 name->name);
}

/* What the parameters of a component stand for in an instance. */
static List *
bind_parameters(DatalogParser *parser, const Component *component, const ComponentUse *use)
{
	List	   *bindings = NIL;
	ListCell   *lc;
	ListCell   *lc2;

	if (list_length(component->parameters) != list_length(use->arguments))
		gpucol_datalog_error(parser->program->text, use->name->position, ERRCODE_SYNTAX_ERROR, NULL,
							 "wrong number of parameters of component \"%s\": %d instead of %d",
							 component->name, list_length(use->arguments),
							 list_length(component->parameters));
	forboth(lc, component->parameters, lc2, use->arguments)
	{
		DatalogBinding *binding = palloc(sizeof(DatalogBinding));

		binding->parameter = lfirst(lc);
		binding->actual = lfirst(lc2);
		bindings = lappend(bindings, binding);
	}
	return bindings;
}

/* Read the text of a component in the parser's scope. */
static void
read_body(DatalogParser *parser, const Component *component)
{
	DatalogParser outer = *parser;

	parser->lexer = component->body;
	parser->groups = NULL;
	parser->ngroups = 0;
	gpucol_datalog_advance(parser);
	while (!gpucol_datalog_at_symbol(parser, "}"))
		gpucol_datalog_parse_item(parser);
	parser->lexer = outer.lexer;
	parser->token = outer.token;
	parser->groups = outer.groups;
	parser->ngroups = outer.ngroups;
}

/* A base is named in the scope of its heir. */
static ComponentUse *
use_in_scope(const ComponentUse *use, const DatalogScope *scope)
{
	ComponentUse *copy = palloc(sizeof(ComponentUse));
	ListCell   *lc;

	copy->name = palloc(sizeof(NamedType));
	*copy->name = *use->name;
	copy->name->scope = scope;
	copy->arguments = NIL;
	foreach(lc, use->arguments)
	{
		NamedType  *argument = palloc(sizeof(NamedType));

		*argument = *(const NamedType *) lfirst(lc);
		argument->scope = scope;
		copy->arguments = lappend(copy->arguments, argument);
	}
	return copy;
}

/*
 * Read a component and those that it inherits from.  `overridden` are the relations whose
 * rules its heirs replace.
 */
static void
instantiate(DatalogParser *parser, const ComponentUse *use, const char *prefix,
			const DatalogScope *outer, List *overridden, int level)
{
	const Component *component = find_component(parser, use->name);
	DatalogScope *scope = palloc0(sizeof(DatalogScope));
	DatalogScope *before = parser->scope;
	ListCell   *lc;

	if (level > MOST_LEVELS || ++parser->ninstances > MOST_INSTANCES)
		gpucol_datalog_error(parser->program->text, use->name->position,
							 ERRCODE_PROGRAM_LIMIT_EXCEEDED, NULL,
							 level > MOST_LEVELS ? "component \"%s\" contains itself, or more than %d levels" :
							 "component \"%s\" makes more than %d instances", component->name,
							 level > MOST_LEVELS ? MOST_LEVELS : MOST_INSTANCES);
	scope->prefix = prefix;
	scope->outer = outer;
	scope->bindings = bind_parameters(parser, component, use);
	scope->overridden = overridden;
	parser->scope = scope;
	read_body(parser, component);
	foreach(lc, component->bases)
		instantiate(parser, use_in_scope(lfirst(lc), scope), prefix, scope,
					list_concat_copy(overridden, scope->overrides), level + 1);
	gpucol_datalog_make_instances(parser, level + 1);
	parser->scope = before;
}

void
gpucol_datalog_make_instances(DatalogParser *parser, int level)
{
	const DatalogScope *scope = parser->scope;
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, scope->inits)
	{
		const Init *init = lfirst(lc);

		gpucol_datalog_poll(parser->program);
		instantiate(parser, init->use, psprintf("%s%s.", scope->prefix, init->name), scope, NIL, level);
	}
}
