# The main job: a table of steps in, RTMC advantages of all of them out.
# Every statement computes the advantage of each step; the sum makes the server
# compute all of them without sending five million rows.

core=$here/core

folded() { printf "(SELECT group_id, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS rollouts FROM %s GROUP BY group_id) g" "$1"; }
rtmc_over() { printf 'SELECT sum(a.advantage) FROM %s CROSS JOIN LATERAL stepadv.rtmc(g.rollouts) a' "$(folded "$1")"; }
scan='SELECT count(*), sum(reward) FROM steps'

say "$(machine_line)"

# ---------- one process
measure scan "$runs" "$scan" "$one_process"
measure ours "$runs" "$(rtmc_over steps)" "$one_process"

# These read the table without an index.
measure fold "$runs" "SELECT count(g.rollouts) FROM $(folded steps)" "$one_process"
measure returns "$runs" "SELECT sum(a.return) FROM $(folded steps) CROSS JOIN LATERAL stepadv.returns(g.rollouts) a" "$one_process"
measure grpo "$runs" "SELECT sum(a.advantage) FROM $(folded steps) CROSS JOIN LATERAL stepadv.grpo(g.rollouts) a" "$one_process"
measure batch_td "$runs" "SELECT sum(a.advantage) FROM $(folded steps) CROSS JOIN LATERAL stepadv.batch_td(g.rollouts) a" "$one_process"

# Plain SQL at its best, without and with the index that it needs.  Nested loops
# are off, since wrong estimates make the planner choose them.
plain_sql()
{
	measure "$1" "${4:-2}" "$(cat "$core/$2.sql")" "$one_process $3"
	require_equal "${results[ours]}" "${results[$1]}" "plain SQL, $1"
}
plain_sql sql_windows rtmc_windows 'SET enable_nestloop = off;'
plain_sql sql_joins rtmc_joins 'SET enable_nestloop = off;' 1
query "CREATE INDEX steps_desc ON steps (group_id, rollout_id, step_no DESC)" >/dev/null
query "VACUUM ANALYZE steps" >/dev/null
plain_sql sql_windows_index rtmc_windows 'SET enable_nestloop = off;'
plain_sql sql_lateral rtmc_lateral ''
query "DROP INDEX steps_desc" >/dev/null
query "CREATE INDEX steps_order ON steps (group_id, rollout_id, step_no)" >/dev/null
measure indexed "$runs" "$(rtmc_over steps)" "$one_process SET enable_hashagg = off;"
require_equal "${results[ours]}" "${results[indexed]}" "hash aggregate and index order"
best=$(faster sql_windows sql_joins)
best_index=$(faster sql_windows_index sql_lateral)
ours_index=$(faster ours indexed)

heading '**One process**, steps stored as a trainer writes them, work_mem 1 GB, jit off:'
row 'bare scan: `SELECT count(*), sum(reward)`' scan
row '`rollout_agg` + `rtmc`' ours "$(ratio ours scan 2) x the bare scan $(verdict "$(ratio ours scan 2)" '<=' 2.2)"
row 'the same in the order of an index on (group, rollout, step), no hash table' indexed "$(ratio indexed scan) x the bare scan"
sql_row()
{
	if [ "$2" = "$3" ]; then
		row "plain SQL, $1" "$2" "the best: $(ratio "$2" "$4") x ours $(verdict "$(ratio "$2" "$4")" '>=' 8)"
	else
		row "plain SQL, $1" "$2" "$(ratio "$2" "$4") x ours"
	fi
}
sql_row 'window functions' sql_windows "$best" ours
sql_row 'hash aggregates and joins' sql_joins "$best" ours
sql_row 'window functions, with an index on (group, rollout, step desc)' sql_windows_index "$best_index" "$ours_index"
sql_row 'group by group (`LATERAL`), with that index' sql_lateral "$best_index" "$ours_index"
row '`rollout_agg` alone' fold "$(ratio fold scan) x the bare scan"
row '`rollout_agg` + `returns`' returns "$(ratio returns scan) x"
row '`rollout_agg` + `grpo`' grpo "$(ratio grpo scan) x"
row '`rollout_agg` + `batch_td` of every step' batch_td "$(ratio batch_td ours) x \`rtmc\` $(verdict "$(ratio batch_td ours)" '<=' 3)"

# ---------- scattered: the steps of all groups interleaved, in order of time; and
# whole rollouts, each written when it ends, while 500 groups are in progress
query "SET work_mem = '1GB'; CREATE UNLOGGED TABLE scattered AS SELECT * FROM steps
	ORDER BY step_no, stepadv.signature_hash(rollout_id::text)" >/dev/null
query "SET work_mem = '1GB'; CREATE UNLOGGED TABLE in_flight AS SELECT * FROM steps
	ORDER BY group_id + (stepadv.signature_hash(rollout_id::text) & 1023) % 500, rollout_id, step_no" >/dev/null
