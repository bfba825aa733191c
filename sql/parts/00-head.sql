-- gpucol install script; built from sql/parts by the Makefile.
-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION gpucol" to load this file. \quit

-- Everybody may call what is here; tables keep their own privileges.
GRANT USAGE ON SCHEMA gpucol TO PUBLIC;

