# A simulation of the time that one to eight processes would take to fold, each on a core of
# its own, for machines with fewer cores.  Measured are the processor time of the leader and
# of all workers, and the part of the leader's that it cannot share: all of it if it leaves
# the rows to the workers.  The rest is divided equally, since processes take blocks of the
# table on demand.  Not simulated: cores share the memory's bandwidth.  On fewer cores,
# processes also compete for caches, which makes their times longer: the bare scan with as
# many processes, and one process beside another that does the same, show by how much.
# The goal is therefore relative to the bare scan of the same table, whose blocks can be
# taken by any process too: both include the costs of machine and server.

most_processes=${BENCH_PROCESSES:-8}
postmaster=$(head -n 1 "$work/data/postmaster.pid")
ticks=$(getconf CLK_TCK)
export postmaster ticks

query "SET work_mem = '1GB'; CREATE UNLOGGED TABLE scattered AS SELECT * FROM steps
	ORDER BY step_no, stepadv.signature_hash(rollout_id::text)" >/dev/null
query "VACUUM ANALYZE scattered" >/dev/null

say "$(machine_line) work_mem 1 GB, hash_mem_multiplier 2, jit off."

rtmc_of() { printf 'SELECT sum(a.advantage) FROM (SELECT group_id, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS rollouts FROM %s GROUP BY group_id) g CROSS JOIN LATERAL stepadv.rtmc(g.rollouts) a' "$1"; }

# TABLE PROCESSES: settings with which the planner uses so many processes
with_processes()
{
	query "ALTER TABLE $1 SET (parallel_workers = $(($2 - 1)))" >/dev/null
	printf '%s SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = %s;' "$tuned" "$(($2 - 1))"
}

# SETTINGS SQL: milliseconds of processor time per run, in the leader and in all workers; the
# latter are known once the postmaster has reaped them
processor_time()
{
	local now='\set leader `cut -d" " -f1 /proc/$leader/schedstat` \n\\set workers `awk -v t=$ticks '"'{ print (\$16 + \$17) * 1000 / t }'"' /proc/$postmaster/stat`' i

	{
		printf '%s\n' "$1" '\o /dev/null' "$2;" 'SELECT pg_sleep(0.2);' 'SELECT pg_backend_pid() AS pid \gset' '\setenv leader :pid'
		printf '%b\n' "$now" '\\set leader_before :leader' '\\set workers_before :workers'
		for ((i = 0; i < runs; i++)); do printf '%s;\n' "$2"; done
		printf '%s\n' 'SELECT pg_sleep(0.2);'
		printf '%b\n' "$now" '\\echo :leader :leader_before :workers :workers_before'
	} >"$work/processors.sql"
	psql -qXAt -v ON_ERROR_STOP=1 -f "$work/processors.sql" | awk -v n="$runs" '{ print ($1 - $2) / 1e6 / n, ($3 - $4) / n }'
}

# SETTINGS SQL: the same for one process, while another does the same
time_in_company()
{
	local settings=$1 sql=$2 other

	while [ ! -e "$work/enough" ]; do psql -qXAt -c "$settings" -c "$sql" >/dev/null; done &
	other=$!
	processor_time "$settings" "$sql" | cut -d' ' -f1
	touch "$work/enough"
	wait "$other"
	rm "$work/enough"
}

planned_cost() { psql -qXAt -c "$1" -c "EXPLAIN $2" | sed -nE '1s/.*\.\.([0-9.]+) rows.*/\1/p'; }

# SETTINGS SQL: which share of the groups, or of the rows, the processes exchange
exchanged()
{
	psql -qXAt -c "$1" -c "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $2" | awk -v groups="$groups" -v steps="$n_steps" '
		match($0, /Exchanged Groups: [0-9]+/) { sent += substr($0, RSTART + 18, RLENGTH - 18) }
		match($0, /Scattered Rows: [0-9]+/) { rows += substr($0, RSTART + 16, RLENGTH - 16) }
		END { printf(rows ? "%.0f %% of the rows" : "%.1f %% of the groups", rows ? 100 * rows / steps : 100 * sent / groups) }'
}

simulate()
{
	local table=$1 p settings alone leader workers serial cost cost_of_one time_of_one elapsed share sql scan scan_of_one

	sql=$(rtmc_of "$table")
	say "$2, \`rollout_agg\` + \`rtmc\`:"
	printf '%s\n' '| processes | processor, all of them, ms | of it the leader alone, ms | a bare scan by as many, ms | its simulated elapsed, of one process | exchanged | **simulated** elapsed, ms | of one process | 1.2 / processes | elapsed here, min ms | planner'"'"'s cost, of one process |' \
		'| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |' >>"$region"
	table_open=yes
	for ((p = 1; p <= most_processes; p++)); do
		settings=$(with_processes "$table" "$p")
		measure "${table}_$p" 3 "$sql" "$settings"
		require_equal "${results[${table}_1]}" "${results[${table}_$p]}" "$p processes"
		read -r leader workers <<<"$(processor_time "$settings" "$sql")"
		scan=$(processor_time "$settings" "SELECT count(*), sum(reward) FROM $table" | awk '{ print $1 + $2 }')
		cost=$(planned_cost "$settings" "$sql")
		serial=0 share=none
		if [ "$p" != 1 ]; then
			share=$(exchanged "$settings" "$sql")
			# The planner would not use a single worker.
			read -r serial alone <<<"$(processor_time "$(with_processes "$table" $((p > 2 ? p : 3))) SET parallel_leader_participation = off;" "$sql")"
		fi
		elapsed=$(awk -v l="$leader" -v w="$workers" -v s="$serial" -v p="$p" 'BEGIN { print s + (l + w - s) / p }')
		[ "$p" != 1 ] || { time_of_one=$elapsed; cost_of_one=$cost; scan_of_one=$scan; }
		awk -v p="$p" -v cpu="$leader $workers" -v s="$serial" -v share="$share" -v scan="$scan" -v scan_of_one="$scan_of_one" -v e="$elapsed" -v one="$time_of_one" -v here="${times_min[${table}_$p]}" \
			-v cost="$cost" -v cost_of_one="$cost_of_one" 'BEGIN { split(cpu, c, " ")
			theirs = scan / p / scan_of_one
			goal = p == 1 ? "" : sprintf(" (goal: at most %.2f, 1.2 x the scan'"'"'s, %s)", 1.2 * theirs, e / one <= 1.2 * theirs ? "met" : "MISSED")
			printf "| %d | %.0f | %.0f | %.0f | %.2f | %s | %.0f | %.2f%s | %s | %.0f | %.2f |\n", p, c[1] + c[2], s, scan, theirs, share, e, e / one, goal,
				p == 1 ? "" : sprintf("%.2f", 1.2 / p), here, cost / cost_of_one }' >>"$region"
	done
	query "ALTER TABLE $table RESET (parallel_workers)" >/dev/null
	say "One process, while another does the same on the other core: $(time_in_company "$one_process" "$sql" | awk -v one="$time_of_one" '{ printf "%.0f ms of the processor, %.2f of what it takes alone", $1, $1 / one }')."
}

simulate steps '**One to eight processes, a simulation.** Steps stored as a trainer writes them'
simulate scattered 'The rows in order of time, rollouts of all groups interleaved'
query 'DROP TABLE scattered' >/dev/null
