# A trainer's loop: a batch in by COPY, the advantages of four methods back, by one client.
# loop/trainer.c, the client, measures round trips; the other rows are single statements.

rounds=$((runs * 20))
methods='grpo gigpo graphgpo rtmc'
client_settings='-c jit=off -c max_parallel_workers_per_gather=0'

compile loop/trainer -I"$("$pg_config" --includedir)" -L"$("$pg_config" --libdir)" -lpq
say "$(machine_line) The tables are logged, fsync is off."

# ---------- the batch, with and without the tokens' log-probabilities
query "SET jit = off; CREATE TABLE batch_plain AS
	SELECT (rollout_id << 20) + step_no AS step_id, group_id, rollout_id, step_no, state_hash AS state, action_hash AS action, reward, success
	FROM sim.simulate(16, 8, seed => 7, horizon => 50) ORDER BY group_id, rollout_id, step_no;
	CREATE TABLE batch_tokens AS SELECT b.*, t.* FROM batch_plain b CROSS JOIN LATERAL (
		SELECT array_agg((-(i * 7919 + step_id % 1000) % 1000 / 1000.0)::real ORDER BY i) AS rollout_logprobs,
			array_agg((-(i * 104729 + step_id % 1009) % 1009 / 1009.0)::real ORDER BY i) AS policy_logprobs
		FROM generate_series(1, 64) i) t ORDER BY group_id, rollout_id, step_no" >/dev/null
batch_steps=$(query 'SELECT count(*) FROM batch_plain')
for batch in plain tokens; do
	query "COPY batch_$batch TO STDOUT (FORMAT binary)" >"$work/batch_$batch"
	query "CREATE TABLE steps_$batch (LIKE batch_$batch, PRIMARY KEY (group_id, rollout_id, step_no));
		SELECT count(*) FROM stepadv.attach('steps_$batch', '{group_id}', 'rollout_id', 'step_no', 'state', 'action', 'reward', columns => '{\"step_id\": \"step_id\", \"success\": \"success\"}', views => '{all}', options => '{\"compare\": {\"methods\": \"${methods// /,}\"}}')" >/dev/null
done

# Names for the result columns of several functions: rtmc_step_id …
columns_of()
{
	query "SELECT string_agg(p.proname || '_' || a.name, ', ' ORDER BY m.i, a.i)
		FROM unnest(string_to_array('$*', ' ')) WITH ORDINALITY m(method, i)
		JOIN pg_proc p ON p.proname = m.method AND p.pronamespace = 'stepadv'::regnamespace AND p.proargtypes[0] = 'stepadv.rollout_group'::regtype
		CROSS JOIN LATERAL unnest(p.proargnames, p.proargmodes) WITH ORDINALITY a(name, mode, i) WHERE a.mode = 't'"
}
# The query by hand: a fold and the functions over it.
by_hand()
{
	local calls= asked= method

	for method in $methods; do
		calls="$calls${calls:+, }stepadv.$method(g.rollouts)"
		asked="$asked, ${method}_advantage"
	done
	printf 'SELECT %s_step_id%s FROM (SELECT stepadv.rollout_agg(step_id, rollout_id, step_no, state, action, reward, success) AS rollouts
		FROM steps_plain WHERE group_id = ANY (%s) GROUP BY group_id) g CROSS JOIN LATERAL ROWS FROM (%s) f(%s)' \
		"${methods%% *}" "$asked" "$1" "$calls" "$(columns_of $methods)"
}
by_view() { printf 'SELECT step_id, %s%s FROM steps_%s_compare WHERE group_id = ANY (%s)' "${methods// /, }" "$3" "$1" "$2"; }
ratio=', stepadv.step_ratio(policy_logprobs, rollout_logprobs) AS ratio'
kl=', stepadv.approximate_kl(policy_logprobs, rollout_logprobs) AS kl'

# The planner's statistics are those of the first batch, since a loop always asks for newer rows.
# Stores NAME, NAME_copy, NAME_query and NAME_client, of all rounds; NAME_early and NAME_late, of the first and last
# tenth; NAME_running, the processor time; and NAME_waiting, the time in which other processes had the processors.
trainer()
{
	local name=$1 batch=$2 sql=$3 times=$work/trainer.times

	query "TRUNCATE steps_$batch" >/dev/null
	for part in "0 1" "1 $rounds"; do
		PGOPTIONS=$client_settings "$tree/trainer" "$work/batch_$batch" $part "steps_$batch" "$sql" >"$work/trainer.out" || exit 2
		query "VACUUM ANALYZE steps_$batch" >/dev/null
	done
	results[$name]=$(sed -n 1p "$work/trainer.out")
	sed 1d "$work/trainer.out" | awk '{ print $1 + $2 + $3, $0 }' >"$times"
	store "$name" "$(cut -d' ' -f1 "$times" | min_median)"
	store "${name}_early" "$(head -n $((rounds / 10)) "$times" | cut -d' ' -f1 | min_median)"
	store "${name}_late" "$(tail -n $((rounds / 10)) "$times" | cut -d' ' -f1 | min_median)"
	store "${name}_copy" "$(cut -d' ' -f2 "$times" | min_median)"
	store "${name}_query" "$(cut -d' ' -f3 "$times" | min_median)"
	store "${name}_client" "$(cut -d' ' -f4 "$times" | min_median)"
	store "${name}_running" "$(cut -d' ' -f5 "$times" | min_median)"
	store "${name}_waiting" "$(cut -d' ' -f6 "$times" | min_median)"
}
round_row() { row "$1" "$2" "${3:+$(verdict "${times_median[$2]}" '<=' "$3"); }the last $((rounds / 10)) rounds: $(ratio "$2_late" "$2_early") x the first"; }
parts_rows()
{
	row '- `COPY … FROM STDIN (FORMAT binary)`' "$1_copy"
	row '- the query, until its last row has arrived' "$1_query"
	row '- the client adds the numbers up' "$1_client"
	row '- processor time of server and client' "$1_running"
	row '- time they waited for a processor that other processes had' "$1_waiting"
}
# A batch in the middle of the table, for single statements.
some="'{$(seq -s, $((rounds / 2 * 16 + 1)) $((rounds / 2 * 16 + 16)))}'::bigint[]"
summed() { printf 'SELECT %s FROM (%s) q' "$1" "$2"; }
# The table has no key, so the same rows can be copied many times.
copy_alone()
{
	query "CREATE TABLE copied (LIKE batch_$2)" >/dev/null
	measure "$1" "$rounds" "COPY copied FROM '$work/batch_$2' (FORMAT binary)"
	query 'DROP TABLE copied' >/dev/null
}

