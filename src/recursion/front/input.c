/*-------------------------------------------------------------------------
 *
 * input.c
 *	  Input relations of datalog programs, read from tables and views.
 *
 * Columns are taken by position, of wider tables by name, and but for integers cast to the
 * type of the attribute by PostgreSQL itself.  The rows stay in memory until the plan is made, because
 * their number and distinct values decide the join orders.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "lib/hyperloglog.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "recursion/front/input.h"
#include "kernel/recursion_values.h"

/* Rows between two looks at the limit of memory. */
#define POLL_ROWS	4096

/* Takes the rows of a table over, as the executor delivers them. */
typedef struct InputReceiver
{
	DestReceiver pub;
	const DatalogProgram *program;
	GpucolDatalogInput *input;
	GpucolSymbols *symbols;
	hyperLogLogState *counters; /* of distinct values, by column, and of rows */
	MemoryContext context;		/* of the columns */
	Oid		   *types;			/* by column, below domains */
} InputReceiver;

/*
 * The table or view of a relation: its name as written, else in lower case.  Invalid where
 * there is none and need not be one.
 */
static Oid
find_table(const DatalogProgram *program, const DatalogRelation *relation)
{
	Oid			relid = RelnameGetRelid(relation->name);

	if (!OidIsValid(relid))
		relid = RelnameGetRelid(downcase_identifier(relation->name,
													strlen(relation->name),
													false, false));
	if (!OidIsValid(relid) && relation->optional)
		ereport(NOTICE,
				(errmsg("relation \"%s\" has no rules, and no table or view has its name: it is empty",
						relation->name)));
	else if (!OidIsValid(relid))
		gpucol_datalog_error(program->text, relation->position,
							 ERRCODE_UNDEFINED_TABLE,
							 "Relations without rules, and those of .input, are read from the table or view of their name in the search path.",
							 "no table or view for relation \"%s\"",
							 relation->name);
	return relid;
}

/* Can a column be read as a datalog type?  The cast to write, then: none for integers. */
static const char *
cast_of(Oid column_type, DatalogType type)
{
	Oid			base = getBaseType(column_type);

	switch (type)
	{
		case DATALOG_NUMBER:
		case DATALOG_UNSIGNED:
			if (base == INT2OID || base == INT4OID || base == INT8OID ||
				base == OIDOID)
				return "";
			return NULL;
		case DATALOG_FLOAT:
			if (base == INT2OID || base == INT4OID || base == INT8OID ||
				base == FLOAT4OID || base == FLOAT8OID || base == NUMERICOID)
				return "::pg_catalog.float8";
			return NULL;
		case DATALOG_SYMBOL:
			return "::pg_catalog.text";
		default:
			return NULL;
	}
}

/* The column of a table that an attribute of a relation is read from; NULL: there is none. */
static const FormData_pg_attribute *
column_named(TupleDesc desc, const char *name)
{
	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped &&
			strcmp(NameStr(TupleDescAttr(desc, i)->attname), name) == 0)
			return TupleDescAttr(desc, i);
	return NULL;
}

/*
 * The columns of a relation's attributes: by position, or, of a table that has more, by
 * name.
 */
static const FormData_pg_attribute **
find_columns(const DatalogProgram *program, const DatalogRelation *relation, Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	const FormData_pg_attribute **columns = palloc(sizeof(*columns) * (desc->natts + relation->arity + 1));
	int			n = 0;

	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			columns[n++] = TupleDescAttr(desc, i);
	for (int i = 0; n > relation->arity && i < relation->arity; i++)
	{
		columns[i] = column_named(desc, relation->attributes[i].name);
		if (columns[i] == NULL)
			break;
		if (i == relation->arity - 1)
			n = relation->arity;
	}
	if (n != relation->arity)
		gpucol_datalog_error(program->text, relation->position, ERRCODE_DATATYPE_MISMATCH,
							 "Of a table with more columns than the relation has attributes, those with the attributes' names are read; a view can choose others.",
							 "wrong number of attributes of relation \"%s\": %d, where \"%s\" has %d",
							 relation->name, relation->arity, RelationGetRelationName(rel), n);
	return columns;
}

