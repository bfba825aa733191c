/*-------------------------------------------------------------------------
 *
 * order.c
 *	  Probes that take the first rows of their table by an order (GpucolProbeOrder).
 *
 * The table is small.  It is gone through row by row, and each of its rows is met with all selected
 * rows at once, for which the residual's instructions compute the condition and the sort keys.  For each
 * selected row the first so many are remembered, with their keys.  Most others come too late by their first
 * key, which one comparison of integers says.  Only what is found becomes pairs (expand.c).
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/expr.h"
#include "engine/cpu/join.h"
#include "engine/cpu/select.h"
#include "kernel/float_order.h"

bool
gpucol_cpu_order_suits(const GpucolCpuProbe *probe, const GpucolRun *run)
{
	const GpucolProbeOrder *order = probe->order;

	if (order->most > GPUCOL_MOST_FIRST || order->skipped >= order->most || order->nkeys < 1 ||
		order->nkeys > GPUCOL_FIRST_KEYS || probe->probe->nkeys != 0 || probe->table->parted ||
		probe->table->nrows > GPUCOL_MOST_ORDERED ||
		(probe->kind != GPUCOL_JOIN_INNER && probe->kind != GPUCOL_JOIN_LEFT))
		return false;
	for (int k = 0; k < order->nkeys; k++)
		if (order->keys[k] >= run->program->nregs || run->code.classes[order->keys[k]] == GPUCOL_CLASS_S)
			return false;
	return true;
}

GpucolStatus
gpucol_cpu_order_init(GpucolRun *run, const GpucolCpuProbe *probe, GpucolCpuExpansion *expansion)
{
	size_t		places = (size_t) GPUCOL_VECTOR_VALUES * probe->order->most;
	size_t		keys = places * (size_t) probe->order->nkeys;
	GpucolCpuFirsts *firsts = gpucol_cpu_alloc0(run, sizeof(GpucolCpuFirsts));

	expansion->firsts = firsts;
	if (firsts == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	firsts->rows = gpucol_cpu_alloc(run, sizeof(uint32_t) * places);
	firsts->values = gpucol_cpu_alloc(run, sizeof(__int128) * keys);
	firsts->ranks = gpucol_cpu_alloc(run, keys);
	firsts->bounds = gpucol_cpu_alloc(run, sizeof(int64_t) * GPUCOL_VECTOR_VALUES);
	firsts->values_now = gpucol_cpu_alloc(run, sizeof(int64_t) * GPUCOL_VECTOR_VALUES);
	return firsts->rows == NULL || firsts->values == NULL || firsts->ranks == NULL || firsts->bounds == NULL ||
		firsts->values_now == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

void
gpucol_cpu_order_free(GpucolRun *run, GpucolCpuExpansion *expansion)
{
	GpucolCpuFirsts *firsts = expansion->firsts;

	if (firsts == NULL)
		return;
	gpucol_cpu_free(run, firsts->rows);
	gpucol_cpu_free(run, firsts->values);
	gpucol_cpu_free(run, firsts->ranks);
	gpucol_cpu_free(run, firsts->bounds);
	gpucol_cpu_free(run, firsts->values_now);
	gpucol_cpu_free(run, firsts);
	expansion->firsts = NULL;
}

/* The place of a value in its order, as PostgreSQL has it. */
GPUCOL_CPU_INLINE __int128
place_of(const GpucolCpuReg *reg, uint32_t j)
{
	switch (reg->cls)
	{
		case GPUCOL_CLASS_B:
			return reg->v.b[j];
		case GPUCOL_CLASS_D:
			return reg->narrow ? reg->n[j] : reg->v.d[j];
		case GPUCOL_CLASS_F:
			return gpucol_float_order(reg->v.f[j]);
		default:
			return reg->v.i[j];
	}
}

/* Floats as integers of their order. */
GPUCOL_CPU_CLONES static void
float_places(const double *values, uint32_t n, int64_t turn, int64_t *out)
{
	for (uint32_t j = 0; j < n; j++)
		out[j] = gpucol_float_order(values[j]) ^ turn;
}

/* Integers as such. */
GPUCOL_CPU_CLONES static void
int_places(const int64_t *values, uint32_t n, int64_t turn, int64_t *out)
{
	for (uint32_t j = 0; j < n; j++)
		out[j] = values[j] ^ turn;
}

/* The first key of the selected rows, as integers that are less the sooner they come; wide ones are cut. */
static void
first_places(const GpucolProbeOrder *order, const GpucolCpuReg *reg, uint32_t n, int64_t *out)
{
	int64_t		turn = order->descending[0] ? -1 : 0;

	if (reg->cls == GPUCOL_CLASS_F)
		float_places(reg->v.f, n, turn, out);
	else if (reg->cls == GPUCOL_CLASS_I)
		int_places(reg->v.i, n, turn, out);
	else if (reg->cls == GPUCOL_CLASS_D && reg->narrow)
		int_places(reg->n, n, turn, out);
	else
		for (uint32_t j = 0; j < n; j++)
			out[j] = gpucol_top_clamp(place_of(reg, j)) ^ turn;
	if (reg->nulls != NULL)
		for (uint32_t j = 0; j < n; j++)
			out[j] = reg->nulls[j] ? (order->nulls_first[0] ? INT64_MIN : INT64_MAX) : out[j];
}

/* List the rows for which a row of the table may be among the first. */
GPUCOL_CPU_CLONES static uint32_t
list_candidates(const int64_t *places, const int64_t *bounds, uint32_t n, uint16_t *at)
{
	uint32_t	m = 0;

	for (uint32_t j = 0; j < n; j++)
	{
		at[m] = (uint16_t) j;
		m += places[j] <= bounds[j];
	}
	return m;
}

