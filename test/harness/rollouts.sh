# Loads rollouts into the schema rl of a server of its own.  Sourced by demo.sh and report.sh, with the name of their output folder; needs bash.
# ROLLOUTS: a file that stepadv import reads (docs/import.md); by default the simulator makes them.

harness=$(dirname "${BASH_SOURCE[0]}")
rollouts=${ROLLOUTS:-}
if [ -n "$rollouts" ]; then
	[ -f "$rollouts" ] && [ -r "$rollouts" ] || { echo "stepadv $1: cannot read $rollouts" >&2; exit 2; }
	rollouts=$(cd "$(dirname "$rollouts")" && pwd)/$(basename "$rollouts")
fi
sh "$harness/deps.sh" demo
. "$harness/cluster.sh"
# demo and report share one build.
prepare plain
start_cluster "max_wal_size = 4GB" "shared_buffers = 256MB"
export PGOPTIONS='-c client_min_messages=warning -c jit=off' PSQLRC=/dev/null
sql() { psql -X -q -v ON_ERROR_STOP=1 "$@"; }
as_client() { PGOPTIONS= /usr/bin/python3 "$top/client/bin/stepadv" "$@"; }
out=$top/build/$1
mkdir -p "$out"

sql -c 'CREATE EXTENSION stepadv'
if [ -n "$rollouts" ]; then
	printf '\nRollouts from %s\n\n' "$rollouts"
	# A broken rollout is reported and left out.
	"$top/client/bin/stepadv" import -k -s rl "$rollouts" || [ "$(sql -At -c "SELECT to_regclass('rl.steps') IS NOT NULL AND EXISTS (SELECT FROM rl.steps)")" = t ] || exit 2
else
	printf '\nRollouts from the simulator: rooms with keys and doors, 40 tasks of 8 rollouts\n\n'
	sql -f "$top/test/sim/simulator.sql"
	sql -o /dev/null <<-'SQL'
		SELECT * FROM stepadv.create_tables('rl', views => '{all}');
		CREATE TEMP TABLE s AS
		SELECT 'rooms ' || group_id AS g, 'rollout ' || rollout_id AS r, s.* FROM sim.simulate(40, 8, 2026, max_steps => 40) s;
		INSERT INTO rl.rollouts (task_id, rollout_id, model, outcome, success, truncated)
		SELECT g, r, 'simulated policy', max(reward), bool_or(success), bool_or(truncated) FROM s GROUP BY g, r;
		INSERT INTO rl.steps (task_id, rollout_id, step_no, observation, action, state, action_hash, next_state, reward)
		SELECT g, r, step_no, state, action, state_hash, action_hash, next_state_hash, reward FROM s ORDER BY rollout_id, step_no;
	SQL
fi
sql -c 'ANALYZE rl.rollouts, rl.steps'
