-- Statements as analysts write them over one table of all common types.

-- agg_count
select count(*), count(s), count(u), count(j), count(a), count(distinct s), count(distinct t), count(distinct b) from events;

-- agg_int
select sum(s), sum(i), sum(b), avg(s), avg(i), avg(b), min(i), max(b) from events;

-- agg_numeric
select sum(p), avg(p), min(p), max(p), sum(n), avg(n), min(n), max(n) from events;

-- agg_numeric_plain
select sum(q), avg(q), count(q) from events;

-- agg_numeric_minmax
select min(q), max(q), min(n), max(n) from events;

-- agg_float
select sum(r::float8), sum(f), round(avg(r)::numeric, 6), round(avg(f)::numeric, 6), min(r), max(f) from events;

-- agg_money
select sum(m), min(m), max(m) from events;

-- agg_interval
select sum(iv), avg(iv), min(iv), max(iv) from events;

-- agg_dates
select min(d), max(d), min(ts), max(ts), min(tz), max(tz), min(tm), max(tm) from events;

-- agg_text_minmax
select min(t), max(t), min(u), max(u), min(v), max(c) from events;

-- agg_other_minmax
select min(e), max(e), min(ip), max(ip), min(a), max(ta) from events;

-- agg_bool
select bool_and(bo), bool_or(bo), every(bo or s > 3), bit_and(i), bit_or(s), bit_xor(b) from events;

-- agg_stat_int
select stddev(i), stddev_pop(s), variance(i), var_pop(b) from events;

-- agg_stat_numeric
select stddev(p), variance(p), var_pop(n), stddev_samp(n), stddev(q) from events;

-- agg_stat_float
select round(stddev(f)::numeric, 4), round(var_pop(r)::numeric, 4) from events;

-- agg_regr
select round(corr(f, i)::numeric, 6), round(covar_pop(f, r)::numeric, 4), round(covar_samp(i, s)::numeric, 4), regr_count(f, r), round(regr_slope(f, i)::numeric, 6), round(regr_intercept(f, i)::numeric, 3), round(regr_r2(f, r)::numeric, 8), round(regr_avgx(f, i)::numeric, 5), round(regr_avgy(f, i)::numeric, 5), round(regr_sxx(f, r)::numeric, 2) from events;

-- pct_cont
select percentile_cont(0.5) within group (order by f), percentile_cont(array[0.1, 0.9]) within group (order by i) from events;

-- pct_disc
select percentile_disc(0.5) within group (order by i), percentile_disc(0.25) within group (order by p), percentile_disc(array[0.1, 0.5, 0.9]) within group (order by d) from events;

-- pct_disc_numeric
select percentile_disc(0.5) within group (order by q), percentile_disc(0.9) within group (order by n) from events;

-- pct_disc_text
select percentile_disc(0.5) within group (order by t), percentile_disc(0.75) within group (order by v) from events;

-- pct_disc_text_many
select percentile_disc(0.5) within group (order by u) from events;

-- pct_interval
select percentile_cont(0.5) within group (order by iv), percentile_disc(0.5) within group (order by tm) from events;

-- mode_all
select mode() within group (order by s), mode() within group (order by t), mode() within group (order by d), mode() within group (order by e) from events;

-- mode_text
select mode() within group (order by v) from events;

-- mode_grouped
select s, mode() within group (order by v), mode() within group (order by t) from events group by s order by s;

-- pct_grouped
select s, percentile_cont(0.5) within group (order by f), percentile_disc(0.9) within group (order by i) from events group by s order by s;

-- pct_many_groups
select i, percentile_cont(0.5) within group (order by f) from events group by i order by 1 limit 20;

-- pct_text_groups
select v, percentile_disc(0.5) within group (order by p) from events group by v order by v limit 15;

-- rank_hypothetical
select rank(100) within group (order by i), dense_rank(100) within group (order by s), percent_rank(3) within group (order by i), cume_dist(3) within group (order by i) from events;

