-- States of aggregates as values: what combines partial states by their type, as Citus does, gets
-- what the aggregate gives of all rows.
\pset null NULL
SET client_min_messages = warning;

-- Those whose state is no value: of whole groups and lineages of tokens, which are values themselves
-- once they are made, and of signatures, a few rows each.
SELECT DISTINCT a.aggfnoid::regproc::text COLLATE "C" AS aggregate FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid
WHERE p.pronamespace IN ('stepadv'::regnamespace, 'stepadv_internal'::regnamespace) AND a.aggcombinefn <> 0 AND a.aggtranstype = 'internal'::regtype ORDER BY 1;

CREATE SCHEMA typed;
SET search_path = typed, stepadv, public;

CREATE TABLE rollout AS SELECT r AS rollout_id, r % 3 AS task, r * r % 7 AS place,
	CASE WHEN r % 11 > 0 THEN 'answer ' || r * r % 5 END AS answer, CASE WHEN r % 13 > 0 THEN r * r % 5 = 1 END AS correct, CASE WHEN r % 5 > 0 THEN r % 9 / 8.0::float8 END AS score
FROM generate_series(1, 90) r;
CREATE TABLE step AS SELECT r.rollout_id, r.task, r.place, n, ARRAY[n, r.rollout_id % 4, r.rollout_id * n % 5, 1]::real[] AS x, ARRAY[1 + n % 3, 5 + r.rollout_id % 4]::integer[] AS places,
	ARRAY[n, 1.5]::real[] AS weights, CASE WHEN r.rollout_id % 10 > 0 THEN (r.rollout_id / 3 % 3) / 2.0 END::float8 AS outcome, (n - r.rollout_id % 3) / 4.0::float8 AS value, n % 4 AS n_tokens
FROM rollout r, generate_series(1, 6) n;

-- An aggregate that gives its state, one that combines such states, and what each is called with.
CREATE TABLE aggregate (name text PRIMARY KEY, source text, arguments text, types text, trans text, combine text, final text);
INSERT INTO aggregate VALUES
	('maj_at_k', 'rollout', 'answer, correct, 4', 'text, boolean, integer', 'maj_at_k_trans', 'maj_at_k_combine', 'maj_at_k_final'),
	('best_at_k', 'rollout', 'score, 4', 'float8, integer', 'best_at_k_trans', 'best_at_k_combine', 'best_at_k_final'),
	('progress_fit', 'step', 'rollout_id, x, outcome, 0.01', 'bigint, real[], float8, float8', 'progress_fit_trans', 'progress_combine', 'progress_fit_final'),
	('progress_fit of words', 'step', 'rollout_id, x, outcome, 0.01, ''logistic''', 'bigint, real[], float8, float8, text', 'progress_fit_trans', 'progress_combine', 'progress_fit_final'),
	('progress_fit of places', 'step', 'rollout_id, places, weights, outcome, 0.01', 'bigint, integer[], real[], float8, float8', 'progress_fit_trans', 'progress_combine', 'progress_fit_final'),
	('progress_quality', 'step', 'rollout_id, value, outcome', 'bigint, float8, float8', 'progress_quality_trans', 'progress_combine', 'progress_quality_final');
-- What only a superuser can do: bytes are taken for states.
CREATE CAST (bytea AS stepadv_internal.aggregate_state) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (stepadv_internal.aggregate_state AS bytea) WITHOUT FUNCTION AS ASSIGNMENT;
SELECT format('CREATE AGGREGATE %I(%s) (SFUNC = stepadv_internal.%I, STYPE = stepadv_internal.aggregate_state); CREATE AGGREGATE %I(stepadv_internal.aggregate_state) (SFUNC = stepadv_internal.%I, STYPE = stepadv_internal.aggregate_state, FINALFUNC = stepadv_internal.%I)',
	'state of ' || name, types, trans, 'combined ' || name, combine, final) FROM aggregate ORDER BY name COLLATE "C" \gexec

-- Of all rows; of states of parts in which every rollout is split, in memory, and stored as text.
CREATE FUNCTION compare() RETURNS TABLE (name text, groups bigint, known bigint, in_memory boolean, stored boolean) LANGUAGE plpgsql AS $$
DECLARE
	a aggregate;
