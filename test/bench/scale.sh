# Beyond one machine: RTMC over tables of 5 and 50 million steps (BENCH_SCALE='5 50'), on one
# node and on a Citus coordinator with two workers, with row and columnar storage; and the cost
# of loading.  All servers share this machine's cores, so the processor time of each is measured
# too: it determines the speed with separate cores.
#
# Skipped if the server of PG_CONFIG has no Citus:
#
#	PG_CONFIG=/opt/citus/bin/pg_config STEPADV_COPY_SERVER=1 BENCH=scale make bench
#
# 50 million steps take some 20 GB of disk for half an hour.
# BENCH_SCALE_LINES: number of steps loaded from files (1000000).

lines=${BENCH_SCALE_LINES:-1000000}

if [ ! -e "$("$pg_config" --pkglibdir)/citus.so" ]; then
	echo 'left out: the server has no Citus' >&2
	return 0
fi

# ---------- servers: one node is the one that run.sh started
ports=(5433 5434 5435)
nodes=(coordinator worker_1 worker_2)

stop_nodes()
{
	local node

	for node in "${nodes[@]}"; do stop_server "$work/$node"; done
}
stop_jobs() { stop_nodes; }

start_node()
{
	local node=$1 port=$2 buffers=$3

	as_user "$bindir/initdb" -D "$work/$node" -U postgres -A trust -E UTF8 --no-locale -N >>"$work/initdb.log" 2>&1 || exit 2
	{
		cat "$conf"
		printf '%s\n' "shared_preload_libraries = 'citus'" "port = $port" "listen_addresses = ''" "unix_socket_directories = '$PGHOST'" 'fsync = off' "shared_buffers = $buffers" \
			'max_wal_size = 8GB' 'autovacuum = off' 'max_prepared_transactions = 100' 'jit = off' "work_mem = '1GB'" 'hash_mem_multiplier = 2' \
			'max_parallel_workers_per_gather = 0' "citus.local_hostname = '$PGHOST'"
	} >"$work/more.conf"
	as_user sh -c "cat '$work/more.conf' >>'$work/$node/postgresql.conf'"
	as_user "$bindir/pg_ctl" -D "$work/$node" -l "$work/$node.log" -w start >/dev/null || { cat "$work/$node.log" >&2; exit 2; }
	PGPORT=$port query 'CREATE EXTENSION citus' >/dev/null
}

# Processor time of the server's processes in seconds, including those that ended.
processor_time()
{
	local pid child

	sleep 0.3
	pid=$(head -n 1 "$1/postmaster.pid")
	{
		cat "/proc/$pid/stat"
		for child in $(pgrep -P "$pid"); do cat "/proc/$child/stat" 2>/dev/null || :; done
	} | sed 's/.*) //' | awk -v hz="$(getconf CLK_TCK)" 'NR == 1 { s += $14 + $15 } { s += $12 + $13 } END { printf "%.2f", s / hz }'
}

# NAME COMMAND: runs COMMAND, and sets spent[NAME_SERVER] to the processor time of each
# server in seconds.
declare -A spent
spend()
{
	local name=$1 server
	local -A before
	shift

	for server in data "${nodes[@]}"; do before[$server]=$(processor_time "$work/$server"); done
	"$@"
	for server in data "${nodes[@]}"; do spent[${name}_$server]=$(awk -v a="${before[$server]}" -v b="$(processor_time "$work/$server")" 'BEGIN { print b - a }'); done
}

# NAME STEPS TIMES: "1.20 µs of processor time a step …"
microseconds()
{
	awk -v n="$2" -v times="$3" -v one="${spent[$1_data]}" -v c="${spent[$1_coordinator]}" -v w="${spent[$1_worker_1]}" -v v="${spent[$1_worker_2]}" '
		function us(s) { return s / n / times * 1e6 }
		BEGIN { if (c + w + v < one) printf "%.2f µs of processor time a step", us(one)
			else printf "%.2f µs of processor time a step (coordinator %.2f, workers %.2f and %.2f)", us(c + w + v), us(c), us(w), us(v) }'
}

# A B: how many times as fast as A, on one node, B would be if each server had as many cores as
# that node: by the busiest server.
on_their_own()
{
	awk -v one="${spent[$1_data]}" -v c="${spent[$2_coordinator]}" -v w="${spent[$2_worker_1]}" -v v="${spent[$2_worker_2]}" 'BEGIN {
		most = c > w ? c : w; most = most > v ? most : v; printf "%.1f", one / most }'
}

