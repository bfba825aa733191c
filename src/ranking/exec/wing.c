/*-------------------------------------------------------------------------
 *
 * wing.c
 *	  Ranking as the main building sees it (plan/wing.h, exec/ranked.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ranking/exec/ordinary.h"
#include "ranking/exec/node.h"
#include "ranking/exec/wing.h"
#include "ranking/plan/ranking.h"

static GpucolRankings *
make(void)
{
	return palloc0(sizeof(GpucolRankings));
}

static const GpucolRankedOps node_ops = {
	.doubtful_labels = gpucol_ranking_doubtful_labels,
	.make = make,
	.lower = gpucol_ranking_lower,
	.create = gpucol_rank_node_create,
	.shape = gpucol_rank_node_shape,
	.take = gpucol_rank_node_take,
	.next = gpucol_rank_node_next,
	.datums = gpucol_rank_node_datums,
	.ordinary_create = gpucol_ordinary_create,
	.ordinary_run = gpucol_ordinary_run,
	.ordinary_find = gpucol_ordinary_find,
	.ordinary_states = gpucol_ordinary_states,
};

static const GpucolRankingWing wing = {
	.is_ranking = gpucol_ranking_is,
	.can_lower = gpucol_ranking_can_lower,
	.node = &node_ops,
};

void
gpucol_ranking_init(void)
{
	gpucol_ranking_wing = &wing;
}
