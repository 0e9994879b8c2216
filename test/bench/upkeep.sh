# Maintained groups: their cost for writers, and their gain for readers.

say "$(machine_line) One process, jit off."

# ---------- dashboards: the same queries over the same views, with and without folding
# A million steps, in the order in which a trainer writes, with the usual index; and the
# tables of create_tables with as many (their ids are texts).
upkeep_groups=${BENCH_UPKEEP_GROUPS:-$((groups < 8000 ? groups : 8000))}
query "SET client_min_messages = warning;
	-- A run of 20 policy versions, half a day each.
	CREATE UNLOGGED TABLE kept AS SELECT s.*, 'v' || group_id * 20 / ($upkeep_groups + 1) AS version, '2026-01-01'::timestamptz + group_id * interval '10 days' / $upkeep_groups AS at
	FROM steps s WHERE group_id <= $upkeep_groups ORDER BY group_id, rollout_id, step_no;
	ALTER TABLE kept ADD PRIMARY KEY (step_id); CREATE INDEX ON kept (group_id, rollout_id, step_no);
	SELECT count(*) FROM stepadv.attach('kept', '{group_id}', 'rollout_id', 'step_no', 'state', 'action', 'reward', columns => '{\"policy_version\": \"version\", \"started_at\": \"at\"}', views => '{all}');
	SELECT count(*) FROM stepadv.create_tables('rl', group_by => '{group_id}', views => '{all}');
	INSERT INTO rl.rollouts (group_id, rollout_id, outcome, policy_version, started_at)
	SELECT 'task ' || group_id, 'rollout ' || rollout_id, sum(reward), min(version), min(at) FROM kept GROUP BY group_id, rollout_id;
	INSERT INTO rl.steps (group_id, rollout_id, step_no, state, action_hash) SELECT 'task ' || group_id, 'rollout ' || rollout_id, step_no, state, action FROM kept ORDER BY step_id" >/dev/null
query 'VACUUM ANALYZE kept, rl.rollouts, rl.steps' >/dev/null
kept_steps=$(query 'SELECT count(*) FROM kept')

