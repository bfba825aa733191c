-- Data mining as SQL: docs/mining.md explains the forms.

-- kmeans20
with nearest as (
    select p.id, min((p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y) + (p.z - c.z) * (p.z - c.z)) as distance
    from points p, centres c where c.k <= 20 group by p.id)
select c.k, count(*), avg(p.x), avg(p.y), avg(p.z)
from nearest n join points p using (id) join centres c
    on (p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y) + (p.z - c.z) * (p.z - c.z) = n.distance
where c.k <= 20 group by c.k order by c.k;

-- kmeans20_lateral
select k, count(*), avg(p.x), avg(p.y), avg(p.z)
from points p cross join lateral (
    select k from centres c where c.k <= 20
    order by (p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y) + (p.z - c.z) * (p.z - c.z), k limit 1) nearest
group by k order by k;

-- kmeans40_lateral
select k, count(*), avg(p.x), avg(p.y), avg(p.z)
from points p cross join lateral (
    select k from centres c where c.k <= 40
    order by (p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y) + (p.z - c.z) * (p.z - c.z), k limit 1) nearest
group by k order by k;

-- kmeans100_lateral
select k, count(*), avg(p.x), avg(p.y), avg(p.z)
from points p cross join lateral (
    select k from centres c where c.k <= 100
    order by (p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y) + (p.z - c.z) * (p.z - c.z), k limit 1) nearest
group by k order by k;

-- kmeans20_rank
select k, count(*), avg(x), avg(y), avg(z)
from (select p.id, p.x, p.y, p.z, c.k, row_number() over (partition by p.id
        order by (p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y) + (p.z - c.z) * (p.z - c.z), c.k) as rank
    from points p, centres c where c.k <= 20) ranked
where rank = 1 group by k order by k;

-- kmeans20_distinct
select k, count(*), avg(x), avg(y), avg(z)
from (select distinct on (p.id) p.id, p.x, p.y, p.z, c.k from points p, centres c where c.k <= 20
    order by p.id, (p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y) + (p.z - c.z) * (p.z - c.z), c.k) nearest
group by k order by k;

-- knn
select id, class from points
order by (x - 500) * (x - 500) + (y - 500) * (y - 500) + (z - 500) * (z - 500), id limit 20;

-- knn_class
select class, count(*) from (select class from points
    order by (x - 500) * (x - 500) + (y - 500) * (y - 500) + (z - 500) * (z - 500), id limit 20) nearest group by class order by class;

-- knn_many
select k, id from (
    select c.k, p.id, row_number() over (partition by c.k
        order by (p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y) + (p.z - c.z) * (p.z - c.z), p.id) as rank
    from points p, centres c where c.k <= 10) ranked
where rank <= 5 order by k, id;

-- words
select word, count(*) from (select unnest(string_to_array(body, ' ')) as word from documents) w group by word order by word;

-- words_lateral
select word, count(*) from documents, unnest(string_to_array(body, ' ')) as u(word) group by word order by word;

-- words_phrases
select word, count(*) from (select unnest(string_to_array(phrase, ' ')) as word from documents) w group by word order by word;

-- words_phrases_longest
select length(word) as length, count(*), min(word), max(word), count(distinct word)
from documents, unnest(string_to_array(phrase, ' ')) as u(word) where word <> 'word7' group by length(word) order by 1;

-- tags
select tag, count(*), sum(id) from documents, unnest(tags) as u(tag) group by tag order by tag nulls first;

-- tags_counts
select tag, count(*) from (select unnest(tags) as tag from documents) t group by tag order by tag nulls first;

-- tags_any
select count(*) from documents where 'tag7' = any (tags);

-- tags_overlap
select count(*) from documents where tags && array['tag7', 'tag8'];

-- tags_contain
select count(*) from documents where tags @> array['tag7', 'tag8'];

-- tags_cardinality
select cardinality(tags) as length, tags[1] as first, count(*) from documents group by 1, 2 order by 1, 2;

