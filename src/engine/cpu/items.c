/*-------------------------------------------------------------------------
 *
 * items.c
 *	  Which columns of arrays a program reads by their sizes and elements alone (items.h).
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/items.h"

#include "engine/cpu/arrays.h"
#include "engine/cpu/expr_alike.h"
#include "engine/cpu/join.h"

static bool
takes_items(uint16_t op)
{
	switch (op)
	{
		case GPUCOL_OP_IS_NULL_S:
		case GPUCOL_OP_HOST_TEST:
		case GPUCOL_OP_ARRAY_SIZE_S:
		case GPUCOL_OP_ARRAY_ITEM_I:
		case GPUCOL_OP_ARRAY_ITEM_F:
		case GPUCOL_OP_ARRAY_HAS_I:
		case GPUCOL_OP_ARRAY_HAS_F:
		case GPUCOL_OP_ARRAY_PLACE_I:
		case GPUCOL_OP_ARRAY_PLACE_F:
		case GPUCOL_OP_EACH_I:
		case GPUCOL_OP_EACH_F:
		case GPUCOL_OP_EACH_NUMBER:
			return true;
		default:
			return false;
	}
}

/* Does a probe make rows of the elements of a key, which have a width? */
static bool
makes_rows(const GpucolCpuProbe *probe, int key)
{
	return probe->is_set && !probe->functions[key].fields && probe->functions[key].width != GPUCOL_ARRAY_VARYING;
}

/* Note that a column's elements are read with a width; 0 where two differ, as of no program that was made. */
static void
note_width(GpucolCpuColumn *column, int width)
{
	if (column->items == GPUCOL_CPU_ITEMS_ANY)
		column->items = (uint8_t) width;
	else if (column->items != width)
		column->items = 0;
}

/* Of what width are the elements of a register read? */
static void
find_width(const GpucolRun *run, uint16_t reg, GpucolCpuColumn *column)
{
	for (int i = 0; i < run->program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];

		if (instr->a == reg && takes_items(instr->op) && instr->op != GPUCOL_OP_IS_NULL_S &&
			instr->op != GPUCOL_OP_HOST_TEST && instr->op != GPUCOL_OP_ARRAY_SIZE_S)
			note_width(column, (int) instr->aux);
	}
	for (int p = 0; p < run->join.nprobes; p++)
		for (int k = 0; k < run->join.probes[p].probe->nkeys; k++)
			if (run->join.probes[p].keys[k] == reg && makes_rows(&run->join.probes[p], k))
				note_width(column, run->join.probes[p].functions[k].width);
}

/* Is a register a key of a probe that wants values? */
static bool
is_other_key(const GpucolRun *run, uint16_t reg)
{
	for (int p = 0; p < run->join.nprobes; p++)
		for (int k = 0; k < run->join.probes[p].probe->nkeys; k++)
			if (run->join.probes[p].keys[k] == reg && !makes_rows(&run->join.probes[p], k))
				return true;
	return false;
}

/* Has the host a say on the column's values, beyond what elements decide? */
static bool
is_hosts(const GpucolRun *run, int column)
{
	for (int h = 0; h < run->digest.nhosts; h++)
		if (run->digest.hosts[h].column == column && !gpucol_cpu_arrays_decide(run, &run->digest.hosts[h]))
			return true;
	return false;
}

void
gpucol_cpu_items_init(GpucolRun *run)
{
	for (int c = 0; c < run->program->ncolumns; c++)
	{
		GpucolCpuColumn *column = &run->input.cols[c];

		column->items = column->loaded && !is_hosts(run, c) ? GPUCOL_CPU_ITEMS_ANY : 0;
	}
	for (int i = 0; i < run->program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];
		GpucolCpuColumn *column;

		if (instr->op != GPUCOL_OP_LOAD_S || instr->aux >= run->program->ncolumns)
			continue;
		column = &run->input.cols[instr->aux];
		if (!gpucol_cpu_alike_is_read_by(run, instr->dst, takes_items) || is_other_key(run, instr->dst))
			column->items = 0;
		find_width(run, instr->dst, column);
	}
}
