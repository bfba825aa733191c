-- The device daemon.

CREATE FUNCTION gpucol.device_list(
	OUT device integer, OUT name text, OUT multiprocessors integer,
	OUT memory bigint, OUT memory_limit bigint, OUT held bigint, OUT cached bigint,
	OUT cache_hits bigint, OUT cache_misses bigint, OUT evictions bigint,
	OUT requests bigint, OUT kernels_compiled integer, OUT kernels_compiling integer,
	OUT kernels_refused integer, OUT compiler text, OUT architecture text, OUT code text,
	OUT unused_because text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_devices'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpucol.device_list()
IS 'CUDA devices of the host: those that the daemon uses, and why it does not use others; where no daemon runs one row that says why';

CREATE VIEW gpucol.devices AS SELECT * FROM gpucol.device_list();

COMMENT ON VIEW gpucol.devices
IS 'CUDA devices that the daemon uses, their memory in bytes, their column cache, the kernels compiled at run time, which all share, their architecture and the code that runs there; of other devices, why they are not used; where no daemon runs one row that says why';

GRANT SELECT ON gpucol.devices TO PUBLIC;

CREATE FUNCTION gpucol.cache_list(
	OUT database oid, OUT tablespace oid, OUT relfilenode oid, OUT segment bigint,
	OUT attnum smallint, OUT bytes bigint, OUT uses bigint, OUT pins integer,
	OUT device integer, OUT piece text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_cache'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpucol.cache_list()
IS 'pieces of tables (column chunks, bitmaps of deleted rows, numbers of dictionary entries) that are resident in device memory, of all databases';

CREATE VIEW gpucol.cache AS
SELECT c.oid::regclass AS relation, l.segment, a.attname AS column_name,
	l.bytes, l.uses, l.pins, l.device, l.piece
FROM gpucol.cache_list() l
JOIN pg_catalog.pg_database d ON d.oid = l.database
	AND d.datname = pg_catalog.current_database()
JOIN pg_catalog.pg_class c ON pg_catalog.pg_relation_filenode(c.oid) = l.relfilenode
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = l.attnum AND l.attnum > 0;

COMMENT ON VIEW gpucol.cache
IS 'pieces of this database''s tables that are resident in device memory, and on which device, most recently used first: column chunks, bitmaps of deleted rows (of no column), numbers of dictionary entries';

CREATE FUNCTION gpucol.activity_list(
	OUT pid integer, OUT state text, OUT seconds float8, OUT bytes bigint,
	OUT progress float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_activity'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpucol.activity_list()
IS 'server processes that are connected to the device daemon, what it does for them, the device memory that their queries hold beside columns, and the share of a load or of several parts that is done';

CREATE FUNCTION gpucol.prefetch(relation regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'gpucol_prefetch'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION gpucol.prefetch(regclass)
IS 'make the number, date and boolean columns of a table resident in device memory; returns the bytes that were loaded';

CREATE FUNCTION gpucol.evict(relation regclass DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'gpucol_evict'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION gpucol.evict(regclass)
IS 'give back the device memory of a table''s columns, or of all; returns the bytes';

REVOKE EXECUTE ON FUNCTION gpucol.evict(regclass) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION gpucol.cache_list() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION gpucol.activity_list() FROM PUBLIC;
