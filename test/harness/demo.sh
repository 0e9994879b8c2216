#!/usr/bin/env bash
# make demo [ROLLOUTS=file]: the advantage of each step, on a server of its own.
# Leaves tree.svg, tree.png and report/index.html in build/demo.

. "$(dirname "$0")/rollouts.sh" demo
rm -rf "$out"/tree.dot "$out"/tree.svg "$out"/tree.png "$out"/report "$out"/demo.log

# Queries over the views that create_tables made, in plain SQL.
sql -P footer=off -P null='·' -P border=1 -P linestyle=unicode <<'SQL'
CREATE FUNCTION pg_temp.short(words text, length integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN length(w) > length THEN left(w, length - 1) || '…' ELSE w END
	FROM (SELECT btrim(regexp_replace(left(words, 4 * length), '[[:space:][:cntrl:]]+', ' ', 'g')) AS w) x
$$;
-- The name of a group: its task, preceded by run and policy version if they have names.
CREATE FUNCTION pg_temp.called(run_id text, policy_version text, task_id text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT concat_ws(' ', nullif(run_id, ''), nullif(policy_version, ''), task_id)
$$;
\echo What there is
SELECT (SELECT count(DISTINCT (run_id, policy_version, task_id)) FROM rl.rollouts) AS groups, (SELECT count(*) FROM rl.rollouts) AS rollouts,
	(SELECT count(*) FROM rl.rollouts WHERE outcome IS NOT NULL OR success IS NOT NULL) AS judged,
	(SELECT count(*) FROM rl.rollouts WHERE success) AS successes, (SELECT count(*) FROM rl.steps) AS steps,
	(SELECT count(DISTINCT (run_id, policy_version, task_id, state)) FROM rl.steps) AS "states within groups";
\echo Groups that teach most: some rollouts succeed, others fail, and they pass through the same states
SELECT pg_temp.short(pg_temp.called(run_id, policy_version, task_id), 32) AS "group", n_rollouts AS rollouts, n_steps AS steps, round(success_rate::numeric, 2) AS "success rate",
	round(mean_return::numeric, 2) AS "mean return", n_states AS states, n_shared_states AS "shared states",
	round(shared_step_share::numeric, 2) AS "steps in them"
FROM rl.steps_groups
ORDER BY success_rate * (1 - success_rate) * n_shared_states DESC NULLS LAST, n_steps DESC, run_id, policy_version, task_id LIMIT 6;

CREATE TEMP TABLE advantages AS
SELECT r.run_id, r.policy_version, r.task_id, r.rollout_id, r.step_no, r.step_id, r.advantage, g.advantage AS grpo, r.confidence, r.n_state, r.n_action, r.q, r.v, r.state, r.action_hash
FROM rl.steps_rtmc r
JOIN rl.steps_grpo g ON g.run_id = r.run_id AND g.policy_version = r.policy_version AND g.task_id = r.task_id AND g.step_id = r.step_id
JOIN rl.steps_groups u ON u.run_id = r.run_id AND u.policy_version = r.policy_version AND u.task_id = r.task_id AND NOT u.uniform
WHERE r.advantage IS NOT NULL;
SELECT EXISTS (SELECT FROM advantages) AS compared \gset
\if :compared
-- One row per state and action: all steps with the same state and action have the same advantage.
CREATE TEMP TABLE moves AS
SELECT DISTINCT ON (run_id, policy_version, task_id, state, action_hash, CASE WHEN state IS NULL OR action_hash IS NULL THEN step_id END)
	*, n_action >= 4 AND coalesce(confidence >= 0.8, false) AS sure
FROM advantages
ORDER BY run_id, policy_version, task_id, state, action_hash, CASE WHEN state IS NULL OR action_hash IS NULL THEN step_id END, rollout_id, step_no;
-- The eight best moves (sign 1) or worst (-1): only frequent and confident ones if there are at least three.
CREATE FUNCTION pg_temp.extreme(sign integer) RETURNS TABLE (advantage numeric, confidence numeric, grpo numeric, q numeric, v numeric, took text, "group" text, step integer, observed text, action text)
LANGUAGE sql STABLE AS $$
	SELECT round(m.advantage::numeric, 3), round(m.confidence::numeric, 2), round(m.grpo::numeric, 3), round(m.q::numeric, 2), round(m.v::numeric, 2), m.n_action || '/' || m.n_state,
		pg_temp.short(pg_temp.called(m.run_id, m.policy_version, m.task_id), 20), m.step_no,
		coalesce(nullif(pg_temp.short(s.observation, 40), ''), '(nothing)'),
		coalesce(nullif(pg_temp.short(coalesce(s.action, concat_ws(' ', s.tool, s.args)), 44), ''), '(nothing)')
	FROM moves m JOIN rl.steps s USING (step_id)
	WHERE m.advantage * sign > 0 AND (m.sure OR (SELECT count(*) FROM moves o WHERE o.sure AND o.advantage * sign > 0) < 3)
	ORDER BY m.advantage * sign DESC, m.n_state DESC, m.run_id, m.policy_version, m.task_id, m.step_no LIMIT 8
$$;
\echo 'Best steps by RTMC. took: how many visits to the state took the action; q: their mean return; v: the mean return of all'
\echo 'visits, shrunk to the success rate if there are few; advantage = q - v; confidence: the probability that its sign is right'
SELECT * FROM pg_temp.extreme(1);
\echo 'Worst steps by RTMC. GRPO gives all steps of a rollout the same advantage'
SELECT * FROM pg_temp.extreme(-1);
-- A sentence for the end of the output.
CREATE FUNCTION pg_temp.said(sign integer) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT format('%s in %s: %s, after observing %s; taken in %s visits; confidence %s', to_char(e.advantage, 'SG0.00'), e."group", e.action, e.observed, replace(e.took, '/', ' of '), coalesce(e.confidence::text, 'unknown'))
	FROM pg_temp.extreme(sign) e LIMIT 1
$$;
CREATE TABLE public.said AS
SELECT count(*) AS steps, count(*) FILTER (WHERE advantage < 0 AND grpo > 0) AS bad_in_good, count(*) FILTER (WHERE advantage > 0 AND grpo < 0) AS good_in_bad,
	pg_temp.said(1) AS best, pg_temp.said(-1) AS worst
FROM advantages;
\else
\echo 'No advantages: they need a group whose rollouts have different outcomes; each rollout needs an outcome or success.'
\endif
SQL

# The most visited edges, as many as fit on a page.
sql -At >"$out/tree.txt" <<'SQL'
WITH chosen AS (
	SELECT run_id, policy_version, task_id FROM rl.steps_groups
	ORDER BY success_rate * (1 - success_rate) * n_shared_states DESC NULLS LAST, n_steps DESC, run_id, policy_version, task_id LIMIT 1)
SELECT translate(concat_ws(' ', nullif(c.run_id, ''), nullif(c.policy_version, ''), c.task_id), E'\n\r', '  ') || E'\ndigraph { rankdir=LR; node [shape=point]\n' || string_agg(
	format('"%s" -> "%s" [label=%s, penwidth=%s, color="%s"]', t.state, coalesce(t.next_state::text, 'end of ' || t.step_id),
		to_json(left(coalesce(nullif(btrim(regexp_replace(coalesce(s.action, s.tool || ' ' || s.args), '[[:space:][:cntrl:]]+', ' ', 'g')), ''), '(none)'), 24) || format(' %s/%s, %s', t.n_successes, t.n_visits, round(t.advantage::numeric, 2))),
		1 + round(ln(t.n_visits)::numeric, 1), CASE WHEN t.n_successes * 2 >= t.n_visits THEN 'darkgreen' ELSE 'firebrick' END), E'\n' ORDER BY t.n_visits DESC, t.step_id) || E'\n}'
FROM chosen c, LATERAL (SELECT t.* FROM rl.steps_values v, stepadv.rtmc_tree(v.rollouts) t
	WHERE (v.run_id, v.policy_version, v.task_id) = (c.run_id, c.policy_version, c.task_id) ORDER BY t.n_visits DESC, t.step_id LIMIT 48) t
	JOIN rl.steps s USING (step_id)
GROUP BY c.run_id, c.policy_version, c.task_id;
SQL
group=$(head -n 1 "$out/tree.txt")
tail -n +2 "$out/tree.txt" >"$out/tree.dot"
rm -f "$out/tree.txt"
pictures=
if grep -q -e '->' "$out/tree.dot"; then
	dot -Tsvg "$out/tree.dot" -o "$out/tree.svg"
	dot -Tpng "$out/tree.dot" -o "$out/tree.png"
	pictures=yes
fi
# The report needs the viewer, which needs npm; the rest works without it.
if sh "$top/test/harness/viewer.sh"; then
	as_client report rl.steps --groups 8 -o "$out/report" >/dev/null
fi

# The last page of output: data, findings, and files.
line() { printf '  %-12s %s\n' "$1" "$2"; }
shown() { [ ! -e "$out/$1" ] || printf '%s' "${out#"$top"/}/$1"; }
printf '\n'
sql -At -F ' ' -c "SELECT format('%s rollouts of %s groups, %s steps; of those that are judged %s succeed', (SELECT count(*) FROM rl.rollouts), (SELECT count(*) FROM rl.steps_groups), (SELECT count(*) FROM rl.steps),
	coalesce((SELECT round(100 * avg(coalesce(success, outcome > 0)::int)) || ' %' FROM rl.rollouts WHERE success IS NOT NULL OR outcome IS NOT NULL), 'none'))"
if [ "$(sql -At -c "SELECT to_regclass('public.said') IS NOT NULL")" = t ]; then
	line 'best step' "$(sql -At -c 'SELECT best FROM public.said')"
	line 'worst step' "$(sql -At -c 'SELECT worst FROM public.said')"
	line 'by RTMC' "$(sql -At -c "SELECT format('%s bad steps in good rollouts and %s good steps in bad ones, of %s; GRPO gives all steps of a rollout the same advantage', bad_in_good, good_in_bad, steps) FROM public.said")"
fi
if [ -n "$pictures" ]; then
	line 'tree' "$(shown tree.svg) and .png: group $group; green edges lead to success, red to failure"
else
	line 'tree' 'none: no rollout is judged'
fi
[ ! -e "$out/report/index.html" ] || line 'report' "$(shown report/index.html): the run, a page for each of eight groups, and a search; open it in a browser"
line 'next' 'make demo ROLLOUTS=file.jsonl.gz for your own; docs/questions.md has a query for what you want to know'
