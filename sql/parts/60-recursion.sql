-- Recursion (docs/recursion.md).

CREATE FUNCTION gpucol.datalog(program text, output text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_datalog'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED
COST 10000 ROWS 100000;

COMMENT ON FUNCTION gpucol.datalog(text, text)
IS 'runs a datalog program (Souffle syntax) over tables and views and returns one of its relations';

CREATE FUNCTION gpucol.datalog_into(program text, schema name)
RETURNS TABLE (relation name, row_count bigint)
AS 'MODULE_PATHNAME', 'gpucol_datalog_into'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
COST 10000 ROWS 10;

COMMENT ON FUNCTION gpucol.datalog_into(text, name)
IS 'runs a datalog program and stores each of its outputs as a new table of a schema';

CREATE FUNCTION gpucol.work_list(
	OUT pid integer, OUT state text, OUT seconds float8, OUT round bigint,
	OUT delta bigint, OUT full_rows bigint, OUT bytes bigint, OUT database oid,
	OUT relation oid, OUT progress float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_work_list'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpucol.work_list()
IS 'recursions and merges that run in server processes, of all databases, and how far they have come';

CREATE VIEW gpucol.activity AS
SELECT pid, state, seconds, NULL::bigint AS round, NULL::bigint AS delta,
	NULL::bigint AS full_rows, bytes, NULL::regclass AS relation, progress
FROM gpucol.activity_list()
UNION ALL
SELECT w.pid, w.state, w.seconds, w.round, w.delta, w.full_rows, w.bytes,
	CASE WHEN d.datname = pg_catalog.current_database() THEN w.relation::regclass END, w.progress
FROM gpucol.work_list() w
LEFT JOIN pg_catalog.pg_database d ON d.oid = w.database;

COMMENT ON VIEW gpucol.activity
IS 'server processes that are connected to the device daemon (idle, waiting for memory, loading, computing or sending; share that is done), run a recursion (rounds, rows of the last delta, rows derived) or merge a table (its name in its database, rows moved, share of the delta read), since how many seconds, and the bytes that they hold';

REVOKE EXECUTE ON FUNCTION gpucol.work_list() FROM PUBLIC;
