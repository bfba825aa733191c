/*-------------------------------------------------------------------------
 *
 * output.c
 *	  Values of results of datalog programs as those of PostgreSQL's types.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "recursion/front/output.h"
#include "recursion/front/records.h"

Oid
gpucol_datalog_base_type(DatalogType type)
{
	switch (type)
	{
		case DATALOG_FLOAT:
			return FLOAT8OID;
		case DATALOG_NUMBER:
		case DATALOG_UNSIGNED:
		case DATALOG_UNKNOWN:
			return INT8OID;
		default:
			return TEXTOID;
	}
}

void
gpucol_datalog_open_column(DatalogOutputColumn *column, DatalogType type, Oid target, int32 typmod,
			const char *table)
{
	Oid			function;

	column->table = table;
	column->type = type;
	column->target = target;
	column->typmod = typmod;
	column->by_text = type >= DATALOG_RECORD || (target != gpucol_datalog_base_type(type) && target != INT4OID);
	if (target == INT4OID && gpucol_datalog_base_type(type) != INT8OID)
		column->by_text = true;
	if (column->by_text)
	{
		getTypeInputInfo(target, &function, &column->ioparam);
		fmgr_info(function, &column->input);
	}
}

/* The value as text, for types that read it that way. */
static char *
value_text(const DatalogProgram *program, const DatalogStore *store,
		   const DatalogOutputColumn *column, int64 value)
{
	StringInfoData record;
	uint32		len;
	double		real;

	switch (column->type)
	{
		case DATALOG_SYMBOL:
			return unconstify(char *, gpucol_symbols_get(store->symbols,
														 value, &len));
		case DATALOG_FLOAT:
			memcpy(&real, &value, sizeof(real));
			return DatumGetCString(DirectFunctionCall1(float8out,
													   Float8GetDatum(real)));
		case DATALOG_UNSIGNED:
			return psprintf(UINT64_FORMAT, (uint64) value);
		case DATALOG_NUMBER:
		case DATALOG_UNKNOWN:
			return psprintf(INT64_FORMAT, value);
		default:
			initStringInfo(&record);
			gpucol_datalog_print_record(&record, program, store, column->type,
										value);
			return record.data;
	}
}

/* The error of an unsigned value from 2^63 on; the tables made here have bigint. */
pg_noreturn static void
report_unsigned(const DatalogOutputColumn *column, int64 value)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("bigint out of range"),
			 errdetail("The value is " UINT64_FORMAT ".", (uint64) value),
			 column->table == NULL ? errhint("Give the column the type numeric.") :
			 errhint("Create table \"%s\" from gpucol.datalog(program, '%s'), whose column list may give the column the type numeric.",
					 column->table, column->table)));
}

Datum
gpucol_datalog_datum_of(const DatalogProgram *program, const DatalogStore *store,
						DatalogOutputColumn *column, int64 value)
{
	const char *data;
	uint32		len;
	double		real;

	if (column->by_text)
		return InputFunctionCall(&column->input,
								 value_text(program, store, column, value),
								 column->ioparam, column->typmod);
	if (column->type == DATALOG_SYMBOL)
	{
		data = gpucol_symbols_get(store->symbols, value, &len);
		return PointerGetDatum(cstring_to_text_with_len(data, len));
	}
	if (column->type == DATALOG_FLOAT)
	{
		memcpy(&real, &value, sizeof(real));
		return Float8GetDatum(real);
	}
	if (column->type == DATALOG_UNSIGNED && value < 0)
		report_unsigned(column, value);
	if (column->target == INT8OID)
		return Int64GetDatum(value);
	if (value < PG_INT32_MIN || value > PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("integer out of range"),
				 errhint("Give the column the type bigint.")));
	return Int32GetDatum((int32) value);
}
