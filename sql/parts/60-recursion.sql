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
