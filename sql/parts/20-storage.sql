-- Storage functions.

CREATE FUNCTION gpucol.merge(relation regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'gpucol_merge'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION gpucol.merge(regclass)
IS 'move settled rows of a table''s delta into packed segments; returns how many';

CREATE FUNCTION gpucol.segments(relation regclass,
	OUT segment bigint, OUT rows bigint, OUT deleted bigint, OUT pages bigint,
	OUT bytes bigint, OUT heap_bytes bigint, OUT ratio float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_segments'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpucol.segments(regclass)
IS 'packed segments of a table, each named by the number of its first row';

CREATE FUNCTION gpucol.waiting(relation regclass,
	OUT work text, OUT done_by text, OUT rows bigint, OUT segments bigint, OUT bytes bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_waiting'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpucol.waiting(regclass)
IS 'upkeep that a table waits for: rows to pack, deletions to fold, segments to pack, and what does it';

CREATE FUNCTION gpucol.columns(relation regclass,
	OUT segment bigint, OUT column_name name, OUT coding text,
	OUT bit_width integer, OUT nulls bigint, OUT distinct_values bigint,
	OUT bytes bigint, OUT heap_bytes bigint, OUT ratio float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_columns'
LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;

COMMENT ON FUNCTION gpucol.columns(regclass)
IS 'how each column of each segment of a table is coded, and what it occupies';

CREATE FUNCTION gpucol.verify(relation regclass,
	OUT segment bigint, OUT column_name name, OUT problem text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'gpucol_verify'
LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION gpucol.verify(regclass)
IS 'read and check every page and value of a table''s segments, and compare rows with index entries; returns the problems found';

