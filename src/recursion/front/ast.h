/*-------------------------------------------------------------------------
 *
 * ast.h
 *	  Datalog programs as the parser reads them and as the later passes
 *	  annotate them.
 *
 * Passes, in order: parse (parser.c) -> normalise (normalise.c: one clause for
 * each head and alternative, arguments that are variables or constants,
 * aggregates as literals of their own) -> check (check.c: types, safety) ->
 * stratify (stratify.c) -> plan (plan.c: a GpucolRecPlan).
 *
 * Everything lives in the memory context that the parser was called in, and is counted.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_AST_H
#define GPUCOL_RECURSION_FRONT_AST_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

#include "compat.h"
#include "kernel/recursion.h"
#include "recursion/front/run.h"

/* Base type of an attribute, a variable or an expression. */
typedef enum DatalogType
{
	DATALOG_UNKNOWN,
	DATALOG_NUMBER,				/* int8 */
	DATALOG_UNSIGNED,			/* 64 bit */
	DATALOG_FLOAT,				/* float8 */
	DATALOG_SYMBOL,				/* text */
	DATALOG_RECORD				/* this and those above: program->records[type -
								 * DATALOG_RECORD] */
} DatalogType;

typedef struct DatalogAttribute
{
	char	   *name;
	DatalogType type;
} DatalogAttribute;

struct DatalogScope;			/* scope.h */

/* The fields of a record, or of one branch of an algebraic data type. */
typedef struct DatalogBranch
{
	char	   *name;			/* NULL: a record's only one */
	DatalogType type;			/* the type that it belongs to */
	int			number;			/* in its type */
	int			nfields;
	DatalogAttribute *fields;
	const struct DatalogScope *scope;	/* in which it is defined */
} DatalogBranch;

/* A record type, or an algebraic data type. */
typedef struct DatalogRecordType
{
	char	   *name;
	List	   *branches;		/* DatalogBranch */
} DatalogRecordType;

typedef struct DatalogRelation
{
	char	   *name;
	int			position;		/* byte offset of the declaration */
	int			arity;
	DatalogAttribute *attributes;
	bool		input;			/* .input */
	bool		optional;		/* input without .input: empty where there is no table */
	bool		skip_nulls;		/* rows with a null are left out of an input */
	bool		output;			/* .output or .printsize */
	bool		derived;		/* head of some clause */
	bool		marked_inline;	/* inline.c: the program says so, */
	bool		open;			/* and it cannot be derived by itself; */
	bool		named;			/* what is left names it */
	bool		folded;			/* inline.c: its rule stands in the place of atoms */
	List	   *choices;		/* choice-domain: ints, of columns as bits */
	GpucolRecMerge merge;		/* by subsumption */
	int			merge_column;

	/* later passes */
	bool		needed;			/* by the outputs asked for */
	bool		read;			/* by clauses of another stratum */
	int			component;		/* strongly connected component = stratum */
	uint16		number;			/* in the plan */
	int			vertex;			/* stratify.c: in the graph */
	bool		few;			/* demand.c: what is asked for, few rows to begin with */
	double		rows;			/* known or estimated */
	bool		repeats;		/* an input of which many rows are there more than once */
	bool		aggregated;		/* read by an aggregate, which counts each row once */
	double	   *distinct;		/* values of each column */
} DatalogRelation;

typedef enum DatalogExprKind
{
	DATALOG_VARIABLE,
	DATALOG_WILDCARD,			/* _ */
	DATALOG_CONSTANT,
	DATALOG_CALL,				/* function of up to three arguments */
	DATALOG_AGGREGATE,			/* gone after normalisation */
	DATALOG_TUPLE				/* a record: gone after normalisation */
} DatalogExprKind;

/* Arguments of a function. */
#define DATALOG_MAX_ARGS	3

typedef struct DatalogExpr
{
	DatalogExprKind kind;
	int			position;
	DatalogType type;			/* constants: UNKNOWN for an integer that fits
								 * several types, until checked */
	char	   *name;			/* variable; constant: its text */
	int			variable;		/* after normalisation: number in the clause */
	double		real;			/* constants: as a float */
	int64		value;			/* constants: as an integer, or its bits */
	bool		is_real;		/* written with a point or exponent */
	bool		is_unsigned;	/* written with suffix u */
	bool		is_string;
	bool		is_nil;			/* the record that has no fields */
	bool		is_mean;		/* AGGREGATE: the sum over the count */
	GpucolRecFunction function; /* CALL, AGGREGATE; HOST: the functor */
	const struct DatalogFunctor *functor;	/* functors.h */
	struct DatalogExpr *args[DATALOG_MAX_ARGS]; /* AGGREGATE: [0] or NULL */
	List	   *body;			/* AGGREGATE: DatalogLiteral; TUPLE: DatalogExpr */
	const DatalogBranch *branch;	/* TUPLE, and calls made of it: where it is named */
	const struct DatalogScope *scope;	/* TUPLE: in which its branch is named */
	const struct NamedType *cast;	/* CALL: as(.., type) until it is resolved */
} DatalogExpr;

typedef enum DatalogLiteralKind
{
	DATALOG_ATOM,
	DATALOG_NEGATION,
	DATALOG_CONSTRAINT,			/* left function right */
	DATALOG_TRUTH,				/* true, false: gone after normalisation */
	DATALOG_OR,					/* gone after normalisation */
	DATALOG_REDUCTION			/* variable = aggregate over body */
} DatalogLiteralKind;

