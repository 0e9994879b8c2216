# Signatures: hashes, signatures of calls, states, clusters.

say "$(machine_line) One process."

# Differences of times of a few milliseconds need more runs.
many_runs=$((runs * 4 + 1))

# ---------- long texts, against XXH3 from C over a buffer of the same bytes
compile signatures/xxh3
hash_query() { printf "WITH t AS MATERIALIZED (SELECT repeat('0123456789abcdef', %s) AS x) SELECT max(%s) FROM t, generate_series(1, %s) i" "$1" "$2" "$3"; }
heading '**Long texts**, less the minimum of a query that makes no call; C with the same compiler flags, the same text at the same alignment:'
long_rows()
{
	local size=$1 bytes=$2 calls=$3

	measure_program "xxh3_$size" xxh3 "$bytes" "$calls" "$many_runs"
	measure "calls_$size" "$many_runs" "$(hash_query $((bytes / 16)) i "$calls")" "$one_process"
	measure "hashes_$size" "$many_runs" "$(hash_query $((bytes / 16)) 'stepadv.signature_hash(x)' "$calls")" "$one_process"
	net "hash_$size" "hashes_$size" "calls_$size"
	[ "${results[xxh3_$size]}" = "${results[hashes_$size]}" ] ||
		{ echo "signature_hash differs from XXH3: ${results[hashes_$size]} and ${results[xxh3_$size]}" >&2; exit 2; }
	row "XXH3 in C, $calls times $size" "xxh3_$size" "$(gb_s "xxh3_$size" $((bytes * calls)))"
	row "\`signature_hash(text)\`, $calls times $size" "hash_$size" \
		"$(gb_s "hash_$size" $((bytes * calls))), $(quotient "hash_$size" "xxh3_$size") x XXH3 $(verdict "$(quotient "hash_$size" "xxh3_$size")" '<=' 1.3)"
}
long_rows '16 kB' 16384 $((groups * 5))
long_rows '1 MB' 1048576 $((groups / 10 > 1000 ? groups / 10 : 1000))

# ---------- short texts
n=$((groups * 25))
query "CREATE UNLOGGED TABLE short AS SELECT rpad('src/module' || i || '.py:' || i * 7919, 50, 'x') AS x FROM generate_series(1::bigint, $n) i" >/dev/null
query 'VACUUM ANALYZE short' >/dev/null
measure short_scan "$many_runs" 'SELECT count(x) FROM short' "$one_process"
measure short_ours "$many_runs" 'SELECT count(stepadv.signature_hash(x)) FROM short' "$one_process"
measure short_theirs "$many_runs" 'SELECT count(hashtextextended(x, 0)) FROM short' "$one_process"
net short_ours_net short_ours short_scan
net short_theirs_net short_theirs short_scan
heading "**Short texts**, $n of 50 bytes, less the minimum of the scan ($(each short_scan "$n") ns a row):"
row '`hashtextextended(text, 0)`' short_theirs_net "$(each short_theirs_net "$n") ns each"
row '`signature_hash(text)`' short_ours_net "$(each short_ours_net "$n") ns each, $(quotient short_ours_net short_theirs_net) x $(verdict "$(quotient short_ours_net short_theirs_net)" '<=' 1.5)"
query 'DROP TABLE short' >/dev/null

# ---------- shell commands
psql -qX -v ON_ERROR_STOP=1 -f "$here/signatures/commands.sql" >/dev/null || exit 2
n=$((groups * 10))
query "CREATE UNLOGGED TABLE calls AS
	SELECT i, jsonb_build_object('command', replace(k.command, '@', (i % 1000)::text)) AS args, i % 5 <> 0 AS ok
	FROM generate_series(1, $n) i JOIN command_kinds k ON k.kind = 1 + i % (SELECT count(*) FROM command_kinds)" >/dev/null
query 'VACUUM ANALYZE calls' >/dev/null
measure action "$runs" "SELECT count(stepadv.action_signature('bash', args, ok)) FROM calls" "$one_process"
measure action_xxh3 "$runs" "SELECT count(stepadv.action_signature('bash', args, ok, content_hash => 'xxh3')) FROM calls" "$one_process"
measure category "$runs" "SELECT count(stepadv.action_category('bash', args)) FROM calls" "$one_process"
heading "**Shell commands**, $n of $(query 'SELECT count(*) FROM command_kinds') kinds, $(query "SELECT round(avg(length(args ->> 'command'))) FROM calls") characters on average, from a table of jsonb:"
row "\`action_signature('bash', args, ok)\`" action "$(per_second action "$n") a second $(verdict "$(per_second action "$n")" '>=' 500000)"
row "the same, content_hash => 'xxh3'" action_xxh3 "$(per_second action_xxh3 "$n") a second"
row "\`action_category('bash', args)\`" category "$(per_second category "$n") a second"

# ---------- states: one rollout that grows, each step's state
query "CREATE UNLOGGED TABLE acts AS SELECT i, stepadv.action_signature('bash', args, ok) AS signature FROM calls;
	INSERT INTO acts SELECT i + $n, signature FROM acts; INSERT INTO acts SELECT i + 2 * $n, signature FROM acts WHERE i <= $((n / 2))" >/dev/null
query 'CREATE INDEX ON acts (i)' >/dev/null
query 'VACUUM ANALYZE acts' >/dev/null
heading '**States**, `state_hash` over the steps before each step of one rollout:'
least=$((groups / 4))
for n in $least $((groups * 5 / 2)) $((groups * 25)); do
	measure "state_$n" 3 "SELECT count(h) FROM (SELECT stepadv.state_hash(signature) OVER (ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS h
		FROM acts WHERE i <= $n) x" "$one_process"
	growth=
	if [ "$n" = $((groups * 25)) ]; then
		growth=$(exponent "state_$least" "$least" "state_$n" "$n")
		growth=", from $least steps on grows with power $growth $(verdict "$growth" '<=' 1.1)"
	fi
	row "$n steps" "state_$n" "$(each "state_$n" "$n") ns a step$growth"
done
query 'DROP TABLE acts, calls, command_kinds' >/dev/null
