-- Every object of the extension carries a comment, and every setting a
-- description.
SELECT pg_describe_object(d.classid, d.objid, 0)
FROM pg_depend d
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'gpucol' AND d.deptype = 'e'
  AND NOT EXISTS (SELECT FROM pg_description c
                  WHERE c.classoid = d.classid AND c.objoid = d.objid AND c.objsubid = 0)
  AND NOT (d.classid = 'pg_type'::regclass
           AND EXISTS (SELECT FROM pg_type t LEFT JOIN pg_type i ON i.oid = t.typelem
                       WHERE t.oid = d.objid AND (t.typrelid <> 0 OR i.typrelid <> 0)))
ORDER BY 1;

LOAD 'gpucol';
SELECT name FROM pg_settings
WHERE name LIKE 'gpucol.%' AND (short_desc IS NULL OR short_desc NOT LIKE '%.');

-- The prefix of the settings is reserved.
SET gpucol.no_such_setting = 1;

-- What segments tell of a table is for those who may see all of its rows.
CREATE ROLE catalog_reader;
CREATE TABLE catalog_rows (id int, name text) USING gpucol;
INSERT INTO catalog_rows SELECT i, 'name ' || i % 3 FROM generate_series(1, 3000) i;
GRANT SELECT ON catalog_rows TO catalog_reader;
GRANT USAGE ON SCHEMA gpucol TO catalog_reader;
SET ROLE catalog_reader;
SELECT column_name, distinct_values FROM gpucol.columns('catalog_rows');
RESET ROLE;
ALTER TABLE catalog_rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON catalog_rows USING (id < 10);
SET ROLE catalog_reader;
SELECT count(*) FROM catalog_rows;
SELECT column_name, distinct_values FROM gpucol.columns('catalog_rows');
SELECT rows FROM gpucol.segments('catalog_rows');
SELECT * FROM gpucol.verify('catalog_rows');
RESET ROLE;
SELECT column_name, distinct_values FROM gpucol.columns('catalog_rows');
DROP TABLE catalog_rows;
REVOKE USAGE ON SCHEMA gpucol FROM catalog_reader;
DROP ROLE catalog_reader;
