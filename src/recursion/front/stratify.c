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

#include "miscadmin.h"

#include "recursion/front/ast.h"

typedef struct Vertex
{
	DatalogRelation *relation;
	List	   *reads;			/* vertices that its clauses read, of int */
	int			next;			/* of them, the next to look at */
	int			order;			/* Tarjan's visit number; 0 = not visited */
	int			low;
	bool		on_stack;
} Vertex;

typedef struct Graph
{
	const DatalogProgram *program;
	Vertex	   *nodes;
	int			nnodes;
	int		   *path;			/* vertices whose visits have begun and not ended */
	int			npath;
	int		   *stack;			/* vertices that have no component yet */
	int			nstack;
	int			visits;
	int			ncomponents;
} Graph;

/* Add the vertices that a body reads to a list. */
static List *
add_reads(List *reads, List *body)
{
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);

		if (literal->relation != NULL)
			reads = lappend_int(reads, literal->relation->vertex);
		reads = add_reads(reads, literal->body);
	}
	return reads;
}

/* Make a graph of the program. */
static void
build_graph(Graph *graph, const DatalogProgram *program)
{
	ListCell   *lc;

	memset(graph, 0, sizeof(*graph));
	graph->program = program;
	graph->nnodes = list_length(program->relations);
	graph->nodes = palloc0(sizeof(Vertex) * (graph->nnodes + 1));
	graph->path = palloc(sizeof(int) * (graph->nnodes + 1));
	graph->stack = palloc(sizeof(int) * (graph->nnodes + 1));
	foreach(lc, program->relations)
	{
		DatalogRelation *relation = lfirst(lc);

		relation->vertex = foreach_current_index(lc);
		graph->nodes[relation->vertex].relation = relation;
	}
	foreach(lc, program->clauses)
	{
		DatalogClause *clause = lfirst(lc);
		Vertex	   *node = &graph->nodes[clause->head->relation->vertex];

		node->reads = add_reads(node->reads, clause->body);
	}
}

/* ---- components ---- */

static void
begin_visit(Graph *graph, int at)
{
	Vertex	   *node = &graph->nodes[at];

	node->order = node->low = ++graph->visits;
	node->on_stack = true;
	graph->stack[graph->nstack++] = at;
	graph->path[graph->npath++] = at;
}

/* All that a vertex reads has been visited: is it the root of a component? */
static void
end_visit(Graph *graph, int at)
{
	Vertex	   *node = &graph->nodes[at];
	int			member;

	graph->npath--;
	if (graph->npath > 0)
	{
		Vertex	   *reader = &graph->nodes[graph->path[graph->npath - 1]];

		reader->low = Min(reader->low, node->low);
	}
	if (node->low != node->order)
		return;
	do
	{
		member = graph->stack[--graph->nstack];
		graph->nodes[member].on_stack = false;
		graph->nodes[member].relation->component = graph->ncomponents;
	} while (member != at);
	graph->ncomponents++;
}

/* Tarjan's algorithm from one vertex, without recursion: chains may be long. */
static void
visit(Graph *graph, int from)
{
	begin_visit(graph, from);
	while (graph->npath > 0)
	{
		int			at = graph->path[graph->npath - 1];
		Vertex	   *node = &graph->nodes[at];
		Vertex	   *other;
		int			to;

		if (node->next == list_length(node->reads))
		{
			end_visit(graph, at);
			continue;
		}
		to = list_nth_int(node->reads, node->next++);
		other = &graph->nodes[to];
		if (other->order == 0)
			begin_visit(graph, to);
		else if (other->on_stack)
			node->low = Min(node->low, other->order);
	}
}

/* ---- checks and marks ---- */

/* Refuse what needs a relation before it is finished. */
static void
check_body(const Graph *graph, const DatalogRelation *head, List *body,
		   bool finished)
{
	ListCell   *lc;

	check_stack_depth();
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
	int		   *found = graph->path;	/* marked, and what it reads not yet */
	int			nfound = 0;
	ListCell   *lc;

	for (int i = 0; i < graph->nnodes; i++)
		if (graph->nodes[i].relation->needed)
			found[nfound++] = i;
	while (nfound > 0)
		foreach(lc, graph->nodes[found[--nfound]].reads)
		{
			DatalogRelation *relation = graph->nodes[lfirst_int(lc)].relation;

			if (!relation->needed)
				found[nfound++] = lfirst_int(lc);
			relation->needed = true;
		}
}

/* Number the components of needed derived relations as strata. */
static void
number_strata(Graph *graph, DatalogProgram *program)
{
	int		   *stratum = palloc0(sizeof(int) * (graph->ncomponents + 1));

	for (int i = 0; i < graph->nnodes; i++)
	{
		DatalogRelation *relation = graph->nodes[i].relation;

		if (relation->needed && relation->derived)
			stratum[relation->component] = 1;
	}
	program->nstrata = 0;
	for (int c = 0; c < graph->ncomponents; c++)
		stratum[c] = stratum[c] ? program->nstrata++ : -1;
	for (int i = 0; i < graph->nnodes; i++)
		graph->nodes[i].relation->component =
			stratum[graph->nodes[i].relation->component];
}

/* Mark what needed relations of another stratum read. */
static void
mark_read(Graph *graph)
{
	ListCell   *lc;

	for (int i = 0; i < graph->nnodes; i++)
	{
		const DatalogRelation *reader = graph->nodes[i].relation;

		if (!reader->needed)
			continue;
		foreach(lc, graph->nodes[i].reads)
		{
			DatalogRelation *relation = graph->nodes[lfirst_int(lc)].relation;

			relation->read |= relation->component != reader->component;
		}
	}
}

void
gpucol_datalog_stratify(DatalogProgram *program)
{
	Graph		graph;
	ListCell   *lc;

	build_graph(&graph, program);
	for (int i = 0; i < graph.nnodes; i++)
		if (graph.nodes[i].order == 0)
			visit(&graph, i);
	foreach(lc, program->clauses)
	{
		DatalogClause *clause = lfirst(lc);

		program->at = clause->position;
		check_body(&graph, clause->head->relation, clause->body, false);
	}
	mark_needed(&graph);
	number_strata(&graph, program);
	mark_read(&graph);
}
