# The tables of create_tables, whose ids are texts: what it costs to write steps into them, beside a
# plain table with the same key, and to read one group, one task, one version.

n_written=$(query "SELECT count(*) FROM steps WHERE group_id <= 800")
columns='run_id, policy_version, task_id, rollout_id, step_no, observation, action'
query "SELECT count(*) FROM stepadv.create_tables('canonical')" >/dev/null
query "CREATE UNLOGGED TABLE texts AS
	SELECT 'run 1'::text AS run_id, 'v' || group_id * 10 / $groups AS policy_version, 'task ' || group_id % ($groups / 10) AS task_id, 'rollout ' || rollout_id AS rollout_id,
		step_no, 'state ' || state AS observation, 'action ' || action AS action, group_id <= 800 AS is_written, sum(reward) OVER (PARTITION BY group_id, rollout_id) AS outcome
	FROM steps ORDER BY group_id, steps.rollout_id, step_no;
	INSERT INTO canonical.rollouts (run_id, policy_version, task_id, rollout_id, outcome) SELECT run_id, policy_version, task_id, rollout_id, outcome FROM texts WHERE step_no = 0;
	CREATE TABLE plain (LIKE canonical.steps, PRIMARY KEY (task_id, run_id, policy_version, rollout_id, step_no));
	ALTER TABLE plain ALTER step_id DROP NOT NULL;
	COPY (SELECT $columns FROM texts WHERE is_written) TO '$work/texts' (FORMAT binary)" >/dev/null

copied() { printf 'DO $$ BEGIN TRUNCATE %s; EXECUTE $q$COPY %s (%s) FROM %s (FORMAT binary)$q$; END $$' "$1" "$1" "$columns" "'$work/texts'"; }
inserted() { printf 'DO $$ BEGIN TRUNCATE %s; INSERT INTO %s (%s) SELECT %s FROM texts WHERE is_written; END $$' "$1" "$1" "$columns" "$columns"; }
for way in copied inserted; do
	measure "plain_$way" "$runs" "$($way plain)" "$one_process"
	measure "canonical_$way" "$runs" "$($way canonical.steps)" "$one_process"
done
say "$(machine_line)"
heading "**Writing** $n_written steps, logged, into the tables of \`create_tables\`:"
row '`COPY`, binary' canonical_copied "$(each canonical_copied "$n_written") ns a step, $(quotient canonical_copied plain_copied) x a plain table with the same key $(verdict "$(quotient canonical_copied plain_copied)" '<=' 2)"
row '`INSERT … SELECT`' canonical_inserted "$(each canonical_inserted "$n_written") ns a step, $(quotient canonical_inserted plain_inserted) x a plain table with the same key $(verdict "$(quotient canonical_inserted plain_inserted)" '<=' 2)"

query "INSERT INTO canonical.steps ($columns) SELECT $columns FROM texts WHERE NOT is_written" >/dev/null
query 'VACUUM ANALYZE canonical.steps' >/dev/null
query 'VACUUM ANALYZE canonical.rollouts' >/dev/null
rtmc_of() { printf 'SELECT sum(advantage) FROM canonical.steps_rtmc%s' "${1:+ WHERE $1}"; }
measure canonical_scan "$runs" 'SELECT count(*), sum(step_no) FROM canonical.steps' "$one_process"
measure canonical_rtmc "$runs" "$(rtmc_of)" "$one_process"
measure canonical_group "$runs" "$(rtmc_of "run_id = 'run 1' AND policy_version = 'v3' AND task_id = 'task 7'")" "$one_process"
measure canonical_task "$runs" "$(rtmc_of "task_id = 'task 7'")" "$one_process"
measure canonical_version "$runs" "$(rtmc_of "policy_version = 'v3'")" "$one_process"
heading "**RTMC** of all $n_steps steps of them, and of some, by \`_rtmc\`:"
row 'bare scan' canonical_scan
row 'all' canonical_rtmc "$(ratio canonical_rtmc canonical_scan 2) x the bare scan $(verdict "$(ratio canonical_rtmc canonical_scan 2)" '<=' 2)"
row 'one group, with planning' canonical_group "$(verdict "${times_median[canonical_group]}" '<=' 0.5)"
row 'one task alone, ten groups' canonical_task "$(verdict "${times_median[canonical_task]}" '<=' 1)"
row 'one version of ten' canonical_version
query 'SET client_min_messages = warning; DROP SCHEMA canonical CASCADE; DROP TABLE texts, plain' >/dev/null