typedef struct DatalogLiteral
{
	DatalogLiteralKind kind;
	int			position;
	char	   *name;			/* ATOM, NEGATION */
	const struct DatalogScope *scope;	/* in which the name is looked up */
	DatalogRelation *relation;
	List	   *args;			/* DatalogExpr */
	GpucolRecFunction function; /* CONSTRAINT, REDUCTION */
	DatalogExpr *left;			/* CONSTRAINT; REDUCTION: aggregated, or NULL */
	DatalogExpr *right;
	bool		truth;
	List	   *alternatives;	/* OR: lists of DatalogLiteral */
	int			variable;		/* REDUCTION: its result */
	List	   *body;			/* REDUCTION */
	int			local_from;		/* REDUCTION: variables of its body alone: */
	int			local_to;		/* [local_from, local_to) */
} DatalogLiteral;

typedef struct DatalogClause
{
	int			position;
	List	   *heads;			/* parser: DatalogLiteral, ATOM */
	bool		subsumption;	/* parser: heads are R(..) <= R(..) */
	DatalogLiteral *head;		/* after normalisation */
	List	   *body;
	int			nvariables;		/* after normalisation */
	char	  **names;			/* NULL for those that normalisation made */
	int		   *positions;		/* first use */
	DatalogType *types;			/* after check */
} DatalogClause;

typedef struct DatalogProgram
{
	const char *text;
	GpucolRecursionMemory *memory;	/* in which all of it is counted */
	List	   *relations;		/* DatalogRelation */
	List	   *clauses;		/* DatalogClause */
	List	   *records;		/* DatalogRecordType, by type */
	struct relationnames_hash *names;	/* parser.c: relations by name */
	int			at;				/* what is being worked on, for errors that name
								 * no place */
	int			nstrata;		/* after stratification */
	bool		numbers;		/* it calls autoinc(), once for each match */
	DatalogRelation *answer;	/* demand.c: the one to be read, where it is asked
								 * for values, or NULL */
} DatalogProgram;

/* Raise an error about a place (byte offset) of the program. */
pg_noreturn extern void gpucol_datalog_error(const char *text, int position,
											 int sqlerrcode, const char *hint,
											 const char *fmt,...)
			pg_attribute_printf(5, 6);

/*
 * Callback of error contexts, with the program: names the line of program->at where an
 * error names no place of the program itself.
 */
extern void gpucol_datalog_context(void *program);

/* The line, from 1 on, of a place, and the byte offset at which it begins. */
extern int	gpucol_datalog_line(const char *text, int position, int *start);

/*
 * parser.c: text to program; checks names and numbers of arguments.  All that a program
 * needs, there and later, is allocated in the memory context that `memory` counts.
 */
extern DatalogProgram *gpucol_datalog_parse(const char *text, GpucolRecursionMemory *memory);

/* Raise interrupts, and the error of a program that needs too much memory. */
extern void gpucol_datalog_poll(const DatalogProgram *program);
extern DatalogRelation *gpucol_datalog_find(const DatalogProgram *program,
											const char *name);
extern const char *gpucol_datalog_type_name(DatalogType type);

/* subsumption.c: have the relations of subsumption clauses keep what they leave. */
extern void gpucol_datalog_subsume(DatalogProgram *program);

/* inline.c: replace atoms of relations marked so by their rules. */
extern void gpucol_datalog_inline(DatalogProgram *program);

/* A body with all that is inside it, and the suffix behind each name of a variable. */
extern List *gpucol_datalog_copy_body(List *body, const char *suffix);

/* normalise.c */
extern void gpucol_datalog_normalise(DatalogProgram *program);

/* A literal of a body that compares two expressions. */
extern DatalogLiteral *gpucol_datalog_comparison(GpucolRecFunction function, DatalogExpr *left,
												 DatalogExpr *right, int position);

/*
 * Variables of an expression, or of a literal with all that is inside it, as
 * bits of a set.
 */
extern Bitmapset *gpucol_datalog_expr_variables(Bitmapset *set,
												const DatalogExpr *expr);
extern Bitmapset *gpucol_datalog_literal_variables(Bitmapset *set,
												   const DatalogLiteral *literal);

/* By variable, the literals of a body that mention it, as a list of positions. */
extern List **gpucol_datalog_uses(List *body, int nvariables);

/* What a REDUCTION needs from outside its body. */
extern Bitmapset *gpucol_datalog_injected(const DatalogLiteral *literal);

/* Is a clause a row of constants?  Such rows are loaded, not planned. */
extern bool gpucol_datalog_is_fact(const DatalogClause *clause);

/*
 * check.c: types and safety of all clauses; the variables that a body of a clause gives
 * values to.
 */
extern Bitmapset *gpucol_datalog_bound_by(const DatalogProgram *program,
										  const DatalogClause *clause, List *body);
extern void gpucol_datalog_check(DatalogProgram *program);

/*
 * stratify.c: mark what the needed relations depend on, number strata; errors
 * for negation or aggregation through recursion.
 */
extern void gpucol_datalog_stratify(DatalogProgram *program);

/*
 * plan.c: the plan of the needed part.  rows and distinct of input relations
 * must be set.  symbol() gives the code of a string constant.  *hosts becomes the
 * List of DatalogHost (functors.h) that the plan has computed, *clauses that of the
 * DatalogClauses that its rules are made of.
 */
extern GpucolRecPlan *gpucol_datalog_plan(DatalogProgram *program,
										  int64 (*symbol) (void *context,
														   const char *text),
										  void *context, List **hosts,
										  List **clauses);

#endif							/* GPUCOL_RECURSION_FRONT_AST_H */
