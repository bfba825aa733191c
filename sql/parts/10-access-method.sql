-- The table access method.

CREATE FUNCTION gpucol.tableam_handler(internal)
RETURNS table_am_handler
AS 'MODULE_PATHNAME', 'gpucol_tableam_handler'
LANGUAGE C STRICT;

COMMENT ON FUNCTION gpucol.tableam_handler(internal)
IS 'handler of the gpucol table access method';

CREATE ACCESS METHOD gpucol TYPE TABLE HANDLER gpucol.tableam_handler;

COMMENT ON ACCESS METHOD gpucol
IS 'bit-packed column segments beside a heap delta';