query "VACUUM ANALYZE scattered, in_flight" >/dev/null
scattered_row()
{
	measure "ours_$1" "$runs" "$(rtmc_over "$1")" "$one_process"
	require_equal "${results[ours]}" "${results[ours_$1]}" "$2"
	row "\`rollout_agg\` + \`rtmc\`, $2" "ours_$1" "$(ratio "ours_$1" ours 2) x the table in order $(verdict "$(ratio "ours_$1" ours 2)" '<=' "$3")"
}
scattered_row in_flight 'whole rollouts of 500 groups in progress, interleaved' 1.2
scattered_row scattered 'the rows in order of time, rollouts of all groups interleaved' 2

# ---------- two processes that share the rows of a table
measure shared "$runs" "$(rtmc_over steps)" "$two_processes"
require_equal "${results[ours]}" "${results[shared]}" "two processes"
measure shared_scattered "$runs" "$(rtmc_over scattered)" "$two_processes"
require_equal "${results[ours]}" "${results[shared_scattered]}" "two processes, scattered order"
heading '**Two processes**, leader and one worker, the same tables:'
row '`rollout_agg` + `rtmc`' shared "$(ratio shared ours 2) of one process $(verdict "$(ratio shared ours 2)" '<=' 0.6)"
row 'the rows in order of time, rollouts of all groups interleaved' shared_scattered "$(ratio shared_scattered ours_scattered 2) of one process"

# ---------- two workers
query "CREATE UNLOGGED TABLE parted (LIKE steps) PARTITION BY HASH (group_id);
	DO \$\$ BEGIN FOR i IN 0..7 LOOP EXECUTE format(
		'CREATE UNLOGGED TABLE parted_%s PARTITION OF parted FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i);
	END LOOP; END \$\$;
	INSERT INTO parted SELECT * FROM steps ORDER BY group_id, rollout_id, step_no" >/dev/null
query "VACUUM ANALYZE parted" >/dev/null
partitionwise='SET enable_partitionwise_aggregate = on; SET max_parallel_workers_per_gather = 2;'
measure parted "$runs" "$(rtmc_over parted)" "$tuned $partitionwise"
require_equal "${results[ours]}" "${results[parted]}" "partition-wise"
measure parted_alone "$runs" "$(rtmc_over parted)" "$tuned $partitionwise SET parallel_leader_participation = off;"
heading '**Two workers**, 8 hash partitions by group, enable_partitionwise_aggregate on:'
row '`rollout_agg` + `rtmc`' parted "$(ratio ours parted) x as fast as one process"
row 'the same, parallel_leader_participation off' parted_alone

# ---------- DuckDB
# Makes the steps a native table of DuckDB, in the same order.
native_steps()
{
	query "COPY (SELECT step_id, group_id, rollout_id, step_no, state, action, reward FROM $1 $2) TO STDOUT (FORMAT csv, HEADER)" >"$work/$1.csv"
	printf "%s=CREATE OR REPLACE TABLE steps AS SELECT * FROM read_csv('%s', header = true, columns = {
		step_id: 'BIGINT', group_id: 'BIGINT', rollout_id: 'BIGINT', step_no: 'INTEGER', state: 'BIGINT', action: 'BIGINT', reward: 'DOUBLE'}); %s" "$1" "$work/$1.csv" "$(cat "$core/duckdb_steps.sql")"
}
# DuckDB's time relative to ours, on the same table with as many threads.
duckdb_row()
{
	local best

	best=$(faster "duckdb_joins_$2_$3" "duckdb_windows_$2_$3")
	row "$1" "$best" "$(ratio "$best" "$4" 2) x \`rollout_agg\` + \`rtmc\` in $5${6:+ $(verdict "$(ratio "$best" "$4" 2)" '>=' "$6")}"
}
if find_duckdb && measure_duckdb "$runs" "${results[ours]}" "$core/duckdb_joins.sql $core/duckdb_windows.sql" \
	"$(native_steps steps 'ORDER BY group_id, rollout_id, step_no')" "$(native_steps scattered '')"; then
	heading "**DuckDB** $duckdb_version, a native table in memory, best of its SQL formulations:"
	duckdb_row 'one thread' steps 1 ours 'one process'
	duckdb_row 'two threads' steps 2 "$(faster shared parted)" 'two processes' 2.5
	duckdb_row 'one thread, the rows in order of time' scattered 1 ours_scattered 'one process' 1
	duckdb_row 'two threads, the rows in order of time' scattered 2 shared_scattered 'two processes' 1
fi
query 'DROP TABLE parted' >/dev/null