start_node coordinator ${ports[0]} 512MB
start_node worker_1 ${ports[1]} 1GB
start_node worker_2 ${ports[2]} 1GB
on_citus() { PGPORT=${ports[0]} "$@"; }
on_citus query "SELECT citus_set_coordinator_host('$PGHOST', ${ports[0]})" >/dev/null
on_citus query "SELECT citus_add_node('$PGHOST', ${ports[1]}), citus_add_node('$PGHOST', ${ports[2]})" >/dev/null
on_citus query 'CREATE EXTENSION stepadv' >/dev/null
on_citus query 'CREATE EXTENSION IF NOT EXISTS citus_columnar' >/dev/null
compression=$(ldd "$("$pg_config" --pkglibdir)/citus_columnar.so" 2>/dev/null | grep -q libzstd && echo zstd || echo pglz)
say "$(machine_line) Citus $(on_citus query "SELECT substring(citus_version() FROM '^Citus ([0-9.]+)')"), coordinator and two workers on the same machine and its $(nproc) cores, connected by sockets; 8 shards; work_mem 1 GB, jit off."

# ---------- RTMC
rtmc='SELECT sum(a.advantage) FROM (SELECT group_id, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS rollouts
	FROM growing GROUP BY group_id) g CROSS JOIN LATERAL stepadv.rtmc(g.rollouts) a'
steps_per_group=$((n_steps / groups))

# A table of so many groups: copies of the simulator's.
grow_table()
{
	query "CREATE UNLOGGED TABLE growing AS
		SELECT s.step_id + (c << 40) AS step_id, s.group_id + c * $groups AS group_id, s.rollout_id, s.step_no, s.state, s.action, s.reward
		FROM generate_series(0::bigint, $((($1 - 1) / groups))) c
		CROSS JOIN LATERAL (SELECT * FROM steps WHERE group_id + c * $groups <= $1 OFFSET 0) s" >/dev/null
	query "VACUUM (ANALYZE, FREEZE) growing" >/dev/null
}

copy_over()
{
	local begun=$(date +%s%N)

	psql -qXAt -v ON_ERROR_STOP=1 -c 'COPY growing TO STDOUT (FORMAT binary)' | on_citus psql -qXAt -v ON_ERROR_STOP=1 -c 'COPY growing FROM STDIN (FORMAT binary)' || exit 2
	store "$1" "$(awk -v ns=$(($(date +%s%N) - begun)) 'BEGIN { print ns / 1e6, ns / 1e6 }')"
}

size_of_citus() { on_citus query "SELECT pg_size_pretty(citus_total_relation_size('growing'))"; }

for millions in ${BENCH_SCALE:-5 50}; do
	grow_table $((millions * 1000000 / steps_per_group))
	n=$(query 'SELECT count(*) FROM growing')
	many=$([ "$millions" -lt 20 ] && echo "$runs" || echo 1)
	heading "**$n steps**, \`rollout_agg\` + \`rtmc\`, in order of writing:"
	spend one measure one "$many" "$rtmc" "$one_process"
	spend two measure two "$many" "$rtmc" "$two_processes"
	row "one node, a table of $(query "SELECT pg_size_pretty(pg_total_relation_size('growing'))"), one process" one "$(microseconds one "$n" $((many + 1)))"
	row '- two processes' two "$(microseconds two "$n" $((many + 1)))"
	query 'CREATE TABLE result AS '"$rtmc" >/dev/null
	# Columnar tables cannot be unlogged.
	on_citus query 'CREATE TABLE growing (step_id bigint, group_id bigint, rollout_id bigint, step_no integer, state bigint, action bigint, reward float8)' >/dev/null
	# The types of columns are those of the node.
	query "SELECT string_agg(format('ALTER TABLE growing ALTER %I TYPE %s', attname, format_type(atttypid, -1)), '; ') FROM pg_attribute WHERE attrelid = 'growing'::regclass AND attnum > 0" |
		on_citus psql -qX -v ON_ERROR_STOP=1 >/dev/null || exit 2
	on_citus query "SELECT create_distributed_table('growing', 'group_id', shard_count => 8)" >/dev/null
	spend copied copy_over copied
	query 'DROP TABLE growing, result' >/dev/null
	on_citus query 'VACUUM (ANALYZE, FREEZE) growing' >/dev/null
	spend citus on_citus measure citus "$many" "$rtmc"
	require_equal "${results[one]}" "${results[citus]}" "one node and two workers, $n steps"
	row "coordinator and two workers, $(size_of_citus)" citus "$(microseconds citus "$n" $((many + 1))); $(ratio one citus 2) x as fast as one process, $(ratio two citus 2) x as two on the same cores $(verdict "$(ratio two citus 2)" '>=' 0.9)"
	row '- COPY of these rows to the workers' copied "$(per_second copied "$n") steps a second; $(microseconds copied "$n" 1)"
	on_citus query "SET columnar.compression = '$compression'; SELECT alter_table_set_access_method('growing', 'columnar')" >/dev/null
	on_citus query 'ANALYZE growing' >/dev/null
	spend columnar on_citus measure columnar "$many" "$rtmc"
	require_equal "${results[citus]}" "${results[columnar]}" "rows and columns, $n steps"
	row "- columnar ($compression), $(size_of_citus)" columnar "$(microseconds columnar "$n" $((many + 1))); $(ratio columnar citus 2) x the time"
	on_citus query 'DROP TABLE growing' >/dev/null
