/*-------------------------------------------------------------------------
 *
 * records.c
 *	  Values of records and of algebraic data types: made, taken apart, printed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "kernel/recursion_values.h"
#include "recursion/front/records.h"

/* A link of a chain. */
typedef struct Pair
{
	int64		item;
	int64		rest;
} Pair;

static Pair
get_pair(const DatalogStore *store, int64 value)
{
	uint32		len;
	Pair		pair;

	memcpy(&pair, gpucol_symbols_get(store->records, value - 1, &len), sizeof(pair));
	return pair;
}

int64
gpucol_datalog_pack(const DatalogCall *call)
{
	Pair		pair = {.item = call->args[0],.rest = call->args[1]};

	return gpucol_symbols_code(call->store->records, (const char *) &pair, sizeof(pair)) + 1;
}

int64
gpucol_datalog_field(const DatalogCall *call)
{
	int64		value = call->args[0];

	for (int64 i = 0; value != 0; i++)
	{
		Pair		pair = get_pair(call->store, value);

		if (i == call->args[1])
			return pair.item;
		value = pair.rest;
	}
	return 0;
}

const DatalogBranch *
gpucol_datalog_only_branch(const DatalogProgram *program, DatalogType type)
{
	const DatalogRecordType *record = list_nth(program->records, (int) type - DATALOG_RECORD);
	const DatalogBranch *branch = linitial(record->branches);

	return branch->name == NULL ? branch : NULL;
}

/* Append a value of any type. */
static void
print_value(StringInfo out, const DatalogProgram *program, const DatalogStore *store,
			DatalogType type, int64 value)
{
	uint32		len;
	const char *text;

	switch (type)
	{
		case DATALOG_SYMBOL:
			text = gpucol_symbols_get(store->symbols, value, &len);
			appendBinaryStringInfo(out, text, (int) len);
			break;
		case DATALOG_FLOAT:
			appendStringInfoString(out, DatumGetCString(DirectFunctionCall1(float8out,
																			Float8GetDatum(gpucol_rec_double(value)))));
			break;
		case DATALOG_UNSIGNED:
			appendStringInfo(out, UINT64_FORMAT, (uint64) value);
			break;
		case DATALOG_NUMBER:
		case DATALOG_UNKNOWN:
			appendStringInfo(out, INT64_FORMAT, value);
			break;
		default:
			gpucol_datalog_print_record(out, program, store, type, value);
			break;
	}
}

void
gpucol_datalog_print_record(StringInfo out, const DatalogProgram *program,
							const DatalogStore *store, DatalogType type, int64 value)
{
	const DatalogRecordType *record = list_nth(program->records, (int) type - DATALOG_RECORD);
	const DatalogBranch *branch = gpucol_datalog_only_branch(program, type);
	const char *close = "]";

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (value == 0)
	{
		appendStringInfoString(out, "nil");
		return;
	}
	if (branch != NULL)
		appendStringInfoChar(out, '[');
	else
	{
		Pair		pair = get_pair(store, value);

		branch = list_nth(record->branches, (int) pair.item);
		value = pair.rest;
		appendStringInfo(out, "$%s%s", branch->name, branch->nfields > 0 ? "(" : "");
		close = branch->nfields > 0 ? ")" : "";
	}
	for (int i = 0; i < branch->nfields; i++)
	{
		Pair		pair = get_pair(store, value);

		if (i > 0)
			appendStringInfoString(out, ", ");
		print_value(out, program, store, branch->fields[i].type, pair.item);
		value = pair.rest;
	}
	appendStringInfoString(out, close);
}
