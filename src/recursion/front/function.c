/*-------------------------------------------------------------------------
 *
 * function.c
 *	  SQL functions gpucol.datalog and gpucol.datalog_into, and the rows of the former
 *	  for the node that scans it (datalog.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "recursion/front/builder.h"
#include "recursion/front/ast.h"
#include "recursion/front/datalog.h"
#include "recursion/front/demand.h"
#include "recursion/front/functors.h"
#include "recursion/front/input.h"
#include "recursion/front/output.h"
#include "recursion/front/ranges.h"
#include "recursion/front/records.h"
#include "recursion/front/run.h"
#include "recursion/front/symbols.h"

PG_FUNCTION_INFO_V1(gpucol_datalog);
PG_FUNCTION_INFO_V1(gpucol_datalog_into);

#define INSERT_ROWS	1000

/* A program that has been started. */
typedef struct Execution
{
	DatalogProgram *program;
	DatalogStore store;			/* of its values */
	List	   *hosts;			/* DatalogHost: functors that rules call */
	List	   *clauses;		/* DatalogClause: by rule of the plan */
	MemoryContext caller;		/* of the function */
	MemoryContext context;		/* of the program and all that it needs, */
	GpucolRecursionMemory *memory;	/* which is counted there */
	const GpucolRecPlan *plan;
	GpucolRecursion *recursion;
	bool		narrow;			/* all values of all relations, as the engine has them, have
								 * 32 bits */
} Execution;

/* ---- running a program ---- */

static int64
symbol_code(void *context, const char *text)
{
	return gpucol_symbols_code(context, text, strlen(text));
}

/* Read the inputs that are needed. */
static List *
read_inputs(Execution *execution)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *inputs = NIL;
	ListCell   *lc;

	SPI_connect();
	foreach(lc, execution->program->relations)
	{
		DatalogRelation *relation = lfirst(lc);
		GpucolDatalogInput *input;
		MemoryContext spi;

		if (!relation->needed || !relation->input)
			continue;
		execution->program->at = relation->position;
		input = gpucol_datalog_read(execution->program, relation,
									execution->store.symbols, context);
		spi = MemoryContextSwitchTo(context);
		inputs = lappend(inputs, input);
		MemoryContextSwitchTo(spi);
	}
	SPI_finish();
	return inputs;
}

static bool
is_narrow(int64 value)
{
	return value >= PG_INT32_MIN && value <= PG_INT32_MAX;
}

/*
 * Does a plan only hand values on, and has no constant of more than 32 bits?  Then no
 * relation has a value that its inputs and facts have not.
 */
static bool
hands_on_narrow(const GpucolRecPlan *plan)
{
	for (uint32 i = 0; i < plan->nsteps; i++)
		if (plan->steps[i].kind == GPUCOL_REC_COMPUTE || plan->steps[i].kind == GPUCOL_REC_AGGREGATE ||
			plan->steps[i].kind == GPUCOL_REC_EXPAND)
			return false;
	for (uint32 i = 0; i < plan->nconstants; i++)
		if (!is_narrow(plan->constants[i].value))
			return false;
	return true;
}

/* Hand an input to the engine, and forget it. */
static void
load_input(Execution *execution, GpucolDatalogInput *input)
{
	const int64 *columns[GPUCOL_REC_MAX_ARITY];
	uint64		from;
	uint32		n;
	int			c;

	for (from = 0; from < input->nrows; from += n)
	{
		CHECK_FOR_INTERRUPTS();
		n = (uint32) Min(input->nrows - from, 65536);
		for (c = 0; c < input->relation->arity; c++)
			columns[c] = input->columns[c] + from;
		gpucol_recursion_load(execution->recursion, input->relation->number, n,
							  columns, NULL);
	}
	for (c = 0; c < input->relation->arity; c++)
		if (input->columns[c] != NULL)
			pfree(input->columns[c]);
}

