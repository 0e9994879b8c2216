-- stepadv: made from sql/[0-9]*.sql by make; do not edit the joined file.
-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION stepadv" to load this file. \quit

-- Everything here computes on what it is given: let every role use it.
GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;

