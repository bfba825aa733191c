/*-------------------------------------------------------------------------
 *
 * user_functors.c
 *	  .functor f(x:number, s:symbol):float: functions of SQL in datalog programs.
 *
 * @f(..) calls the function that the search path finds for the name and the types, bigint for
 * number and unsigned, double precision for float, text for symbol, with the caller's rights.
 * A rule calls it any number of times, so it must not be volatile.  Only those that a program
 * calls have to be there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "parser/scansup.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "compat.h"
#include "kernel/recursion_values.h"
#include "recursion/front/functors.h"
#include "recursion/front/parser.h"

typedef struct UserFunctor
{
	DatalogFunctor base;
	int			position;
	const NamedType *types[DATALOG_MAX_ARGS];
	const NamedType *result_type;
	FmgrInfo	function;		/* once it has been called */
	Oid			returned;		/* its type */
} UserFunctor;

/* ---- declaration ---- */

static UserFunctor *
find_declared(const DatalogParser *parser, const char *name)
{
	ListCell   *lc;

	foreach(lc, parser->functors)
		if (strcmp(((UserFunctor *) lfirst(lc))->base.name, name) == 0)
			return lfirst(lc);
	return NULL;
}

void
gpucol_datalog_parse_functor(DatalogParser *parser)
{
	UserFunctor *functor = palloc0(sizeof(UserFunctor));

	functor->position = parser->token.position;
	functor->base.name = gpucol_datalog_expect_name(parser, "the name of a functor");
	if (find_declared(parser, functor->base.name) != NULL)
		gpucol_datalog_error(parser->program->text, functor->position, ERRCODE_DUPLICATE_OBJECT,
							 NULL, "functor \"%s\" is declared twice", functor->base.name);
	gpucol_datalog_expect(parser, "(");
	while (!gpucol_datalog_accept(parser, ")"))
	{
		if (functor->base.nargs == DATALOG_MAX_ARGS)
			gpucol_datalog_unsupported(parser, parser->token.position,
									   psprintf("a functor of more than %d arguments is",
												DATALOG_MAX_ARGS));
		/* older programs name no arguments */
		if (gpucol_datalog_followed_by(parser, ":"))
		{
			(void) gpucol_datalog_expect_name(parser, "the name of an argument");
			gpucol_datalog_expect(parser, ":");
		}
		functor->types[functor->base.nargs++] = gpucol_datalog_parse_type(parser);
		gpucol_datalog_expect_more(parser);
	}
	gpucol_datalog_expect(parser, ":");
	functor->result_type = gpucol_datalog_parse_type(parser);
	if (gpucol_datalog_at_name(parser, "stateful") && !gpucol_datalog_followed_by(parser, "("))
		gpucol_datalog_unsupported(parser, parser->token.position, "a stateful functor is");
	parser->functors = lappend(parser->functors, functor);
}

/* ---- calls ---- */

/* What the function makes of one row's values. */
static int64
compute_user(const DatalogCall *call)
{
	UserFunctor *functor = (UserFunctor *) unconstify(DatalogFunctor *, call->functor);
	uint32		len;
	const char *text;
	struct varlena *result;
	Datum		value;

	LOCAL_FCINFO(fcinfo, DATALOG_MAX_ARGS);

	InitFunctionCallInfoData(*fcinfo, &functor->function, functor->base.nargs,
							 DEFAULT_COLLATION_OID, NULL, NULL);
	for (int i = 0; i < functor->base.nargs; i++)
	{
		fcinfo->args[i].isnull = false;
		fcinfo->args[i].value = Int64GetDatum(call->args[i]);
		if (functor->base.args[i] == DATALOG_FLOAT)
			fcinfo->args[i].value = Float8GetDatum(gpucol_rec_double(call->args[i]));
		else if (functor->base.args[i] == DATALOG_SYMBOL)
		{
			text = gpucol_symbols_get(call->symbols, call->args[i], &len);
			fcinfo->args[i].value = PointerGetDatum(cstring_to_text_with_len(text, (int) len));
		}
		else if (functor->base.args[i] == DATALOG_UNSIGNED && call->args[i] < 0)
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("bigint out of range")));
	}
	value = FunctionCallInvoke(fcinfo);
	if (fcinfo->isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("functor \"%s\" returned a null", functor->base.name)));
	switch (functor->returned)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		case FLOAT4OID:
			return gpucol_rec_bits((double) DatumGetFloat4(value));
		case FLOAT8OID:
			return gpucol_rec_bits(DatumGetFloat8(value));
		case TEXTOID:
			result = pg_detoast_datum_packed((struct varlena *) DatumGetPointer(value));
			return gpucol_symbols_code(call->symbols, VARDATA_ANY(result),
									   VARSIZE_ANY_EXHDR(result));
		default:
			return DatumGetInt64(value);
	}
}

