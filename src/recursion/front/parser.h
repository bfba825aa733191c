/*-------------------------------------------------------------------------
 *
 * parser.h
 *	  What the files of the datalog parser share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_PARSER_H
#define GPUCOL_RECURSION_FRONT_PARSER_H

#include "postgres.h"

#include "recursion/front/ast.h"
#include "recursion/front/lexer.h"
#include "recursion/front/scope.h"

/* A pair of parentheses, or of braces. */
typedef struct DatalogGroup
{
	int			position;		/* where it opens */
	bool		is_operand;		/* an operator or a comparison follows it */
	bool		is_list;		/* "," is inside, in no group of its own */
} DatalogGroup;

typedef struct DatalogParser
{
	DatalogLexer lexer;
	DatalogToken token;			/* the next one */
	DatalogProgram *program;
	DatalogScope *scope;		/* of what is being read */
	int			ninstances;		/* of components, so far */
	List	   *aliases;		/* parser_types.c: types by name */
	List	   *attribute_types;	/* likewise: types of attributes */
	List	   *marks;			/* Mark */
	List	   *functors;		/* user_functors.c: that are declared */
	int			noperators;		/* of the clause so far */
	DatalogGroup *groups;		/* that were looked at, by position */
	int			ngroups;
} DatalogParser;

/* ---- parser.c: tokens ---- */

/* Complain about a place; about what is not supported; about the next token. */
pg_noreturn extern void gpucol_datalog_fail(DatalogParser *parser, int position,
											const char *hint, const char *message);
pg_noreturn extern void gpucol_datalog_unsupported(DatalogParser *parser, int position,
												   const char *what);
pg_noreturn extern void gpucol_datalog_unexpected(DatalogParser *parser, const char *wanted);

/* Go on to the next token. */
extern void gpucol_datalog_advance(DatalogParser *parser);

/* Is the next token this symbol, or name?  The one behind it? */
extern bool gpucol_datalog_at_symbol(DatalogParser *parser, const char *symbol);
extern bool gpucol_datalog_at_name(DatalogParser *parser, const char *name);
extern bool gpucol_datalog_followed_by(DatalogParser *parser, const char *symbol);

/* Read a symbol if it is there, or else complain; read any name. */
extern bool gpucol_datalog_accept(DatalogParser *parser, const char *symbol);
extern void gpucol_datalog_expect(DatalogParser *parser, const char *symbol);
extern void gpucol_datalog_expect_more(DatalogParser *parser);	/* ",", or ")" ahead */
extern char *gpucol_datalog_expect_name(DatalogParser *parser, const char *what);

/* The same for names of names, with dots between: x.y */
extern char *gpucol_datalog_expect_dotted(DatalogParser *parser, const char *what);
extern bool gpucol_datalog_at_dotted(DatalogParser *parser);

/*
 * The group that opens at a position; each is read ahead once, with all groups inside.
 */
extern const DatalogGroup *gpucol_datalog_group(DatalogParser *parser, int position);

/* A directive or a clause. */
extern void gpucol_datalog_parse_item(DatalogParser *parser);

/* ---- parser_types.c ---- */

/* The name of a type; name: type, ... up to the symbol `end`, which is read. */
extern const NamedType *gpucol_datalog_parse_type(DatalogParser *parser);
extern void gpucol_datalog_parse_attributes(DatalogParser *parser, const char *end,
											List **names, List **types);

/* Attributes of these names (char *) and types (NamedType, resolved later). */
extern DatalogAttribute *gpucol_datalog_make_attributes(DatalogParser *parser, List *names,
														List *types);

/*
 * .type A = B | C, .type A <: B, .type A = [fields], .type A = B {fields} | C {fields};
 * .number_type A and the like: of one primitive type.
 */
extern void gpucol_datalog_parse_type_alias(DatalogParser *parser, const char *primitive);

/* The type that a name stands for in the end; those of all attributes and aliases. */
extern DatalogType gpucol_datalog_resolve_type(DatalogParser *parser, const NamedType *name);
extern void gpucol_datalog_resolve_types(DatalogParser *parser);

/*
 * A branch of an algebraic data type by its name, or NULL: of the scope or of one around it,
 * else of whichever has it.
 */
extern const DatalogBranch *gpucol_datalog_find_branch(const DatalogProgram *program,
													   const DatalogScope *scope,
													   const char *name);

/* ---- user_functors.c ---- */

/* .functor, behind the word; the functor of a call @name(..), whose arguments are known. */
extern void gpucol_datalog_parse_functor(DatalogParser *parser);
extern void gpucol_datalog_resolve_functor(DatalogParser *parser, DatalogExpr *call);

/* ---- components.c ---- */

/* .comp, .init, .override, behind the word. */
extern void gpucol_datalog_parse_component(DatalogParser *parser);
extern void gpucol_datalog_parse_init(DatalogParser *parser);
extern void gpucol_datalog_parse_override(DatalogParser *parser);

/* Read the instances that the parser's scope asks for. */
extern void gpucol_datalog_make_instances(DatalogParser *parser, int level);

/* What a parameter of the scope's component stands for, or NULL. */
extern const NamedType *gpucol_datalog_bound(const DatalogScope *scope, const char *name);

/* Does an heir replace the rules of a relation? */
extern bool gpucol_datalog_is_overridden(const DatalogScope *scope, const char *name);

/* ---- parser_clause.c ---- */

/* A fact, a rule or a subsumption, added to the program; literals separated by ",". */
extern void gpucol_datalog_parse_clause(DatalogParser *parser);
extern List *gpucol_datalog_parse_body(DatalogParser *parser);
extern DatalogLiteral *gpucol_datalog_parse_atom(DatalogParser *parser, DatalogLiteralKind kind);

/* ---- parser_expr.c ---- */

/* A node; an expression; the call of a functor. */
extern DatalogExpr *gpucol_datalog_make_expr(DatalogExprKind kind, int position);
extern DatalogExpr *gpucol_datalog_parse_expr(DatalogParser *parser);
extern DatalogExpr *gpucol_datalog_parse_call(DatalogParser *parser);

/*
 * The number of the operator of two operands, of a level or (-1) of any, at which
 * the parser is, or -1.
 */
extern int	gpucol_datalog_at_operator(DatalogParser *parser, int level);

#endif							/* GPUCOL_RECURSION_FRONT_PARSER_H */
