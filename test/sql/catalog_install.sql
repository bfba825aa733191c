-- CREATE EXTENSION in a database where somebody was before: the schema must be a
-- superuser's, nobody else may write to it, and nothing may be in it.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
SELECT current_database() AS here \gset
CREATE DATABASE catalog_install;
CREATE ROLE install_planter;
\c catalog_install
-- everything in the schema is the extension's
CREATE EXTENSION gpucol;
SELECT count(*) > 40 AS many, count(*) FILTER (WHERE classid = 'pg_proc'::regclass AND objid::regproc::text LIKE '%check_schema%') AS left_over
FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'gpucol') AND deptype = 'e';
SELECT pg_describe_object(classid, objid, 0) FROM pg_depend d
WHERE refclassid = 'pg_namespace'::regclass AND refobjid = 'gpucol'::regnamespace AND classid <> 'pg_extension'::regclass
	AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = d.classid AND e.objid = d.objid AND e.deptype IN ('e', 'i'));
-- again, in the schema that is left
DROP EXTENSION gpucol;
CREATE EXTENSION gpucol;
DROP EXTENSION gpucol;
-- what stands in its place
CREATE FUNCTION gpucol.merge(text) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
CREATE EXTENSION gpucol;
DROP FUNCTION gpucol.merge(text);
CREATE FUNCTION gpucol.check_schema() RETURNS void LANGUAGE sql AS '';
CREATE EXTENSION gpucol;
DROP FUNCTION gpucol.check_schema();
CREATE OPERATOR gpucol.= (LEFTARG = name, RIGHTARG = name, FUNCTION = nameeq);
CREATE EXTENSION gpucol;
DROP OPERATOR gpucol.= (name, name);
CREATE DOMAIN gpucol.regclass AS text;
CREATE EXTENSION gpucol;
DROP DOMAIN gpucol.regclass;
ALTER DEFAULT PRIVILEGES IN SCHEMA gpucol GRANT ALL ON FUNCTIONS TO install_planter;
CREATE EXTENSION gpucol;
ALTER DEFAULT PRIVILEGES IN SCHEMA gpucol REVOKE ALL ON FUNCTIONS FROM install_planter;
-- who could put something there
GRANT CREATE ON SCHEMA gpucol TO install_planter;
CREATE EXTENSION gpucol;
REVOKE CREATE ON SCHEMA gpucol FROM install_planter;
GRANT CREATE ON SCHEMA gpucol TO PUBLIC;
CREATE EXTENSION gpucol;
REVOKE CREATE ON SCHEMA gpucol FROM PUBLIC;
ALTER SCHEMA gpucol OWNER TO install_planter;
CREATE EXTENSION gpucol;
DROP SCHEMA gpucol;
-- one that a dump has made
CREATE SCHEMA gpucol;
CREATE EXTENSION IF NOT EXISTS gpucol WITH SCHEMA gpucol;
\c :here
DROP DATABASE catalog_install;
DROP ROLE install_planter;