/* The types of SQL that stand for one of a program: of arguments, and of results. */
static Oid
argument_type(DatalogType type)
{
	return type == DATALOG_FLOAT ? FLOAT8OID : type == DATALOG_SYMBOL ? TEXTOID : INT8OID;
}

static bool
is_result_type(DatalogType type, Oid returned)
{
	switch (type)
	{
		case DATALOG_FLOAT:
			return returned == FLOAT8OID || returned == FLOAT4OID;
		case DATALOG_SYMBOL:
			return returned == TEXTOID;
		case DATALOG_NUMBER:
			return returned == INT8OID || returned == INT4OID || returned == INT2OID;
		default:
			/* a negative result is no unsigned number */
			return false;
	}
}

/* Its function, by the name as it is written, else in lower case; an error if there is none. */
static Oid
look_up(const DatalogParser *parser, const UserFunctor *functor)
{
	const char *name = functor->base.name;
	Oid			types[DATALOG_MAX_ARGS];
	Oid			found;

	for (int i = 0; i < functor->base.nargs; i++)
		types[i] = argument_type(functor->base.args[i]);
	found = LookupFuncName(list_make1(makeString(pstrdup(name))), functor->base.nargs, types, true);
	if (!OidIsValid(found))
		found = LookupFuncName(list_make1(makeString(downcase_identifier(name, (int) strlen(name),
																		 false, false))),
							   functor->base.nargs, types, true);
	if (!OidIsValid(found))
		gpucol_datalog_error(parser->program->text, functor->position, ERRCODE_UNDEFINED_FUNCTION,
							 "Functors are functions of SQL in the search path, with arguments of type bigint, double precision and text.",
							 "no function for functor \"%s\"",
							 func_signature_string(list_make1(makeString(pstrdup(name))),
												   functor->base.nargs, NIL, types));
	return found;
}

/* Take the function of a functor, if it is one that rules may call. */
static void
take_function(const DatalogParser *parser, UserFunctor *functor)
{
	Oid			function = look_up(parser, functor);
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	const char *wrong = NULL;
	Form_pg_proc proc;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	functor->returned = proc->prorettype;
	if (proc->prokind != PROKIND_FUNCTION || proc->proretset)
		wrong = "is no function that returns one value";
	else if (proc->provolatile == PROVOLATILE_VOLATILE)
		wrong = "is volatile";
	else if (!is_result_type(functor->base.result, functor->returned))
		wrong = "returns another type";
	ReleaseSysCache(tuple);
	if (wrong != NULL)
		gpucol_datalog_error(parser->program->text, functor->position,
							 ERRCODE_INVALID_FUNCTION_DEFINITION,
							 "A rule calls it any number of times: it must be IMMUTABLE or STABLE, and return bigint, integer, smallint, double precision, real or text.",
							 "the function of functor \"%s\" %s", functor->base.name, wrong);
	if (gpucol_compat_function_right(function, GetUserId()) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, functor->base.name);
	InvokeFunctionExecuteHook(function);
	fmgr_info(function, &functor->function);
}

/* The type of an argument or a result. */
static DatalogType
resolve(DatalogParser *parser, const NamedType *name)
{
	DatalogType type = gpucol_datalog_resolve_type(parser, name);

	if (type >= DATALOG_RECORD)
		gpucol_datalog_unsupported(parser, name->position, "a record as argument or result of a functor is");
	return type;
}

void
gpucol_datalog_resolve_functor(DatalogParser *parser, DatalogExpr *call)
{
	UserFunctor *functor = find_declared(parser, call->name);
	int			nargs = 0;

	if (functor == NULL)
		gpucol_datalog_error(parser->program->text, call->position, ERRCODE_UNDEFINED_FUNCTION,
							 "Declare it with .functor; the function of its name is called.",
							 "functor \"%s\" is not declared", call->name);
	if (functor->base.compute == NULL)
	{
		for (int i = 0; i < functor->base.nargs; i++)
			functor->base.args[i] = resolve(parser, functor->types[i]);
		functor->base.signature = SIGNATURE_FIXED;
		functor->base.result = resolve(parser, functor->result_type);
		functor->base.compute = compute_user;
		take_function(parser, functor);
	}
	while (nargs < DATALOG_MAX_ARGS && call->args[nargs] != NULL)
		nargs++;
	if (nargs != functor->base.nargs)
		gpucol_datalog_error(parser->program->text, call->position, ERRCODE_SYNTAX_ERROR, NULL,
							 "wrong number of arguments of functor \"%s\": %d instead of %d",
							 call->name, nargs, functor->base.nargs);
	call->functor = &functor->base;
}