-- string_agg_order
select s, length(string_agg(v, ',' order by id)), md5(string_agg(v, ',' order by v, id)) from events group by s order by s;

-- string_agg_distinct
select s, string_agg(distinct t, ',') from events group by s order by s;

-- string_agg_distinct_order
select bo, string_agg(distinct c, '|' order by c desc) from events group by bo order by bo;

-- string_agg_distinct_many
select length(string_agg(distinct v, ',')) from events;

-- string_agg_filter
select t, md5(string_agg(c, '' order by id) filter (where i > 4000)) from events group by t order by t;

-- array_agg_distinct
select t, array_agg(distinct s order by s) from events group by t order by t;

-- array_agg_order
select e, md5(array_agg(i order by i, id)::text) from events group by e order by e;

-- array_agg_arrays
select s, array_length(array_agg(a order by id), 1) from events where a is not null group by s order by s;

-- json_agg
select bo, md5(json_agg(s order by id)::text), md5(jsonb_agg(t order by id)::text) from events where id < 20000 group by bo order by bo;

-- json_object_agg
select md5(jsonb_object_agg(v, i order by id)::text) from events where v is not null and id < 50000;

-- json_object_grouped
select e, jsonb_object_agg(coalesce(t, 'none'), k order by t) from (select e, t, count(*) k from events group by e, t) x group by e order by e;

-- count_distinct_row
select count(distinct (s, t)), count(distinct (t, e)) from events;

-- count_distinct_row_grouped
select bo, count(distinct (s, t, e)) from events group by bo order by bo;

-- count_distinct_many
select count(distinct u), count(distinct i), count(distinct id), count(distinct g), count(distinct v) from events;

-- count_distinct_grouped
select s, count(distinct v), count(distinct i), count(distinct d) from events group by s order by s;

-- count_distinct_numeric
select count(distinct p), count(distinct n), count(distinct q) from events;

-- sum_distinct
select sum(distinct s), avg(distinct i), sum(distinct p) from events;

-- agg_filter
select count(*) filter (where s > 50), sum(i) filter (where t = 'north'), avg(p) filter (where bo), max(u) filter (where d < '2021-01-01') from events;

-- agg_case
select sum(case when s < 10 then 1 else 0 end), sum(case when t = 'south' then p else 0 end), avg(case when bo then f end)::numeric(20,6) from events;

-- agg_numeric_expr
select sum(q * 1.19), sum(q - n), sum(p * q), avg(q * 2 + 1), sum(q / 100) from events;

-- agg_numeric_group
select t, sum(q), avg(q), count(q), sum(n) from events group by t order by t;

-- agg_numeric_many_groups
select i, sum(q), avg(n) from events group by i order by 2 desc nulls last, 1 limit 10;

-- numeric_filter
select count(*), sum(q) from events where q > 150000;

-- numeric_filter_range
select count(*) from events where q between 1000 and 2000.50 and n <> 5;

-- numeric_filter_eq
select count(*), min(id) from events where n = 500 or n = 50.0;

-- numeric_round
select round(q / 10000) as bucket, count(*), sum(q) from events group by 1 order by 1;

-- numeric_key
select n, count(*) from events group by n order by 2 desc, 1 limit 10;

-- numeric_key_plain
select q, count(*) from events group by q order by 2 desc, 1 limit 10;

-- numeric_case
select case when q < 0 then 'low' when q < 100000 then 'mid' else 'high' end as k, count(*), avg(q) from events group by 1 order by 1;

-- numeric_top
select id, q from events order by q desc nulls last, id limit 20;

-- numeric_greatest
select sum(greatest(q, 100.5)), sum(least(n, 10)), sum(coalesce(q, 0)), sum(abs(q)) from events;

-- numeric_cast
select sum(q::int), sum(q::float8)::numeric(20,2), sum(q::bigint), sum(n::numeric(10,1)) from events;

-- numeric_trunc
select sum(trunc(q)), sum(ceil(q)), sum(floor(n)), sum(sign(q)), sum(mod(q, 7)) from events;