# ---------- without tokens
trainer plain plain "$(by_hand '$1')"
trainer view plain "$(by_view plain '$1' '')"
require_equal "${results[plain]}" "${results[view]}" 'functions and view'
heading "**A round trip**, $batch_steps steps of 16 groups x 8 rollouts, each step with advantages by $(sed 's/ /`, `/g' <<<"\`$methods\`"), $rounds rounds into a growing table with a primary key on group, rollout and step; GraphGPO's paper reports 133 ms for its own advantages of such a batch:"
round_row 'batch in, advantages out, through the attached view `_compare`' view 20
parts_rows view
round_row 'the same, `rollout_agg` and four functions by hand' plain

measure read "$rounds" "SELECT sum(reward) FROM steps_plain WHERE group_id = ANY ($some)" "$one_process"
measure folded "$rounds" "SELECT count(rollouts) FROM steps_plain_values WHERE group_id = ANY ($some)" "$one_process"
for method in $methods; do
	measure "$method" "$rounds" "SELECT sum(advantage) FROM steps_plain_$method WHERE group_id = ANY ($some)" "$one_process"
done
measure four "$rounds" "$(summed "sum(step_id), sum(${methods// /), sum(})" "$(by_view plain "$some" '')")" "$one_process"
copy_alone copy_bare plain
heading '**Each part separately**, in the server, for the rows of one batch:'
row '`COPY` from a file, no index' copy_bare "$(each copy_bare "$batch_steps") ns a step; from a client into the table with its key (above): $(ratio view_copy copy_bare) x"
row 'finding and reading the rows (`sum(reward)`)' read
row 'and folding them (`_values`)' folded
for method in $methods; do row "and \`$method\`" "$method"; done
row 'all four in one query, summed up' four
row 'the same query with its rows sent (above)' view_query "$(ratio view_query four) x"

# ---------- with tokens
trainer tokens tokens "$(by_view tokens '$1' "$ratio")"
trainer tokens_kl tokens "$(by_view tokens '$1' "$ratio$kl")"
measure tokens_four "$rounds" "$(summed "sum(step_id), sum(${methods// /), sum(})" "$(by_view tokens "$some" '')")" "$one_process"
measure tokens_ratio "$rounds" "$(summed "sum(rtmc), sum(ratio)" "$(by_view tokens "$some" "$ratio")")" "$one_process"
copy_alone copy_tokens tokens
heading '**With two arrays of 64 `real`** in every step, log-probabilities of its tokens under the policy that acted and the one that is trained, from which `step_ratio` is computed:'
round_row 'batch in, advantages and ratio out' tokens 60
parts_rows tokens
round_row 'the same with `approximate_kl`' tokens_kl
row '`COPY` by itself, from a file, no index' copy_tokens "$(ratio copy_tokens copy_bare) x without arrays"
row 'four methods by themselves, summed up' tokens_four
row 'with the ratio' tokens_ratio
query 'SET client_min_messages = warning; DROP TABLE steps_plain, steps_tokens, batch_plain, batch_tokens CASCADE' >/dev/null

# ---------- the client's module and the tables of create_tables
if ! /usr/bin/python3 -c 'import psycopg' 2>/dev/null; then
	echo '   rows of the Python client are left out: no python3-psycopg'
	return
fi
heading "**The Python client** over the tables of \`create_tables\`, \`insert\` and \`advantages\` of the same methods, a batch of as many steps with observations and actions as texts; psycopg $(/usr/bin/python3 -c 'import psycopg; print(psycopg.__version__, psycopg.pq.__impl__)'):"
for tokens in 0 64; do
	query "SELECT count(*) FROM stepadv.create_tables('rl')" >/dev/null
	PGOPTIONS=$client_settings PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/loop/client.py" "$top/client" "$rounds" "$tokens" $methods >"$work/client.out" || exit 2
	sed 1d "$work/client.out" | awk '{ print $1 + $2, $0 }' >"$work/client.times"
	for part in all:1 insert:2 advantages:3 server:4 client:5; do
		store "client${tokens}_${part%:*}" "$(cut -d' ' -f"${part#*:}" "$work/client.times" | min_median)"
	done
	row "$([ "$tokens" = 0 ] && echo 'rollouts and steps in, advantages out' || echo "with two arrays of $tokens \`real\` in every step")" "client${tokens}_all" "$(verdict "${times_median[client${tokens}_all]}" '<=' "$([ "$tokens" = 0 ] && echo 60 || echo 150)"); $(printf 'processor time: server %.0f ms, client %.0f' "${times_median[client${tokens}_server]}" "${times_median[client${tokens}_client]}")"
	row '- `insert`' "client${tokens}_insert"
	row '- `advantages`' "client${tokens}_advantages"
	query 'SET client_min_messages = warning; DROP SCHEMA rl CASCADE' >/dev/null
done
