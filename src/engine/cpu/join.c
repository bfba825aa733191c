/*-------------------------------------------------------------------------
 *
 * join.c
 *	  The way of rows through the probes; checks and set-up.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/join.h"

/* ---- checks ---- */

/* May a probe's payload be read: by its residual alone, or also behind it? */
static bool
has_payload(uint16_t kind)
{
	return kind != GPUCOL_JOIN_SEMI && kind != GPUCOL_JOIN_ANTI && kind != GPUCOL_JOIN_NOT_IN;
}

/* Are the numbers of one probe in order?  *start is the end of the stages before. */
static bool
check_probe(const GpucolProgram *program, const GpucolProbe *probe, int *start)
{
	if (probe->kind < GPUCOL_JOIN_INNER || probe->kind > GPUCOL_JOIN_SET_LEFT ||
		probe->keys_end < *start || probe->residual_end < probe->keys_end ||
		probe->filter_end < probe->residual_end || probe->filter_end > program->ninstrs ||
		probe->first_key + probe->nkeys > program->nprobe_keys)
		return false;
	if (probe->kind == GPUCOL_JOIN_NOT_IN &&
		(probe->nkeys != 1 || probe->residual != GPUCOL_NO_REG))
		return false;
	*start = probe->filter_end;
	return probe->kind < GPUCOL_JOIN_SET || gpucol_cpu_set_check(program, probe);
}

/* Is a payload column read only where its probe has found a row? */
static bool
check_payload(const GpucolProgram *program, int payload, const GpucolProbe *probe)
{
	const GpucolInstr *instrs = GPUCOL_PROGRAM_ARRAY(program, const GpucolInstr, instrs);

	for (int i = 0; i < program->ninstrs; i++)
		if (instrs[i].op <= GPUCOL_OP_LOAD_S && instrs[i].aux == program->ncolumns + payload &&
			(i < probe->keys_end || (!has_payload(probe->kind) && i >= probe->residual_end)))
			return false;
	return true;
}

bool
gpucol_cpu_join_check(const GpucolProgram *program)
{
	const GpucolProbe *probes = GPUCOL_PROGRAM_ARRAY(program, const GpucolProbe, probes);
	const GpucolPayload *payloads = GPUCOL_PROGRAM_ARRAY(program, const GpucolPayload, payloads);
	int			start = program->nfilter_instrs;

	for (int p = 0; p < program->nprobes; p++)
		if (!check_probe(program, &probes[p], &start))
			return false;
	for (int l = 0; l < program->npayloads; l++)
		if (payloads[l].probe >= program->nprobes ||
			!check_payload(program, l, &probes[payloads[l].probe]))
			return false;
	return program->kind != GPUCOL_PROGRAM_BUILD || program->njoin_keys <= program->nkeys;
}

/* Do the tables have the keys and columns that the program looks for? */
static bool
check_tables(const GpucolRun *run)
{
	for (int p = 0; p < run->join.nprobes; p++)
	{
		const GpucolCpuProbe *probe = &run->join.probes[p];

		if (probe->is_set)
			continue;
		if (probe->table->nkeys != probe->probe->nkeys)
			return false;
		for (int k = 0; k < probe->table->nkeys; k++)
			if (probe->table->columns[k].cls != run->code.classes[probe->keys[k]])
				return false;
	}
	for (int l = 0; l < run->program->npayloads; l++)
	{
		const GpucolPayload *payload = &run->code.payloads[l];
		const GpucolCpuProbe *probe = &run->join.probes[payload->probe];
		const GpucolLookup *table = probe->table;

		if (probe->is_set)
		{
			if (!gpucol_cpu_set_suits(probe, payload))
				return false;
		}
		else if (payload->column >= table->ncolumns ||
			!gpucol_lookup_suits(table->columns[payload->column].cls, payload->kind))
			return false;
	}
	return true;
}

/* ---- set-up ---- */

/* The last stage that loads the payload of a probe. */
static int
last_load(const GpucolRun *run, int probe)
{
	int			last = -1;

	for (int i = 0; i < run->program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];
		int			stage = 3 * run->join.nprobes + 1;

		if (instr->op > GPUCOL_OP_LOAD_S || instr->aux < run->program->ncolumns ||
			run->code.payloads[instr->aux - run->program->ncolumns].probe != probe)
			continue;
		for (int p = run->join.nprobes - 1; p >= 0; p--)
		{
			const GpucolProbe *other = run->join.probes[p].probe;

			if (i < other->filter_end)
				stage = GPUCOL_STAGE_FILTER(p);
			if (i < other->residual_end)
				stage = GPUCOL_STAGE_RESIDUAL(p);
			if (i < other->keys_end)
				stage = GPUCOL_STAGE_KEYS(p);
		}
		if (stage > last)
			last = stage;
	}
	return last;
}

