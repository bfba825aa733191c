/*-------------------------------------------------------------------------
 *
 * parser_types.c
 *	  Types of datalog programs: .type and its relatives, and what names of types
 *	  stand for.
 *
 * Names are resolved when the whole program has been read, so that declarations may
 * stand in any order.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "recursion/front/parser.h"

struct DatalogTypeAlias
{
	char	   *name;			/* with the prefix of its scope */
	List	   *members;		/* NamedType; NIL: a type of its own */
	DatalogType type;			/* UNKNOWN until resolved */
	bool		resolving;
};

typedef struct DatalogTypeAlias TypeAlias;

/* An attribute's type, until it is resolved. */
typedef struct AttributeType
{
	DatalogAttribute *attribute;
	const NamedType *type;
} AttributeType;

const char *
gpucol_datalog_type_name(DatalogType type)
{
	switch (type)
	{
		case DATALOG_NUMBER:
			return "number";
		case DATALOG_UNSIGNED:
			return "unsigned";
		case DATALOG_FLOAT:
			return "float";
		case DATALOG_SYMBOL:
			return "symbol";
		case DATALOG_UNKNOWN:
			return "unknown";
		default:
			return "a record";
	}
}

/* A primitive type by its name, else UNKNOWN. */
static DatalogType
find_primitive(const char *name)
{
	static const DatalogType types[] = {
		DATALOG_NUMBER, DATALOG_UNSIGNED, DATALOG_FLOAT, DATALOG_SYMBOL
	};

	for (int i = 0; i < (int) lengthof(types); i++)
		if (strcmp(name, gpucol_datalog_type_name(types[i])) == 0)
			return types[i];
	return DATALOG_UNKNOWN;
}

/* The type of a full name, or NULL. */
static TypeAlias *
find_alias(const DatalogParser *parser, const char *prefix, const char *name)
{
	size_t		length = strlen(prefix);
	ListCell   *lc;

	foreach(lc, parser->aliases)
	{
		TypeAlias  *alias = lfirst(lc);

		if (strncmp(alias->name, prefix, length) == 0 &&
			strcmp(alias->name + length, name) == 0)
			return alias;
	}
	return NULL;
}

/* What a name means where it stands: a type, or by *actual what a parameter is bound to. */
static TypeAlias *
look_up(const DatalogParser *parser, const NamedType *name, const NamedType **actual)
{
	*actual = NULL;
	for (const DatalogScope *scope = name->scope; scope != NULL; scope = scope->outer)
	{
		TypeAlias  *alias;

		*actual = gpucol_datalog_bound(scope, name->name);
		if (*actual != NULL)
			return NULL;
		alias = find_alias(parser, scope->prefix, name->name);
		if (alias != NULL)
			return alias;
	}
	return NULL;
}

/* The type of an alias, whose members are of one primitive type. */
static DatalogType
resolve_members(DatalogParser *parser, TypeAlias *alias)
{
	ListCell   *lc;

	alias->resolving = true;
	foreach(lc, alias->members)
	{
		const NamedType *member = lfirst(lc);
		DatalogType type = gpucol_datalog_resolve_type(parser, member);

		if (alias->type == DATALOG_UNKNOWN)
			alias->type = type;
		else if (type != alias->type)
			gpucol_datalog_error(parser->program->text, member->position,
								 ERRCODE_DATATYPE_MISMATCH, NULL,
								 "union of different primitive types");
	}
	alias->resolving = false;
	return alias->type;
}

DatalogType
gpucol_datalog_resolve_type(DatalogParser *parser, const NamedType *name)
{
	DatalogType type = find_primitive(name->name);
	const NamedType *actual;
	TypeAlias  *alias;

	if (type != DATALOG_UNKNOWN)
		return type;
	check_stack_depth();
	alias = look_up(parser, name, &actual);
	if (actual != NULL)
		return gpucol_datalog_resolve_type(parser, actual);
	if (alias == NULL)
		gpucol_datalog_error(parser->program->text, name->position,
							 ERRCODE_UNDEFINED_OBJECT,
							 "Types are number, unsigned, float, symbol and those that .type names.",
							 "type \"%s\" is not defined", name->name);
	if (alias->resolving)
		gpucol_datalog_error(parser->program->text, name->position,
							 ERRCODE_INVALID_OBJECT_DEFINITION, NULL,
							 "type \"%s\" is defined by itself", name->name);
	return alias->type != DATALOG_UNKNOWN ? alias->type : resolve_members(parser, alias);
}