/* Hand the program's facts to the engine. */
static void
load_facts(Execution *execution)
{
	const int64 *columns[GPUCOL_REC_MAX_ARITY];
	int64		values[GPUCOL_REC_MAX_ARITY];
	ListCell   *lc;
	ListCell   *arg;

	foreach(lc, execution->program->clauses)
	{
		const DatalogClause *clause = lfirst(lc);

		if (!clause->head->relation->needed || !gpucol_datalog_is_fact(clause))
			continue;
		CHECK_FOR_INTERRUPTS();
		foreach(arg, clause->head->args)
		{
			const DatalogExpr *expr = lfirst(arg);
			int			c = foreach_current_index(arg);

			values[c] = expr->type == DATALOG_SYMBOL ?
				symbol_code(execution->store.symbols, expr->name) : expr->value;
			columns[c] = &values[c];
			execution->narrow &= is_narrow(values[c]);
		}
		gpucol_recursion_load(execution->recursion,
							  clause->head->relation->number, 1, columns, NULL);
	}
}

/* Parse and check a program. */
static void
prepare(Execution *execution, const char *text)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,.callback = gpucol_datalog_context
	};

	execution->context = AllocSetContextCreate(CurrentMemoryContext, "gpucol datalog",
											   ALLOCSET_DEFAULT_SIZES);
	execution->caller = MemoryContextSwitchTo(execution->context);
	execution->memory = gpucol_recursion_memory();
	callback.arg = execution->program = gpucol_datalog_parse(text, execution->memory);
	error_context_stack = &callback;
	gpucol_datalog_subsume(execution->program);
	gpucol_datalog_inline(execution->program);
	gpucol_datalog_normalise(execution->program);
	gpucol_datalog_check(execution->program);
	gpucol_datalog_expand_ranges(execution->program);
	error_context_stack = callback.previous;
}

/* Rules of a plan in words, in the order in which they join (char *). */
static List *
describe_rules(const Execution *execution)
{
	const GpucolRecPlan *plan = execution->plan;
	const char **names = palloc0(sizeof(char *) * (plan->nrelations + 1));
	List	   *rules = NIL;
	ListCell   *lc;

	foreach(lc, execution->program->relations)
	{
		DatalogRelation *relation = lfirst(lc);

		if (relation->needed)
			names[relation->number] = relation->name;
	}
	for (uint32 i = 0; i < plan->nrules; i++)
		rules = lappend(rules, gpucol_rec_plan_describe(plan, i, names));
	return rules;
}

/* Tell who listens to DEBUG1. */
static void
show_rules(const Execution *execution)
{
	ListCell   *lc;

	foreach(lc, describe_rules(execution))
		ereport(DEBUG1, (errmsg_internal("datalog rule: %s", (char *) lfirst(lc))));
}

/* GpucolRecHost: functors. */
static void
compute_host(void *context, uint32_t id, uint32_t n, const int64_t *const *values,
			 const uint8_t *const *nulls pg_attribute_unused(), int64_t *result,
			 uint8_t *result_nulls)
{
	Execution  *execution = context;

	gpucol_datalog_compute(list_nth(execution->hosts, id), &execution->store, n,
						   (const int64 *const *) values, (int64 *) result,
						   result_nulls);
	gpucol_recursion_count(execution->memory, 0);
}

