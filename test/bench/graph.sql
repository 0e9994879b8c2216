-- Benchmark of the state graph: psql script, one row per measurement. Best of
-- several runs, one process, everything in memory.  Variables that may be set:
-- steps_c (5000000) and steps_d (10000000) make (c) and (d) smaller.  (b) is
-- measured against pgRouting where its extension is available, see graph.sh.
\set ON_ERROR_STOP on
\set QUIET on
\pset footer off
\if :{?steps_c}
\else
	\set steps_c 5000000
\endif
\if :{?steps_d}
\else
	\set steps_d 10000000
\endif
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS graph_bench CASCADE;
CREATE SCHEMA graph_bench;
SET search_path = graph_bench, stepadv, public;
SET max_parallel_workers_per_gather = 0;
SET work_mem = '2GB';
SET jit = off;

-- Milliseconds of the fastest of n runs.
CREATE FUNCTION best(query text, n integer DEFAULT 5) RETURNS numeric LANGUAGE plpgsql AS
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

-- Random walks: rollouts of a group share its states, a third of them succeed.
CREATE FUNCTION make_steps(name text, groups bigint, rollouts integer, shortest integer, longest integer, states integer) RETURNS void LANGUAGE plpgsql AS
$$
BEGIN
	EXECUTE format('CREATE UNLOGGED TABLE %I AS
		SELECT (r << 7) + t AS step_id, r / %s AS group_id, r AS rollout_id, t AS step_no,
			(signature_hash(int8send((r << 7) + t)) & 1073741823) %% %s AS state, (signature_hash(int8send((r << 7) + t)) >> 40) & 3 AS action,
			0::float8 AS reward, r %% 3 = 0 AS success
		FROM generate_series(0, %s) r, generate_series(1, (%s + (signature_hash(int8send(r)) & 1073741823) %% %s)::integer) t',
		name, rollouts, states, groups * rollouts - 1, shortest, longest - shortest + 1);
	EXECUTE format('ANALYZE %I', name);
END
$$;

\echo '(a) 16 groups x 8 rollouts x up to 50 steps, table to rows (goal: under 10 ms)'
SELECT make_steps('batch', 16, 8, 30, 50, 25) \g /dev/null
SELECT count(*) AS steps, best('SELECT count(*), sum(a.advantage) FROM
	(SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward, success) AS g FROM batch GROUP BY group_id) x, graphgpo(g) a', 20) AS graphgpo_ms FROM batch;

\echo '(b) one group of 1,000,000 steps over 200,000 states, distances of all states (goal: 4 times faster than pgr_drivingDistance)'
CREATE UNLOGGED TABLE large AS
SELECT (r << 7) + t AS step_id, r AS rollout_id, t AS step_no, (signature_hash(int8send((r << 7) + t)) & 1073741823) % 200000 AS state,
	r % 5 = 0 AS success, 1 + ((signature_hash(int8send((r << 7) + t)) >> 40) & 1023) / 1024.0::float8 AS cost
FROM generate_series(0, 19999) r, generate_series(1, 50) t ORDER BY r, t;
CREATE UNLOGGED TABLE reversed AS
SELECT l.step_id AS id, coalesce(n.state, -1) AS source, l.state AS target, l.cost
FROM large l LEFT JOIN large n ON n.rollout_id = l.rollout_id AND n.step_no = l.step_no + 1 WHERE n.step_id IS NOT NULL OR l.success;
ANALYZE large;
ANALYZE reversed;
CREATE TABLE b (costs text, stepadv text, pgrouting text);
INSERT INTO b VALUES
	('unit', 'SELECT count(*), sum(d.distance) FROM (SELECT rollout_agg(step_id, rollout_id, step_no, state, 0, 0, success) AS g FROM large) x, distances(g) d',
		'SELECT count(*), sum(agg_cost) FROM pgr_drivingDistance(''SELECT id, source, target, 1::float8 AS cost FROM graph_bench.reversed'', -1, 1e9, true)'),
	('unequal', 'SELECT count(*), sum(d.distance) FROM (SELECT rollout_agg(step_id, rollout_id, step_no, state, 0, 0, success, NULL, NULL, NULL, cost) AS g FROM large) x, distances(g) d',
		'SELECT count(*), sum(agg_cost) FROM pgr_drivingDistance(''SELECT id, source, target, cost FROM graph_bench.reversed'', -1, 1e9, true)');
