/*-------------------------------------------------------------------------
 *
 * recursion_labels.h
 *	  Strata of a recursion plan whose rules only hand labels on along edges, as
 *	  engines that need no rounds for them recognise them.
 *
 * In r(y,l) :- r(x,l), e(x,y), where r keeps the best l of each node, no label
 * changes on its way: a node ends with the best of the labels that reach it.
 * Several rules of this form, over several relations or both directions of one,
 * are the same with more edges.
 *
 * Freestanding C: may be included by C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_RECURSION_LABELS_H
#define GPUCOL_KERNEL_RECURSION_LABELS_H

#include "kernel/recursion.h"

#define GPUCOL_REC_LABEL_RULES	16	/* of one stratum, at most */

/* What one rule says: from this column of the edges to that one. */
typedef struct GpucolRecWay
{
	uint32_t	relation;
	int			from;
	int			to;
} GpucolRecWay;

/* A stratum of such rules. */
typedef struct GpucolRecLabels
{
	uint32_t	relation;		/* the labels' */
	int			key;			/* its column of the nodes; the other one has labels */
	GpucolRecWay ways[GPUCOL_REC_LABEL_RULES];
	int			nways;
} GpucolRecLabels;

/* A rule r(y,l) :- r(x,l), e(x,y), where e may have more columns. */
static inline bool
gpucol_rec_labels_rule(const GpucolRecPlan *plan, const GpucolRecLabels *shape,
					   const GpucolRecRule *rule, GpucolRecWay *way)
{
	const GpucolRecStep *steps = plan->steps + rule->steps;
	const GpucolRecOperand *atom = plan->operands + steps[0].operands;
	const GpucolRecOperand *edge;
	const GpucolRecOperand *emit;
	uint32_t	r = shape->relation;
	int			key = shape->key;

	if (rule->nsteps != 3 || steps[0].kind != GPUCOL_REC_ATOM ||
		steps[1].kind != GPUCOL_REC_ATOM || steps[2].kind != GPUCOL_REC_EMIT ||
		steps[0].relation != r || steps[0].version != GPUCOL_REC_DELTA ||
		steps[1].relation == r || steps[2].relation != r)
		return false;
	edge = plan->operands + steps[1].operands;
	emit = plan->operands + steps[2].operands;
	if (atom[0].kind != GPUCOL_REC_BIND || atom[1].kind != GPUCOL_REC_BIND ||
		emit[0].kind != GPUCOL_REC_REGISTER || emit[1].kind != GPUCOL_REC_REGISTER ||
		emit[!key].index != atom[!key].index)
		return false;
	way->relation = steps[1].relation;
	way->from = way->to = -1;
	for (int c = 0; c < steps[1].noperands; c++)
	{
		if (edge[c].kind == GPUCOL_REC_ANY)
			continue;
		if (edge[c].kind == GPUCOL_REC_REGISTER && edge[c].index == atom[key].index &&
			way->from < 0)
			way->from = c;
		else if (edge[c].kind == GPUCOL_REC_BIND && edge[c].index == emit[key].index &&
				 way->to < 0)
			way->to = c;
		else
			return false;
	}
	return way->from >= 0 && way->to >= 0;
}

/* Does the stratum derive one relation of labels, by such rules alone? */
static inline bool
gpucol_rec_labels_shape(const GpucolRecPlan *plan, uint32_t stratum, GpucolRecLabels *shape)
{
	const GpucolRecRelation *labels = NULL;
	uint32_t	i;

	shape->relation = 0;
	shape->nways = 0;
	for (i = 0; i < plan->nrelations; i++)
		if (plan->relations[i].stratum == stratum &&
			(plan->relations[i].flags & GPUCOL_REC_DERIVED))
		{
			if (labels != NULL)
				return false;
			labels = &plan->relations[i];
			shape->relation = i;
		}
	if (labels == NULL || labels->arity != 2 || labels->merge == GPUCOL_REC_MERGE_NONE)
		return false;
	shape->key = !labels->merge_column;
	for (i = 0; i < plan->nrules; i++)
		if (plan->rules[i].stratum == stratum &&
			(plan->rules[i].flags & GPUCOL_REC_RECURSIVE))
		{
			if (shape->nways == GPUCOL_REC_LABEL_RULES ||
				!gpucol_rec_labels_rule(plan, shape, &plan->rules[i],
										&shape->ways[shape->nways]))
				return false;
			shape->nways++;
		}
	return shape->nways > 0;
}

#endif							/* GPUCOL_KERNEL_RECURSION_LABELS_H */