declare -A dashboard=(
	[groups]='SELECT count(*), avg(success_rate), avg(shared_step_share) FROM %s_groups'
	[rollouts]='SELECT count(*), avg(return), avg(n_steps) FROM %s_rollouts'
	[grpo]='SELECT sum(advantage), stddev(advantage) FROM %s_grpo'
	[rtmc]='SELECT sum(advantage), stddev(advantage) FROM %s_rtmc'
	[tree]='SELECT count(*), sum(n_visits) FROM %s_rtmc_tree'
	[success]="SELECT sum(n_successes), count(*), max(bucket), avg(success_rate) FROM %s_progress_over_time WHERE bucket >= '2026-01-01'"
	[versions]='SELECT sum(n), count(*) FROM (SELECT policy_version, sum(n_steps) AS n, sum(n_informative_groups)::float8 / sum(n_judged_groups) FROM %s_progress_over_time GROUP BY 1) v'
	[wide]='SELECT sum(n_steps), count(v::text) FROM %s_progress_over_time v'
	[methods]='SELECT sum(n), count(*) FROM (SELECT bucket, method, sum(n_steps) AS n, sum(mean_abs_advantage * n_steps) / sum(n_steps) FROM %s_advantage_over_time GROUP BY 1, 2) v'
	[method]="SELECT sum(n_steps), sum(mean_abs_advantage) FROM %s_advantage_over_time WHERE method = 'rtmc'"
)
# Views of every step have no goal: to make a row per step costs about as much as to
# read the rows.
kinds='groups rollouts success versions wide methods method grpo rtmc tree'
by_step=' grpo rtmc tree '
declare -A dashboard_label=(
	[groups]='success and shared states of all groups (`_groups`)'
	[rollouts]='returns of all rollouts (`_rollouts`)'
	[grpo]='GRPO advantages of all steps (`_grpo`)'
	[rtmc]='RTMC advantages of all steps (`_rtmc`)'
	[tree]='edges of all rollout trees (`_rtmc_tree`)'
	[success]='success over time (`_progress_over_time`)'
	[versions]='steps and informative groups by policy version, the dashboard'"'"'s table (`_progress_over_time`)'
	[wide]='all columns over time (`SELECT * FROM …_progress_over_time`)'
	[methods]='mean \|advantage\| by method over time (`_advantage_over_time`)'
	[method]='the same of RTMC alone'
)
# For statements that cannot be repeated.
measure_once() { store "$1" "$(psql -qXAt -v ON_ERROR_STOP=1 -c 'SET jit = off' -c '\timing on' -c "$2" | sed -nE 's/^Time: ([0-9.]+) ms.*/\1/p' | tail -n 1 | min_median)"; }
# NAME TABLE CHANGE: refresh after each change of a group, in one session, as in a job that refreshes every few seconds.
measure_refresh()
{
	local i

	for ((i = 0; i <= runs; i++)); do
		printf '%s;\n' "$3" '\timing on' "SELECT stepadv.refresh('$2')" '\timing off'
	done | sed 's/^\(\\timing o.*\);/\1/' >"$work/refresh.sql"
	store "$1" "$(psql -qXAt -v ON_ERROR_STOP=1 -c 'SET jit = off' -f "$work/refresh.sql" | sed -nE 's/^Time: ([0-9.]+) ms.*/\1/p' | sed 1d | min_median)"
}
measure_dashboards()
{
	local kind n=$runs

	# Folding takes so long that two runs are enough.
	[ "$2" = kept ] || n=$((runs < 2 ? runs : 2))
	for kind in $kinds; do
		measure "$1_$2_$kind" "$n" "$(printf "${dashboard[$kind]}" "$3")" "$one_process"
	done
}
dashboard_rows()
{
	local kind ratio

	for kind in $kinds; do
		ratio=$(ratio "$1_folding_$kind" "$1_kept_$kind")
		require_equal "$(cut -d'|' -f1,1 <<<"${results[$1_folding_$kind]}")" "$(cut -d'|' -f1,1 <<<"${results[$1_kept_$kind]}")" "$kind"
		row "${dashboard_label[$kind]}" "$1_kept_$kind" \
			"folding: ${times_median[$1_folding_$kind]%.*} ms, $ratio x $([[ $by_step = *" $kind "* ]] && echo '(a row per step or edge: no goal)' || verdict "$ratio" '>=' 5)"
	done
}
# Finding bad rows in all groups, compared with folding them.
measure problems_folding "$runs" 'SELECT count(*) FROM kept_problems' "$one_process"
measure problems_fold "$runs" 'SELECT count(rollouts) FROM kept_values' "$one_process"
measure_dashboards own folding kept
measure_dashboards canonical folding rl.steps
measure_once maintain_own "SELECT stepadv.maintain('kept')"
measure_once maintain_canonical "SELECT stepadv.maintain('rl.rollout_rows')"
query 'VACUUM ANALYZE kept_folded, kept_digests, rl.steps_folded, rl.steps_digests' >/dev/null
measure_dashboards own kept kept
measure_dashboards canonical kept rl.steps
heading "**Dashboards** over a table of $kept_steps steps in $upkeep_groups groups, reading kept groups, compared with folding:"
dashboard_rows own
heading "**The same over the canonical tables**, whose ids are texts, hashed during the fold:"
dashboard_rows canonical
require_equal "${results[problems_folding]}" "$(query 'SELECT count(*) FROM kept_problems')" problems
heading "**Bad rows** of all groups, before groups are kept:"
row '`_problems`' problems_folding "folding: ${times_median[problems_fold]%.*} ms, $(ratio problems_folding problems_fold) x $(verdict "$(ratio problems_folding problems_fold)" '<=' 3)"
heading "**Making the tables of kept groups** ($(query "SELECT pg_size_pretty(pg_table_size('kept_folded'))"), digests $(query "SELECT pg_size_pretty(pg_table_size('kept_digests'))"), beside $(query "SELECT pg_size_pretty(pg_table_size('kept'))") of steps):"
seconds_per_million() { awk -v t="${times_median[$1]}" -v n="$kept_steps" 'BEGIN { printf "%.2f", t / 1000 / (n / 1e6) }'; }
for name in maintain_own maintain_canonical; do
	label='`maintain`, all groups folded'
	[ $name = maintain_own ] || label='the same for the canonical tables'
	row "$label" $name "$(seconds_per_million $name) s per million steps $(verdict "$(seconds_per_million $name)" '<=' 2)"
done

