-- stepadv: made from sql/[0-9]*.sql by make; do not edit the joined file.
-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION stepadv" to load this file. \quit

