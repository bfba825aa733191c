-- gpucol install script; built from sql/parts by the Makefile.
-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION gpucol" to load this file. \quit

-- A schema that somebody else made, or where something is already, is refused.
CREATE FUNCTION gpucol.check_schema() RETURNS void
AS 'MODULE_PATHNAME', 'gpucol_check_schema' LANGUAGE C;
SELECT gpucol.check_schema();
DROP FUNCTION gpucol.check_schema();

-- Everybody may call what is here; tables keep their own privileges.
GRANT USAGE ON SCHEMA gpucol TO PUBLIC;