# ---------- some of the groups
# From here on, the cost of one group is measured, which does not depend on their number: a quarter is enough.
query "SET client_min_messages = warning; SELECT stepadv.unmaintain('kept'), stepadv.unmaintain('rl.rollout_rows')" >/dev/null
all_upkeep_groups=$upkeep_groups
upkeep_groups=$((upkeep_groups < 2000 ? upkeep_groups : 2000))
query "DELETE FROM kept WHERE group_id > $upkeep_groups; DELETE FROM rl.steps WHERE substr(group_id, 6)::integer > $upkeep_groups; DELETE FROM rl.rollouts WHERE substr(group_id, 6)::integer > $upkeep_groups" >/dev/null
query 'VACUUM FULL ANALYZE kept, rl.rollouts, rl.steps' >/dev/null

# ---------- writers: one rollout per transaction
# Into random groups, whose eight rollouts or so are folded again.  Written rows are
# deleted before the next mode, so that all modes begin with groups of the same sizes.
delete_written()
{
	query "SET client_min_messages = warning; SELECT stepadv.unmaintain('kept'), stepadv.unmaintain('rl.rollout_rows')" >/dev/null
	query "DELETE FROM kept WHERE step_id >= 1000000000000; DELETE FROM rl.steps WHERE rollout_id LIKE 'new %'; DELETE FROM rl.rollouts WHERE rollout_id LIKE 'new %'" >/dev/null
	query 'VACUUM ANALYZE kept, rl.rollouts, rl.steps' >/dev/null
}
write_rollout()
{
	printf '%s\n' '\set g random(1, '"$upkeep_groups"')' '\set r random(1000000000, 900000000000000)' \
		"INSERT INTO kept (step_id, group_id, rollout_id, step_no, state, action, reward, version, at) SELECT :r::bigint * 1000 + i, :g, :r, i, i % 7, i % 5, 0, 'v' || :g * 20 / ($all_upkeep_groups + 1), '2026-01-01'::timestamptz + :g * interval '10 days' / $all_upkeep_groups FROM generate_series(1, $1) i;"
}
write_canonical()
{
	printf '%s\n' '\set g random(1, '"$upkeep_groups"')' '\set r random(1000000000, 900000000000000)' 'BEGIN;' \
		"INSERT INTO rl.rollouts (group_id, rollout_id, outcome, policy_version, started_at) VALUES ('task ' || :g, 'new ' || :r, 1, 'v' || :g * 20 / ($all_upkeep_groups + 1), '2026-01-01'::timestamptz + :g * interval '10 days' / $all_upkeep_groups);" \
		"INSERT INTO rl.steps (group_id, rollout_id, step_no, state, action_hash) SELECT 'task ' || :g, 'new ' || :r, i, i % 7, i % 5 FROM generate_series(1, 16) i;" 'COMMIT;'
}
require_fresh()
{
	[ "$(query "SELECT (SELECT count(*) FROM stepadv.check_maintained('kept')) + (SELECT count(*) FROM stepadv.check_maintained('rl.rollout_rows'))")" = 0 ] ||
		{ echo "maintained groups differ from a fresh fold ($1)" >&2; exit 2; }
}
seconds=3
for how in none triggers refresh; do
	arguments="mode => '$how'"
	delete_written
	[ $how = none ] || query "SELECT stepadv.maintain('kept', $arguments), stepadv.maintain('rl.rollout_rows', $arguments)" >/dev/null
	for write in write16 write124 canonical; do
		case $write in
		write16) script=$(write_rollout 16) ;;
		write124) script=$(write_rollout 124) ;;
		canonical) script=$(write_canonical) ;;
		esac
		measure_latency ${write}_$how $seconds "$script"
	done
	[ $how = none ] || [ $how = refresh ] || require_fresh $how
done

