/*-------------------------------------------------------------------------
 *
 * stratify.c
 *	  Strata of a datalog program: the strongly connected components of the
 *	  graph "head depends on body relation", dependencies first.
 *
 * Negation and aggregation need a finished relation, so neither may stay
 * inside a component.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "datalog/ast.h"
#include "miscadmin.h"

typedef struct Vertex
{
	DatalogRelation *relation;
	List	   *clauses;		/* that derive it */
	int			order;			/* Tarjan's visit number; 0 = not visited */
	int			low;
	bool		on_stack;
} Vertex;

typedef struct Graph
{
	const DatalogProgram *program;
	Vertex	   *nodes;
	int			nnodes;
	List	   *stack;			/* of int */
	int			visits;
	int			ncomponents;
} Graph;

/* Relations that a body reads, as node numbers. */
static List *
body_nodes(const Graph *graph, List *body)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);

		if (literal->relation != NULL)
			result = lappend_int(result, literal->relation->vertex);
		result = list_concat(result, body_nodes(graph, literal->body));
	}
	return result;
}

static void
visit(Graph *graph, int at)
{
	Vertex	   *node = &graph->nodes[at];
	ListCell   *lc;
	ListCell   *to;
	int			member;

	check_stack_depth();
	node->order = node->low = ++graph->visits;
	node->on_stack = true;
	graph->stack = lappend_int(graph->stack, at);
	foreach(lc, node->clauses)
		foreach(to, body_nodes(graph, ((DatalogClause *) lfirst(lc))->body))
		{
			Vertex	   *other = &graph->nodes[lfirst_int(to)];

			if (other->order == 0)
			{
				visit(graph, lfirst_int(to));
				node->low = Min(node->low, other->low);
			}
			else if (other->on_stack)
				node->low = Min(node->low, other->order);
		}
	if (node->low != node->order)
		return;
	do
	{
		member = llast_int(graph->stack);
		graph->stack = list_delete_last(graph->stack);
		graph->nodes[member].on_stack = false;
		graph->nodes[member].relation->component = graph->ncomponents;
	} while (member != at);
	graph->ncomponents++;
}

/* Refuse what needs a relation before it is finished. */
static void
check_body(const Graph *graph, const DatalogRelation *head, List *body,
		   bool finished)
{
	ListCell   *lc;

	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);

		if (literal->relation != NULL &&
			literal->relation->component == head->component &&
			(finished || literal->kind == DATALOG_NEGATION))
			gpucol_datalog_error(graph->program->text, literal->position,
								 ERRCODE_INVALID_RECURSION,
								 finished ?
								 "A least or greatest value in a recursion can be kept by subsumption: R(k, a) <= R(k, b) :- b < a." :
								 NULL,
								 "relation \"%s\" depends on %s \"%s\" through recursion: the program has no strata",
								 head->name,
								 finished ? "an aggregate over" :
								 "the negation of",
								 literal->relation->name);
		check_body(graph, head, literal->body, true);
	}
}

/* Mark all that a needed relation is derived from. */
static void
mark_needed(Graph *graph)
{
	bool		changed = true;
	ListCell   *lc;
	ListCell   *to;

	while (changed)
	{
		changed = false;
		foreach(lc, graph->program->clauses)
		{
			DatalogClause *clause = lfirst(lc);

			if (!clause->head->relation->needed)
				continue;
			foreach(to, body_nodes(graph, clause->body))
			{
				DatalogRelation *relation =
					graph->nodes[lfirst_int(to)].relation;

				changed |= !relation->needed;
				relation->needed = true;
			}
		}
	}
}

/* Number the components of needed derived relations as strata. */
static void
number_strata(Graph *graph, DatalogProgram *program)
{
	int		   *stratum = palloc(sizeof(int) * (graph->ncomponents + 1));
	int			c;
	int			i;

	program->nstrata = 0;
	for (c = 0; c < graph->ncomponents; c++)
	{
		stratum[c] = -1;
		for (i = 0; i < graph->nnodes; i++)
		{
			DatalogRelation *relation = graph->nodes[i].relation;

			if (relation->component == c && relation->needed &&
				relation->derived && stratum[c] < 0)
				stratum[c] = program->nstrata++;
		}
	}
	for (i = 0; i < graph->nnodes; i++)
		graph->nodes[i].relation->component =
			stratum[graph->nodes[i].relation->component];
}

void
gpucol_datalog_stratify(DatalogProgram *program)
{
	Graph		graph = {.program = program};
	ListCell   *lc;
	int			i;

	graph.nnodes = list_length(program->relations);
	graph.nodes = palloc0(sizeof(Vertex) * (graph.nnodes + 1));
	foreach(lc, program->relations)
	{
		i = foreach_current_index(lc);
		graph.nodes[i].relation = lfirst(lc);
		graph.nodes[i].relation->vertex = i;
	}
	foreach(lc, program->clauses)
	{
		DatalogClause *clause = lfirst(lc);
		Vertex	   *node = &graph.nodes[clause->head->relation->vertex];

		node->clauses = lappend(node->clauses, clause);
	}
	for (i = 0; i < graph.nnodes; i++)
		if (graph.nodes[i].order == 0)
			visit(&graph, i);
	foreach(lc, program->clauses)
	{
		DatalogClause *clause = lfirst(lc);

		check_body(&graph, clause->head->relation, clause->body, false);
	}
	mark_needed(&graph);
	number_strata(&graph, program);
}