done

# ---------- loading
mkdir "$work/lines"
[ "$(id -u)" != 0 ] || chown "$test_user" "$work/lines"
parts=4
for ((part = 0; part < parts; part++)); do
	query "COPY (SELECT json_build_object('run_id', 'r', 'policy_version', 'v' || group_id % 2, 'task_id', 't' || group_id, 'rollout_id', rollout_id, 'step_no', step_no,
			'observation', 'state ' || state || repeat(' and what is seen there', 8), 'action', 'action ' || action, 'tool', 'bash', 'args', json_build_object('cmd', 'do ' || action), 'ok', true, 'reward', reward)
		FROM (SELECT * FROM steps WHERE group_id <= $((lines / steps_per_group)) AND group_id % $parts = $part OFFSET 0) s) TO STDOUT" |
		sed 's/\\\\/\\/g' >"$work/lines/$part.jsonl"
done
n=$(cat "$work"/lines/*.jsonl | wc -l)
mb=$(du -cm "$work"/lines/*.jsonl | awk 'END { print $1 }')
load()
{
	local name=$1 begun
	shift

	begun=$(date +%s%N)
	"$top/client/bin/stepadv" import -f steps "$@" "$work"/lines/*.jsonl >"$work/load.out" 2>&1 || { cat "$work/load.out" >&2; exit 2; }
	store "$name" "$(awk -v ns=$(($(date +%s%N) - begun)) 'BEGIN { print ns / 1e6, ns / 1e6 }')"
	results[$name]=$(awk '$1 == "added:" { print $4 }' "$work/load.out")
}
export PG_CONFIG=$pg_config
for jobs in 1 4; do
	query "SELECT count(*) FROM stepadv.create_tables('rl_$jobs', reward => 'steps')" >/dev/null
	on_citus query "SELECT count(*) FROM stepadv.create_tables('rl_$jobs', reward => 'steps', distribute => true, shards => 8)" >/dev/null
	spend load_one_$jobs load load_one_$jobs -J $jobs -s rl_$jobs
	spend load_citus_$jobs on_citus load load_citus_$jobs -J $jobs -s rl_$jobs
	require_equal "${results[load_one_$jobs]}" "$n" 'lines and steps of one node'
	require_equal "${results[load_citus_$jobs]}" "$n" 'lines and steps of Citus'
done
heading "**\`stepadv import -f steps\`** of $n steps in $parts files, $mb MB, into the tables of \`create_tables\`:"
for jobs in 1 4; do
	what=$([ $jobs = 1 ] && echo 'one after the other' || echo "$jobs at once")
	row "one node, $what" load_one_$jobs "$(per_second load_one_$jobs "$n") steps a second; $(microseconds load_one_$jobs "$n" 1)"
	row "coordinator and two workers, $what" load_citus_$jobs "$(per_second load_citus_$jobs "$n") steps a second; $(microseconds load_citus_$jobs "$n" 1); on cores of their own $(on_their_own load_one_$jobs load_citus_$jobs) x one node, by the busiest server"
done

stop_nodes
stop_jobs() { :; }