# ---------- refresh of some groups, against folding all groups
# A rollout is added to every n-th group; both fold the same rows.
declare -A waiting
# The first changes one group.
parts="$upkeep_groups 100 4 1"
for table in kept rl.rollout_rows; do
	for every in $parts; do
		name=${table%%.*}_$every
		delete_written
		query "SELECT stepadv.maintain('$table', mode => 'refresh')" >/dev/null
		if [ $table = kept ]; then
			query "INSERT INTO kept (step_id, group_id, rollout_id, step_no, state, action, reward, version, at) SELECT (1000000000::bigint + g) * 1000 + i, g, 1000000000 + g, i, i % 7, i % 5, 0, 'v' || g * 20 / ($all_upkeep_groups + 1), '2026-01-01'::timestamptz + g * interval '10 days' / $all_upkeep_groups
				FROM generate_series(1, $upkeep_groups, $every) g, generate_series(1, 16) i" >/dev/null
			waiting[$name]=$(query 'SELECT count(DISTINCT group_id) FROM kept_changed')
		else
			query "INSERT INTO rl.rollouts (group_id, rollout_id, outcome, policy_version, started_at) SELECT 'task ' || g, 'new ' || g, 1, 'v' || g * 20 / ($all_upkeep_groups + 1), '2026-01-01'::timestamptz + g * interval '10 days' / $all_upkeep_groups FROM generate_series(1, $upkeep_groups, $every) g;
				INSERT INTO rl.steps (group_id, rollout_id, step_no, state, action_hash) SELECT 'task ' || g, 'new ' || g, i, i % 7, i % 5 FROM generate_series(1, $upkeep_groups, $every) g, generate_series(1, 16) i" >/dev/null
			waiting[$name]=$(query 'SELECT count(DISTINCT group_id) FROM rl.steps_changed')
		fi
		measure_once refresh_$name "SELECT stepadv.refresh('$table')"
		measure_once anew_$name "SELECT stepadv.unmaintain('$table'), stepadv.maintain('$table', mode => 'refresh')"
	done
done
# Ten thousand groups, each with its own policy version and policy step.
query "SET client_min_messages = warning;
	CREATE UNLOGGED TABLE many AS SELECT 4 * g + 2 * r + n AS step_id, g AS group_id, r AS rollout_id, n AS step_no, n AS state, r AS action, n * r AS reward, g AS policy_step, 'v' || g AS version
	FROM generate_series(1, 10000) g, generate_series(0, 1) r, generate_series(0, 1) n;
	ALTER TABLE many ADD PRIMARY KEY (step_id); CREATE INDEX ON many (group_id, rollout_id, step_no);
	SELECT count(*) FROM stepadv.attach('many', '{group_id}', 'rollout_id', 'step_no', 'state', 'action', 'reward', columns => '{\"policy_version\": \"version\", \"policy_step\": \"policy_step\"}', views => '{all}');
	SELECT stepadv.maintain('many', mode => 'refresh')" >/dev/null
measure_refresh refresh_many many "UPDATE many SET reward = 1 - reward WHERE group_id = 17"
query "SET client_min_messages = warning; SELECT stepadv.detach('many'); DROP TABLE many" >/dev/null
added() { awk -v a="${times_median[$1]}" -v b="${times_median[$2]}" 'BEGIN { printf "%.2f", a - b }'; }
heading "**Writers**: latency of a transaction that adds one rollout, one client; into $upkeep_groups groups of 124 steps at first; each mode starts from the same tables:"
for write in write16 write124 canonical; do
	case $write in
	write16) label='16 steps in one statement' ;;
	write124) label='124 steps in one statement' ;;
	canonical) label='canonical tables, a rollout and then 16 steps (two statements)' ;;
	esac
	row "$label, not maintained" ${write}_none
	for how in triggers refresh; do
		arguments="mode => '$how'"
		row "$label, \`$arguments\`" ${write}_$how "adds $(added ${write}_$how ${write}_none) ms $(verdict "$(added ${write}_$how ${write}_none)" '<=' 0.6)"
	done
done
heading "**Refreshing** some of the $upkeep_groups groups, compared with \`unmaintain\` and \`maintain\` of the same rows:"
for table in kept rl.rollout_rows; do
	for every in $parts; do
		name=${table%%.*}_$every
		quotient=$(quotient refresh_$name anew_$name)
		row "\`refresh\` of ${waiting[$name]} changed groups$([ $table = kept ] || echo ', canonical tables')" refresh_$name \
			"folding all: ${times_median[anew_$name]%.*} ms, ratio $quotient $(verdict "$quotient" '<=' 1)"
	done
done
row '`refresh` of one group at a time of 10,000 in one session, each with its own version and policy step' refresh_many "$(verdict "${times_median[refresh_many]}" '<=' 5)"
query "SET client_min_messages = warning; SELECT stepadv.detach('kept'); DROP TABLE kept; DROP SCHEMA rl CASCADE" >/dev/null
