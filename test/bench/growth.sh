# Growth: RTMC over tables of 10^5 to 10^7 steps (BENCH_GROWTH=8: to 10^8, which takes
# 12 GB of disk for some minutes), and over one large group.
# The bare scan shows how much of the growth is the server's, for example if the table
# exceeds shared_buffers.  BENCH_WORK_MEM=20MB shows the cost of too little memory with few steps.

largest=${BENCH_GROWTH:-7}
memory=${BENCH_WORK_MEM:-1GB}
tuned="$tuned SET work_mem = '$memory';"
one_process="$tuned SET max_parallel_workers_per_gather = 0;"
enough="$one_process SET work_mem = '4GB';"
two_processes="$tuned SET max_parallel_workers_per_gather = 1; SET min_parallel_table_scan_size = 0;"
steps_per_group=$((n_steps / groups))

# SETTINGS SQL: memory of the fold in all processes, as "fold 12 MB, 3 MB on disk"
fold_memory()
{
	psql -qXAt -v ON_ERROR_STOP=1 -c "$1" -c "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $2" | awk '
		match($0, /Memory Usage: [0-9]+/) { memory += substr($0, RSTART + 14, RLENGTH - 14) }
		match($0, /Disk Usage: [0-9]+/) { disk += substr($0, RSTART + 12, RLENGTH - 12) }
		END { printf("fold %d MB%s", (memory + 512) / 1024, (disk > 0 ? sprintf(", %d MB on disk", (disk + 512) / 1024) : "")) }'
}

# Copies of the table, one after another, each with its own groups.
grow_table()
{
	query "CREATE UNLOGGED TABLE growing AS
		SELECT s.step_id + (c << 40) AS step_id, s.group_id + c * $groups AS group_id, s.rollout_id, s.step_no, s.state, s.action, s.reward
		FROM generate_series(0::bigint, $((($1 - 1) / groups))) c
		CROSS JOIN LATERAL (SELECT * FROM steps WHERE group_id + c * $groups <= $1 OFFSET 0) s" >/dev/null
	query "VACUUM (ANALYZE, FREEZE) growing" >/dev/null
}

say "$(machine_line) work_mem $memory, hash_mem_multiplier 2, jit off."
rtmc='SELECT sum(a.advantage) FROM (SELECT group_id, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS rollouts
	FROM growing GROUP BY group_id) g CROSS JOIN LATERAL stepadv.rtmc(g.rollouts) a'
heading '**Tables that grow**, `rollout_agg` + `rtmc`, in order of writing:'
for ((power = 5; power <= largest; power++)); do
	grow_table $((10 ** power / steps_per_group))
	n=$(query 'SELECT count(*) FROM growing')
	size=$(query "SELECT pg_size_pretty(pg_table_size('growing'))")
	many=$([ $power -lt 8 ] && echo "$runs" || echo 1)
	[ $power != 5 ] || least=$n
	measure "scan_$power" "$many" 'SELECT count(*), sum(reward) FROM growing' "$one_process"
	measure "one_$power" "$many" "$rtmc" "$one_process"
	measure "two_$power" "$many" "$rtmc" "$two_processes"
	require_equal "${results[one_$power]}" "${results[two_$power]}" "one process and two, $n steps"
	row "$n steps, a table of $size: the bare scan" "scan_$power" \
		"$(each "scan_$power" "$n") ns a step$([ "$power" = 5 ] || echo "; grows with power $(exponent scan_5 "$least" "scan_$power" "$n")")"
	# A single size shows no growth.
	growth=
	if [ $power = "$largest" ] && [ $power != 5 ]; then
		growth=$(exponent one_5 "$least" "one_$power" "$n")
		growth="; grows with power $growth $(verdict "$growth" '<=' 1.05)"
	fi
	row '- one process' "one_$power" "$(each "one_$power" "$n") ns a step, $(ratio "one_$power" "scan_$power") x the scan; $(fold_memory "$one_process" "$rtmc")$growth"
	if [ $power = "$largest" ]; then
		measure enough "$many" "$rtmc" "$enough"
		row '- one process, work_mem 4 GB' enough "$(quotient "one_$power" enough) x as fast; $(fold_memory "$enough" "$rtmc")$([ $power = 5 ] || echo "; power $(exponent one_5 "$least" enough "$n")")"
	fi
	row '- two processes' "two_$power" "$(ratio "two_$power" "one_$power" 2) of one; $(fold_memory "$two_processes" "$rtmc")"
	query 'DROP TABLE growing' >/dev/null
done

# ---------- one group: rollouts of 1,000 steps over 200,000 states
rollouts=$((groups / 8))
query "CREATE UNLOGGED TABLE single AS
	SELECT (r << 10) + t AS step_id, 1::bigint AS group_id, r AS rollout_id, t AS step_no, (h & 1073741823) % $((groups * 5)) AS state, (h >> 32) & 3 AS action,
		(t = 999 AND r % 5 = 0)::integer::float8 AS reward, r % 5 = 0 AS success
	FROM generate_series(0::bigint, $((rollouts - 1))) r, generate_series(0, 999) t, stepadv.signature_hash(int8send((r << 10) + t)) h ORDER BY r, t" >/dev/null
query 'VACUUM (ANALYZE, FREEZE) single' >/dev/null
single_fold() { printf 'SELECT %s FROM (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward, success) AS rollouts FROM single WHERE rollout_id < %s GROUP BY group_id) g' "$1" "$2"; }
over_single() { printf '%s CROSS JOIN LATERAL stepadv.%s(g.rollouts) a' "$(single_fold 'sum(a.advantage)' "$2")" "$1"; }
# Peak memory of the process, without shared memory and mapped files.
most_memory()
{
	psql -qXAt -v ON_ERROR_STOP=1 -c "$one_process" -c "$1" -c "SELECT pg_read_file('/proc/' || pg_backend_pid() || '/status', 0, 8192)" 2>/dev/null |
		awk '/^VmHWM/ { most = $2 } /^RssFile|^RssShmem/ { most -= $2 } END { if (most) printf "%d MB at most", most / 1024 }'
}
heading "**One group** of $((rollouts * 1000)) steps, $rollouts rollouts of 1,000 over $((groups * 5)) states, and a tenth of it; memory is the process's:"
measure single "$runs" "$(single_fold 'count(g.rollouts)' "$rollouts")" "$one_process"
row '`rollout_agg`' single "$(each single $((rollouts * 1000))) ns a step; $(most_memory "$(single_fold 'count(g.rollouts)' "$rollouts")")"
for estimator in rtmc batch_td graphgpo; do
	measure "${estimator}_tenth" 2 "$(over_single $estimator $((rollouts / 10)))" "$one_process"
	measure $estimator 2 "$(over_single $estimator "$rollouts")" "$one_process"
	row "\`rollout_agg\` + \`$estimator\`" $estimator \
		"$(each $estimator $((rollouts * 1000))) ns a step, of the tenth $(each ${estimator}_tenth $((rollouts * 100))): power $(exponent ${estimator}_tenth 1 $estimator 10); $(most_memory "$(over_single $estimator "$rollouts")")"
done
query 'DROP TABLE single' >/dev/null