/* Does the row at hand of the table come before the one in a place? */
static bool
is_sooner(const GpucolProbeOrder *order, const __int128 *values, const int8_t *ranks,
			 const __int128 *place_values, const int8_t *place_ranks)
{
	for (int k = 0; k < order->nkeys; k++)
	{
		if (ranks[k] != place_ranks[k])
			return ranks[k] < place_ranks[k];
		if (values[k] != place_values[k])
			return values[k] < place_values[k];
	}
	return false;
}

/* Put a row of the table where it belongs among the first ones of selected row j, if it does. */
static void
insert(const GpucolCpuWorker *worker, const GpucolProbeOrder *order, GpucolCpuExpansion *expansion, uint32_t j,
	   uint32_t row)
{
	GpucolCpuFirsts *firsts = expansion->firsts;
	size_t		nkeys = (size_t) order->nkeys;
	uint32_t   *rows = firsts->rows + (size_t) j * order->most;
	__int128   *values = firsts->values + (size_t) j * order->most * nkeys;
	int8_t	   *ranks = firsts->ranks + (size_t) j * order->most * nkeys;
	uint32_t	n = expansion->count[j];
	uint32_t	place = n;
	__int128	value[GPUCOL_FIRST_KEYS];
	int8_t		rank[GPUCOL_FIRST_KEYS];

	for (size_t k = 0; k < nkeys; k++)
	{
		const GpucolCpuReg *reg = &worker->regs[order->keys[k]];
		bool		null = GPUCOL_CPU_NULL_AT(reg, j);

		rank[k] = !null ? 0 : order->nulls_first[k] ? -1 : 1;
		value[k] = null ? 0 : order->descending[k] ? ~place_of(reg, j) : place_of(reg, j);
	}
	while (place > 0 && is_sooner(order, value, rank, values + (place - 1) * nkeys, ranks + (place - 1) * nkeys))
		place--;
	if (place == order->most)
		return;
	if (n == order->most)
		n--;
	memmove(rows + place + 1, rows + place, sizeof(uint32_t) * (n - place));
	memmove(values + (place + 1) * nkeys, values + place * nkeys, sizeof(__int128) * nkeys * (n - place));
	memmove(ranks + (place + 1) * nkeys, ranks + place * nkeys, nkeys * (n - place));
	rows[place] = row;
	memcpy(values + place * nkeys, value, sizeof(__int128) * nkeys);
	memcpy(ranks + place * nkeys, rank, nkeys);
	expansion->count[j] = ++n;
	if (n == order->most)
		firsts->bounds[j] = ranks[(n - 1) * nkeys] != 0 ?
			(ranks[(n - 1) * nkeys] < 0 ? INT64_MIN : INT64_MAX) : gpucol_top_clamp(values[(n - 1) * nkeys]);
}

/* Have the selected rows meet a row of the table. */
static GpucolStatus
meet(GpucolCpuWorker *worker, const GpucolCpuVector *vector, const GpucolCpuProbe *probe, uint32_t row)
{
	const GpucolProbeOrder *order = probe->order;
	GpucolCpuExpansion *expansion = &worker->trail->expansions[probe->number];
	const GpucolCpuReg *passed = probe->probe->residual == GPUCOL_NO_REG ? NULL :
		&worker->regs[probe->probe->residual];
	uint32_t   *match = worker->trail->match[probe->number];
	uint16_t	at[GPUCOL_SELECT_ROOM];
	GpucolStatus status;
	uint32_t	n;

	for (uint32_t j = 0; j < worker->nsel; j++)
		match[j] = row;
	status = gpucol_cpu_expr_run(worker, vector, probe->probe->keys_end, probe->probe->residual_end);
	if (status != GPUCOL_OK)
		return status;
	for (int k = 0; k < order->nkeys; k++)
		if (worker->regs[order->keys[k]].cls == GPUCOL_CLASS_D && !worker->regs[order->keys[k]].narrow)
			(void) gpucol_cpu_expr_widen(&worker->regs[order->keys[k]], worker->nsel);
	first_places(order, &worker->regs[order->keys[0]], worker->nsel, expansion->firsts->values_now);
	n = list_candidates(expansion->firsts->values_now, expansion->firsts->bounds, worker->nsel, at);
	for (uint32_t i = 0; i < n; i++)
		if (passed == NULL || (passed->v.b[at[i]] && !GPUCOL_CPU_NULL_AT(passed, at[i])))
			insert(worker, order, expansion, at[i], row);
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_order_choose(GpucolCpuWorker *worker, const GpucolCpuVector *vector, const GpucolCpuProbe *probe)
{
	GpucolCpuExpansion *expansion = &worker->trail->expansions[probe->number];
	uint32_t	first = worker->nsel == 0 ? 0 : expansion->first[0];
	uint32_t	end = worker->nsel == 0 ? 0 : first + expansion->count[0];
	GpucolStatus status = GPUCOL_OK;

	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		expansion->first[j] = j * probe->order->most;
		expansion->count[j] = 0;
		expansion->firsts->bounds[j] = INT64_MAX;
	}
	worker->trail->alike[probe->number] = true;
	for (uint32_t row = first; row < end && status == GPUCOL_OK; row++)
		status = meet(worker, vector, probe, row);
	worker->trail->alike[probe->number] = false;
	for (uint32_t j = 0; probe->order->skipped > 0 && j < worker->nsel; j++)
	{
		uint32_t	skipped = expansion->count[j] < probe->order->skipped ? expansion->count[j] : probe->order->skipped;

		expansion->first[j] += skipped;
		expansion->count[j] -= skipped;
	}
	return status;
}
