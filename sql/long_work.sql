-- How far long work is, told by functions in SQL: src/long_work.c

CREATE FUNCTION stepadv_internal.begin_work(done_verb text, units text, "of" text, total bigint) RETURNS void
LANGUAGE c STRICT
AS 'MODULE_PATHNAME', 'stepadv_begin_work';
COMMENT ON FUNCTION stepadv_internal.begin_work(text, text, text, bigint) IS
'begins work that says every few seconds how far it is, as "read 400 of 1000 lines of x, about 5 s '
'left" (total 0: not known, "of" empty: of nothing); the last begun is the one that goes on, until the '
'client''s statement ends';

CREATE FUNCTION stepadv_internal.work_done(n bigint) RETURNS void
LANGUAGE c STRICT
AS 'MODULE_PATHNAME', 'stepadv_work_done';
COMMENT ON FUNCTION stepadv_internal.work_done(bigint) IS 'so much more of what begin_work began is done';

CREATE FUNCTION stepadv_internal.end_work() RETURNS void
LANGUAGE c
AS 'MODULE_PATHNAME', 'stepadv_end_work';
COMMENT ON FUNCTION stepadv_internal.end_work() IS
'ends what begin_work began: rows that are written to the canonical tables are no part of it any more';
