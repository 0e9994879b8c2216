# stepadv import of some 46,000 steps in generated files, with lengths as in InterCode and
# tau-bench, into the tables of create_tables; then again, when all rows exist.

import_rollouts=${IMPORT_ROLLOUTS:-6800}

psql -qX -v ON_ERROR_STOP=1 -v rollouts="$import_rollouts" >/dev/null <<-'SQL' || exit 2
	SET client_min_messages = warning;
	SELECT count(*) FROM stepadv.create_tables('import_bench');
	-- Words that compress like text: pieces of one long text.
	CREATE TABLE bench_text AS
	SELECT string_agg((ARRAY['select','name','from','table','where','error','the','user','42','of','flight','id','"', E'\n', 'and','reservation'])[(hashint8(i) & 15) + 1], ' ' ORDER BY i) AS words
	FROM generate_series(1, 20000) i;
	CREATE FUNCTION bench_words(seed bigint, length integer) RETURNS text LANGUAGE plpgsql STABLE AS $$
	BEGIN
		RETURN (SELECT substr(words, 1 + (hashint8(seed) & 65535), length) FROM bench_text);
	END
	$$;
	-- Eleven logs, 6.8 actions an episode: a query of 110 characters, an answer of 280.
	CREATE TABLE import_intercode AS
	SELECT f::bigint AS n, '/logs/ic_sql_model' || f || '.json' AS source, (
		SELECT jsonb_object_agg(e, jsonb_build_object('environment', 'ic_sql', 'task_id', e, 'query', bench_words(e, 90),
			'turn_history', (SELECT jsonb_build_object('actions', jsonb_agg(bench_words(f * 100000 + e * 100 + a, 110)), 'observations', jsonb_agg(bench_words(f * 200000 + e * 100 + a, 280)),
				'rewards', jsonb_agg((a % 3) / 2.0), 'valid_action', jsonb_agg(a % 4 <> 0)) FROM generate_series(1, 3 + (f * 7 + e * 3) % 8 + (e % 10 < 3)::integer) a),
			'summary', jsonb_build_object('max_reward', (e + f) % 2, 'turns_taken', 10, 'turns_max', 10)))
		FROM generate_series(1, :rollouts / 11) e)::text AS document
	FROM generate_series(1, 11) f;
	-- Conversations of 12 turns, every other one with a call and its result.
	CREATE TABLE import_chat AS
	SELECT f::bigint AS n, '/results/model' || f || '.json' AS source, (
		SELECT jsonb_agg(jsonb_build_object('task_id', t, 'trial', f, 'reward', (t + f) % 2, 'traj', jsonb_build_array(jsonb_build_object('role', 'system', 'content', bench_words(f, 6000))) || (
			SELECT jsonb_agg(m ORDER BY a, k) FROM generate_series(1, 12) a, LATERAL (VALUES
				(1, jsonb_build_object('role', 'user', 'content', bench_words(f * 100000 + t * 100 + a, 120)), a % 2 = 1),
				(2, jsonb_build_object('role', 'assistant', 'content', bench_words(f * 300000 + t * 100 + a, 250)), a % 2 = 1),
				(3, jsonb_build_object('role', 'assistant', 'content', NULL, 'tool_calls', jsonb_build_array(jsonb_build_object('id', 'call_' || a, 'type', 'function',
					'function', jsonb_build_object('name', 'get_details', 'arguments', jsonb_build_object('id', bench_words(t * 100 + a, 40))::text)))), a % 2 = 0),
				(4, jsonb_build_object('role', 'tool', 'tool_call_id', 'call_' || a, 'content', bench_words(f * 400000 + t * 100 + a, 400)), a % 2 = 0)) v(k, m, wanted) WHERE wanted)))
		FROM generate_series(1, :rollouts * 9 / 16 / 64) t)::text AS document
	FROM generate_series(1, 64) f;
	CREATE TABLE import_verl AS
	SELECT n::bigint, '/dump/20.jsonl'::text AS source, jsonb_build_object('input', bench_words(n / 8, 600), 'output', bench_words(n, 900), 'score', n % 2, 'step', 20, 'gts', '42')::text AS document
	FROM generate_series(1, :rollouts * 46 / 68 * 10) n;
	VACUUM ANALYZE import_intercode, import_chat, import_verl;
	-- The floor: the same rows into the same tables, without reading, comparing or
	-- hashing.  (As in the importer, the check of the foreign key has a generic plan.)
	SELECT count(*) FROM stepadv.create_tables('import_floor');
	CREATE FUNCTION import_floor() RETURNS text LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
	BEGIN
		TRUNCATE import_floor.rollouts CASCADE;
		INSERT INTO import_floor.rollouts SELECT * FROM import_bench.rollouts;
		INSERT INTO import_floor.steps SELECT * FROM import_bench.steps;
		RETURN (SELECT count(*) FROM import_floor.steps);
	END
	$$;