/* SELECT that delivers the columns of a table as the attributes' types. */
static char *
build_query(const DatalogProgram *program, const DatalogRelation *relation,
			Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	const FormData_pg_attribute **columns;
	StringInfoData query;

	if (rel->rd_rel->relkind != RELKIND_RELATION &&
		rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE &&
		rel->rd_rel->relkind != RELKIND_VIEW &&
		rel->rd_rel->relkind != RELKIND_MATVIEW &&
		rel->rd_rel->relkind != RELKIND_FOREIGN_TABLE)
		gpucol_datalog_error(program->text, relation->position,
							 ERRCODE_WRONG_OBJECT_TYPE, NULL,
							 "\"%s\" is not a table or view", relation->name);
	columns = find_columns(program, relation, rel);
	initStringInfo(&query);
	appendStringInfoString(&query, "SELECT ");
	for (int i = 0; i < relation->arity; i++)
	{
		const char *cast = cast_of(columns[i]->atttypid, relation->attributes[i].type);

		if (cast == NULL)
			gpucol_datalog_error(program->text, relation->position,
								 ERRCODE_DATATYPE_MISMATCH,
								 "A view can cast the column.",
								 "column \"%s\" of \"%s\" has type %s, which cannot be read as %s",
								 NameStr(columns[i]->attname), relation->name,
								 format_type_be(columns[i]->atttypid),
								 gpucol_datalog_type_name(relation->attributes[i].type));
		appendStringInfo(&query, "%s%s%s", i > 0 ? ", " : "",
						 quote_identifier(NameStr(columns[i]->attname)), cast);
	}
	appendStringInfo(&query, " FROM %s",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
												RelationGetRelationName(rel)));
	for (int i = 0; relation->skip_nulls && i < relation->arity; i++)
		appendStringInfo(&query, "%s (%s%s) IS NOT NULL", i > 0 ? " AND" : " WHERE",
						 quote_identifier(NameStr(columns[i]->attname)),
						 cast_of(columns[i]->atttypid, relation->attributes[i].type));
	relation_close(rel, AccessShareLock);
	return query.data;
}

/* The code of a text. */
static int64
text_code(Datum datum, GpucolSymbols *symbols)
{
	struct varlena *given = (struct varlena *) DatumGetPointer(datum);
	struct varlena *text = pg_detoast_datum_packed(given);
	int64		code = gpucol_symbols_code(symbols, VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text));

	if (text != given)
		pfree(text);
	return code;
}

static int64
integer_value(Datum datum, Oid type)
{
	switch (type)
	{
		case INT2OID:
			return DatumGetInt16(datum);
		case INT4OID:
			return DatumGetInt32(datum);
		case OIDOID:
			return DatumGetObjectId(datum);
		default:
			return DatumGetInt64(datum);
	}
}

/* Value of one field as the engine takes it. */
static int64
to_value(const InputReceiver *receiver, int column, Datum datum)
{
	const DatalogRelation *relation = receiver->input->relation;
	int64		value;

	switch (relation->attributes[column].type)
	{
		case DATALOG_SYMBOL:
			return text_code(datum, receiver->symbols);
		case DATALOG_FLOAT:
			return gpucol_rec_bits(DatumGetFloat8(datum));
		case DATALOG_UNSIGNED:
			value = integer_value(datum, receiver->types[column]);
			if (value < 0)
				gpucol_datalog_error(receiver->program->text, relation->position,
									 ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, NULL,
									 "\"%s\" holds %lld, which is not unsigned",
									 relation->name, (long long) value);
			return value;
		default:
			return integer_value(datum, receiver->types[column]);
	}
}

/* Make room for more rows. */
static void
reserve(GpucolDatalogInput *input, MemoryContext context, GpucolRecursionMemory *memory)
{
	uint64		rows = Max(input->allocated * 2, 1024);

	gpucol_recursion_count(memory, sizeof(int64) * input->relation->arity *
						   (rows - input->allocated));
	input->allocated = rows;
	for (int c = 0; c < input->relation->arity; c++)
		if (input->columns[c] == NULL)
			input->columns[c] = MemoryContextAllocHuge(context, sizeof(int64) * rows);
		else
			input->columns[c] = repalloc_huge(input->columns[c], sizeof(int64) * rows);
}