void
gpucol_datalog_resolve_types(DatalogParser *parser)
{
	ListCell   *lc;

	foreach(lc, parser->aliases)
	{
		TypeAlias  *alias = lfirst(lc);

		if (alias->type == DATALOG_UNKNOWN)
			(void) resolve_members(parser, alias);
	}
	foreach(lc, parser->attribute_types)
	{
		AttributeType *reference = lfirst(lc);

		reference->attribute->type = gpucol_datalog_resolve_type(parser, reference->type);
	}
}

const NamedType *
gpucol_datalog_parse_type(DatalogParser *parser)
{
	NamedType  *type = palloc(sizeof(NamedType));

	type->position = parser->token.position;
	type->scope = parser->scope;
	if (gpucol_datalog_at_symbol(parser, "["))
		gpucol_datalog_unsupported(parser, type->position, "a record type without a name is");
	type->name = gpucol_datalog_expect_dotted(parser, "a type");
	return type;
}

/* An attribute's name, which none of those before it has. */
static char *
parse_attribute_name(DatalogParser *parser, List *names)
{
	int			position = parser->token.position;
	char	   *name = gpucol_datalog_expect_name(parser, "the name of an attribute");
	ListCell   *lc;

	if (list_length(names) > GPUCOL_REC_MAX_ARITY)
		return name;			/* more than a relation may have: an error by and by */
	foreach(lc, names)
	{
		if (strcmp(lfirst(lc), name) == 0)
			gpucol_datalog_error(parser->program->text, position,
								 ERRCODE_DUPLICATE_COLUMN, NULL,
								 "attribute \"%s\" is declared twice", name);
	}
	return name;
}

void
gpucol_datalog_parse_attributes(DatalogParser *parser, const char *end, List **names, List **types)
{
	*names = *types = NIL;
	while (!gpucol_datalog_at_symbol(parser, end))
	{
		*names = lappend(*names, parse_attribute_name(parser, *names));
		gpucol_datalog_expect(parser, ":");
		*types = lappend(*types, (void *) gpucol_datalog_parse_type(parser));
		if (!gpucol_datalog_at_symbol(parser, end) && !gpucol_datalog_accept(parser, ","))
			gpucol_datalog_unexpected(parser, psprintf("\",\" or \"%s\"", end));
	}
	gpucol_datalog_advance(parser);
}

DatalogAttribute *
gpucol_datalog_make_attributes(DatalogParser *parser, List *names, List *types)
{
	DatalogAttribute *attributes = palloc0(sizeof(DatalogAttribute) *
										   Max(list_length(names), 1));
	ListCell   *lc;
	ListCell   *lc2;

	forboth(lc, names, lc2, types)
	{
		AttributeType *reference = palloc(sizeof(AttributeType));

		reference->attribute = &attributes[foreach_current_index(lc)];
		reference->attribute->name = lfirst(lc);
		reference->type = lfirst(lc2);
		parser->attribute_types = lappend(parser->attribute_types, reference);
	}
	return attributes;
}

/* A record type, or the first branch of an algebraic data type, becomes a type. */
static DatalogRecordType *
make_record_type(DatalogParser *parser, TypeAlias *alias)
{
	DatalogRecordType *record = palloc0(sizeof(DatalogRecordType));

	record->name = alias->name;
	alias->type = (DatalogType) (DATALOG_RECORD + list_length(parser->program->records));
	parser->program->records = lappend(parser->program->records, record);
	return record;
}

