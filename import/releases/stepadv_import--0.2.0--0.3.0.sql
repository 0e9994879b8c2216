-- Makes of an installed stepadv_import 0.2.0 what the parts of 0.3.0 make.
-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION stepadv_import UPDATE TO '0.3.0'" to load this file. \quit

-- Written by hand: what is no function, and functions whose parameters or
-- results are others now.  All functions and comments of the parts follow.
SET LOCAL search_path = pg_catalog, pg_temp;
