/*-------------------------------------------------------------------------
 *
 * scope.h
 *	  Where the names of a datalog program are looked up.
 *
 * The program is one scope, each instance of a component another inside the scope that
 * .init stands in, and each component that an instance inherits from one inside that of
 * the heir, with the same prefix.  A relation or type R of an instance x is named x.R.
 * A name is looked up with the prefix of its own scope, then with those of the scopes
 * around it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_SCOPE_H
#define GPUCOL_RECURSION_FRONT_SCOPE_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* A type, or a component, as the program names it: resolved when all of them are known. */
typedef struct NamedType
{
	char	   *name;
	int			position;
	const struct DatalogScope *scope;
} NamedType;

/* What a parameter of a component stands for in an instance. */
typedef struct DatalogBinding
{
	const char *parameter;
	const NamedType *actual;
} DatalogBinding;

typedef struct DatalogScope
{
	const char *prefix;			/* "", or the instance's name and a dot */
	const struct DatalogScope *outer;	/* NULL: the program */
	List	   *bindings;		/* DatalogBinding */
	List	   *components;		/* components.c: defined here */
	List	   *inits;			/* likewise: instances to be made */
	List	   *overrides;		/* char *: relations whose rules replace those inherited */
	List	   *overridden;		/* char *: relations whose rules here are left out */
} DatalogScope;

#endif							/* GPUCOL_RECURSION_FRONT_SCOPE_H */