/* Start a program whose needed relations are marked. */
static void
start(Execution *execution)
{
	GpucolRecPlan *plan;
	List	   *inputs;
	ListCell   *lc;
	GpucolRecursionHost host = {.compute = compute_host,.context = execution};
	ErrorContextCallback callback = {
		.previous = error_context_stack,.callback = gpucol_datalog_context,
		.arg = execution->program
	};

	error_context_stack = &callback;
	gpucol_datalog_stratify(execution->program);
	gpucol_datalog_demand(execution->program);
	execution->store.symbols = gpucol_symbols_create(execution->context, execution->memory);
	execution->store.records = gpucol_symbols_create(execution->context, execution->memory);
	inputs = read_inputs(execution);
	plan = gpucol_datalog_plan(execution->program, symbol_code,
							   execution->store.symbols, &execution->hosts,
							   &execution->clauses);
	execution->plan = plan;
	error_context_stack = callback.previous;
	if (message_level_is_interesting(DEBUG1))
		show_rules(execution);
	execution->narrow = hands_on_narrow(plan);
	foreach(lc, inputs)
		execution->narrow &= !((GpucolDatalogInput *) lfirst(lc))->wide;
	execution->recursion = gpucol_recursion_start(plan, execution->memory, &host);
	foreach(lc, inputs)
		load_input(execution, lfirst(lc));
	load_facts(execution);
}

/* A program has been run. */
static void
finish(Execution *execution)
{
	gpucol_recursion_finish(execution->recursion);
	MemoryContextSwitchTo(execution->caller);
	MemoryContextDelete(execution->context);
}

/* The context of an error: the rule that was evaluated; a cancel says nothing of it. */
static void
name_rule(void *context)
{
	const Execution *execution = context;
	const DatalogClause *clause;
	GpucolRecProgress progress;
	int			start;

	gpucol_recursion_progress(execution->recursion, &progress);
	if (progress.rule == 0 ||
		ERRCODE_TO_CATEGORY(geterrcode()) == ERRCODE_OPERATOR_INTERVENTION)
		return;
	clause = list_nth(execution->clauses, progress.rule - 1);
	errcontext("rule of relation \"%s\", line %d of the program", clause->head->name,
			   gpucol_datalog_line(execution->program->text, clause->position, &start));
}

/* The next rows of a relation; false at the end. */
static bool
next_rows(Execution *execution, const DatalogRelation *relation, GpucolRecBatch *batch)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,.callback = name_rule,.arg = execution
	};
	bool		more;

	error_context_stack = &callback;
	more = gpucol_recursion_next(execution->recursion, relation->number, batch);
	error_context_stack = callback.previous;
	return more;
}

/* ---- results ---- */

static Datum
make_value(const Execution *execution, DatalogOutputColumn *column, int64 value)
{
	return gpucol_datalog_datum_of(execution->program, &execution->store, column, value);
}

/* Where rows of results go. */
typedef void (*RowSink) (void *context, Datum *values, bool *nulls);

/* Send all rows of a relation to a sink; their number. */
static uint64
send_rows(Execution *execution, DatalogRelation *relation,
		  DatalogOutputColumn *columns, RowSink sink, void *context)
{
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext,
													  "gpucol datalog row",
													  ALLOCSET_DEFAULT_SIZES);
	Datum		values[GPUCOL_REC_MAX_ARITY];
	bool		nulls[GPUCOL_REC_MAX_ARITY] = {false};
	GpucolRecBatch batch;
	uint64		nrows = 0;
	uint32		row;
	int			c;

	while (next_rows(execution, relation, &batch))
		for (row = 0; row < batch.nrows; row++, nrows++)
		{
			MemoryContext old = MemoryContextSwitchTo(row_context);

			for (c = 0; c < relation->arity; c++)
				values[c] = make_value(execution, &columns[c], batch.columns[c][row]);
			sink(context, values, nulls);
			MemoryContextSwitchTo(old);
			MemoryContextReset(row_context);
		}
	MemoryContextDelete(row_context);
	return nrows;
}

/* The relation that the caller asked for. */
static DatalogRelation *
find_output(const DatalogProgram *program, const char *name)
{
	DatalogRelation *relation = gpucol_datalog_find(program, name);
	ListCell   *lc;
	bool		any = false;

	if (relation == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the program declares no relation \"%s\"", name),
				 errhint("The second argument of gpucol.datalog names a relation as the program writes it, in upper or lower case.")));
	foreach(lc, program->relations)
		any |= ((DatalogRelation *) lfirst(lc))->output;
	if (any && !relation->output)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"%s\" is no output of the program", name),
				 errhint("Add \".output %s\" to the program.", name)));
	return relation;
}

