-- The tables of the Star Schema Benchmark.
CREATE TABLE dates (d_datekey int NOT NULL, d_date varchar(18), d_dayofweek varchar(9), d_month varchar(9),
	d_year int, d_yearmonthnum int, d_yearmonth varchar(7), d_daynuminweek int, d_daynuminmonth int,
	d_daynuminyear int, d_monthnuminyear int, d_weeknuminyear int, d_sellingseason varchar(12),
	d_lastdayinweekfl int, d_lastdayinmonthfl int, d_holidayfl int, d_weekdayfl int);
CREATE TABLE customer (c_custkey int NOT NULL, c_name varchar(25), c_address varchar(25), c_city varchar(10),
	c_nation varchar(15), c_region varchar(12), c_phone varchar(15), c_mktsegment varchar(10));
CREATE TABLE supplier (s_suppkey int NOT NULL, s_name varchar(25), s_address varchar(25), s_city varchar(10),
	s_nation varchar(15), s_region varchar(12), s_phone varchar(15));
CREATE TABLE part (p_partkey int NOT NULL, p_name varchar(22), p_mfgr varchar(6), p_category varchar(7),
	p_brand1 varchar(9), p_color varchar(11), p_type varchar(25), p_size int, p_container varchar(10));
CREATE TABLE lineorder (lo_orderkey bigint NOT NULL, lo_linenumber int NOT NULL, lo_custkey int, lo_partkey int,
	lo_suppkey int, lo_orderdate int, lo_orderpriority varchar(15), lo_shippriority varchar(1),
	lo_quantity int, lo_extendedprice int, lo_ordtotalprice int, lo_discount int, lo_revenue int,
	lo_supplycost int, lo_tax int, lo_commitdate int, lo_shipmode varchar(10));
