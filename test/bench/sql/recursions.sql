-- Tables for recursions as people write them, in heap (schema h) and gpucol (schema g): a graph
-- (h.edge is filled by the caller), an organisation, bills of material, flights, threads of comments.
select setseed(0.5);
create table h.emp as select i as id, case when i>1 then 1 + floor(random()*(i-1))::int end as boss, 'e' || i as name, (3000 + random()*5000)::int as salary, 1 + i % 20 as dept from generate_series(1,200000) i;
create table h.dept as select i as id, 'dept ' || i as name from generate_series(1,19) i;
create table h.bom as select distinct a, least(12000, a + 1 + floor(random()*1500)::int) as part, 1 + floor(random()*4)::int as qty from generate_series(1,11999) a, generate_series(1,2);
create table h.part as select i as id, 'part ' || i as name, (random()*100)::numeric(10,2) as price from generate_series(1,12000) i;
create table h.airport as select i as id, 'A' || chr(65 + i / 26) || chr(65 + i % 26) as code, i % 7 as region from generate_series(0,199) i;
create table h.airline as select i as id, 'L' || i as name from generate_series(0,9) i;
create table h.flight as select floor(random()*200)::int as src, floor(random()*200)::int as dst, floor(random()*10)::int as airline, 50 + floor(random()*400)::int as cost from generate_series(1,900);
create table h.comment as select i as id, case when i % 50 > 0 then i - 1 - floor(random()*least(i % 50, 8))::int end as parent, 'u' || floor(random()*500) as author, timestamp '2024-01-01' + i * interval '1 minute' as ts, repeat('x', i % 40) as body from generate_series(1,100000) i;
create table h.big as select floor(random()*300)::int as grp, i as v from generate_series(1,300000) i;
create table h.doc as select i as id, jsonb_build_object('a', i, 'b', jsonb_build_object('c', i % 5, 'd', jsonb_build_array(1,2,i))) as j from generate_series(1,2000) i;
create table h.tree as select i as id, i / 2 as parent from generate_series(1,4000) i;
do $$ declare t text; begin foreach t in array '{edge,emp,dept,bom,part,airport,airline,flight,comment,big,doc,tree}'::text[] loop
 execute format('create table g.%1$s using gpucol as select * from h.%1$s', t); end loop; end $$;
do $$ declare s text; begin foreach s in array '{h,g}'::text[] loop
 execute format('create index on %1$s.emp(boss); create index on %1$s.emp(id); create index on %1$s.edge(src); create index on %1$s.comment(parent); create index on %1$s.comment(id); create index on %1$s.bom(a); create index on %1$s.big(grp); create index on %1$s.flight(src); create index on %1$s.tree(parent); create index on %1$s.part(id)', s); end loop; end $$;
create or replace view h.org_view as WITH RECURSIVE o AS (SELECT id, boss, dept, 0 AS lvl FROM h.emp WHERE boss IS NULL UNION ALL SELECT e.id, e.boss, e.dept, lvl + 1 FROM o JOIN h.emp e ON e.boss = o.id) SELECT * FROM o;
create or replace function h.subtree(root int) returns table(id int, lvl int) language sql stable as $$ WITH RECURSIVE o AS (SELECT id, 1 AS lvl FROM h.emp WHERE id = root UNION ALL SELECT e.id, lvl + 1 FROM h.emp e JOIN o ON e.boss = o.id) SELECT o.id, o.lvl FROM o $$;
create or replace function h.depth_of(who int) returns int language plpgsql stable as $$ declare d int; begin WITH RECURSIVE u AS (SELECT id, boss, 0 AS lvl FROM h.emp WHERE id = who UNION ALL SELECT e.id, e.boss, lvl + 1 FROM h.emp e JOIN u ON e.id = u.boss) SELECT max(lvl) INTO d FROM u; return d; end $$;
create table if not exists h.sink (id int, lvl int) ;
create or replace view g.org_view as WITH RECURSIVE o AS (SELECT id, boss, dept, 0 AS lvl FROM g.emp WHERE boss IS NULL UNION ALL SELECT e.id, e.boss, e.dept, lvl + 1 FROM o JOIN g.emp e ON e.boss = o.id) SELECT * FROM o;
create or replace function g.subtree(root int) returns table(id int, lvl int) language sql stable as $$ WITH RECURSIVE o AS (SELECT id, 1 AS lvl FROM g.emp WHERE id = root UNION ALL SELECT e.id, lvl + 1 FROM g.emp e JOIN o ON e.boss = o.id) SELECT o.id, o.lvl FROM o $$;
create or replace function g.depth_of(who int) returns int language plpgsql stable as $$ declare d int; begin WITH RECURSIVE u AS (SELECT id, boss, 0 AS lvl FROM g.emp WHERE id = who UNION ALL SELECT e.id, e.boss, lvl + 1 FROM g.emp e JOIN u ON e.id = u.boss) SELECT max(lvl) INTO d FROM u; return d; end $$;
create table if not exists g.sink (id int, lvl int) using gpucol;
VACUUM ANALYZE;
