-- A small star beside TPC-H's tables, as analysts have them: keys of text, NULLs, decimals of several scales.
CREATE TABLE store (store text NOT NULL, city text, region text, opened date, area numeric(8,1), manager int);
CREATE TABLE item (sku text NOT NULL, name text, category text, brand text, price numeric(10,4), parent text);
CREATE TABLE client (client int NOT NULL, name text, referrer int, city text, segment char(1), born date, credit numeric(14,3));
CREATE TABLE sale (sale bigint NOT NULL, day date NOT NULL, stamp timestamp, store text, sku text, client int,
	quantity smallint, amount numeric(12,2), discount numeric(6,4), channel text);
CREATE TABLE sale_before (sale bigint NOT NULL, day date NOT NULL, stamp timestamp, store text, sku text, client int,
	quantity smallint, amount numeric(12,2), discount numeric(6,4), channel text);
CREATE TABLE refund (sale bigint NOT NULL, day date NOT NULL, reason text, amount numeric(12,3));
CREATE TABLE target (store text NOT NULL, month date NOT NULL, target numeric(14,2));
CREATE TABLE rate (currency text NOT NULL, from_day date NOT NULL, to_day date NOT NULL, rate numeric(12,6));