/* ---- one relation as rows ---- */

struct GpucolDatalog
{
	Execution	execution;
	DatalogRelation *relation;	/* that is read */
	DatalogOutputColumn columns[GPUCOL_REC_MAX_ARITY];
	bool		all_asked;
	GpucolRecBatch batch;
	uint32		row;			/* of it, the next */
};

/* The constant of a condition for a column, or NULL: its values are compared otherwise. */
static DatalogExpr *
asked_value(const DatalogOutputColumn *column, const GpucolDatalogCondition *condition)
{
	DatalogExpr *expr = palloc0(sizeof(DatalogExpr));

	expr->kind = DATALOG_CONSTANT;
	expr->type = column->type;
	expr->variable = -1;
	if (column->by_text)
		return NULL;
	if (column->type == DATALOG_SYMBOL && condition->type == TEXTOID)
	{
		expr->name = TextDatumGetCString(condition->value);
		return expr;
	}
	if (column->type != DATALOG_NUMBER)
		return NULL;
	switch (condition->type)
	{
		case INT2OID:
			expr->value = DatumGetInt16(condition->value);
			return expr;
		case INT4OID:
			expr->value = DatumGetInt32(condition->value);
			return expr;
		case INT8OID:
			expr->value = DatumGetInt64(condition->value);
			return expr;
		default:
			return NULL;
	}
}

/* Have the program derive only what the conditions leave. */
static void
ask_for(GpucolDatalog *datalog, int nconditions, const GpucolDatalogCondition *conditions)
{
	DatalogExpr **values = palloc0(sizeof(DatalogExpr *) * GPUCOL_REC_MAX_ARITY);
	bool		any = false;

	for (int i = 0; i < nconditions; i++)
	{
		int			c = conditions[i].column;
		DatalogExpr *value = asked_value(&datalog->columns[c], &conditions[i]);

		/* a second condition on a column is left to the caller */
		if (value == NULL || values[c] != NULL)
			datalog->all_asked = false;
		else
		{
			values[c] = value;
			any = true;
		}
	}
	if (any)
		gpucol_datalog_ask(datalog->execution.program, datalog->relation, values);
}

GpucolDatalog *
gpucol_datalog_open(const char *program, const char *output, TupleDesc desc, int nconditions,
					const GpucolDatalogCondition *conditions)
{
	GpucolDatalog *datalog = palloc0(sizeof(GpucolDatalog));
	Execution  *execution = &datalog->execution;
	DatalogRelation *relation;
	ListCell   *lc;

	prepare(execution, program);
	datalog->relation = relation = find_output(execution->program, output);
	if (desc->natts != relation->arity)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("the query asks for another number of columns than relation \"%s\" has",
						relation->name),
				 errdetail("The relation has %d, the column list of the query %d.",
						   relation->arity, desc->natts)));
	foreach(lc, execution->program->relations)
		((DatalogRelation *) lfirst(lc))->output = false;
	relation->needed = relation->output = true;
	for (int c = 0; c < relation->arity; c++)
		gpucol_datalog_open_column(&datalog->columns[c], relation->attributes[c].type,
					TupleDescAttr(desc, c)->atttypid, TupleDescAttr(desc, c)->atttypmod, NULL);
	datalog->all_asked = true;
	ask_for(datalog, nconditions, conditions);
	start(execution);
	if (execution->program->answer != NULL)
		datalog->relation = execution->program->answer;
	MemoryContextSwitchTo(execution->caller);
	return datalog;
}

bool
gpucol_datalog_all_asked(const GpucolDatalog *datalog)
{
	return datalog->all_asked;
}

