#!/usr/bin/env bash
# What pg_regress runs instead of psql: psql without an echo of its input, footers and empty lines.
# Files of expected/ have the results, and the comments that say what a result must show; the
# statements are in test/sql.
# All statements with their results are in results/TEST.log, for who looks at a failure.
#
# A comment is a line that begins with "-- ", and becomes \echo; every other line stays, and with it
# its number.
set -euo pipefail
psql=$1
shift
for option; do
	shift
	[ "$option" = -a ] || set -- "$@" "$option"
done
sed "/^-- /{s/\\\\/&&/g;s/'/''/g;s/.*/\\\\echo '&'/;}" |
	"$psql" "$@" -P footer=off ${PGAPPNAME:+-L "results/${PGAPPNAME#*/}.log"} 2>&1 |
	sed '/^$/d'
