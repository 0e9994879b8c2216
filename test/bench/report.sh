# The report of a thousand groups, a million steps.  Each group is made of eight groups of the simulator.

report_groups=${REPORT_GROUPS:-1000}
query "SET client_min_messages = warning;
	SELECT count(*) FROM stepadv.create_tables('report_bench', group_by => '{group_id}');
	INSERT INTO report_bench.rollouts (group_id, rollout_id, task_id, policy_version, policy_step, success)
	SELECT 'group ' || g, r, 'task ' || g % 200, 'v' || g / 200 % 5, g / 200 % 5, s FROM (SELECT group_id % $report_groups AS g, group_id || '.' || rollout_id AS r, sum(reward) > 0 AS s
		FROM steps WHERE group_id <= 8 * $report_groups GROUP BY 1, 2) x;
	INSERT INTO report_bench.steps (group_id, rollout_id, step_no, observation, action, tool, ok, state, action_hash, reward)
	SELECT 'group ' || group_id % $report_groups, group_id || '.' || rollout_id, step_no, 'room ' || abs(state % 1000), 'go ' || abs(action % 10), 'go', step_no % 7 <> 3, state, action, reward FROM steps WHERE group_id <= 8 * $report_groups" >/dev/null
# A group of 10,000 steps, for the browser to scroll.
query "INSERT INTO report_bench.rollouts (group_id, rollout_id, task_id, success) SELECT 'long', 'long ' || r, 'long', r % 2 = 0 FROM generate_series(1, 8) r;
	INSERT INTO report_bench.steps (group_id, rollout_id, step_no, observation, action, tool, ok, state, action_hash, reward)
	SELECT 'long', 'long ' || r, n, 'room ' || (n * r) % 1000, 'go ' || n % 10, 'go', true, (n * r) % 1000, n % 10, (n = 1250 AND r % 2 = 0)::integer FROM generate_series(1, 8) r, generate_series(1, 1250) n" >/dev/null
query 'VACUUM ANALYZE report_bench.steps, report_bench.rollouts' >/dev/null
report_steps=$(query 'SELECT count(*) FROM report_bench.steps')
say "$(machine_line) $report_steps of the steps in $report_groups groups, each made of eight groups of the simulator. The pages are those of the most informative groups, with pictures."

report_once()
{
	local label=$1 started

	shift
	rm -rf "$work/report"
	started=$(date +%s%N)
	PGOPTIONS= /usr/bin/python3 -c 'import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1000)
sys.exit(status)' /usr/bin/python3 "$top/client/bin/stepadv" report report_bench.steps -o "$work/report" "$@" >"$work/report.mb" || exit 2
	times_min[$label]=$(awk -v a="$started" -v b="$(date +%s%N)" 'BEGIN { print (b - a) / 1e6 }')
	times_median[$label]=${times_min[$label]}
}

size_of() { cat "$@" | wc -c | awk '{ printf "%d", $1 / 1000 }'; }
sh "$top/test/harness/viewer.sh"
heading "**A folder of pages**, each made once; goals: 10 s for the index, 20 s with 50 pages, 2 MB a page, 300 MB of memory:"
report_once report_index --groups 0 --steps 0
memory() { echo "$(cat "$work/report.mb") MB of memory $(verdict "$(cat "$work/report.mb")" '<=' 300)"; }
row "the index alone, $(size_of "$work/report/data/index.js") kB $(verdict "$(size_of "$work/report/data/index.js")" '<=' 2000), $(memory)" report_index "$(verdict "${times_median[report_index]}" '<=' 10000)"
report_once report_50 --steps 0
row "with its 50 pages, $(($(size_of "$work"/report/data/group-*.js) / 50)) kB each, $(memory)" report_50 "$(verdict "${times_median[report_50]}" '<=' 20000)"
report_once report_search
row "with a search of 200,000 steps, $(memory)" report_search ''
report_once report_large --steps 1000000
row "with a search of a million steps, $(memory)" report_large ''
heading '**In a browser**, of the last folder, processor time of the page; goals: a page of a group and a search in 1 s, 60 frames a second:'
while IFS=$'\t' read -r label goal text; do
	times_min[$label]=$(awk -F '\t' -v label="$label" '$1 == label { print $2 }' "$work/report.times")
	times_median[$label]=${times_min[$label]}
	row "$text" "$label" "$(verdict "${times_median[$label]}" '<=' "$goal")"
done < <(cd "$top" && perl test/bench/report.pl "$work/report" >"$work/report.times" && cat <<-'END'
	paint	1000	a page of 10,000 steps
	frame	16.7	a frame while it scrolls, mean
	search	1000	the first search, which reads the data
	again	1000	the next search
	END
)
rm -rf "$work/report"
query "SET client_min_messages = warning; DROP SCHEMA report_bench CASCADE" >/dev/null