/* Has every value of the column a place in its type? */
static bool
takes_all(const Execution *execution, const DatalogOutputColumn *column)
{
	return column->type == DATALOG_SYMBOL || column->type == DATALOG_FLOAT ||
		(column->type != DATALOG_UNSIGNED &&
		 (column->target == INT8OID || execution->narrow));
}

bool
gpucol_datalog_fetch_batch(GpucolDatalog *datalog, GpucolRecBatch *batch)
{
	const Execution *execution = &datalog->execution;
	MemoryContext old = MemoryContextSwitchTo(execution->context);
	bool		more = next_rows(&datalog->execution, datalog->relation, batch);

	for (int c = 0; more && c < datalog->relation->arity; c++)
	{
		DatalogOutputColumn *column = &datalog->columns[c];

		if (column->by_text || takes_all(execution, column))
			continue;
		for (uint32 row = 0; row < batch->nrows; row++)
			if (!is_narrow(batch->columns[c][row]) || batch->columns[c][row] < 0)
				(void) make_value(execution, column, batch->columns[c][row]);
	}
	MemoryContextSwitchTo(old);
	return more;
}

Datum
gpucol_datalog_datum(GpucolDatalog *datalog, int column, int64 value)
{
	return make_value(&datalog->execution, &datalog->columns[column], value);
}

bool
gpucol_datalog_in_place(const GpucolDatalog *datalog, int column)
{
	const DatalogOutputColumn *of = &datalog->columns[column];

	return !of->by_text && of->type != DATALOG_SYMBOL && of->type != DATALOG_FLOAT;
}

bool
gpucol_datalog_fetch(GpucolDatalog *datalog, Datum *values)
{
	while (datalog->row == datalog->batch.nrows)
	{
		MemoryContext old = MemoryContextSwitchTo(datalog->execution.context);
		bool		more = next_rows(&datalog->execution, datalog->relation, &datalog->batch);

		MemoryContextSwitchTo(old);
		datalog->row = 0;
		if (!more)
		{
			datalog->batch.nrows = 0;
			return false;
		}
	}
	for (int c = 0; c < datalog->relation->arity; c++)
		values[c] = make_value(&datalog->execution, &datalog->columns[c],
							   datalog->batch.columns[c][datalog->row]);
	datalog->row++;
	return true;
}

bool
gpucol_datalog_summarise(GpucolDatalog *datalog, const bool *want, uint64 *nrows,
						 GpucolRecSummary *columns)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,.callback = name_rule,.arg = &datalog->execution
	};
	bool		needed[GPUCOL_REC_MAX_ARITY];
	MemoryContext old;

	for (int c = 0; c < datalog->relation->arity; c++)
	{
		if (datalog->columns[c].by_text)
			return false;
		needed[c] = want[c] || !takes_all(&datalog->execution, &datalog->columns[c]);
	}
	old = MemoryContextSwitchTo(datalog->execution.context);
	error_context_stack = &callback;
	*nrows = gpucol_recursion_summarise(datalog->execution.recursion, datalog->relation->number,
										needed, columns);
	error_context_stack = callback.previous;
	for (int c = 0; c < datalog->relation->arity; c++)
		if (!takes_all(&datalog->execution, &datalog->columns[c]) && columns[c].count > 0)
		{
			(void) make_value(&datalog->execution, &datalog->columns[c], columns[c].min);
			(void) make_value(&datalog->execution, &datalog->columns[c], columns[c].max);
		}
	MemoryContextSwitchTo(old);
	return true;
}

List *
gpucol_datalog_rules(const GpucolDatalog *datalog)
{
	const GpucolRecPlan *plan = datalog->execution.plan;
	List	   *rules = NIL;
	ListCell   *lc;

	foreach(lc, describe_rules(&datalog->execution))
		rules = lappend(rules, psprintf("%s (stratum %d)", (char *) lfirst(lc),
										plan->rules[foreach_current_index(lc)].stratum + 1));
	return rules;
}