/* DestReceiver: take a row over. */
static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	InputReceiver *receiver = (InputReceiver *) self;
	GpucolDatalogInput *input = receiver->input;
	DatalogRelation *relation = input->relation;
	uint32		row = 0;

	if (input->nrows == input->allocated)
		reserve(input, receiver->context, receiver->program->memory);
	slot_getallattrs(slot);
	for (int c = 0; c < relation->arity; c++)
	{
		int64		value;
		uint32		hash;

		if (slot->tts_isnull[c])
			gpucol_datalog_error(receiver->program->text, relation->position,
								 ERRCODE_NULL_VALUE_NOT_ALLOWED,
								 "Datalog has no null; .input R(nulls=\"skip\") or a view leaves such rows out.",
								 "column %d of \"%s\" holds a null",
								 c + 1, relation->name);
		value = to_value(receiver, c, slot->tts_values[c]);
		if (value < PG_INT32_MIN || value > PG_INT32_MAX)
			input->wide = true;
		input->columns[c][input->nrows] = value;
		hash = DatumGetUInt32(hash_uint32((uint32) value ^ (uint32) (value >> 32)));
		addHyperLogLog(&receiver->counters[c], hash);
		row = c == 0 ? hash : murmurhash32(hash_combine(row, hash));
	}
	addHyperLogLog(&receiver->counters[relation->arity], row);
	if (++input->nrows % POLL_ROWS == 0)
		gpucol_datalog_poll(receiver->program);
	return true;
}

static void
start_rows(DestReceiver *self, int operation pg_attribute_unused(), TupleDesc desc)
{
	InputReceiver *receiver = (InputReceiver *) self;

	receiver->types = palloc(sizeof(Oid) * (desc->natts + 1));
	for (int c = 0; c < desc->natts; c++)
		receiver->types[c] = getBaseType(TupleDescAttr(desc, c)->atttypid);
}

static void
end_rows(DestReceiver *self pg_attribute_unused())
{
}

/* Read all rows of a table. */
static void
read_table(const DatalogProgram *program, GpucolDatalogInput *input, Oid relid,
		   GpucolSymbols *symbols, hyperLogLogState *counters, MemoryContext context)
{
	InputReceiver receiver = {
		.pub = {.receiveSlot = receive_row,.rStartup = start_rows,.rShutdown = end_rows,
		.rDestroy = end_rows,.mydest = DestTuplestore},
		.program = program,.input = input,.symbols = symbols,.counters = counters,
		.context = context
	};
	SPIExecuteOptions options = {.read_only = true,.dest = &receiver.pub};
	char	   *query = build_query(program, input->relation, relid);

	if (SPI_execute_extended(query, &options) != SPI_OK_SELECT)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not read relation \"%s\"", input->relation->name)));
	pfree(query);
}

GpucolDatalogInput *
gpucol_datalog_read(const DatalogProgram *program, DatalogRelation *relation,
					GpucolSymbols *symbols, MemoryContext context)
{
	GpucolDatalogInput *input = MemoryContextAllocZero(context, sizeof(*input));
	hyperLogLogState *counters = palloc(sizeof(hyperLogLogState) *
										(relation->arity + 1));
	Oid			relid = find_table(program, relation);
	int			c;

	input->relation = relation;
	input->columns = MemoryContextAllocZero(context, sizeof(int64 *) *
											(relation->arity + 1));
	for (c = 0; c <= relation->arity; c++)
		initHyperLogLog(&counters[c], 10);
	if (OidIsValid(relid))
		read_table(program, input, relid, symbols, counters, context);
	relation->rows = (double) input->nrows;
	relation->distinct = MemoryContextAlloc(context, sizeof(double) *
											(relation->arity + 1));
	for (c = 0; c < relation->arity; c++)
	{
		relation->distinct[c] = Max(1, estimateHyperLogLog(&counters[c]));
		freeHyperLogLog(&counters[c]);
	}
	relation->repeats = estimateHyperLogLog(&counters[relation->arity]) < relation->rows * 0.9;
	freeHyperLogLog(&counters[relation->arity]);
	return input;
}
