/*-------------------------------------------------------------------------
 *
 * hosts.c
 *	  Steps that the host computes: ids of a vector as the values that it knows, and back.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/rules.h"

void
gpucol_rec_host_show(const GpucolRecRun *run, const Stage *stage, int noperands, uint32_t n)
{
	HostRows   *host = stage->host;
	uint32_t	i;
	int			k;

	for (k = 0; k < noperands; k++)
		for (i = 0; i < n; i++)
		{
			GpucolRecValue value = gpucol_rec_value_of(run, stage->inputs[k][i]);

			host->values[k][i] = value.value;
			host->nulls[k][i] = value.isnull;
		}
}

bool
gpucol_rec_host_is_apart(const GpucolRecRun *run, const Stage *stage)
{
	return run->options.apart != NULL && stage->step->function == GPUCOL_REC_HOST &&
		run->options.apart(run->options.host_context, stage->step->relation, 0, NULL, NULL, NULL, NULL);
}

GpucolStatus
gpucol_rec_host_compute(const GpucolRecRun *run, const Stage *stage, uint32_t n, bool apart)
{
	HostRows   *host = stage->host;
	const int64_t *const *values = (const int64_t *const *) host->values;
	const uint8_t *const *nulls = (const uint8_t *const *) host->nulls;

	gpucol_rec_host_show(run, stage, stage->step->noperands, n);
	if (apart)
		return run->options.apart(run->options.host_context, stage->step->relation, n, values, nulls, host->result,
								  host->result_nulls) ? GPUCOL_OK : GPUCOL_UNSUPPORTED;
	run->options.host(run->options.host_context, stage->step->relation, n, values, nulls, host->result,
					  host->result_nulls);
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_host_take(GpucolRecRun *run, Stage *stage, const Vector *in, uint32_t n)
{
	const HostRows *host = stage->host;
	uint32_t	i;
	int			c;

	for (c = 0; c < stage->ncarried; c++)
	{
		const uint32_t *from = in->registers[stage->carried[c]];
		uint32_t   *to = stage->out.registers[stage->carried[c]];

		for (i = 0; i < n; i++)
			to[i] = from[host->origins[i]];
	}
	for (c = stage->ninputs; c < stage->step->noperands; c++)
	{
		GPUCOL_REC_TRY(gpucol_rec_dictionary_intern_column(run, n, host->columns[c - stage->ninputs],
														   host->column_nulls[c - stage->ninputs],
														   stage->out.registers[stage->operands[c].index]));
	}
	stage->out.n = n;
	return GPUCOL_OK;
}
