# Methods side by side: the cost of _compare with six methods, relative to the most
# expensive of them, and of _quadrants and _disagreements.

six='grpo gigpo graphgpo hgpo tempo rtmc'
query "SELECT count(*) FROM stepadv.attach('steps', '{group_id}', 'rollout_id', 'step_no', 'state', 'action', 'reward', columns => '{\"step_id\": \"step_id\"}', views => '{all}', prefix => 'cmp', options => '{\"show_columns\": [], \"compare\": {\"methods\": \"${six// /,}\"}}')" >/dev/null

say "$(machine_line)"

dearest=grpo
for method in $six; do
	measure "$method" "$runs" "SELECT sum(advantage) FROM cmp_$method" "$one_process"
	[ "$(faster "$dearest" "$method")" = "$method" ] || dearest=$method
done
sums=
for method in $six; do sums="$sums${sums:+, }sum($method)"; done
measure all_six "$runs" "SELECT $sums FROM cmp_compare" "$one_process"
place=0
for method in $six; do
	place=$((place + 1))
	require_equal "${results[$method]}" "$(cut -d'|' -f$place <<<"${results[all_six]}")" "$method, alone and beside others"
done

# The cost of returning the rows of six more functions: seven calls of outcomes, which
# computes almost nothing, less one call.
handed()
{
	local i calls= columns= sums=

	for ((i = 1; i <= $1; i++)); do
		calls="$calls${calls:+, }stepadv.outcomes(g.rollouts)"
		columns="$columns${columns:+, }s$i, r$i, n$i, a$i, b$i"
		sums="$sums${sums:+, }sum(b$i)"
	done
	printf 'SELECT %s FROM (SELECT group_id, stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward) AS rollouts FROM steps GROUP BY group_id) g CROSS JOIN LATERAL ROWS FROM (%s) f(%s)' \
		"$sums" "$calls" "$columns"
}
measure one_handed "$runs" "$(handed 1)" "$one_process"
measure seven_handed "$runs" "$(handed 7)" "$one_process"
net output seven_handed one_handed

measure quadrants "$runs" "SELECT count(*), sum(n_steps) FROM cmp_quadrants" "$one_process"
measure quadrants_pair "$runs" "SELECT sum(n_steps) FROM cmp_quadrants WHERE method_a = 'grpo' AND method_b = 'rtmc'" "$one_process"
require_equal "${results[quadrants_pair]}" "$n_steps" 'steps in the quadrants'
measure disagreements "$runs" "SELECT max(abs(difference)) FROM cmp_disagreements WHERE method_a = 'grpo' AND method_b = 'rtmc'" "$one_process"

heading '**Methods side by side**, every step of the table, one process, work_mem 1 GB, jit off:'
for method in $six; do row "\`_$method\` alone" "$method" "$([ "$method" != "$dearest" ] || echo 'the dearest')"; done
limit=$(awk -v d="${times_median[$dearest]}" -v o="${times_median[output]}" 'BEGIN { printf "%.1f", 2 + o / d }')
row '`_compare`: all six, one fold' all_six "$(ratio all_six "$dearest") x the dearest $(verdict "$(ratio all_six "$dearest")" '<=' "$limit"): twice that, and the output"
row 'the output: rows of seven functions that compute nothing, less those of one' output
row '`_quadrants`: all 15 pairs in all groups' quadrants "$(ratio quadrants all_six) x \`_compare\`"
row '`_quadrants` of one pair' quadrants_pair
row '`_disagreements` of one pair' disagreements
query "SELECT stepadv.detach('steps', 'cmp')" >/dev/null
