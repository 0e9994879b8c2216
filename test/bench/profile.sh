# Where the time of the main job goes, and the cost of returning its results.

folded() { printf "(SELECT group_id, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS rollouts FROM %s GROUP BY group_id) g" "$1"; }

say "$(machine_line)"

# Instructions of a single-user server, counted by Valgrind: they hardly depend on the machine.
# Those of a statement run once are subtracted from those of two runs.
count_instructions()
{
	local times file

	for times in 1 2; do
		{ printf '%s\n' "SET jit = off" "SET work_mem = '1GB'" "SET max_parallel_workers_per_gather = 0"
		  for ((file = 0; file < times; file++)); do printf '%s\n' "$1"; done; } >"$work/profile.sql"
		as_user valgrind --tool=callgrind --callgrind-out-file="$work/profile.$times" \
			"$bindir/postgres" --single -D "$work/data" "$PGDATABASE" <"$work/profile.sql" >/dev/null 2>"$work/profile.err" ||
			{ cat "$work/profile.err" >&2; exit 2; }
		callgrind_annotate --auto=no --tree=none --show-percs=no --threshold=100 "$work/profile.$times" >"$work/profile.$times.txt" 2>/dev/null
	done
	awk -v steps="$2" -f "$here/profile/stages.awk" "$work/profile.1.txt" "$work/profile.2.txt"
}

if command -v valgrind >/dev/null && command -v callgrind_annotate >/dev/null; then
	query "CREATE UNLOGGED TABLE some_steps AS SELECT * FROM steps WHERE group_id <= 2000 ORDER BY group_id, rollout_id, step_no" >/dev/null
	query "VACUUM ANALYZE some_steps" >/dev/null
	n_some=$(query "SELECT count(*) FROM some_steps")
	as_user "$bindir/pg_ctl" -D "$work/data" -m fast -w stop >/dev/null
	scan=$(count_instructions "SELECT count(*), sum(reward) FROM some_steps" "$n_some" | sed -nE 's/^\| all \| ([0-9]+) \|/\1/p')
	stages=$(count_instructions "SELECT sum(a.advantage) FROM $(folded some_steps) CROSS JOIN LATERAL stepadv.rtmc(g.rollouts) a" "$n_some")
	all=$(sed -nE 's/^\| all \| ([0-9]+) \|/\1/p' <<<"$stages")
	as_user "$bindir/pg_ctl" -D "$work/data" -l "$work/server.log" -w start >/dev/null
	query 'DROP TABLE some_steps' >/dev/null
	say "**Instructions** of \`rollout_agg\` + \`rtmc\` for each of $n_some steps stored in order, one process; the bare scan, \`SELECT count(*), sum(reward)\`, has $scan, this $(awk -v a="$all" -v b="$scan" 'BEGIN { printf "%.1f", a / b }') times as many:"
	printf '| stage | instructions a step |\n| --- | ---: |\n%s\n\n' "$stages" >>"$region"
else
	say "Instructions were not counted: Valgrind is not installed."
fi

# Into a table and out of the server.
answers="FROM $(folded steps) CROSS JOIN LATERAL"
measure rtmc "$runs" "SELECT sum(a.advantage) $answers stepadv.rtmc(g.rollouts) a" "$one_process"
measure copy_rows "$runs" "COPY (SELECT a.rollout_id, a.step_id, a.advantage $answers stepadv.rtmc(g.rollouts) a) TO '/dev/null' (FORMAT binary)" "$one_process"
into() { printf 'CREATE UNLOGGED TABLE answers AS SELECT a.rollout_id, a.step_id, a.advantage %s stepadv.rtmc(g.rollouts) a; DROP TABLE answers' "$answers"; }
# psql prints the time of both statements: leaves out those of DROP TABLE.
measure_into()
{
	local i

	{
		printf '%s\n' "$2" '\timing on'
		for ((i = 0; i <= runs; i++)); do printf '%s;\n' "$(into)"; done
	} >"$work/measure.sql"
	psql -qXAt -v ON_ERROR_STOP=1 -f "$work/measure.sql" >"$work/measure.out" || { cat "$work/measure.out" >&2; exit 2; }
	store "$1" "$(sed -nE 's/^Time: ([0-9.]+) ms.*/\1/p' "$work/measure.out" | awk 'NR % 2 && NR > 2' | min_median)"
}
measure_into into_rows "$one_process"
measure_into into_rows_shared "$two_processes"
heading '**Handing out** `rollout_id`, `step_id`, `advantage` of every step:'
row 'only summed, for comparison' rtmc
row '`COPY … TO` binary, a row per step (`rtmc`)' copy_rows
row '`CREATE TABLE AS`, a row per step' into_rows
row 'the same, two processes that share the rows' into_rows_shared "$(ratio into_rows_shared into_rows) of one process"