BEGIN
	FOR a IN SELECT * FROM aggregate t ORDER BY t.name COLLATE "C"
	LOOP
		EXECUTE format('DROP TABLE IF EXISTS part; CREATE TABLE part AS SELECT task, (%1$I(%2$s))::text AS state FROM %3$I GROUP BY task, place, %4$s', 'state of ' || a.name, a.arguments, a.source,
			CASE a.source WHEN 'step' THEN 'n % 2' ELSE 'rollout_id % 2' END);
		RETURN QUERY EXECUTE format('SELECT %5$L, count(*), count(w.v), bool_and(w.v IS NOT DISTINCT FROM m.v), bool_and(w.v IS NOT DISTINCT FROM s.v)
			FROM (SELECT task, (%1$s(%2$s))::text AS v FROM %3$I GROUP BY task) w
			JOIN (SELECT task, (%4$I(p.state))::text AS v FROM (SELECT task, %6$I(%2$s) AS state FROM %3$I GROUP BY task, place) p GROUP BY task) m USING (task)
			JOIN (SELECT task, (%4$I(state::bytea))::text AS v FROM part GROUP BY task) s USING (task)',
			split_part(a.name, ' ', 1), a.arguments, a.source, 'combined ' || a.name, a.name, 'state of ' || a.name);
	END LOOP;
END
$$;
SET extra_float_digits = 0;
SELECT * FROM compare();
RESET extra_float_digits;

-- No rows, and rows that say nothing.
SELECT "combined maj_at_k"(NULL), "combined best_at_k"(NULL), "combined progress_fit"(NULL) IS NULL AS fit FROM generate_series(1, 2);
SELECT "state of best_at_k"(NULL, 2) IS NOT NULL AS knows_k;

-- Bytes that somebody made, as an engine that ships states as texts could be given: of no length, and with no byte changed, do they do worse than be refused.
CREATE FUNCTION outcomes(name text) RETURNS TABLE (state_bytes text, cut text, refused_as_other text, internal_errors integer) LANGUAGE plpgsql AS $$
DECLARE
	a aggregate;
	whole bytea;
	other bytea;
	tried bytea;
	n_refused integer := 0;
	n_taken integer := 0;
BEGIN
	SELECT * INTO a FROM aggregate t WHERE t.name = outcomes.name;
	EXECUTE format('SELECT %I(%s) FROM (SELECT * FROM %I WHERE task = 1 AND rollout_id < 20 ORDER BY 1) r', 'state of ' || a.name, a.arguments, a.source) INTO whole;
	state_bytes := CASE WHEN length(whole) > 50 THEN 'more than 50' ELSE 'few' END;
	FOR i IN 0 .. length(whole) - 1 LOOP
		BEGIN
			EXECUTE format('SELECT %I($1)', 'combined ' || a.name) USING substr(whole, 1, i);
			n_taken := n_taken + 1;
		EXCEPTION WHEN invalid_binary_representation OR protocol_violation THEN
			n_refused := n_refused + 1;
		END;
	END LOOP;
	cut := format('%s taken, %s', n_taken, CASE WHEN n_refused = length(whole) THEN 'all refused' ELSE 'some refused' END);
	SELECT CASE WHEN a.name = 'maj_at_k' THEN "state of best_at_k"(1, 1) ELSE "state of maj_at_k"('a', true, 1) END INTO other;
	BEGIN
		EXECUTE format('SELECT %I($1)', 'combined ' || a.name) USING other;
	EXCEPTION WHEN OTHERS THEN
		refused_as_other := SQLERRM;
	END;
	internal_errors := 0;
	FOR i IN 0 .. least(length(whole), 400) - 1 LOOP
		FOREACH tried IN ARRAY ARRAY[set_byte(whole, i, 255), set_byte(whole, i, 127), set_byte(whole, i, 0), set_byte(whole, i, get_byte(whole, i) # 1)] LOOP
			BEGIN
				EXECUTE format('SELECT %I(s) FROM (VALUES ($1), ($2)) v (s)', 'combined ' || a.name) USING tried, whole;
			EXCEPTION WHEN OTHERS THEN
				internal_errors := internal_errors + CASE WHEN SQLSTATE LIKE 'XX%' THEN 1 ELSE 0 END;
			END;
		END LOOP;
	END LOOP;
	RETURN NEXT;
END
$$;
SELECT a.name, o.* FROM aggregate a, outcomes(a.name) o ORDER BY a.name COLLATE "C";
-- A state of one aggregate of fits is none of another's.
SELECT "combined progress_quality"(s) FROM (SELECT "state of progress_fit"(rollout_id, x, outcome, 0.01) AS s FROM step) s;
SELECT "combined progress_fit"(s) FROM (SELECT "state of progress_quality"(rollout_id, value, outcome) AS s FROM step) s;
-- Outside of an aggregate there is no state.
SELECT stepadv_internal.best_at_k_trans(NULL::bytea, 1::float8, 1);

-- As a window function, whose state goes on after an answer.
SELECT count(*), bool_and(w IS NOT DISTINCT FROM g) FROM (SELECT best_at_k(score, 2) OVER (ORDER BY rollout_id) AS w, (SELECT best_at_k(o.score, 2) FROM rollout o WHERE o.rollout_id <= r.rollout_id) AS g FROM rollout r) x;

DROP CAST (bytea AS stepadv_internal.aggregate_state);
DROP CAST (stepadv_internal.aggregate_state AS bytea);
DROP SCHEMA typed CASCADE;
