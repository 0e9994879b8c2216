# The tables of create_tables, whose ids are texts: the cost of writing steps, relative to a plain
# table with the same key, and of reading one group, one task, one version; then other tables with
# ids of other types.

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
heading "**RTMC** of all $n_steps steps, and of some of them, by \`_rtmc\`:"
row 'bare scan' canonical_scan
row 'all' canonical_rtmc "$(ratio canonical_rtmc canonical_scan 2) x the bare scan $(verdict "$(ratio canonical_rtmc canonical_scan 2)" '<=' 2)"
row 'one group, with planning' canonical_group "$(verdict "${times_median[canonical_group]}" '<=' 0.5)"
row 'one task alone, ten groups' canonical_task "$(verdict "${times_median[canonical_task]}" '<=' 1)"
row 'one version of ten' canonical_version

measure canonical_shared "$runs" "$(rtmc_of)" "$two_processes"
row 'all, leader and one worker' canonical_shared "$(ratio canonical_shared canonical_rtmc 2) of one process $(verdict "$(ratio canonical_shared canonical_rtmc 2)" '<=' 0.6)"
for statement in windows joins; do
	measure "sql_$statement" 1 "$(cat "$here/tables/$statement.sql")" "$one_process SET search_path = canonical; SET enable_nestloop = off;"
	require_equal "${results[canonical_rtmc]}" "${results[sql_$statement]}" "plain SQL, $statement"
done
best=$(faster sql_windows sql_joins)
row 'all, plain SQL: the best of two formulations' "$best" "$(ratio "$best" canonical_rtmc) x \`_rtmc\` $(verdict "$(ratio "$best" canonical_rtmc)" '>=' 10)"

# In the order of writing, as in PostgreSQL.
native_table()
{
	query "COPY (SELECT $2 FROM canonical.$1) TO STDOUT (FORMAT csv, HEADER)" >"$work/$1.csv"
	printf "CREATE OR REPLACE TABLE %s AS SELECT * FROM read_csv('%s', header = true, types = {%s});" "$1" "$work/$1.csv" "$3"
}
if find_duckdb && measure_duckdb "$runs" "${results[canonical_rtmc]}" "$here/tables/windows.sql $here/tables/joins.sql" \
	"canonical=$(native_table steps 'run_id, policy_version, task_id, rollout_id, step_no, observation, action' "'step_no': 'INTEGER'") $(native_table rollouts 'run_id, policy_version, task_id, rollout_id, outcome' "'outcome': 'DOUBLE'")"; then
	for threads in 1 2; do
		ours=$([ $threads = 1 ] && echo canonical_rtmc || echo canonical_shared)
		best=$(faster windows_canonical_$threads joins_canonical_$threads)
		row "all, DuckDB $duckdb_version, its own tables, the better of the two, threads: $threads" "$best" "$(ratio "$best" "$ours") x \`_rtmc\` with as many processes $(verdict "$(ratio "$best" "$ours")" '>=' 3)"
	done
fi
query 'SET client_min_messages = warning; DROP SCHEMA canonical CASCADE; DROP TABLE texts, plain' >/dev/null

# ---------- ids of other types: the group, the rollout, the state and the action
typed()
{
	local id="${2//VALUE/%1\$s}" columns

	columns=$(query "SELECT string_agg(format('$id AS %1\$s', c), ', ') FROM unnest('{group_id,rollout_id,state,action}'::text[]) c")
	query "CREATE UNLOGGED TABLE $1_ids AS SELECT $columns, step_no, reward FROM steps" >/dev/null
	query "VACUUM ANALYZE $1_ids" >/dev/null
	query "SELECT stepadv.attach('$1_ids', '{group_id}', 'rollout_id', 'step_no', 'state', 'action', 'reward')" >/dev/null
	measure "$1_scan" "$runs" "SELECT count(*), sum(reward) FROM $1_ids" "$one_process"
	measure "$1_fold" "$runs" "SELECT count(rollouts) FROM $1_ids_values" "$one_process"
	measure "$1_rtmc" "$runs" "SELECT sum(advantage) FROM $1_ids_rtmc" "$one_process"
	require_equal "${results[bigint_rtmc]}" "${results[$1_rtmc]}" "RTMC, ids of type $1"
	query "SET client_min_messages = warning; SELECT stepadv.detach('$1_ids')" >/dev/null
	query "DROP TABLE $1_ids" >/dev/null
	row "\`$1\`: groups folded" "$1_fold" "$(ratio "$1_fold" bigint_fold 2) x bigint$([ "$1" = bigint ] || verdict "$(ratio "$1_fold" bigint_fold 2)" '<=' "$3" | sed 's/^/ /')"
	row "\`$1\`: \`_rtmc\`" "$1_rtmc" "$(ratio "$1_rtmc" "$1_scan" 2) x a scan of the table $(verdict "$(ratio "$1_rtmc" "$1_scan" 2)" '<=' 2)"
}
heading "**Ids of other types**, of group, rollout, state and action, $n_steps steps in one table:"
typed bigint 'VALUE::bigint' 1
typed integer '(VALUE & 1073741823)::integer' 2
typed uuid 'md5(VALUE::text)::uuid' 2
typed numeric 'VALUE::numeric' 2
typed text "''id '' || VALUE" 4
