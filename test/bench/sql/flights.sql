-- The flights table (test/bench/data) without rows; psql variables: name, am.
CREATE TABLE :"name" (
	year smallint, month smallint, day smallint,
	dep_time smallint, sched_dep_time smallint, dep_delay smallint,
	arr_time smallint, sched_arr_time smallint, arr_delay smallint,
	carrier text, flight int, tailnum text, origin text, dest text,
	air_time smallint, distance smallint, hour smallint, minute smallint,
	time_hour timestamptz
) USING :am;
