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
