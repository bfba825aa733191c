/*-------------------------------------------------------------------------
 *
 * rank.c
 *	  The rankings of rank.h on the CPU; rank_choose.h computes them.
 *
 *-------------------------------------------------------------------------
 */
#include "ranking/semantics/rank.h"
#include "ranking/semantics/rank_choose.h"

size_t
gpucol_rank_workspace(const GpucolRankInput *in, int32_t k)
{
	return gpucol_choose_workspace(in, k);
}

bool
gpucol_rank_mass_ok(const GpucolRankInput *in, GpucolRankWork *work,
					int32_t *bad, double *mass)
{
	return gpucol_choose_mass_ok(in, work, bad, mass);
}

int32_t
gpucol_rank_u_topk_horizon(const GpucolRankInput *in, int32_t k,
						   GpucolRankWork *work)
{
	GpucolUTopkScan scan;

	if (k > in->n || gpucol_choose_utopk_scan(in, k, work, &scan) != GPUCOL_OK ||
		scan.best.horizon < 0)
		return in->n;
	return scan.best.horizon + 1;
}

GpucolStatus
gpucol_rank_topk_probability(const GpucolRankInput *in, int32_t k,
							 GpucolRankWork *work, double *probability)
{
	return gpucol_choose_probability(in, k, work, probability);
}

int32_t
gpucol_rank_pt_k_horizon(const GpucolRankInput *in, int32_t k,
						 double threshold, GpucolRankWork *work)
{
	int32_t		count;
	int32_t		horizon;

	if (gpucol_choose_pt_k(in, k, threshold, work, NULL, &count, &horizon) != GPUCOL_OK)
		return in->n;
	return horizon;
}

int32_t
gpucol_rank_room(const GpucolRankInput *in, GpucolRanking ranking, int32_t k)
{
	return ranking == GPUCOL_RANK_PT_K || k > in->n ? in->n : k;
}

GpucolStatus
gpucol_rank_choose(const GpucolRankInput *in, GpucolRanking ranking, int32_t k,
				   double threshold, GpucolRankWork *work, int32_t *picks,
				   int32_t *count, double *probability)
{
	return gpucol_choose(in, ranking, k, threshold, work, picks, count, probability);
}