-- numeric_text
select q::text as k, count(*) from events where q between 0 and 2000 group by 1 order by 1 limit 10;

-- math_float
select round(sum(sqrt(abs(f)))::numeric, 3), round(sum(ln(abs(f) + 1))::numeric, 3), round(sum(power(r, 2))::numeric, 1), round(sum(exp(r / 1000))::numeric, 4) from events;

-- math_trig
select round(sum(sin(f))::numeric, 4), round(sum(cos(r))::numeric, 4), round(sum(atan2(f, r))::numeric, 4), round(sum(degrees(atan(f)))::numeric, 2) from events;

-- math_int
select sum(abs(i)), sum(i % 7), sum(i / 3), sum(i & 255), sum(s | 16), sum(i # 5), sum(~s), sum(s << 2) from events;

-- math_numeric_fn
select round(sum(sqrt(p)), 4), round(sum(ln(p + 1)), 4) from events where id < 100000;

-- math_bucket
select width_bucket(f, -20000, 80000, 20) as k, count(*) from events group by 1 order by 1;

-- math_bucket_numeric
select width_bucket(q, 0, 190000, 10) as k, count(*), min(q) from events group by 1 order by 1;

-- math_bucket_array
select width_bucket(i, array[-4000, -100, 0, 50, 4000]) as k, count(*) from events group by 1 order by 1;

-- math_round
select round(f / 1000) as k, count(*) from events group by 1 order by 1;

-- math_div
select sum(div(p, 3)), sum(p / 7)::numeric(20,6), round(sum(f / 3)::numeric, 2), avg(i::numeric / 3)::numeric(20,8) from events;

-- math_gcd
select sum(gcd(i, 12)), sum(lcm(s::int, 6)), max(factorial(s % 10)) from events where s > 0;

-- text_length
select length(u) as k, count(*) from events group by 1 order by 1;

-- text_lower
select lower(t), upper(t), initcap(t), count(*) from events group by t order by 1, 2, 3;

-- text_substr
select substr(u, 8, 4), left(v, 6), right(c, 2), count(*) from events group by 1, 2, 3 order by 4 desc, 1, 2, 3 limit 10;

-- text_split
select split_part(u, '/', 3) as host, count(*) from events group by 1 order by 2 desc, 1 limit 10;

-- text_regexp
select regexp_replace(u, '^http://([^/]+)/.*$', '\1') as host, count(*), avg(length(u)) from events where u <> '' group by 1 having count(*) > 10 order by 2 desc, 1 limit 10;

-- text_regexp_match
select (regexp_match(u, 'q=(\d+)'))[1] as k, count(*) from events group by 1 order by 2 desc, 1 limit 10;

-- text_substring_re
select substring(u from 'p(\d+)') as k, count(*) from events group by 1 order by 2 desc, 1 limit 10;

-- text_like
select count(*) from events where u like '%shop%' and u not like '%?q=1%';

-- text_ilike
select count(*), min(u) from events where u ilike '%SHOP1%' and t ilike 'n%';

-- text_regex_cond
select count(*) from events where u ~ 'news[0-4]\.' or v ~* 'USER 4[0-9]$';

-- text_similar
select count(*) from events where v similar to 'user (1|2)[0-9]+';

-- text_concat
select t || '-' || c as k, count(*) from events group by 1 order by 2 desc, 1 limit 10;

-- text_concat_ws
select concat_ws('/', t, e, bo) as k, count(*) from events group by 1 order by 1;

-- text_format
select format('%s:%s', t, e) as k, count(*) from events group by 1 order by 1;

-- text_replace
select replace(replace(v, 'user', 'u'), ' ', '') as k, count(*) from events group by 1 order by 2 desc, 1 limit 10;

-- text_trim
select trim(c) as k, btrim(v, 'user '), count(*) from events where s = 5 group by 1, 2 order by 3 desc, 1, 2 limit 10;

-- text_pad
select lpad(s::text, 4, '0') as k, rpad(t, 8, '.'), count(*) from events group by 1, 2 order by 1, 2 limit 50;

-- text_position
select position('example' in u) as k, strpos(v, '1'), count(*) from events group by 1, 2 order by 1, 2;

-- text_reverse
select reverse(t), repeat(t, 2), ascii(t), md5(t), count(*) from events group by t order by 1, 5;

-- text_translate
select translate(t, 'oe', '01') as k, count(*) from events group by 1 order by 1;

-- text_starts
select count(*) from events where starts_with(u, 'http://a') and v >= 'user 3' and v < 'user 4';

-- text_in
select t, count(*) from events where v in ('user 1', 'user 22', 'user 333', 'user 4444') or c = 'c7' group by t order by t;

-- text_key_many
select u, count(*) as k from events group by u order by k desc, u limit 10;

-- text_key_two
select v, c, count(*) as k from events group by v, c order by k desc, v, c limit 10;

-- text_key_distinct
select v, count(distinct u) as k from events group by v order by k desc, v limit 10;

-- text_order
select u from events where u like '%q=7%' order by u limit 20;

-- text_order_many
select id, v, c from events order by v, c, id limit 25 offset 100;

-- text_case
select case when u like '%shop%' then 'shop' when u like '%news%' then 'news' else 'other' end as k, count(*), sum(p) from events group by 1 order by 1;

-- text_cast
select s::text || ':' || bo::text as k, count(*) from events group by 1 order by 1 limit 40;

-- text_collate
select t collate "C" as k, count(*) from events group by 1 order by 1;

-- text_array
select (string_to_array(u, '/'))[3] as k, count(*) from events group by 1 order by 2 desc, 1 limit 5;

-- text_octets
select octet_length(t), bit_length(t), char_length(t), count(*) from events group by 1, 2, 3 order by 1, 2, 3;

-- date_trunc_month
select date_trunc('month', ts) as k, count(*), sum(p) from events group by 1 order by 1;

-- date_trunc_tz
select date_trunc('week', tz) as k, count(*) from events group by 1 order by 1;

-- date_trunc_hour
select date_trunc('hour', ts) as k, count(*) from events group by 1 order by 2 desc, 1 limit 10;

-- date_extract
select extract(year from d) as y, extract(month from d) as m, count(*), avg(i) from events group by 1, 2 order by 1, 2;

-- date_extract_many
select extract(dow from ts), extract(hour from ts), count(*) from events group by 1, 2 order by 1, 2;

-- date_extract_epoch
select sum(extract(epoch from ts)), min(extract(epoch from tz)), avg(extract(doy from d)) from events;

-- date_part
select date_part('quarter', d) as k, date_part('isodow', d), count(*) from events group by 1, 2 order by 1, 2;

-- date_to_char
select to_char(ts, 'YYYY-MM') as k, count(*) from events group by 1 order by 1;

-- date_to_char_day
select to_char(d, 'YYYY-MM-DD Dy') as k, count(*) from events group by 1 order by 1 limit 20;

-- date_age
select extract(year from age(ts, '2020-01-01'::timestamp)) as k, count(*) from events group by 1 order by 1;

-- date_diff
select d - date '2020-01-01' as k, count(*) from events group by 1 order by 1 limit 20;

-- date_interval
select count(*) from events where ts > timestamp '2021-06-01' + interval '1 month' and d <= current_date - interval '1 year';

-- date_shift
select (d + interval '1 month')::date as k, count(*) from events group by 1 order by 1 limit 20;

-- date_at_zone
select (tz at time zone 'Europe/Paris')::date as k, count(*) from events group by 1 order by 2 desc, 1 limit 10;

-- date_cast
select ts::date as k, count(*), count(distinct v) from events group by 1 order by 1 limit 20;

-- date_bin
select date_bin('6 hours', ts, timestamp '2021-01-01') as k, count(*) from events group by 1 order by 2 desc, 1 limit 10;

-- date_make
select make_date(2020 + s % 3, 1 + s % 12, 1) as k, count(*) from events where s is not null group by 1 order by 1;

-- date_time
select extract(hour from tm) as k, count(*), min(tm), max(tm) from events group by 1 order by 1;

-- date_interval_parts
select extract(day from iv) as k, count(*), sum(iv) from events group by 1 order by 1;

-- date_between
select count(*) from events where d between '2020-06-01' and '2020-08-31' and tm >= '12:00' and ts < '2022-01-01';

-- date_overlaps
select count(*) from events where (ts, ts + interval '1 hour') overlaps (timestamp '2021-05-01', timestamp '2021-05-02');

-- date_gaps
select g.day, count(x.id), coalesce(sum(x.p), 0) from generate_series(date '2020-01-01', date '2020-02-29', interval '1 day') as g(day) left join events x on x.d = g.day::date group by 1 order by 1;

-- date_gaps_hours
select h, coalesce(k, 0) from generate_series(0, 23) h left join (select extract(hour from ts)::int as hh, count(*) k from events where s < 20 group by 1) x on hh = h order by h;

-- uuid_key
select g, count(*) from events group by g order by 2 desc, 1 limit 10;

-- uuid_eq
select count(*), min(id) from events where g = md5('g77')::uuid or g > 'ff000000-0000-0000-0000-000000000000';

-- inet_ops
select count(*) from events where ip << '10.1.0.0/16' and host(ip) like '%.7';

-- inet_key
select network(set_masklen(ip, 16)) as k, masklen(ip), family(ip), count(*) from events group by 1, 2, 3 order by 1, 2;

-- json_get
select j->>'name' as k, count(*), avg((j->>'x')::numeric), sum((j->>'k')::int) from events group by 1 order by 1;

-- json_path
select j #>> '{tags,0}' as k, count(*) from events group by 1 order by 1;

-- json_contains
select count(*) from events where j @> '{"k": 3}' and j ? 'name';

-- json_typeof
select jsonb_typeof(j->'x') as k, count(*) from events group by 1 order by 1;

-- json_array_len
select jsonb_array_length(j->'tags') as k, count(*) from events group by 1 order by 1;

-- json_elements
select x.value as k, count(*) from events, jsonb_array_elements_text(j->'tags') x group by 1 order by 1;

-- array_ops
select count(*) from events where 3 = any(a) and a && array[1, 2] and array_length(a, 1) = 3;

-- array_element
select a[1] as k, a[3], count(*) from events group by 1, 2 order by 1, 2;

-- array_unnest
select x as k, count(*) from events, unnest(a) x group by 1 order by 1;

-- array_contains
select count(*) from events where ta @> array['t3'] or a @> array[1, 2];

-- array_fn
select cardinality(a), array_position(a, 4), array_to_string(ta, '+'), count(*) from events where s < 3 group by 1, 2, 3 order by 4 desc, 1, 2, 3 limit 10;

-- array_key
select ta, count(*) from events group by ta order by 2 desc, 1 limit 10;

-- enum_key
select e, count(*), sum(p), max(d) from events where e >= 'calm' group by e order by e;

-- bytea_key
select y, count(*) from events group by y order by 2 desc, 1 limit 5;

-- bytea_fn
select length(y), encode(substr(y, 1, 1), 'hex') as k, count(*) from events group by 1, 2 order by 1, 2 limit 20;

-- money_expr
select t, sum(m * 2), max(m - 1::money), sum(m::numeric) from events group by t order by t;

-- bool_key
select bo, bo is true, not bo, count(*), sum(bo::int) from events group by bo order by bo;

-- bool_cond
select count(*) from events where bo is not true and (s > 5) is distinct from (i > 5);

-- cond_coalesce
select coalesce(t, 'none') as k, coalesce(e::text, v, 'x') <> 'x', count(*) from events group by 1, 2 order by 1, 2;

-- cond_nullif
select nullif(t, '') as k, avg(nullif(s, 0)), count(nullif(i % 2, 0)) from events group by 1 order by 1;

-- cond_greatest
select sum(greatest(s, i % 100)), max(least(d, date '2021-01-01')), sum(greatest(p, 500)), max(greatest(t, c)) from events;

-- cond_case_date
select case when d < '2021-01-01' then 'old' when d is null then 'none' else 'new' end as k, count(*), avg(p) from events group by 1 order by 1;

-- cond_in_many
select count(*), sum(i) from events where i in (1, 5, 77, 1234, -5, -4000, 42) or s = any(array[1, 2, 3]);

-- cond_distinct
select count(*) from events where s is distinct from 5 and t is not distinct from null;

-- cond_row
select count(*) from events where (s, i) < (50, 0) and (t, e) in (('north', 'sad'), ('west', 'glad'));

-- cond_case_nested
select case s % 3 when 0 then case when bo then 'a' else 'b' end when 1 then t else 'z' end as k, count(*) from events group by 1 order by 1;

-- group_rollup
select t, e, count(*), sum(p) from events group by rollup (t, e) order by t, e, 3;

-- group_cube
select bo, e, date_trunc('year', d) as y, count(*), sum(i) from events group by cube (bo, e, date_trunc('year', d)) order by 1, 2, 3, 4, 5;

-- group_sets
select t, extract(year from d) as y, grouping(t, extract(year from d)), count(*), avg(q) from events group by grouping sets ((t), (extract(year from d)), ()) order by 1, 2, 3;

-- group_sets_distinct
select t, e, count(distinct s), sum(i) from events group by grouping sets ((t), (e), (t, e)) order by 1, 2, 3, 4;

-- group_expr
select s % 10 as k, i > 0, length(t), count(*), sum(b) from events group by 1, 2, 3 order by 1, 2, 3;

-- group_having
select v, count(*) as k, sum(p) from events group by v having count(*) > 3 and sum(p) > 1000 order by 3 desc nulls last, 1 limit 10;

-- group_many
select id / 3 as k, sum(i), count(*) from events group by 1 order by 2 desc nulls last, 1 limit 10;

-- group_many_text
select u, sum(p), max(d), count(*) from events group by u order by 2 desc nulls last, 1 limit 10;

-- group_distinct
select distinct t, e, bo from events order by 1, 2, 3;

-- group_distinct_many
select count(*) from (select distinct v, s from events) x;

-- group_distinct_on
select distinct on (s) s, id, i from events where s is not null order by s, i desc nulls last, id;

-- group_of_group
select k, count(*) from (select v, count(*) as k from events group by v) x group by k order by k;

-- group_share
select t, count(*), round(100.0 * count(*) / sum(count(*)) over (), 2) from events group by t order by t;

-- group_pivot
select t, sum(p) filter (where e = 'sad') as sad, sum(p) filter (where e = 'glad') as glad, count(*) filter (where e is null) from events group by t order by t;

-- group_topn
select * from (select t, v, count(*) as k, row_number() over (partition by t order by count(*) desc, v) as rn from events group by t, v) x where rn <= 3 order by t, rn;

-- group_union
select 'a' as w, t, count(*) from events where s < 50 group by t union all select 'b', e::text, sum(i) from events group by e order by 1, 2, 3;

-- group_cte
with daily as (select d, sum(p) as total, count(*) as k from events group by d) select extract(month from d) as m, avg(total), max(k), min(total) from daily group by 1 order by 1;

-- order_limit
select id, i, s from events order by i desc nulls last, s, id limit 15 offset 30;

-- order_mixed
select id, t, d from events where s = 9 order by t nulls first, d desc nulls last, id limit 50;

-- order_expr
select id, f from events order by abs(f) desc nulls last, id limit 10;

-- order_all
select id, ts from events where s = 3 and i > 4500 order by ts, id;

-- order_interval
select id, iv from events order by iv desc nulls last, id limit 10;

-- order_jsonb
select id, j->>'name' as k from events order by (j->>'x')::numeric desc nulls last, id limit 10;

-- win_row_number
select * from (select id, t, i, row_number() over (partition by t order by i desc nulls last, id) as rn from events) x where rn <= 3 order by t, rn;

-- win_rank
select s, k, rank() over (order by k desc), dense_rank() over (order by k desc), percent_rank() over (order by k), cume_dist() over (order by k), ntile(4) over (order by k, s) from (select s, count(*) as k from events group by s) x order by s;

-- win_lag
select d, k, lag(k) over (order by d), lead(k, 2, 0) over (order by d), k - lag(k) over (order by d) from (select d, count(*) as k from events group by d) x order by d limit 40;

-- win_running
select d, sum(p) as total, sum(sum(p)) over (order by d), avg(sum(p)) over (order by d rows between 6 preceding and current row) from events group by d order by d limit 40;

-- win_frames
select sum(k), sum(a), sum(b), sum(c) from (select id as k, sum(i) over (partition by s order by id rows between 3 preceding and 1 following) as a, max(i) over (partition by s order by id rows between 5 preceding and 1 preceding) as b, count(*) over (partition by s order by i range between 10 preceding and 10 following) as c from events) x;

-- win_groups
select sum(a), sum(b) from (select count(*) over (partition by t order by s groups between 1 preceding and 1 following) as a, sum(i) over (partition by t order by s range unbounded preceding exclude ties) as b from events) x;

-- win_first_last
select t, min(a), max(b), min(c) from (select t, first_value(i) over w as a, last_value(i) over (partition by t order by id rows between unbounded preceding and unbounded following) as b, nth_value(i, 3) over w as c from events window w as (partition by t order by id)) x group by t order by t;

-- win_numeric
select t, max(x), min(x) from (select t, sum(q) over (partition by t order by id) as x from events) y group by t order by t;

-- win_avg_float
select s, round(max(x)::numeric, 4) from (select s, avg(f) over (partition by s order by id rows 9 preceding) as x from events) y group by s order by s;

-- win_moving_text
select count(*) from (select v, lag(v) over (partition by s order by id) as prev from events) x where v = prev;

-- win_sessions
select count(*), max(session) from (select sum(new) over (partition by v order by ts, id) as session from (select v, ts, id, case when ts - lag(ts) over (partition by v order by ts, id) > interval '1 day' then 1 else 0 end as new from events where s < 10) x) y;

-- win_share
select t, e, round(100 * sum(p) / sum(sum(p)) over (partition by t), 3) from events group by t, e order by t, e;

-- win_string
select md5(string_agg(x, ',' order by id)) from (select id, first_value(c) over (partition by t order by id) as x from events where id < 20000) y;

-- hist
select floor(p / 500) * 500 as lo, count(*), repeat('*', (count(*) / 1000)::int) from events group by 1 order by 1;

-- hist_dates
select date_trunc('quarter', d)::date as k, count(*), count(distinct v), sum(p), avg(q), percentile_cont(0.5) within group (order by p) from events group by 1 order by 1;

-- cohort
select first, k, count(*) from (select v, date_trunc('month', min(ts)) as first, count(distinct date_trunc('month', ts)) as k from events group by v) x group by 1, 2 order by 1, 2 limit 30;

-- funnel
select count(*) filter (where a), count(*) filter (where a and b), count(*) filter (where a and b and c) from (select v, bool_or(t = 'north') a, bool_or(t = 'south') b, bool_or(e = 'wild') c from events group by v) x;

-- pct_change
select y, total, round(100 * (total - lag(total) over (order by y)) / lag(total) over (order by y), 2) from (select extract(year from d) as y, sum(q) as total from events group by 1) x order by y;

-- select_star
select * from events where i between 4300 and 4400 and s < 20 order by id;

-- scan_count_in
select count(*) from events where t in ('north', 'south') and e <> 'sad' and not bo;
