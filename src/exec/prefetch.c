/*-------------------------------------------------------------------------
 *
 * prefetch.c
 *	  gpucol.prefetch(regclass): make a table's columns resident on the device.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "columnar/am.h"
#include "columnar/source.h"
#include "columnar/typemap.h"
#include "engine/gpu_client.h"

PG_FUNCTION_INFO_V1(gpucol_prefetch);

/* A program that reads the columns of a table and does nothing. */
static GpucolProgram *
make_program(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Size		size = MAXALIGN(sizeof(GpucolProgram)) + desc->natts * sizeof(GpucolProgramColumn);
	GpucolProgram *program = palloc0(size);
	GpucolProgramColumn *columns = (GpucolProgramColumn *)
		((char *) program + MAXALIGN(sizeof(GpucolProgram)));

	program->magic = GPUCOL_PROGRAM_MAGIC;
	program->version = GPUCOL_PROGRAM_VERSION;
	program->kind = GPUCOL_PROGRAM_AGG;
	program->filter = GPUCOL_NO_REG;
	program->columns = (char *) columns - (char *) program;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		GpucolProgramColumn *column = &columns[program->ncolumns];
		GpucolTypeMap map;

		if (att->attisdropped)
			continue;
		gpucol_typemap_init(&map, att->atttypid, att->atttypmod, att->attcollation);
		if (map.kind == GPUCOL_KIND_BYTES)
			continue;
		column->attnum = att->attnum;
		column->kind = map.kind;
		column->scale = map.scale;
		column->type_oid = att->atttypid;
		program->ncolumns++;
	}
	program->size = program->columns + program->ncolumns * sizeof(GpucolProgramColumn);
	program->consts = program->ranges = program->instrs = program->columns;
	program->reg_classes = program->keys = program->aggs = program->columns;
	return program;
}

Datum
gpucol_prefetch(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Relation	rel = table_open(relid, AccessShareLock);
	AclResult	acl = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);
	const char *why = NULL;
	GpucolProgram *program;
	GpucolSource *source;
	GpucolStatus status;
	uint64_t	bytes;

	if (acl != ACLCHECK_OK)
		aclcheck_error(acl, get_relkind_objtype(rel->rd_rel->relkind), RelationGetRelationName(rel));
	if (!gpucol_am_is_table(rel))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a gpucol table", RelationGetRelationName(rel))));
	if (!gpucol_engine_cuda.available(&why))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("CUDA engine is not available"),
				 errdetail("Reason: %s.", why)));
	program = make_program(rel);
	source = gpucol_source_open(rel, GetActiveSnapshot(),
								GPUCOL_PROGRAM_ARRAY(program, GpucolProgramColumn, columns),
								program->ncolumns, NULL);
	status = gpucol_gpu_prefetch(program, source, &bytes, &why);
	if (status != GPUCOL_OK)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not load table \"%s\" into device memory", RelationGetRelationName(rel)),
				 errdetail("Reason: %s.", why)));
	gpucol_source_close(source);
	table_close(rel, AccessShareLock);
	PG_RETURN_INT64(bytes);
}
