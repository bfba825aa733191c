-- Statements as analysts write them, over TPC-H's tables and a small star (adhoc_tables.sql).
-- u01
select 'sale' as what, count(*), sum(amount) from sale union all select 'before', count(*), sum(amount) from sale_before union all select 'refund', count(*), sum(amount) from refund;
-- u02
select store, sum(amount) as total from sale group by store union all select store, sum(amount) from sale_before group by store order by 1, 2;
-- u03
select store, sum(amount) from (select * from sale union all select * from sale_before) x group by store;
-- u04
select date_trunc('month', day) as month, channel, count(*), sum(amount * quantity) from (select day, channel, amount, quantity from sale union all select day, channel, amount, quantity from sale_before) x group by 1, 2;
-- u05
select store from sale where amount > 900 union select store from sale_before where amount > 900;
-- u06
select client from sale union select client from sale_before;
-- u07
select client from sale where channel = 'web' intersect select client from sale_before where channel = 'web';
-- u08
select client from sale_before except select client from sale;
-- u09
select count(*) from (select client from sale where day >= date '2024-01-01' intersect select client from sale_before) x;
-- u10
select count(*) from (select client, sku from sale except select client, sku from sale_before) x;
-- u11
select store, sku, count(*) from (select store, sku from sale union all select store, sku from sale_before) x group by store, sku order by 3 desc, 1, 2 limit 20;
-- u12
select sku from item except select sku from sale intersect select sku from sale_before;
-- u13
select o_custkey from orders where o_totalprice > 300000 intersect select c_custkey from customer where c_acctbal > 5000;
-- u14
select l_partkey from lineitem where l_quantity > 45 union select ps_partkey from partsupp where ps_availqty < 100;
-- u15
select count(*), sum(k) from (select l_orderkey as k from lineitem where l_returnflag = 'R' except select o_orderkey from orders where o_orderpriority = '1-URGENT') x;
-- u16
select i.category, sum(x.amount) from (select sku, amount from sale union all select sku, -amount from sale_before) x join item i on i.sku = x.sku group by i.category;
-- u17
select region, year, sum(amount) from (select s.region, extract(year from a.day) as year, a.amount from sale a join store s using (store) union all select s.region, extract(year from b.day), b.amount from sale_before b join store s using (store)) x group by region, year;
-- u18
select client, count(*) from (select client from sale intersect all select client from sale_before) x group by client order by 2 desc, 1 limit 10;
-- u19
select client from client except all select client from sale;
-- u20
select 'orders' as t, o_orderstatus as s, count(*) from orders group by o_orderstatus union all select 'lines', l_linestatus, count(*) from lineitem group by l_linestatus;
-- u21
select day, sum(n) from (select day, count(*) as n from sale group by day union all select day, -count(*) from refund group by day) x group by day;
-- u22
select coalesce(a.client, b.client) as client, a.n, b.n as before from (select client, count(*) as n from sale group by client) a full join (select client, count(*) as n from sale_before group by client) b on a.client = b.client where coalesce(a.n, 0) < coalesce(b.n, 0) - 14;
-- u23
select distinct city from (select city from store union all select city from client) x;
-- u24
select count(distinct client) from (select client from sale where channel = 'web' union all select client from sale_before where channel = 'web') x;
-- u25
select kind, count(*), avg(amount) from (select 'big' as kind, amount from sale where amount >= 500 union all select 'small', amount from sale where amount < 500 union all select 'back', amount from refund) x group by kind;
-- u26
select store, max(day), min(day) from (select store, day from sale where quantity > 6 union select store, day from sale_before where quantity > 6) x group by store;
-- u27
select sku, sum(quantity) from sale group by sku having sum(quantity) > 300 intersect select sku, sum(quantity) from sale group by sku having count(*) > 3;
-- u28
select x.day, x.amount, x.source from (select day, amount, 's' as source, sale from sale union all select day, amount, 'b', sale from sale_before) x order by x.amount desc, x.sale limit 25;
-- c01
with m as (select date_trunc('month', day) as month, store, sum(amount) as total from sale group by 1, 2) select a.month, a.store, a.total, b.total as last_month from m a left join m b on b.store = a.store and b.month = a.month - interval '1 month';
-- c02
with m as (select store, sum(amount) as total from sale group by store) select * from m where total > (select avg(total) from m);
-- c03
with big as (select client, sum(amount) as total from sale group by client having sum(amount) > 12000) select c.city, count(*), sum(b.total) from big b join client c on c.client = b.client group by c.city;
-- c04
with t as (select sku, count(*) as n from sale group by sku), r as (select s.sku, count(*) as n from refund f join sale s on s.sale = f.sale group by s.sku) select i.category, sum(t.n), sum(r.n), round(sum(r.n) / sum(t.n), 4) from t left join r on r.sku = t.sku join item i on i.sku = t.sku group by i.category;
-- c05
with recent as (select * from sale where day >= date '2024-06-01') select (select count(*) from recent) as n, (select sum(amount) from recent where channel = 'web') as web, (select max(amount) from recent) as most;
-- c06
with a as (select o_custkey, sum(o_totalprice) as s from orders group by o_custkey), b as (select max(s) as m from a) select c_name, s from a, b, customer where c_custkey = o_custkey and s > 0.9 * m;
-- c07
with w as (select client, min(day) as first from sale group by client) select date_trunc('month', w.first) as cohort, date_trunc('month', s.day) as month, count(distinct s.client) from w join sale s on s.client = w.client group by 1, 2;
-- c08
with s as (select store, channel, sum(amount) as total from sale group by store, channel) select store, sum(case when channel = 'web' then total end) as web, sum(case when channel = 'shop' then total end) as shop, sum(total) as whole from s group by store;
-- c09
with q as (select l_suppkey, sum(l_extendedprice * (1 - l_discount)) as r from lineitem where l_shipdate >= date '1996-01-01' and l_shipdate < date '1996-04-01' group by l_suppkey) select n_name, count(*), sum(r) from q join supplier on s_suppkey = l_suppkey join nation on n_nationkey = s_nationkey where r > (select avg(r) from q) group by n_name;
-- c10
with d as (select day, count(*) as n from sale group by day) select a.day, a.n, (select count(*) from d b where b.n > a.n) as above from d a where a.day >= date '2024-12-01';
-- d01
select avg(n), max(n), min(n) from (select client, count(*) as n from sale group by client) x;
-- d02
select n, count(*) from (select client, count(*) as n from sale group by client) x group by n;
-- d03
select region, avg(total) from (select s.region, a.store, sum(a.amount) as total from sale a join store s on s.store = a.store group by s.region, a.store) x group by region;
-- d04
select x.category, x.top, i.name from (select category, max(price) as top from item group by category) x join item i on i.category = x.category and i.price = x.top;
-- d05
select c.segment, sum(x.total), count(x.client) from client c left join (select client, sum(amount) as total from sale where channel = 'phone' group by client) x on x.client = c.client group by c.segment;
-- d06
select s.store, s.region, x.total, y.refunds from store s left join (select store, sum(amount) as total from sale group by store) x on x.store = s.store left join (select a.store, sum(f.amount) as refunds from refund f join sale a on a.sale = f.sale group by a.store) y on y.store = s.store;
-- d07
select bucket, count(*), sum(total) from (select client, sum(amount) as total, floor(sum(amount) / 1000) as bucket from sale group by client) x group by bucket;
-- d08
select o_orderpriority, avg(lines) from orders join (select l_orderkey, count(*) as lines from lineitem group by l_orderkey) x on l_orderkey = o_orderkey group by o_orderpriority;
-- d09
select count(*) from (select distinct client, sku from sale) x;
-- d10
select store, count(*) from (select distinct store, client from sale where client is not null) x group by store;
-- d11
select a.month, a.total, b.target from (select date_trunc('month', day)::date as month, store, sum(amount) as total from sale group by 1, 2) a join target b on b.month = a.month and b.store = a.store where a.total < b.target;
-- d12
select p_brand, sum(q), max(c) from part join (select l_partkey, sum(l_quantity) as q, count(*) as c from lineitem group by l_partkey) x on x.l_partkey = p_partkey group by p_brand;
-- s01
select count(*) from sale where amount > (select avg(amount) from sale);
-- s02
select store, (select region from store s where s.store = a.store) as region, sum(amount) from sale a group by store;
-- s03
select s.store, (select count(*) from sale a where a.store = s.store) as n, (select max(amount) from sale a where a.store = s.store and channel = 'web') as most from store s;
-- s04
select c.client, c.name from client c where c.credit > (select avg(credit) from client d where d.city = c.city) and c.segment = 'A';
-- s05
select sku, sum(amount) from sale a group by sku having sum(amount) > (select avg(t) * 1.2 from (select sum(amount) as t from sale group by sku) x);
-- s06
select channel, case when exists (select 1 from refund f where f.sale = a.sale) then 'back' else 'kept' end as state, count(*) from sale a group by 1, 2;
-- s07
select count(*) from sale a where exists (select 1 from refund f where f.sale = a.sale) or amount > 990;
-- s08
select count(*), sum(amount) from sale where sku in (select sku from item where category = 'cat 3') or store in (select store from store where region = 'north');
-- s09
select count(*) from sale a where not exists (select 1 from refund f where f.sale = a.sale and f.reason = 'broken');
-- s10
select count(*) from client where client not in (select client from sale where client is not null);
-- s11
select count(*) from client where client not in (select client from sale);
-- s12
select count(*) from client c where not exists (select 1 from sale a where a.client = c.client) and not exists (select 1 from sale_before b where b.client = c.client);
-- s13
select c.city, count(*), count(*) filter (where c.client in (select client from sale where amount > 995)) from client c group by c.city;
-- s14
select name from client c order by (select sum(amount) from sale a where a.client = c.client) desc nulls last, name limit 10;
-- s15
select sale, amount from sale a where amount = (select max(amount) from sale b where b.store = a.store);
-- s16
select count(*) from sale a where amount > 2 * (select avg(amount) from sale b where b.sku = a.sku);
-- s17
select count(*) from sale where (store, day) in (select store, month from target);
-- s18
select count(*) from sale where (store, channel) in (('S001', 'web'), ('S002', 'shop'), ('S003', 'phone'));
-- s19
select count(*) from sale where store in ('S001', 'S002', 'S003', 'S004') and channel not in ('web');
-- s20
select p_partkey, p_name from part where p_retailprice > (select avg(p_retailprice) * 1.5 from part) and p_partkey in (select ps_partkey from partsupp group by ps_partkey having min(ps_supplycost) < 10);
-- s21
select o_orderpriority, count(*) from orders where o_orderkey in (select l_orderkey from lineitem group by l_orderkey having sum(l_quantity) > 250) group by o_orderpriority;
-- s22
select c_mktsegment, count(*) from customer where exists (select 1 from orders where o_custkey = c_custkey and o_totalprice > 350000) and not exists (select 1 from orders where o_custkey = c_custkey and o_orderstatus = 'P') group by c_mktsegment;
-- s23
select n_name, (select count(*) from customer where c_nationkey = n_nationkey) as customers, (select count(*) from supplier where s_nationkey = n_nationkey) as suppliers from nation;
-- s24
select s_name from supplier where s_suppkey in (select l_suppkey from lineitem where l_shipdate > date '1998-11-15') or s_acctbal > 9900;
-- s25
select sum(l_extendedprice) from lineitem l where l_quantity < (select 0.3 * avg(l_quantity) from lineitem m where m.l_partkey = l.l_partkey);
-- s26
select count(*) from orders o where o_totalprice > all (select p_retailprice * 100 from part where p_size = 1);
-- s27
select count(*) from orders o where o_totalprice > any (select o_totalprice from orders p where p.o_orderdate = date '1996-01-02');
-- s28
select store, sum(case when sku in (select sku from item where brand = 'brand 7') then amount else 0 end) from sale group by store;
-- s29
select store, sum(amount) / (select sum(amount) from sale) as share from sale group by store;
-- s30
select a.store, sum(a.amount) from sale a where a.discount > (select coalesce(avg(b.discount), 0) from sale_before b where b.store = a.store and b.channel = a.channel) group by a.store;
-- j01
select s.region, i.category, sum(a.amount), count(*) from sale a join store s on s.store = a.store join item i on i.sku = a.sku group by s.region, i.category;
-- j02
select s.region, i.category, c.segment, sum(a.amount * (1 - coalesce(a.discount, 0))) from sale a join store s using (store) join item i using (sku) join client c using (client) where i.price > 100 and c.born < date '1980-01-01' group by 1, 2, 3;
-- j03
select s.store, count(a.sale) from sale a right join store s on s.store = a.store group by s.store;
-- j04
select s.store, count(a.sale), count(*) from sale a full join store s on s.store = a.store and s.region = 'north' group by s.store;
-- j05
select i.sku, p.sku as parent, i.price - p.price as more from item i join item p on p.sku = i.parent where i.price > p.price;
-- j06
select c.segment, r.segment as by_segment, count(*) from client c left join client r on r.client = c.referrer group by 1, 2;
-- j07
select r.currency, sum(a.amount * r.rate) from sale a join rate r on a.day >= r.from_day and a.day < r.to_day where r.currency in ('EUR', 'USD') group by r.currency;
-- j08
select r.currency, date_trunc('month', a.day), sum(a.amount / r.rate) from sale a, rate r where a.day between r.from_day and r.to_day - 1 and a.store = 'S007' group by 1, 2;
-- j09
select f.reason, avg(f.day - a.day), sum(f.amount) / sum(a.amount) from refund f join sale a on a.sale = f.sale group by f.reason;
-- j10
select count(*) from sale a join sale b on b.client = a.client and b.day = a.day and b.sale > a.sale;
-- j11
select s.city, count(*) from store s join client c on c.city = s.city group by s.city;
-- j12
select upper(s.region), left(i.brand, 7), count(*) from sale a join store s on lower(s.store) = lower(a.store) join item i on i.sku = a.sku group by 1, 2;
-- j13
select t.store, t.month, t.target, sum(a.amount) from target t left join sale a on a.store = t.store and date_trunc('month', a.day) = t.month group by 1, 2, 3;
-- j14
select count(*) from orders join customer on c_custkey = o_custkey and c_acctbal * 10 > o_totalprice;
-- j15
select n1.n_name, n2.n_name, count(*), sum(l_extendedprice) from lineitem join orders on o_orderkey = l_orderkey join customer on c_custkey = o_custkey join supplier on s_suppkey = l_suppkey join nation n1 on n1.n_nationkey = c_nationkey join nation n2 on n2.n_nationkey = s_nationkey where n1.n_nationkey <> n2.n_nationkey group by 1, 2;
-- j16
select o_orderstatus, count(*) from orders left join lineitem on l_orderkey = o_orderkey and l_returnflag = 'R' where l_orderkey is null group by o_orderstatus;
-- j17
select c_nationkey, count(o_orderkey), sum(o_totalprice) from customer left join orders on o_custkey = c_custkey group by c_nationkey;
-- j18
select p_mfgr, avg(ps_supplycost), sum(ps_availqty::bigint * ps_supplycost) from part join partsupp on ps_partkey = p_partkey group by p_mfgr;
-- j19
select l_shipmode, extract(year from o_orderdate), count(*) from lineitem join orders on o_orderkey = l_orderkey where l_receiptdate > l_commitdate + 30 group by 1, 2;
-- j20
select s.region, extract(dow from a.day), count(*), sum(a.amount) from sale a join store s on s.store = a.store where a.stamp::time >= time '18:00' group by 1, 2;
-- j21
select a.sku, b.sku, count(*) from sale a join sale b on a.client = b.client and a.day = b.day and a.sku < b.sku where a.day >= date '2024-10-01' group by 1, 2 order by 3 desc, 1, 2 limit 10;
-- j22
select i.category, count(*) from item i cross join store s where i.price > s.area group by i.category;
-- j23
select count(*) from sale a join refund f on f.amount = a.amount where f.reason = 'late' and a.day < date '2023-03-01';
-- j24
select s.store from store s left join (select distinct store from sale where day >= date '2024-12-25') x on x.store = s.store where x.store is null;
-- j25
select c.client, c.name, s.amount from client c join sale s on s.client = c.client where s.amount > 998 order by s.amount desc, c.client, s.sale limit 50;
-- j26
select count(*), sum(a.amount) from sale a natural join (select store from store where area > 1000) s;
-- j27
select coalesce(a.store, b.store) as store, coalesce(a.month, b.month) as month, a.total, b.target from (select store, date_trunc('month', day)::date as month, sum(amount) as total from sale group by 1, 2) a full join target b on b.store = a.store and b.month = a.month;
-- l01
select s.store, x.sku, x.amount from store s, lateral (select sku, amount from sale a where a.store = s.store order by amount desc, sale limit 3) x;
-- l02
select c.client, x.n from client c cross join lateral (select count(*) as n from sale a where a.client = c.client) x where x.n > 35;
-- l03
select s.store, x.total, x.n from store s left join lateral (select sum(amount) as total, count(*) as n from sale a where a.store = s.store and a.day > s.opened) x on true;
-- l04
select i.category, x.name from (select distinct category from item) i cross join lateral (select name from item j where j.category = i.category order by price desc, sku limit 1) x;
-- l05
select a.store, v.what, sum(v.value) from sale a cross join lateral (values ('amount', amount), ('quantity', quantity), ('discount', discount)) v(what, value) group by 1, 2;
-- o01
select distinct on (store) store, day, amount, sale from sale order by store, amount desc, sale;
-- o02
select distinct on (c.client) c.client, c.name, a.day, a.amount from client c join sale a on a.client = c.client order by c.client, a.day desc, a.sale;
-- g01
select s.region, i.category, sum(a.amount) from sale a join store s on s.store = a.store join item i on i.sku = a.sku group by rollup (s.region, i.category);
-- g02
select s.region, a.channel, c.segment, count(*), grouping(s.region, a.channel, c.segment) from sale a join store s on s.store = a.store left join client c on c.client = a.client group by grouping sets ((s.region, a.channel), (c.segment), ());
-- g03
select extract(year from o_orderdate) as y, o_orderpriority, c_mktsegment, count(*), sum(o_totalprice) from orders join customer on c_custkey = o_custkey group by cube (1, 2, 3);
-- g04
select channel, count(*), count(distinct client), count(distinct sku), count(*) filter (where amount > 500) from sale group by channel;
-- g05
select s.region, count(distinct a.client), count(distinct a.sku) filter (where a.quantity > 6) from sale a join store s on s.store = a.store group by s.region;
-- g06
select date_trunc('week', day), count(*) filter (where channel = 'web') as web, count(*) filter (where channel is null) as unknown, sum(amount) filter (where quantity between 2 and 4) from sale group by 1;
-- g07
select store, percentile_cont(0.5) within group (order by amount) from sale group by store;
-- g08
select channel, string_agg(distinct reason, ',' order by reason) from refund f join sale a on a.sale = f.sale group by channel;
-- g09
select width_bucket(amount, 0, 1000, 10), count(*), min(amount), max(amount), round(stddev(amount), 4) from sale group by 1;
-- g10
select case when amount < 100 then 'low' when amount < 500 then 'mid' else 'high' end as band, channel, count(*), avg(quantity) from sale group by 1, 2;
-- g11
select extract(year from day) as y, extract(quarter from day) as q, sum(amount), sum(sum(amount)) over (partition by extract(year from day) order by extract(quarter from day)) from sale group by 1, 2;
-- g12
select city, avg(age), count(*) from (select city, extract(year from age(date '2024-06-01', born)) as age from client) x group by city having count(*) > 5;
-- w01
select store, day, total, sum(total) over (partition by store order by day) from (select store, day, sum(amount) as total from sale where day >= date '2024-09-01' group by store, day) x;
-- w02
select * from (select s.region, a.store, sum(a.amount) as total, rank() over (partition by s.region order by sum(a.amount) desc) as r from sale a join store s on s.store = a.store group by s.region, a.store) x where r <= 3;
-- w03
select client, day, day - lag(day) over (partition by client order by day, sale) as gap from sale where channel = 'web' and day >= date '2024-06-01';
-- w04
select gap, count(*) from (select day - lag(day) over (partition by client order by day, sale) as gap from sale where client is not null) x group by gap;
-- w05
select i.category, a.sku, sum(a.amount), sum(a.amount) / sum(sum(a.amount)) over (partition by i.category) as share from sale a join item i on i.sku = a.sku group by 1, 2;
-- w06
select * from (select a.*, row_number() over (partition by a.store order by a.amount desc, a.sale) as n from sale a) x where n <= 2;
-- w07
select month, total, total - lag(total) over (order by month) as change, avg(total) over (order by month rows between 2 preceding and current row) from (select date_trunc('month', day) as month, sum(amount) as total from sale group by 1) x;
-- w08
select count(*) from (select sale, ntile(4) over (order by amount, sale) as q, store from sale) x where q = 4 and store < 'S050';
-- v01
select v.label, count(*), sum(a.amount) from sale a join (values (0, 100, 'low'), (100, 500, 'mid'), (500, 1000, 'high')) v(least, most, label) on a.amount >= v.least and a.amount < v.most group by v.label;
-- v02
select v.name, count(*) from sale a join (values ('S001', 'first'), ('S002', 'second'), ('S099', 'last')) v(store, name) on v.store = a.store group by v.name;
-- v03
select count(*) from sale where client in (select * from (values (1), (5), (9), (13)) v(k));
-- k01
select d.day::date, count(a.sale), coalesce(sum(a.amount), 0) from generate_series(timestamp '2024-01-01', timestamp '2024-12-31', interval '1 day') d(day) left join sale a on a.day = d.day group by 1;
-- k02
select d.month::date, s.region, coalesce(sum(a.amount), 0) from generate_series(timestamp '2023-01-01', timestamp '2025-03-01', interval '1 month') d(month) cross join (select distinct region from store) s left join (select date_trunc('month', day) as month, region, amount from sale join store using (store)) a on a.month = d.month and a.region = s.region group by 1, 2;
-- k03
select h.hour, count(a.sale) from generate_series(0, 23) h(hour) left join sale a on extract(hour from a.stamp) = h.hour group by h.hour;
-- k04
select count(distinct client) from sale where day >= date '2024-12-31' - interval '30 days';
-- k05
select d.day::date, count(distinct a.client) from generate_series(timestamp '2024-12-01', timestamp '2024-12-31', interval '1 day') d(day) join sale a on a.day > d.day - interval '7 days' and a.day <= d.day group by 1;
-- k06
select to_char(day, 'YYYY-MM') as month, to_char(day, 'Dy') as weekday, count(*), sum(amount) from sale group by 1, 2;
-- k07
select date_part('year', day)::int as y, date_part('month', day)::int as m, round(avg(amount), 2), round(sum(discount * amount), 3) from sale group by 1, 2 order by 1, 2;
-- k08
select count(*) from orders, lineitem where l_orderkey = o_orderkey and l_shipdate > o_orderdate + interval '3 months';
-- k09
select o_orderdate - (extract(dow from o_orderdate))::int as week, count(*), sum(o_totalprice) from orders where o_orderdate >= date '1995-01-01' and o_orderdate < date '1995-01-01' + interval '1 year' group by 1;
-- x01
select count(*) from sale a join item i on i.sku = a.sku where i.category is distinct from 'cat 1' and a.channel is not distinct from null;
-- x02
select i.brand, sum(a.quantity * i.price) from sale a join item i on i.sku = a.sku and a.amount > i.price group by i.brand order by 2 desc limit 5;
-- x03
select count(*) from client c join client r on r.client = c.referrer join client g on g.client = r.referrer where c.city = g.city;
-- x04
select s.region, count(*) from sale a join store s on s.store = a.store where (s.region = 'north' and a.channel = 'web') or (s.region = 'south' and a.amount > 900) group by s.region;
-- x05
select substring(i.name from 6)::int % 10 as k, count(*) from sale a join item i on i.sku = a.sku group by 1;
-- x06
select c.name, count(*) from sale a join client c on c.client = a.client group by c.name having count(*) > 38;
-- x07
select c.client, c.name, c.city, sum(a.amount) from sale a join client c on c.client = a.client group by c.client, c.name, c.city order by 4 desc, 1 limit 20;
-- x08
select i.category, i.brand, count(distinct a.client) from sale a join item i on i.sku = a.sku group by 1, 2;
-- x09
select a.store, b.store, a.total - b.total from (select store, sum(amount) as total from sale group by store) a, (select store, sum(amount) as total from sale group by store) b where a.total > b.total * 1.15;
-- x10
select n_name, sum(case when o_orderpriority like '1%' then 1 else 0 end) as urgent, count(*) from orders join customer on c_custkey = o_custkey join nation on n_nationkey = c_nationkey where o_comment not like '%special%' group by n_name;
-- x11
select p_type, sum(l_extendedprice * (1 - l_discount)) / sum(l_quantity) from lineitem join part on p_partkey = l_partkey where p_name like '%green%' and l_shipdate between date '1995-01-01' and date '1996-12-31' group by p_type;
-- x12
select c_name, o_orderkey, sum(l_quantity) from customer, orders, lineitem where c_custkey = o_custkey and o_orderkey = l_orderkey group by 1, 2 order by 3 desc, 2 limit 10;
-- x13
select r_name, n_name, s_name, sum(ps_supplycost * ps_availqty) as value from partsupp join supplier on s_suppkey = ps_suppkey join nation on n_nationkey = s_nationkey join region on r_regionkey = n_regionkey group by 1, 2, 3 having sum(ps_supplycost * ps_availqty) > 450000000 order by value desc;
-- x14
select count(*) from lineitem l1 where exists (select 1 from lineitem l2 where l2.l_orderkey = l1.l_orderkey and l2.l_suppkey <> l1.l_suppkey) and l_shipmode = 'AIR';
-- x15
select count(*) from orders where extract(year from o_orderdate) = 1996 and o_custkey in (select c_custkey from customer where c_mktsegment = 'BUILDING' and c_nationkey in (select n_nationkey from nation where n_regionkey = 2));
-- x16
select o_clerk, count(*), sum(o_totalprice), max(o_orderdate) from orders group by o_clerk order by 2 desc, 1 limit 5;
