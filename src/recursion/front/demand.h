/*-------------------------------------------------------------------------
 *
 * demand.h
 *	  Relations of which a program needs the rows with some constants only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_DEMAND_H
#define GPUCOL_RECURSION_FRONT_DEMAND_H

#include "recursion/front/ast.h"

/* The part of a relation whose rows have these constants. */
typedef struct DatalogVariant
{
	const DatalogRelation *of;
	Bitmapset  *columns;
	DatalogExpr **values;		/* by column */
	DatalogRelation *relation;	/* that holds them; NULL: there is none, all of it is needed */
	bool		exact;			/* and no others */
} DatalogVariant;

/* A program that is being rewritten. */
typedef struct DatalogDemand
{
	DatalogProgram *program;
	List	  **clauses_of;		/* of program, by vertex of the relation */
	List	   *variants;		/* DatalogVariant */
	List	   *relations;		/* DatalogRelation: new ones */
	List	   *clauses;		/* DatalogClause: of the new program */
	Bitmapset  *whole;			/* vertices of relations that are needed in full */
	List	   *waiting;		/* of them, those whose clauses are not in clauses yet */
} DatalogDemand;

/*
 * Make rows of a relation with these constants (by column, NULL: any) the program's only
 * output: program->answer, which gpucol_datalog_demand may change.  Before stratification.
 */
extern void gpucol_datalog_ask(DatalogProgram *program, DatalogRelation *relation,
							   DatalogExpr **values);

/*
 * Rewrite a stratified program (stratify.c) so that it derives only what its outputs need
 * of it, and stratify it again.  Relations that it makes are the program's, too.
 */
extern void gpucol_datalog_demand(DatalogProgram *program);

/* ---- demand_forms.c ---- */

/*
 * Add clauses that derive the rows of a variant of a recursive relation to the program;
 * false: there is no form for it.
 */
extern bool gpucol_datalog_demand_recursive(DatalogDemand *demand, DatalogVariant *variant);

/* ---- demand.c, for demand_forms.c ---- */

extern List *gpucol_datalog_demand_clauses(const DatalogDemand *demand,
										   const DatalogRelation *relation);

/* Are two relations derived together? */
extern bool gpucol_datalog_demand_together(const DatalogRelation *a, const DatalogRelation *b);

/* Does a clause read a relation that is derived together with its own? */
extern bool gpucol_datalog_demand_is_recursive(const DatalogClause *clause);

/*
 * The body of a clause, in which relations of lower strata have given way to variants
 * where that is possible: new literals with the arguments of the old ones.
 */
extern List *gpucol_datalog_demand_body(DatalogDemand *demand, const DatalogClause *clause);

/* A relation for the program, not yet added to it. */
extern DatalogRelation *gpucol_datalog_demand_relation(const DatalogRelation *like, char *name,
													   const Bitmapset *columns);

/* A clause like another, for a relation, with these arguments and body. */
extern DatalogClause *gpucol_datalog_demand_clause(const DatalogClause *like,
												   DatalogRelation *relation, List *args,
												   List *body);

/* An atom of a relation at the place of another. */
extern DatalogLiteral *gpucol_datalog_demand_atom(const DatalogLiteral *like,
												  DatalogRelation *relation, List *args);

/*
 * A clause for the relation of a variant, of which only the rows with its constants are
 * derived; NULL: it derives none of them.
 */
extern DatalogClause *gpucol_datalog_demand_restrict(DatalogDemand *demand,
													 const DatalogVariant *variant,
													 const DatalogClause *clause,
													 const Bitmapset *columns);

#endif							/* GPUCOL_RECURSION_FRONT_DEMAND_H */