SELECT count(*) > 0 AS has_pgrouting FROM pg_available_extensions WHERE name = 'pgrouting' \gset
\if :has_pgrouting
	CREATE EXTENSION IF NOT EXISTS pgrouting SCHEMA public CASCADE;
	SELECT costs, stepadv_ms, pgrouting_ms, round(pgrouting_ms / stepadv_ms, 1) AS times_faster
	FROM (SELECT costs, best(stepadv) AS stepadv_ms, best(pgrouting) AS pgrouting_ms FROM b ORDER BY costs DESC) m;
	\echo 'both find the same (sum of distances, reached states)'
	SELECT count(*) AS reached, round(sum(d.distance)::numeric, 6) AS stepadv_sum,
		(SELECT round(sum(agg_cost)::numeric, 6) FROM pgr_drivingDistance('SELECT id, source, target, cost FROM graph_bench.reversed', -1, 1e9, true)) AS pgrouting_sum
	FROM (SELECT rollout_agg(step_id, rollout_id, step_no, state, 0, 0, success, NULL, NULL, NULL, cost) AS g FROM large) x, distances(g) d WHERE d.distance IS NOT NULL;
\else
	SELECT costs, best(stepadv) AS stepadv_ms FROM b ORDER BY costs DESC;
\endif
DROP TABLE reversed, large;

\echo '(c) graphgpo and rtmc over many groups of 8 rollouts (goal: no more than twice rtmc)'
SELECT make_steps('many', :steps_c / 125, 8, 8, 23, 30) \g /dev/null
SELECT count(*) AS steps, count(DISTINCT group_id) AS groups FROM many;
SELECT fold_ms, rtmc_ms, graphgpo_ms, gigpo_ms, hgpo_ms, tempo_ms, round(graphgpo_ms / rtmc_ms, 2) AS graphgpo_to_rtmc
FROM (SELECT max(ms) FILTER (WHERE f = 'fold') AS fold_ms, max(ms) FILTER (WHERE f = 'rtmc') AS rtmc_ms, max(ms) FILTER (WHERE f = 'graphgpo') AS graphgpo_ms,
		max(ms) FILTER (WHERE f = 'gigpo') AS gigpo_ms, max(ms) FILTER (WHERE f = 'hgpo') AS hgpo_ms, max(ms) FILTER (WHERE f = 'tempo') AS tempo_ms
	FROM (SELECT f, best(format('SELECT %s FROM (SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward, success) AS g FROM many GROUP BY group_id) x %s',
			CASE f WHEN 'fold' THEN 'count(g)' ELSE 'sum(a.advantage)' END, CASE f WHEN 'fold' THEN '' ELSE format(', %I(g) a', f) END), 3) AS ms
		FROM unnest('{fold,rtmc,graphgpo,gigpo,hgpo,tempo}'::text[]) f) m) w;
DROP TABLE many;

\echo '(d) growth with the table: graphgpo over groups of one size, nanoseconds per step'
CREATE TABLE growth (steps bigint, ms numeric);
SELECT set_config('graph_bench.steps_d', :'steps_d', false) \g /dev/null
DO $$
DECLARE
	n bigint := 10000;
	most bigint := current_setting('graph_bench.steps_d')::bigint;
BEGIN
	WHILE n <= most LOOP
		PERFORM graph_bench.make_steps('growing', n / 125, 8, 8, 23, 30);
		INSERT INTO graph_bench.growth SELECT count(*), graph_bench.best('SELECT sum(a.advantage) FROM
			(SELECT rollout_agg(step_id, rollout_id, step_no, state, action, reward, success) AS g FROM graph_bench.growing GROUP BY group_id) x, graphgpo(g) a',
			CASE WHEN n < 1000000 THEN 5 ELSE 2 END) FROM graph_bench.growing;
		DROP TABLE graph_bench.growing;
		n := n * 10;
	END LOOP;
END
$$;
SELECT steps, ms, round(ms * 1e6 / steps) AS ns_per_step FROM growth ORDER BY steps;
DROP SCHEMA graph_bench CASCADE;
