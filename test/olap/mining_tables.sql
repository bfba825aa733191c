-- Data mining: points and centres, documents, page views, samples, a matrix, baskets and readings.
CREATE TABLE points (id int NOT NULL, x float8 NOT NULL, y float8 NOT NULL, z float8 NOT NULL, class smallint NOT NULL);
CREATE TABLE centres (k int NOT NULL, x float8 NOT NULL, y float8 NOT NULL, z float8 NOT NULL);
CREATE TABLE documents (id int NOT NULL, body text NOT NULL, phrase text, tags text[], ratings int[]);
CREATE TABLE views (url text NOT NULL, visitor int NOT NULL, address text NOT NULL);
CREATE TABLE samples (f1 smallint NOT NULL, f2 smallint NOT NULL, f3 smallint NOT NULL, f4 smallint NOT NULL, play smallint NOT NULL);
CREATE TABLE matrix (i int NOT NULL, j int NOT NULL, v float8 NOT NULL);
CREATE TABLE baskets (basket int NOT NULL, item int NOT NULL);
CREATE TABLE readings (t timestamp NOT NULL, sensor smallint NOT NULL, v float8);
CREATE TABLE streets (street int NOT NULL, length int NOT NULL, speed int NOT NULL);
CREATE TABLE turns (street int NOT NULL, choice int NOT NULL, target int NOT NULL);
CREATE TABLE weathers (tick int NOT NULL, grip int NOT NULL);
CREATE TABLE actors (actor int NOT NULL, kind text NOT NULL, street int NOT NULL, place int NOT NULL);
