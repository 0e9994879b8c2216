# Turns, values, ratios and rewards.

say "$(machine_line) One process."

# ---------- estimators along the rollout, all from the same fold
query "CREATE UNLOGGED TABLE turn_steps AS SELECT step_id, group_id, rollout_id, step_no, reward,
		(hashint8(step_id) & 255) / 256.0::float8 AS value, (hashint8(step_id + 1) & 3) / 4.0::float8 AS turn_reward
	FROM steps" >/dev/null
query 'VACUUM ANALYZE turn_steps' >/dev/null
fold='(SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, NULL, NULL, reward, NULL, NULL, value, turn_reward, NULL) AS rollouts FROM turn_steps GROUP BY group_id) g'
over() { printf 'SELECT sum(a.%s) FROM %s CROSS JOIN LATERAL stepadv.%s(g.rollouts) a' "$2" "$fold" "$1"; }
measure scan "$runs" 'SELECT count(*), sum(reward) FROM turn_steps' "$one_process"
measure returns 3 "$(over returns return)" "$one_process"
for estimator in gae mt_grpo mt_rloo; do
	measure $estimator 3 "$(over $estimator advantage)" "$one_process"
done
heading "**Along the rollout**, $n_steps steps with values and turn rewards, \`rollout_agg\` in its longest form:"
row 'bare scan' scan
row '`rollout_agg` + `returns`' returns
for estimator in gae mt_grpo mt_rloo; do
	# Two decimals: the goal is at most a quarter more.
	share=$(ratio $estimator returns 2)
	row "\`rollout_agg\` + \`$estimator\`" $estimator "$share x \`returns\`$([ $estimator = mt_rloo ] || echo " $(verdict "$share" '<=' 1.25)")"
done
query 'DROP TABLE turn_steps' >/dev/null

# ---------- token arrays: 1,000 tokens, stored in the row, against a loop in C
# Differences of times of a few milliseconds need more runs.
many_runs=$((runs * 4 + 1))
calls=$((groups > 2000 ? groups : 2000))
compile turns/step_ratio
measure_program loop step_ratio "$calls" "$many_runs"
measure_program loop_masked step_ratio "$calls" "$many_runs" masked
query "CREATE TABLE logp (new real[], old real[], mask boolean[]);
	ALTER TABLE logp ALTER new SET STORAGE PLAIN, ALTER old SET STORAGE PLAIN;
	INSERT INTO logp SELECT array_agg((-(i * 7919 % 1000) / 1000.0)::real ORDER BY i), array_agg((-(i * 104729 % 1009) / 1009.0)::real ORDER BY i)
	FROM generate_series(0, 999) i;
	CREATE TABLE masks (mask boolean[]); ALTER TABLE masks ALTER mask SET STORAGE PLAIN;
	INSERT INTO masks SELECT array_agg(i % 10 <> 0 ORDER BY i) FROM generate_series(0, 999) i" >/dev/null
calls_of() { printf 'SELECT max(%s) FROM logp, masks m, generate_series(1, %s)' "$1" "$calls"; }
measure calls "$many_runs" "SELECT max(i) FROM logp, masks m, generate_series(1, $calls) i" "$one_process"
measure ratio_all "$many_runs" "$(calls_of 'stepadv.step_ratio(new, old)')" "$one_process"
measure masked_all "$many_runs" "$(calls_of 'stepadv.step_ratio(new, old, m.mask)')" "$one_process"
measure kl_all "$many_runs" "$(calls_of 'stepadv.approximate_kl(new, old)')" "$one_process"
net ratio_net ratio_all calls
net masked_net masked_all calls
net kl_net kl_all calls
require_equal "${results[loop]}" "${results[ratio_all]}" 'step_ratio and its loop in C'
require_equal "${results[loop_masked]}" "${results[masked_all]}" 'masked step_ratio and its loop in C'
heading "**Token arrays**, $calls calls over two arrays of 1,000 real, less the minimum of a query that makes no call:"
ratio_row() { row "$1" "$2" "$(each "$2" "$calls") ns a call, $(quotient "$2" "$3") x the loop $(verdict "$(quotient "$2" "$3")" '<=' 3)"; }
row 'C: a loop that adds up `new[i] - old[i]` in a double' loop "$(each loop "$calls") ns"
ratio_row '`step_ratio(new, old)`' ratio_net loop
row 'C: the loop with `if (mask[i])`' loop_masked "$(each loop_masked "$calls") ns"
ratio_row '`step_ratio(new, old, mask)`' masked_net loop_masked
row '`approximate_kl(new, old)`' kl_net "$(each kl_net "$calls") ns a call"
query 'DROP TABLE logp, masks' >/dev/null

# ---------- rewards: growth of the time with the text.  Both sizes exceed the caches
# of a core and the largest block that malloc() takes from its heap (32 MB); with a
# smaller text these effects would look like growth.
query "CREATE UNLOGGED TABLE message (kb integer, messages text[], replies text[], final text[]);
	ALTER TABLE message ALTER messages SET STORAGE EXTERNAL, ALTER replies SET STORAGE EXTERNAL, ALTER final SET STORAGE EXTERNAL;
	INSERT INTO message SELECT kb, ARRAY['<reasoning>' || repeat('all work <and> no play ', kb * 1024 / 23) || '</reasoning><tool>x</tool>'],
		ARRAY['<result>' || repeat('<results Jack paris ', kb * 1024 / 20) || '</result>'],
		ARRAY['<answer>' || repeat('<answers Jack paris ', kb * 1024 / 20) || '</answer>']
	FROM unnest('{36864,147456}'::integer[]) kb" >/dev/null
heading '**Rewards**, one message, reply or answer of 144 MB, a `<` in every 20 characters, fetched from TOAST:'
reward_row()
{
	local label=$1 call=$2 growth

	measure "${label}_small" 3 "SELECT stepadv.$label($call) FROM message WHERE kb = 36864" "$one_process"
	measure "${label}_large" 3 "SELECT stepadv.$label($call) FROM message WHERE kb = 147456" "$one_process"
	growth=$(exponent "${label}_small" 36864 "${label}_large" 147456)
	row "\`$label\`" "${label}_large" "$(each "${label}_large" 147456) ns a kB, grows with power $growth from 36 MB $(verdict "$growth" '<=' 1.2)"
}
reward_row reward_tool_execution 'messages, replies'
reward_row reward_answer_in_results "messages, replies, '{not there}'"
reward_row reward_answer_present "final, '{not there}'"
reward_row reward_exact_match "final, '{not there}'"
reward_row reward_xml_format messages
reward_row reward_xml_tags messages
query 'DROP TABLE message' >/dev/null