SQL

quiet="$one_process SET client_min_messages = warning;"
heading "**\`stepadv import\`**, foreign key and five indexes of the canonical tables included. The goal is at most 40 µs a step of every format; the floor is an \`INSERT … SELECT\` of the rows that came of it into the same tables:"
# Microseconds per step, and whether they meet the goal.
a_step()
{
	local each
	each=$(each "$1" "$2" | awk '{ printf "%.0f", $1 / 1000 }')
	echo "$each µs a step $(verdict "$each" '<=' 40)"
}

# Times the import, without the statement that makes room for it.
measure_files()
{
	local name=$1 make_room=$2 run begun
	shift 2

	for run in 1 2 3; do
		query "SET client_min_messages = warning; $make_room" >/dev/null
		begun=$(date +%s%N)
		"$top/client/bin/stepadv" import -s import_bench "$@" >"$work/import/out" || exit 2
		echo $((($(date +%s%N) - begun) / 1000)) | awk '{ print $1 / 1000 }'
	done >"$work/import/times"
	store "$name" "$(min_median <"$work/import/times")"
}

mkdir -p "$work/import/logs"
for n in $(seq 11); do
	query "SELECT document FROM import_intercode WHERE n = $n" >"$work/import/logs/ic_sql_model$n.json"
done
query 'SELECT document FROM import_chat ORDER BY n' >"$work/import/chat.jsonl"
query 'SELECT document FROM import_verl ORDER BY n' >"$work/import/verl.jsonl"
empty='TRUNCATE import_bench.rollouts CASCADE'
for format in intercode chat verl; do
	files=$work/import/$([ $format = intercode ] && echo logs || echo $format.jsonl)
	measure_files import_$format "$empty" "$files"
	added=$(awk '$1 == "added:" { print $4 }' "$work/import/out")
	row "\`$format\`, $added steps" import_$format "$(a_step import_$format "$added")"
	measure import_floor 3 "SELECT import_floor()" "$quiet"
	row '- the floor' import_floor "$(each import_floor "$added" | awk '{ printf "%.0f µs a step", $1 / 1000 }'); the import takes $(ratio import_$format import_floor) x as long"
	# All rows exist now.
	measure_files import_again 'SELECT 1' "$files"
	row '- the same once more' import_again "$(ratio import_$format import_again) x faster"
done
measure_files import_files_2 "$empty" -J 2 "$work/import/logs"
row '\`-J 2\`: the files of \`intercode\`, two at once' import_files_2 "$(ratio import_intercode import_files_2) x faster than one after the other"
query 'SET client_min_messages = warning; DROP SCHEMA import_bench, import_floor CASCADE; DROP TABLE bench_text, import_intercode, import_chat, import_verl;
	DROP FUNCTION import_floor(); DROP FUNCTION bench_words(bigint, integer)' >/dev/null
rm -rf "$work/import"