# ---------- small questions
query "SELECT stepadv.attach('steps', group_by => ARRAY['group_id'], rollout_id => 'rollout_id', step_no => 'step_no', state => 'state', action => 'action', reward => 'reward', columns => '{\"step_id\": \"step_id\"}', views => '{all}')" >/dev/null
query "CREATE UNLOGGED TABLE batches AS SELECT (rollout_id << 20) + step_no AS step_id, group_id, rollout_id, step_no,
		state_hash AS state, action_hash AS action, reward
	FROM sim.simulate(1600, 8, seed => 7, horizon => 50) ORDER BY group_id, rollout_id, step_no" >/dev/null
query "CREATE INDEX ON batches (group_id)" >/dev/null
query "VACUUM ANALYZE batches" >/dev/null
measure_latency one_group 5 "\\set g random(1, $groups)
SELECT * FROM steps_rtmc WHERE group_id = :g;"
measure_latency one_group_prepared 5 "\\set g random(1, $groups)
SELECT * FROM steps_rtmc WHERE group_id = :g;" prepared
measure_latency batch 5 "\\set b random(0, 99)
SELECT count(*), sum(a.advantage) FROM (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS rollouts
	FROM batches WHERE group_id BETWEEN :b * 16 + 1 AND :b * 16 + 16 GROUP BY group_id) g CROSS JOIN LATERAL stepadv.rtmc(g.rollouts) a;"
measure_latency batch_rows 5 "\\set b random(0, 99)
SELECT a.* FROM (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS rollouts
	FROM batches WHERE group_id BETWEEN :b * 16 + 1 AND :b * 16 + 16 GROUP BY group_id) g CROSS JOIN LATERAL stepadv.rtmc(g.rollouts) a;"
heading '**Small questions**, latency of one client, a random group or batch each time:'
row 'one group through the attached view: `SELECT * FROM steps_rtmc WHERE group_id = …`' one_group "$(verdict "${times_median[one_group]}" '<=' 2)"
row 'the same, prepared statement' one_group_prepared
row 'a training batch, 16 groups x 8 rollouts x 50 steps, table to advantages' batch "$(verdict "${times_median[batch]}" '<=' 10)"
row 'the same, all 6,400 rows sent to the client' batch_rows

# ---------- memory
memory=$(psql -qXAt -c "$one_process SET enable_sort = off; SET enable_indexscan = off;" \
	-c "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT count(g.rollouts) FROM $(folded steps)" |
	sed -nE 's/.*Memory Usage: ([0-9]+) ?kB.*/\1/p' | head -n 1)
memory_scattered=$(psql -qXAt -c "$one_process SET enable_sort = off; SET enable_indexscan = off;" \
	-c "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT count(g.rollouts) FROM $(folded scattered)" |
	sed -nE 's/.*Memory Usage: ([0-9]+) ?kB.*/\1/p' | head -n 1)
columns=$(psql -qXAt -c "$one_process" -c "SELECT sum(pg_column_size(g.rollouts)) / 1024 FROM $(folded steps)")
share() { awk -v a="$1" -v b="$columns" 'BEGIN { printf "%.2f", a / b }'; }
say "**Memory** of the hash table while all groups are folded: $((memory / 1024)) MB, $(share "$memory") times the size of the values ($((columns / 1024)) MB) $(verdict "$(share "$memory")" '<=' 1.5); with scattered rows $((memory_scattered / 1024)) MB, $(share "$memory_scattered") times $(verdict "$(share "$memory_scattered")" '<=' 1.5)."

# ---------- default settings
restart_server '-c shared_buffers=128MB -c autovacuum=on -c max_parallel_workers=8'
default_row()
{
	measure "$1" "${5:-3}" "$(rtmc_over "$3")" "${4:-}"
	require_equal "${results[ours]}" "${results[$1]}" "default settings, $2"
	row "$2" "$1" "$(plan_of "$(rtmc_over "$3")" "${4:-}")"
}
heading '**Default settings** (shared_buffers 128 MB, work_mem 4 MB, jit on, up to 2 parallel workers), and which plan the planner picks:'
default_row default_index 'steps in trainer order, index on (group, rollout, step)' steps
query 'DROP INDEX steps_order CASCADE' >/dev/null
query 'VACUUM ANALYZE steps' >/dev/null
default_row default_bare 'steps in trainer order, no index' steps
default_row default_bare_serial 'the same, max_parallel_workers_per_gather = 0' steps 'SET max_parallel_workers_per_gather = 0;'
default_row default_scattered 'rows in order of time, no index' scattered
query 'CREATE INDEX scattered_order ON scattered (group_id, rollout_id, step_no)' >/dev/null
query 'VACUUM ANALYZE scattered' >/dev/null
default_row default_scattered_index 'rows in order of time, index on (group, rollout, step)' scattered '' 1
default_row default_memory "no index used, work_mem = '256MB'" steps "SET work_mem = '256MB';"
query 'DROP TABLE scattered, in_flight, batches' >/dev/null
