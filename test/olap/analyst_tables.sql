-- One table with a column of each common type, for statements as analysts write them.
DO $$ BEGIN
	CREATE TYPE public.mood AS ENUM ('sad', 'calm', 'glad', 'wild');
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;

CREATE TABLE events (
	id bigint, s smallint, i integer, b bigint, p numeric(12,2), n numeric, q numeric, r real, f double precision,
	bo boolean, d date, ts timestamp, tz timestamptz, tm time, iv interval, t text, u text, v varchar(20), c char(6),
	g uuid, ip inet, j jsonb, a integer[], ta text[], e mood, y bytea, m money);
