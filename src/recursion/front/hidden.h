/*-------------------------------------------------------------------------
 *
 * hidden.h
 *	  Names of a datalog clause and of the aggregates in it, and what they mean where.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_HIDDEN_H
#define GPUCOL_RECURSION_FRONT_HIDDEN_H

#include "postgres.h"

#include "utils/hsearch.h"

#include "recursion/front/ast.h"

/* A name and the variable that it means. */
typedef struct DatalogName
{
	const char *name;
	int			variable;
} DatalogName;

typedef struct DatalogNames
{
	struct DatalogNames *outer;
	HTAB	   *names;			/* of DatalogName; NULL = none yet */
	List	   *body;			/* what it is the scope of; NIL = see outer */
} DatalogNames;

/*
 * Names of an aggregate's body that also stand outside, where nothing gives them a value
 * that the aggregate could take from there.  Where it is the aggregate's own value that
 * does, they mean another variable inside (*hidden).  Where nothing does, they are the
 * values of a row that has the least or greatest value (*witnesses).
 */
extern void gpucol_datalog_find_hidden(const DatalogNames *scope, const DatalogExpr *aggregate,
									   List **hidden, List **witnesses);

/* Does a conjunction of literals give all names of a head values? */
extern bool gpucol_datalog_gives_values(List *body, const DatalogLiteral *head);

/* Visit the bodies of the aggregates of an expression. */
extern void gpucol_datalog_each_aggregate(const DatalogExpr *expr, void (*visit) (List *body));

#endif							/* GPUCOL_RECURSION_FRONT_HIDDEN_H */