-- ratings
select rating, count(*) from (select unnest(ratings) as rating from documents) r group by rating order by rating;

-- bayes
with class as (select play, count(*) as n from samples group by play),
     features as (select play, 1 as feature, f1 as value, count(*) as n from samples group by play, f1
         union all select play, 2, f2, count(*) from samples group by play, f2
         union all select play, 3, f3, count(*) from samples group by play, f3
         union all select play, 4, f4, count(*) from samples group by play, f4)
select c.play, cast(ln(cast(c.n as float8)) + sum(ln(cast(f.n as float8) / c.n)) as numeric(12, 4)) as likelihood
from class c join features f on f.play = c.play
where f.value = 2 group by c.play, c.n order by c.play;

-- views_distinct
select url, count(*) from (select distinct url, visitor from views) v group by url order by url;

-- views_addresses
select url, count(distinct address), count(*) from views group by url order by url;

-- product
select a.i, b.j, sum(a.v * b.v) from matrix a join matrix b on a.j = b.i group by a.i, b.j order by a.i, b.j limit 50;

-- correlations
select cast(corr(x, y) as numeric(8, 4)) as xy, cast(corr(x, z) as numeric(8, 4)) as xz, cast(corr(y, z) as numeric(8, 4)) as yz,
    cast(covar_pop(x, y) as numeric(12, 2)) as c, cast(regr_slope(y, x) as numeric(8, 4)) as slope, cast(var_pop(x) as numeric(12, 2)) as v
from points;

-- pairs
with items as (select item, count(distinct basket) as n from baskets group by item),
     pairs as (select a.item as a, b.item as b, count(distinct a.basket) as n
               from baskets a join baskets b on a.basket = b.basket and a.item <> b.item group by 1, 2)
select a, b, pairs.n as support, cast(cast(pairs.n as float8) / items.n as numeric(8, 3)) as confidence
from pairs join items on items.item = a order by support desc, a, b limit 20;

-- gaps
select hour, count(v), avg(v) from generate_series(timestamp '2024-01-01', timestamp '2024-01-02', interval '1 hour') as g(hour)
left join readings on date_trunc('hour', t) = hour group by hour order by hour;

-- resampled
select sensor, date_trunc('hour', t) as hour, min(v), max(v), avg(v), count(*) from readings group by sensor, 2 order by sensor, 2 limit 100;

-- moving
select max(m), min(m) from (select avg(v) over (partition by sensor order by t rows 10 preceding) as m from readings) w;

-- last_value
select sensor, t, v from (select sensor, t, v, row_number() over (partition by sensor order by t desc) as r
    from readings where v is not null) w where r = 1 order by sensor;

-- last_observed
select count(*), count(last), sum(last) from (
    select max(v) over (partition by sensor, filled) as last
    from (select sensor, v, count(v) over (partition by sensor order by t) as filled from readings) f) l;

-- pair_of_series
select a.sensor as a, b.sensor as b, cast(corr(a.v, b.v) as numeric(8, 4)) as corr
from readings a join readings b on a.t = b.t and a.sensor < b.sensor where a.sensor < 4 and b.sensor < 5 group by 1, 2 order by 1, 2;

-- traffic
with recursive world as (
    select 0 as tick, actor, kind, street, place from actors
    union all
    select tick + 1, actor, kind, case when reached < length then street else target end,
        case when reached < length then reached else reached - length end
    from (select w.tick, w.actor, w.kind, w.street, s.length, t.target, w.place +
            case w.kind when 'car' then s.speed * e.grip
                        when 'bus' then case when (w.actor + w.tick) % 4 = 0 then 0 else least(s.speed, 12) * e.grip end
                        else 5 end as reached
        from world w join streets s on s.street = w.street join weathers e on e.tick = w.tick
             join turns t on t.street = w.street and t.choice = (w.actor * 31 + w.tick * 17) % 4
        where w.tick < 50) moved)
select kind, count(*), count(distinct street), sum(street), sum(place) from world where tick = 50 group by kind order by kind;