void
gpucol_datalog_progress(const GpucolDatalog *datalog, GpucolRecProgress *progress)
{
	gpucol_recursion_progress(datalog->execution.recursion, progress);
}

void
gpucol_datalog_close(GpucolDatalog *datalog)
{
	MemoryContext old = MemoryContextSwitchTo(datalog->execution.context);

	datalog->execution.caller = old;
	finish(&datalog->execution);
	pfree(datalog);
}

/*
 * gpucol.datalog(program text, output text) returns setof record
 */
Datum
gpucol_datalog(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[GPUCOL_REC_MAX_ARITY];
	bool		nulls[GPUCOL_REC_MAX_ARITY] = {false};
	GpucolDatalog *datalog;
	MemoryContext row_context;
	MemoryContext old;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	datalog = gpucol_datalog_open(text_to_cstring(PG_GETARG_TEXT_PP(0)),
								  text_to_cstring(PG_GETARG_TEXT_PP(1)), info->setDesc, 0, NULL);
	row_context = AllocSetContextCreate(CurrentMemoryContext, "gpucol datalog row",
										ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(row_context);
	while (gpucol_datalog_fetch(datalog, values))
	{
		tuplestore_putvalues(info->setResult, info->setDesc, values, nulls);
		MemoryContextReset(row_context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(row_context);
	gpucol_datalog_close(datalog);
	return (Datum) 0;
}

/* ---- results into tables ---- */

/* A table that is being filled. */
typedef struct Filling
{
	Relation	rel;
	BulkInsertState bulk;
	TupleTableSlot *slots[INSERT_ROWS];
	int			nslots;			/* made */
	int			nrows;			/* waiting */
	CommandId	command;
	MemoryContext context;
} Filling;

static void
flush_rows(Filling *filling)
{
	int			i;

	if (filling->nrows == 0)
		return;
	table_multi_insert(filling->rel, filling->slots, filling->nrows,
					   filling->command, 0, filling->bulk);
	for (i = 0; i < filling->nrows; i++)
		ExecClearTuple(filling->slots[i]);
	filling->nrows = 0;
}

/* A sink: rows of a table. */
static void
insert_row(void *context, Datum *values, bool *nulls)
{
	Filling    *filling = context;
	TupleTableSlot *slot;

	if (filling->nrows == filling->nslots)
	{
		MemoryContext old = MemoryContextSwitchTo(filling->context);

		filling->slots[filling->nslots++] = table_slot_create(filling->rel,
															  NULL);
		MemoryContextSwitchTo(old);
	}
	slot = filling->slots[filling->nrows++];
	ExecClearTuple(slot);
	memcpy(slot->tts_values, values,
		   sizeof(Datum) * slot->tts_tupleDescriptor->natts);
	memcpy(slot->tts_isnull, nulls,
		   sizeof(bool) * slot->tts_tupleDescriptor->natts);
	ExecStoreVirtualTuple(slot);
	ExecMaterializeSlot(slot);
	if (filling->nrows == INSERT_ROWS)
		flush_rows(filling);
}

/* CREATE TABLE for a relation, through SPI. */
static void
create_table(const DatalogRelation *relation, const char *schema)
{
	StringInfoData command;
	int			c;

	initStringInfo(&command);
	appendStringInfo(&command, "CREATE TABLE %s (",
					 quote_qualified_identifier(schema, relation->name));
	for (c = 0; c < relation->arity; c++)
		appendStringInfo(&command, "%s%s %s", c > 0 ? ", " : "",
						 quote_identifier(relation->attributes[c].name),
						 relation->attributes[c].type >= DATALOG_SYMBOL ?
						 "pg_catalog.text" :
						 relation->attributes[c].type == DATALOG_FLOAT ?
						 "pg_catalog.float8" : "pg_catalog.int8");
	appendStringInfoChar(&command, ')');
	SPI_connect();
	if (SPI_execute(command.data, false, 0) != SPI_OK_UTILITY)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not create table \"%s\"", relation->name)));
	SPI_finish();
	CommandCounterIncrement();
}