/* Mark a register as needed. */
static void
need(const GpucolRun *run, bool *regs, uint16_t reg)
{
	if (reg < run->program->nregs)
		regs[reg] = true;
}

/*
 * Which instructions are evaluated for rows that a probe delivers in the end: those before
 * its filter whose values something behind its residual reads.
 */
static GpucolStatus
find_needed(GpucolRun *run, GpucolCpuProbe *probe)
{
	const GpucolProgram *program = run->program;
	const GpucolCpuLive *live = &run->digest.live[GPUCOL_STAGE_RESIDUAL(probe->number)];
	bool	   *regs = gpucol_cpu_alloc0(run, program->nregs + 1u);

	probe->needed = gpucol_cpu_alloc0(run, program->ninstrs + 1u);
	if (regs == NULL || probe->needed == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int r = 0; r < live->n; r++)
		need(run, regs, live->regs[r]);
	for (int i = probe->probe->residual_end - 1; i >= 0; i--)
	{
		const GpucolInstr *instr = &run->code.instrs[i];

		if (!regs[instr->dst])
			continue;
		probe->needed[i] = true;
		if (instr->op <= GPUCOL_OP_CONST_B)
			continue;
		need(run, regs, instr->a);
		need(run, regs, instr->b);
		need(run, regs, instr->c);
		need(run, regs, instr->mask);
	}
	gpucol_cpu_free(run, regs);
	return GPUCOL_OK;
}

/* Is the probe's only instruction before its match the load of its only key? */
static void
find_codes(const GpucolRun *run, GpucolCpuProbe *probe)
{
	const GpucolInstr *instr = &run->code.instrs[probe->first];
	const GpucolCpuLive *live = &run->digest.live[GPUCOL_STAGE_KEYS(probe->number)];

	probe->codes_slot = -1;
	probe->codes_read = false;
	if (probe->parted || probe->probe->nkeys != 1 || probe->probe->keys_end != probe->first + 1 ||
		(instr->op != GPUCOL_OP_LOAD_I && instr->op != GPUCOL_OP_LOAD_S) ||
		instr->dst != probe->keys[0] || instr->aux >= run->program->ncolumns)
		return;
	probe->codes_slot = instr->aux;
	for (int r = 0; r < live->n; r++)
		probe->codes_read |= live->regs[r] == instr->dst;
}

/* What follows for a probe from its kind and its table. */
static void
plan_probe(const GpucolRun *run, GpucolCpuProbe *probe)
{
	GpucolJoinKind kind = probe->kind;
	bool		multiplies = kind == GPUCOL_JOIN_INNER || kind == GPUCOL_JOIN_LEFT ||
		kind == GPUCOL_JOIN_RIGHT || kind == GPUCOL_JOIN_FULL;

	probe->residual = probe->probe->residual != GPUCOL_NO_REG;
	probe->keeps = kind == GPUCOL_JOIN_LEFT || kind == GPUCOL_JOIN_FULL || kind == GPUCOL_JOIN_SET_LEFT;
	probe->marks = kind >= GPUCOL_JOIN_RIGHT && !probe->is_set;
	probe->expands = probe->residual ?
		!probe->table->unique || probe->keeps || kind == GPUCOL_JOIN_SEMI ||
		kind == GPUCOL_JOIN_ANTI :
		!probe->table->unique && multiplies;
	if (probe->order != NULL)
		probe->residual = false;	/* it has decided which rows are first */
	if (probe->is_set || probe->order != NULL)
		probe->expands = true;
	probe->parted = probe->table->parted &&
		(probe->keeps || kind == GPUCOL_JOIN_ANTI || kind == GPUCOL_JOIN_NOT_IN);
	find_codes(run, probe);
}