/* The fields of a record or branch, up to the closing bracket `end`. */
static void
parse_branch(DatalogParser *parser, TypeAlias *alias, DatalogRecordType *record, char *name,
			 const char *end)
{
	DatalogBranch *branch = palloc0(sizeof(DatalogBranch));
	List	   *names;
	List	   *types;

	branch->name = name;
	branch->type = alias->type;
	branch->scope = parser->scope;
	branch->number = list_length(record->branches);
	gpucol_datalog_parse_attributes(parser, end, &names, &types);
	branch->nfields = list_length(names);
	branch->fields = gpucol_datalog_make_attributes(parser, names, types);
	record->branches = lappend(record->branches, branch);
}

/* A branch of that name defined in one scope, or (NULL) in any. */
static const DatalogBranch *
find_branch_of(const DatalogProgram *program, const DatalogScope *scope, const char *name)
{
	ListCell   *lc;
	ListCell   *inner;

	foreach(lc, program->records)
		foreach(inner, ((DatalogRecordType *) lfirst(lc))->branches)
		{
			const DatalogBranch *branch = lfirst(inner);

			if (branch->name != NULL && strcmp(branch->name, name) == 0 &&
				(scope == NULL || strcmp(branch->scope->prefix, scope->prefix) == 0))
				return branch;
		}
	return NULL;
}

/* The name of a branch says of which type of its scope it is. */
static void
check_branch_name(DatalogParser *parser, const char *name, int position)
{
	if (find_branch_of(parser->program, parser->scope, name) != NULL)
		gpucol_datalog_error(parser->program->text, position, ERRCODE_DUPLICATE_OBJECT, NULL,
							 "branch \"%s\" is defined twice", name);
}

/*
 * A { fields } | B { fields } ..., at the first brace; `name`, at `position`, is that of the
 * first branch.
 */
static void
parse_branches(DatalogParser *parser, TypeAlias *alias, char *name, int position)
{
	DatalogRecordType *record = make_record_type(parser, alias);

	for (;;)
	{
		check_branch_name(parser, name, position);
		gpucol_datalog_expect(parser, "{");
		parse_branch(parser, alias, record, name, "}");
		if (!gpucol_datalog_accept(parser, "|"))
			return;
		position = parser->token.position;
		name = gpucol_datalog_expect_name(parser, "the name of a branch");
	}
}

/* What stands behind the name and "=" or "<:" of a type. */
static void
parse_definition(DatalogParser *parser, TypeAlias *alias)
{
	if (gpucol_datalog_accept(parser, "["))
	{
		parse_branch(parser, alias, make_record_type(parser, alias), NULL, "]");
		return;
	}
	do
	{
		int			position = parser->token.position;
		const NamedType *member = gpucol_datalog_parse_type(parser);

		if (alias->members == NIL && gpucol_datalog_at_symbol(parser, "{"))
		{
			parse_branches(parser, alias, member->name, position);
			return;
		}
		alias->members = lappend(alias->members, (void *) member);
	} while (gpucol_datalog_accept(parser, "|"));
}

void
gpucol_datalog_parse_type_alias(DatalogParser *parser, const char *primitive)
{
	TypeAlias  *alias = palloc0(sizeof(TypeAlias));
	int			position = parser->token.position;
	char	   *name = gpucol_datalog_expect_name(parser, "the name of the type");

	if (find_primitive(name) != DATALOG_UNKNOWN ||
		find_alias(parser, parser->scope->prefix, name) != NULL)
		gpucol_datalog_error(parser->program->text, position,
							 ERRCODE_DUPLICATE_OBJECT, NULL,
							 "type \"%s\" is defined twice", name);
	alias->name = psprintf("%s%s", parser->scope->prefix, name);
	if (primitive != NULL)
		alias->type = find_primitive(primitive);
	else
	{
		if (!gpucol_datalog_accept(parser, "<:"))
			gpucol_datalog_expect(parser, "=");
		parse_definition(parser, alias);
	}
	parser->aliases = lappend(parser->aliases, alias);
}

const DatalogBranch *
gpucol_datalog_find_branch(const DatalogProgram *program, const DatalogScope *scope,
						   const char *name)
{
	const DatalogBranch *branch = NULL;

	for (; scope != NULL && branch == NULL; scope = scope->outer)
		branch = find_branch_of(program, scope, name);
	return branch != NULL ? branch : find_branch_of(program, NULL, name);
}
