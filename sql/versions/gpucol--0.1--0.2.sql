-- From 0.1 to 0.2: what parts/*.sql of 0.2 has and those of 0.1 had not.
\echo Use "ALTER EXTENSION gpucol UPDATE" to load this file. \quit
