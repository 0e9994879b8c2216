#!/usr/bin/env bash
# make learn: do agents learn faster?  Learning curves of softmax policies on small problems, with
# the advantages of the SQL functions, on a server of its own.  Writes docs/results/learning.md.
#
#	LEARN='--updates 100 --seeds 12 --problems exits lake' make learn	other runs, which are printed

here=$(cd "$(dirname "$0")" && pwd)
sh "$here/../harness/deps.sh" build
. "$here/../harness/cluster.sh"

# A Python with psycopg: the distribution's, if the first in the path has none.
python=python3
"$python" -c 'import psycopg' 2>/dev/null || python=/usr/bin/python3

prepare learn
start_cluster 'shared_buffers = 128MB' 'autovacuum = off' 'synchronous_commit = off'
psql -qX -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION stepadv' || exit 2
cd "$here" || exit 2
# shellcheck disable=SC2086
PYTHONDONTWRITEBYTECODE=1 "$python" learn.py ${LEARN:-} >"$work/learn.json" || exit 2
if [ -z "${LEARN:-}" ]; then
	out=$top/docs/results
else
	out=$work/results
	mkdir "$out"
	cp "$top/docs/results/learning.md" "$out"
fi
PYTHONDONTWRITEBYTECODE=1 "$python" report.py "$work/learn.json" "$out" || exit 2
[ -z "${LEARN:-}" ] || sed -n '/learn:begin/,/learn:end/p' "$out/learning.md"
