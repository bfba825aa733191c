-- From 0.1 to 0.2: what parts/*.sql of 0.2 has and those of 0.1 had not.
\echo Use "ALTER EXTENSION gpucol UPDATE" to load this file. \quit

-- gpucol.devices has three columns more. It stays the view that others may be made of: while
-- its function is made anew it has no rows of its own.
CREATE OR REPLACE VIEW gpucol.devices AS
SELECT NULL::integer AS device, NULL::text AS name, NULL::integer AS multiprocessors,
	NULL::bigint AS memory, NULL::bigint AS memory_limit, NULL::bigint AS held, NULL::bigint AS cached,
	NULL::bigint AS cache_hits, NULL::bigint AS cache_misses, NULL::bigint AS evictions,
	NULL::bigint AS requests, NULL::integer AS kernels_compiled, NULL::integer AS kernels_compiling,
	NULL::integer AS kernels_refused, NULL::text AS compiler;

DROP FUNCTION gpucol.device_list();

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

CREATE OR REPLACE VIEW gpucol.devices AS SELECT * FROM gpucol.device_list();

COMMENT ON VIEW gpucol.devices
IS 'CUDA devices that the daemon uses, their memory in bytes, their column cache, the kernels compiled at run time, which all share, their architecture and the code that runs there; of other devices, why they are not used; where no daemon runs one row that says why';

GRANT SELECT ON gpucol.devices TO PUBLIC;