/*
 * Open the table that has been created.  Its rows are written as they are: an event
 * trigger must not have given it anything that rows would have to be shown to.
 */
static Relation
open_created(const DatalogRelation *relation, const char *schema)
{
	Oid			relid = get_relname_relid(relation->name, get_namespace_oid(schema, false));
	Relation	table = OidIsValid(relid) ? try_table_open(relid, RowExclusiveLock) : NULL;

	if (table == NULL || RelationGetIndexList(table) != NIL || table->trigdesc != NULL ||
		table->rd_att->constr != NULL || table->rd_rel->relrowsecurity ||
		table->rd_rel->relkind != RELKIND_RELATION || table->rd_att->natts != relation->arity)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" is not what was created", relation->name),
				 errdetail("An event trigger has dropped it, or given it columns, constraints, indexes, triggers or policies."),
				 errhint("Insert the rows of gpucol.datalog into the table.")));
	return table;
}

/* Create the table of a relation and fill it; the number of rows. */
static uint64
fill_table(Execution *execution, DatalogRelation *relation, const char *schema)
{
	DatalogOutputColumn columns[GPUCOL_REC_MAX_ARITY];
	Filling		filling = {0};
	uint64		nrows;
	int			c;
	int			i;

	create_table(relation, schema);
	filling.rel = open_created(relation, schema);
	filling.bulk = GetBulkInsertState();
	filling.command = GetCurrentCommandId(true);
	filling.context = CurrentMemoryContext;
	for (c = 0; c < relation->arity; c++)
		gpucol_datalog_open_column(&columns[c], relation->attributes[c].type,
					gpucol_datalog_base_type(relation->attributes[c].type), -1, relation->name);
	nrows = send_rows(execution, relation, columns, insert_row, &filling);
	flush_rows(&filling);
	for (i = 0; i < filling.nslots; i++)
		ExecDropSingleTupleTableSlot(filling.slots[i]);
	FreeBulkInsertState(filling.bulk);
	table_finish_bulk_insert(filling.rel, 0);
	table_close(filling.rel, NoLock);
	return nrows;
}

/*
 * gpucol.datalog_into(program text, schema name)
 *		returns table (relation name, row_count bigint)
 */
Datum
gpucol_datalog_into(PG_FUNCTION_ARGS)
{
	char	   *source = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *schema = pstrdup(NameStr(*PG_GETARG_NAME(1)));
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	Execution	execution = {0};
	ListCell   *lc;
	bool		any = false;

	InitMaterializedSRF(fcinfo, 0);
	(void) get_namespace_oid(schema, false);
	prepare(&execution, source);
	foreach(lc, execution.program->relations)
	{
		DatalogRelation *relation = lfirst(lc);

		relation->needed = relation->output;
		any |= relation->output;
	}
	if (!any)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the program has no output"),
				 errhint("Name the relations to be stored by .output.")));
	start(&execution);
	foreach(lc, execution.program->relations)
	{
		DatalogRelation *relation = lfirst(lc);
		Datum		values[2];
		bool		nulls[2] = {false, false};
		NameData	name;

		if (!relation->output)
			continue;
		if (strlen(relation->name) >= NAMEDATALEN)
			ereport(ERROR,
					(errcode(ERRCODE_NAME_TOO_LONG),
					 errmsg("relation name \"%s\" is too long for a table",
							relation->name)));
		values[1] = Int64GetDatum((int64) fill_table(&execution, relation,
													 schema));
		namestrcpy(&name, relation->name);
		values[0] = NameGetDatum(&name);
		tuplestore_putvalues(info->setResult, info->setDesc, values, nulls);
	}
	finish(&execution);
	return (Datum) 0;
}
