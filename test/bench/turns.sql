-- Benchmark of turns, values, ratios and rewards: psql script, one row per
-- measurement.  Best of several runs, one process, everything in memory.
-- steps (5000000) may be set to make it smaller.
\set ON_ERROR_STOP on
\set QUIET on
\pset footer off
\if :{?steps}
\else
	\set steps 5000000
\endif
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS turns_bench CASCADE;
CREATE SCHEMA turns_bench;
SET search_path = turns_bench, stepadv;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '2GB';
SET jit = off;

-- Milliseconds of the fastest of n runs.
CREATE FUNCTION best(query text, n integer DEFAULT 3) RETURNS numeric LANGUAGE plpgsql AS
$$
DECLARE
	started timestamptz;
	fastest float8 := 'Infinity';
BEGIN
	FOR i IN 1 .. n LOOP
		started := clock_timestamp();
		EXECUTE query;
		fastest := least(fastest, extract(epoch FROM clock_timestamp() - started) * 1000);
	END LOOP;
	RETURN round(fastest::numeric, 2);
END
$$;

-- Groups of 8 rollouts of 1 to 30 steps
CREATE TABLE step AS
SELECT row_number() OVER () AS step_id, r / 8 AS task_id, r AS rollout_id, k AS step_no,
	   CASE WHEN k = len THEN (hashint8(r) & 1)::float8 END AS reward,
	   (hashint8(r * 31 + k) & 255) / 256.0::float8 AS value, (hashint8(r * 37 + k) & 3) / 4.0::float8 AS turn_reward
FROM (SELECT r, 1 + abs(hashint8(r)) % 30 AS len FROM generate_series(1, :steps / 15) r) l, generate_series(1, len) k;
ANALYZE step;
SELECT count(*) AS steps, count(DISTINCT task_id) AS groups FROM step;

SELECT 'bare count and sum' AS what, best('SELECT count(*), sum(reward) FROM step') AS ms;
SELECT f AS what, best(format('SELECT sum(a.%s) FROM (SELECT rollout_agg(step_id, rollout_id, step_no, NULL, NULL, reward, NULL, NULL, value, turn_reward, NULL) AS g
							  FROM step GROUP BY task_id) x, %s(g) a', c, f)) AS ms
FROM (VALUES ('returns', 'return'), ('gae', 'advantage'), ('mt_grpo', 'advantage'), ('mt_rloo', 'advantage')) v(f, c);
SELECT 'returns, short form of rollout_agg' AS what,
	   best('SELECT sum(a.return) FROM (SELECT rollout_agg(step_id, rollout_id, step_no, NULL, NULL, reward) AS g FROM step GROUP BY task_id) x, returns(g) a') AS ms;

-- From stored groups: the estimators themselves
CREATE TABLE stored AS
SELECT task_id, rollout_agg(step_id, rollout_id, step_no, NULL, NULL, reward, NULL, NULL, value, turn_reward, NULL) AS g FROM step GROUP BY task_id;
SELECT f || ', stored groups' AS what, best(format('SELECT sum(a.%s) FROM stored, %s(g) a', c, f)) AS ms
FROM (VALUES ('returns', 'return'), ('gae', 'advantage'), ('mt_grpo', 'advantage'), ('mt_rloo', 'advantage')) v(f, c);

-- whiten over all steps, and over 100 batches
SELECT 'whiten, one batch' AS what, best('SELECT sum(w) FROM (SELECT whiten(value) OVER () AS w FROM step) x') AS ms;
SELECT 'avg and stddev_samp, one batch' AS what, best('SELECT sum(w) FROM (SELECT (value - avg(value) OVER ()) / stddev_samp(value) OVER () AS w FROM step) x') AS ms;
SELECT 'whiten, masked' AS what, best('SELECT sum(w) FROM (SELECT whiten(value, step_no > 3) OVER () AS w FROM step) x') AS ms;

-- step_ratio over 1,000 tokens: nanoseconds a call, arrays at hand in the page
CREATE TABLE logp(new real[], old real[], mask boolean[]);
ALTER TABLE logp ALTER new SET STORAGE PLAIN, ALTER old SET STORAGE PLAIN, ALTER mask SET STORAGE EXTERNAL;
INSERT INTO logp SELECT array_agg((-random())::real), array_agg((-random())::real) FROM generate_series(1, 1000);
UPDATE logp SET mask = (SELECT array_agg(random() < 0.9) FROM generate_series(1, 1000));
SELECT e AS what, round(best(format('SELECT count(%s) FROM logp, generate_series(1, 20000)', e), 10) * 50) AS ns_a_call
FROM unnest(ARRAY['cardinality(new) + cardinality(old)', 'step_ratio(new, old)', 'step_ratio(new, old, mask)', 'approximate_kl(new, old)']) e;

-- Rewards: twice the text, twice the time
CREATE TABLE message AS
SELECT mb, ARRAY['<reasoning>' || repeat('all work <and> no play ', mb * 45590) || '</reasoning><tool>x</tool>'] AS m,
	   ARRAY['<result>' || repeat('<results Jack paris ', mb * 52428) || '</result>'] AS r FROM unnest(ARRAY[1, 2, 4, 8]) mb;
SELECT mb, best(format('SELECT reward_tool_execution(m, r) FROM turns_bench.message WHERE mb = %s', mb)) AS execution,
	   best(format('SELECT reward_answer_in_results(m, r, ''{not there}'') FROM turns_bench.message WHERE mb = %s', mb)) AS in_results,
	   best(format('SELECT reward_xml_format(m) FROM turns_bench.message WHERE mb = %s', mb)) AS format,
	   best(format('SELECT reward_xml_tags(m) FROM turns_bench.message WHERE mb = %s', mb)) AS tags
FROM message ORDER BY mb;
DROP SCHEMA turns_bench CASCADE;