/* A byte for each row of a probe's table. */
static GpucolStatus
init_matched(GpucolRun *run, GpucolCpuProbe *probe)
{
	gpucol_cpu_free(run, probe->matched);
	probe->matched = gpucol_cpu_alloc0(run, probe->table->nrows + (size_t) 1);
	return probe->matched == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

static GpucolStatus
init_probe(GpucolRun *run, GpucolCpuProbe *probe)
{
	plan_probe(run, probe);
	probe->last_load = last_load(run, probe->number);
	if (gpucol_cpu_band_plan(run, probe) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	if (!probe->marks)
		return GPUCOL_OK;
	return init_matched(run, probe) != GPUCOL_OK ? GPUCOL_OUT_OF_MEMORY : find_needed(run, probe);
}

/* The table of a probe, NULL if there is none; that of a set is empty. */
static const GpucolLookup *
find_table(const GpucolCpuProbe *probe, GpucolLookup *const *lookups, int n)
{
	static const GpucolLookup nothing;

	if (probe->is_set)
		return &nothing;
	return probe->probe->table < n ? lookups[probe->probe->table] : NULL;
}

/* A payload column looks like one with a dictionary. */
static GpucolStatus
init_payload(GpucolRun *run, int payload)
{
	int			slot = run->program->ncolumns + payload;
	const GpucolPayload *wanted = &run->code.payloads[payload];
	const GpucolLookupColumn *from;
	GpucolCpuColumn *column = &run->input.cols[slot];
	GpucolChunkDesc *desc;

	column->slot = slot;
	if (run->join.probes[wanted->probe].is_set)
		return GPUCOL_OK;
	from = &run->join.probes[wanted->probe].table->columns[wanted->column];
	if (from->cls != GPUCOL_CLASS_S)
		return GPUCOL_OK;
	gpucol_cpu_free(run, (void *) column->desc);
	column->desc = desc = gpucol_cpu_alloc0(run, sizeof(GpucolChunkDesc));
	if (desc == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	desc->kind = GPUCOL_KIND_BYTES;
	desc->coding = GPUCOL_CODING_DICT;
	desc->ndict = from->nentries;
	while (desc->width < 32 && (from->nentries - 1) >> desc->width != 0)
		desc->width++;
	column->ndict = from->nentries;
	column->entries = from->entries;
	return GPUCOL_OK;
}

/* A worker's expansions. */
static GpucolStatus
init_expansions(GpucolRun *run, GpucolCpuWorker *worker)
{
	for (int p = 0; p < run->join.nprobes; p++)
		if (run->join.probes[p].expands &&
			gpucol_cpu_expand_init(run, &run->join.probes[p],
								   &worker->trail->expansions[p]) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
	return GPUCOL_OK;
}

/* A worker's state. */
static GpucolStatus
init_trail(GpucolRun *run, GpucolCpuWorker *worker)
{
	size_t		n = GPUCOL_VECTOR_VALUES;
	size_t		nprobes = (size_t) run->join.nprobes;
	GpucolCpuTrail *trail = gpucol_cpu_alloc0(run, sizeof(GpucolCpuTrail));
	int			nkeys = 0;

	if (trail == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	worker->trail = trail;
	for (size_t p = 0; p < nprobes; p++)
		if (run->join.probes[p].table->nkeys > nkeys)
			nkeys = run->join.probes[p].table->nkeys;
	trail->match = gpucol_cpu_alloc0(run, sizeof(uint32_t *) * nprobes);
	trail->alike = gpucol_cpu_alloc0(run, nprobes);
	trail->numbers = gpucol_cpu_alloc(run, sizeof(uint32_t) * n);
	trail->narrow = gpucol_cpu_alloc(run, sizeof(uint32_t) * n);
	trail->codes_of = gpucol_cpu_alloc0(run, sizeof(GpucolCpuKeyCodes) * nprobes);
	trail->words = gpucol_cpu_alloc(run, sizeof(uint64_t) * n);
	trail->codes = gpucol_cpu_alloc0(run, sizeof(uint64_t *) * ((size_t) nkeys + 1));
	trail->valid = gpucol_cpu_alloc(run, n);
	trail->maps = gpucol_cpu_alloc0(run, sizeof(GpucolCpuKeyMap) *
									(run->program->nprobe_keys + 1u));
	trail->expansions = gpucol_cpu_alloc0(run, sizeof(GpucolCpuExpansion) * nprobes);
	trail->figures = gpucol_cpu_alloc0(run, sizeof(GpucolProbeFigures) * nprobes);
	if (trail->match == NULL || trail->alike == NULL || trail->numbers == NULL || trail->narrow == NULL ||
		trail->codes_of == NULL || trail->words == NULL ||
		trail->codes == NULL || trail->valid == NULL || trail->maps == NULL ||
		trail->expansions == NULL || trail->figures == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int k = 0; k < nkeys; k++)
		if ((trail->codes[k] = gpucol_cpu_alloc(run, sizeof(uint64_t) * n)) == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	for (size_t p = 0; p < nprobes; p++)
	{
		trail->match[p] = gpucol_cpu_alloc(run, sizeof(uint32_t) * n);
		if (trail->match[p] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		memset(trail->match[p], 0xff, sizeof(uint32_t) * n);
	}
	return init_expansions(run, worker);
}

/* A worker's expansions, for the tables of the next turn. */
static GpucolStatus
init_again(GpucolRun *run, GpucolCpuWorker *worker)
{
	GpucolCpuTrail *trail = worker->trail;

	for (int p = 0; p < run->join.nprobes; p++)
	{
		trail->alike[p] = false;
		trail->codes_of[p].serial = 0;
		gpucol_cpu_expand_free(run, &run->join.probes[p], &trail->expansions[p]);
	}
	for (int k = 0; k < run->program->nprobe_keys; k++)
		trail->maps[k].serial = 0;
	return init_expansions(run, worker);
}

GpucolStatus
gpucol_cpu_join_init(GpucolRun *run, const GpucolRunOptions *options, const char **why)
{
	const GpucolProgram *program = run->program;
	const GpucolProbe *probes = GPUCOL_PROGRAM_ARRAY(program, const GpucolProbe, probes);
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(program, const uint16_t, probe_keys);
	GpucolStatus status = GPUCOL_OK;

	if (run->join.nprobes == 0)
		return GPUCOL_OK;
	run->join.probes = gpucol_cpu_alloc0(run, sizeof(GpucolCpuProbe) * (size_t) run->join.nprobes);
	if (run->join.probes == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	*why = "tables that do not suit the kernel description";
	for (int p = 0; p < run->join.nprobes; p++)
	{
		GpucolCpuProbe *probe = &run->join.probes[p];

		probe->probe = &probes[p];
		probe->kind = (GpucolJoinKind) probes[p].kind;
		probe->number = p;
		probe->is_set = probes[p].kind >= GPUCOL_JOIN_SET;
		if (probe->is_set && !gpucol_cpu_set_read(run, probe))
			return GPUCOL_UNSUPPORTED;
		probe->table = find_table(probe, options->lookups, options->nlookups);
		if (probe->table == NULL)
			return GPUCOL_UNSUPPORTED;
		if (options->orders != NULL && options->orders[p].most > 0)
			probe->order = &options->orders[p];
		probe->keys = keys + probes[p].first_key;
		probe->first = p == 0 ? program->nfilter_instrs : probes[p - 1].filter_end;
		run->join.last_section = probes[p].filter_end;
	}
	if (!check_tables(run))
		return GPUCOL_UNSUPPORTED;
	*why = "a table too large to take the first rows of an order from";
	for (int p = 0; p < run->join.nprobes; p++)
		if (run->join.probes[p].order != NULL && !gpucol_cpu_order_suits(&run->join.probes[p], run))
			return GPUCOL_UNSUPPORTED;
	*why = NULL;
	for (int p = 0; p < run->join.nprobes && status == GPUCOL_OK; p++)
		status = init_probe(run, &run->join.probes[p]);
	for (int l = 0; l < program->npayloads && status == GPUCOL_OK; l++)
		status = init_payload(run, l);
	return status == GPUCOL_OK ? gpucol_cpu_init_workers(run, init_trail) : status;
}

GpucolStatus
gpucol_cpu_join_again(GpucolRun *run, int changed)
{
	GpucolStatus status = GPUCOL_OK;

	for (int p = 0; p < run->join.nprobes; p++)
		run->join.probes[p].table = find_table(&run->join.probes[p], run->join.lookups,
											   run->join.probes[p].probe->table + 1);
	if (!check_tables(run))
		return GPUCOL_UNSUPPORTED;
	for (int p = 0; p < run->join.nprobes && status == GPUCOL_OK; p++)
	{
		plan_probe(run, &run->join.probes[p]);
		status = gpucol_cpu_band_plan(run, &run->join.probes[p]);
		if (status == GPUCOL_OK && run->join.probes[p].marks && run->join.probes[p].probe->table <= changed)
			status = init_matched(run, &run->join.probes[p]);
	}
	for (int l = 0; l < run->program->npayloads && status == GPUCOL_OK; l++)
		status = init_payload(run, l);
	return status == GPUCOL_OK ? gpucol_cpu_init_workers(run, init_again) : status;
}

/* ---- rows ---- */

void
gpucol_cpu_join_load(GpucolCpuWorker *worker, int payload, GpucolCpuReg *reg)
{
	const GpucolRun *run = worker->run;
	const GpucolPayload *wanted = &run->code.payloads[payload];
	const GpucolLookup *table = run->join.probes[wanted->probe].table;

	if (run->join.probes[wanted->probe].is_set)
	{
		gpucol_cpu_set_load(worker, &run->join.probes[wanted->probe], wanted->column, reg);
		return;
	}
	reg->column = &run->input.cols[run->program->ncolumns + payload];
	if (worker->trail->alike[wanted->probe])
		gpucol_lookup_spread(&table->columns[wanted->column], worker->trail->match[wanted->probe][0],
							 worker->nsel, reg);
	else
		gpucol_lookup_gather(&table->columns[wanted->column], worker->trail->match[wanted->probe],
							 worker->nsel, reg);
}

/* Must the worker give the main thread a chance before it makes more rows? */
static bool
must_pause(const GpucolCpuWorker *worker)
{
	return !gpucol_cpu_has_room(worker) || gpucol_cpu_now_ms() > worker->run->window.slice_end;
}

/* The probe of the last open expansion, or -1. */
static int
open_expansion(const GpucolCpuWorker *worker)
{
	for (int p = worker->run->join.nprobes - 1; p >= 0; p--)
		if (worker->trail->expansions[p].active)
			return p;
	return -1;
}

/* Take the selected rows through a probe; *opened: they are saved there. */
static GpucolStatus
step(GpucolCpuWorker *worker, const GpucolCpuVector *vector, const GpucolCpuProbe *probe,
	 bool *opened)
{
	bool		by_codes = gpucol_cpu_codes_open(worker, vector, probe);
	bool		load = !by_codes || (probe->expands && probe->codes_read);
	GpucolStatus status = GPUCOL_OK;

	if (load)
		status = gpucol_cpu_expr_run(worker, vector, probe->first, probe->probe->keys_end);
	if (status == GPUCOL_OK && !by_codes)
		status = gpucol_cpu_probe_narrow(worker, probe, &by_codes);
	worker->trail->figures[probe->number].probed += worker->nsel;
	*opened = probe->expands;
	if (status != GPUCOL_OK)
		return status;
	return probe->expands ? gpucol_cpu_expand_open(worker, vector, probe, by_codes) :
		gpucol_cpu_probe_rows(worker, vector, probe, by_codes, !load && probe->codes_read);
}

GpucolStatus
gpucol_cpu_join_rows(GpucolCpuWorker *worker, const GpucolCpuVector *vector, int probe)
{
	const GpucolRun *run = worker->run;
	GpucolStatus status = GPUCOL_OK;

	for (;;)
	{
		bool		opened = false;

		for (; probe < run->join.nprobes && worker->nsel > 0 && !opened; probe++)
		{
			status = step(worker, vector, &run->join.probes[probe], &opened);
			if (status != GPUCOL_OK)
				return status;
		}
		if (worker->nsel > 0 && !opened)
		{
			status = gpucol_cpu_sink(worker, vector);
			if (status != GPUCOL_OK)
				return status;
		}
		do
		{
			probe = open_expansion(worker);
			if (probe < 0)
				return GPUCOL_OK;
			if (must_pause(worker))
			{
				worker->trail->paused = true;
				worker->trail->vector = *vector;
				return GPUCOL_OK;
			}
			status = gpucol_cpu_expand_next(worker, vector, &run->join.probes[probe]);
			if (status != GPUCOL_OK)
				return status;
		} while (worker->nsel == 0);
		probe++;
	}
}

GpucolStatus
gpucol_cpu_join_resume(GpucolCpuWorker *worker)
{
	GpucolCpuVector vector = worker->trail->vector;

	worker->trail->paused = false;
	worker->nsel = 0;
	return gpucol_cpu_join_rows(worker, &vector, worker->run->join.nprobes);
}
