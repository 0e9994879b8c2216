# The state graph: GraphGPO and its baselines, distances to the goal.
# PGROUTING=1 installs PostGIS and pgRouting (Debian, root or sudo) to measure against.

folded() { printf "(SELECT group_id, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward, success) AS rollouts FROM %s GROUP BY group_id) g" "$1"; }
over() { printf 'SELECT sum(a.advantage) FROM %s CROSS JOIN LATERAL stepadv.%s(g.rollouts) a' "$(folded "$2")" "$1"; }

say "$(machine_line) One process."

# ---------- (a) a training batch
query "SET jit = off; CREATE UNLOGGED TABLE batch AS
	SELECT (rollout_id << 20) + step_no AS step_id, group_id, rollout_id, step_no, state_hash AS state, action_hash AS action, reward, success
	FROM sim.simulate(16, 8, seed => 7, horizon => 50) ORDER BY group_id, rollout_id, step_no" >/dev/null
query 'VACUUM ANALYZE batch' >/dev/null
measure batch 20 "$(over graphgpo batch)" "$one_process"
heading "**A training batch**, 16 groups x 8 rollouts, $(query 'SELECT count(*) FROM batch') steps; GraphGPO's paper reports 133 ms for this:"
row '`rollout_agg` + `graphgpo`, table to advantages' batch "$(verdict "${times_median[batch]}" '<=' 10)"
query 'DROP TABLE batch' >/dev/null

# ---------- (b) one large group
n_states=$((groups * 5))
query "CREATE UNLOGGED TABLE large AS
	SELECT (r << 7) + t AS step_id, r AS rollout_id, t AS step_no, (h & 1073741823) % $n_states AS state,
		r % 5 = 0 AS success, 1 + ((h >> 40) & 1023) / 1024.0::float8 AS cost
	FROM generate_series(0::bigint, $((groups / 2 - 1))) r, generate_series(1, 50) t, stepadv.signature_hash(int8send((r << 7) + t)) h ORDER BY r, t" >/dev/null
# The same edges reversed, starting at one goal (-1).
query "CREATE UNLOGGED TABLE reversed AS
	SELECT l.step_id AS id, coalesce(n.state, -1) AS source, l.state AS target, l.cost
	FROM large l LEFT JOIN large n ON n.rollout_id = l.rollout_id AND n.step_no = l.step_no + 1
	WHERE n.step_id IS NOT NULL OR l.success" >/dev/null
query 'VACUUM ANALYZE large' >/dev/null
query 'VACUUM ANALYZE reversed' >/dev/null

install_pgrouting()
{
	local package sudo=

	package=postgresql-$("$pg_config" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')-pgrouting
	[ "$(id -u)" = 0 ] || sudo='sudo -n'
	echo "   installing $package" >&2
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >"$work/apt.log" 2>&1 ||
		{ tail -n 3 "$work/apt.log" >&2; echo "   could not install $package" >&2; }
}
has_pgrouting() { [ "$(query "SELECT count(*) FROM pg_available_extensions WHERE name = 'pgrouting'")" = 1 ]; }
has_pgrouting || [ -z "${PGROUTING:-}" ] || install_pgrouting
pgrouting=
if has_pgrouting; then
	query 'SET client_min_messages = warning; CREATE EXTENSION pgrouting CASCADE' >/dev/null
	pgrouting=$(query "SELECT extversion FROM pg_extension WHERE extname = 'pgrouting'")
fi

# Our time includes the fold; pgRouting's edges are made before.
distances_row()
{
	local name=$1 label=$2 fold_cost=$3 edge_cost=$4

	measure "ours_$name" "$runs" "SELECT sum(d.distance) FROM (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, state, 0, 0, success$fold_cost) AS rollouts
		FROM large) g CROSS JOIN LATERAL stepadv.graph_nodes(g.rollouts) d" "$one_process"
	row "\`rollout_agg\` + distances of \`graph_nodes\`, $label costs" "ours_$name"
	[ -n "$pgrouting" ] || return 0
	measure "theirs_$name" 3 "SELECT sum(agg_cost) FROM pgr_drivingDistance('SELECT id, source, target, $edge_cost AS cost FROM reversed', -1, 1e9, true)" "$one_process"
	require_equal "${results[ours_$name]}" "${results[theirs_$name]}" "distances, $label costs"
	row "\`pgr_drivingDistance\` over the reversed edges, $label costs" "theirs_$name" \
		"$(ratio "theirs_$name" "ours_$name") x ours $(verdict "$(ratio "theirs_$name" "ours_$name")" '>=' 4)"
}
heading "**One large group**, $(query 'SELECT count(*) FROM large') steps over $n_states states, the distance of every state to the goal${pgrouting:+; pgRouting $pgrouting gets a table of edges}:"
distances_row unit unit '' '1::float8'
distances_row unequal unequal ', NULL, NULL, NULL, cost' cost
if [ -z "$pgrouting" ]; then
	echo "   pgRouting's rows are left out: PGROUTING=1 BENCH=graph make bench installs it (Debian: postgresql-NN-pgrouting)"
	say 'pgRouting was not measured: `PGROUTING=1 BENCH=graph make bench` installs it.'
fi
query 'DROP TABLE large, reversed' >/dev/null

# ---------- (c) many groups
measure scan "$runs" 'SELECT count(*), sum(reward) FROM steps' "$one_process"
measure fold 3 "SELECT count(g.rollouts) FROM $(folded steps)" "$one_process"
measure rtmc 3 "$(over rtmc steps)" "$one_process"
measure graphgpo 3 "$(over graphgpo steps)" "$one_process"
for estimator in gigpo hgpo tempo; do
	measure $estimator 2 "$(over $estimator steps)" "$one_process"
done
heading "**Many groups**, $n_steps steps in $groups groups:"
row 'bare scan' scan
row '`rollout_agg` alone' fold
row '`rollout_agg` + `rtmc`' rtmc
row '`rollout_agg` + `graphgpo`' graphgpo "$(ratio graphgpo rtmc) x \`rtmc\` $(verdict "$(ratio graphgpo rtmc)" '<=' 2)"
for estimator in gigpo hgpo tempo; do
	row "\`rollout_agg\` + \`$estimator\`" $estimator "$(ratio $estimator rtmc) x \`rtmc\`"
done

# ---------- (d) growth: tables of 1/500, 1/50, 1/5 and twice the groups
heading '**Growth** of `rollout_agg` + `graphgpo` with the table, groups of one size:'
least=
for share in 500 50 5 2x; do
	if [ $share = 2x ]; then
		from="SELECT * FROM steps UNION ALL SELECT step_id, group_id + $groups, rollout_id, step_no, state, action, reward, success FROM steps"
	else
		from="SELECT * FROM steps WHERE group_id <= $((groups / share > 0 ? groups / share : 1))"
	fi
	query "CREATE UNLOGGED TABLE growing AS $from" >/dev/null
	query 'VACUUM ANALYZE growing' >/dev/null
	n=$(query 'SELECT count(*) FROM growing')
	measure "growth_$share" $([ $share = 2x ] && echo 2 || echo "$runs") "$(over graphgpo growing)" "$one_process"
	[ -n "$least" ] || least=$n
	growth=
	if [ $share = 2x ]; then
		growth=$(exponent growth_500 "$least" growth_2x "$n")
		growth=", from $least steps on grows with power $growth $(verdict "$growth" '<=' 1.1)"
	fi
	row "$n steps" "growth_$share" "$(each "growth_$share" "$n") ns a step$growth"
	query 'DROP TABLE growing' >/dev/null
done
