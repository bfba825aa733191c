/*-------------------------------------------------------------------------
 *
 * join.c
 *	  The pieces of a program that joins: payload columns and probes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "kernel/set_function.h"
#include "lower/pipe.h"

/*
 * What is lowered is a laid out pipe, whose columns l->desc has.
 */
void
gpucol_lower_over(GpucolLower *l, const GpucolPipe *pipe)
{
	l->pipe = pipe;
	l->nsource = pipe->nsource;
}

/*
 * Add a probe.
 */
void
gpucol_lower_add_probe(GpucolLower *l, const GpucolProbe *probe)
{
	if (l->probes == NULL)
		l->probes = palloc(sizeof(GpucolProbe));
	else
		l->probes = repalloc(l->probes, (l->nprobes + 1) * sizeof(GpucolProbe));
	l->probes[l->nprobes++] = *probe;
}

/*
 * Add a key of the probe to come.
 */
void
gpucol_lower_add_probe_key(GpucolLower *l, uint16 reg)
{
	if (l->probe_keys == NULL)
		l->probe_keys = palloc(sizeof(uint16));
	else
		l->probe_keys = repalloc(l->probe_keys, (l->nprobe_keys + 1) * sizeof(uint16));
	l->probe_keys[l->nprobe_keys++] = reg;
}

/*
 * No instruction to come may use the results of those from `from` on.
 */
void
gpucol_lower_hide(GpucolLower *l, int from)
{
	if (from == l->ninstrs)
		return;
	if (l->hidden == NULL)
		l->hidden = palloc(2 * sizeof(int));
	else
		l->hidden = repalloc(l->hidden, 2 * (l->nhidden + 1) * sizeof(int));
	l->hidden[2 * l->nhidden] = from;
	l->hidden[2 * l->nhidden + 1] = l->ninstrs;
	l->nhidden++;
}

/*
 * Is the result of an instruction one of those?
 */
bool
gpucol_lower_is_hidden(const GpucolLower *l, int instr)
{
	for (int i = 0; i < l->nhidden; i++)
	{
		if (instr >= l->hidden[2 * i] && instr < l->hidden[2 * i + 1])
			return true;
	}
	return false;
}

/* The column of the rows that functions make. */
static int
set_column(const GpucolPipe *rows, AttrNumber attnum)
{
	return attnum == 1 ? GPUCOL_SET_VALUE :
		attnum <= list_length(rows->sets) ? GPUCOL_SET_MORE + attnum - 2 : GPUCOL_SET_NUMBER;
}

/* The place of a payload column: the number of its probe and of the table's output. */
static GpucolPayload
find_payload(const GpucolPipe *pipe, AttrNumber attnum)
{
	GpucolPayload payload = {0};
	ListCell   *lc;

	foreach(lc, pipe->steps)
	{
		const GpucolPipeStep *step = lfirst(lc);

		if (attnum >= step->first && attnum < step->first + list_length(step->payload))
		{
			payload.probe = foreach_current_index(lc);
			payload.column = step->build->sets == NIL ? list_length(step->inner_keys) + attnum - step->first :
				set_column(step->build, castNode(Var, list_nth(step->payload, attnum - step->first))->varattno);
		}
	}
	return payload;
}

/*
 * The payload columns of the program, palloc'd.
 */
GpucolPayload *
gpucol_lower_payloads(const GpucolLower *l)
{
	GpucolPayload *payloads = palloc(Max(l->npayloads, 1) * sizeof(GpucolPayload));

	for (int i = 0; i < l->npayloads; i++)
	{
		const GpucolProgramColumn *column = &l->columns[l->nsource + i];

		payloads[i] = find_payload(l->pipe, column->attnum);
		payloads[i].kind = column->kind;
	}
	return payloads;
}
