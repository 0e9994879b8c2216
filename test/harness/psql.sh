#!/bin/sh
# What pg_regress runs instead of psql: psql without an echo of its input.  Files of expected/ have
# the results, and the comments that say what a result must show; the statements are in test/sql.
# All statements with their results are in results/TEST.log, for who looks at a failure.
#
# A comment is a line that begins with "-- ", and becomes \echo; every other line stays, and with it
# its number.
set -eu
psql=$1
shift
for option; do
	shift
	[ "$option" = -a ] || set -- "$@" "$option"
done
sed "/^-- /{s/\\\\/&&/g;s/'/''/g;s/.*/\\\\echo '&'/;}" |
	"$psql" "$@" -P footer=off ${PGAPPNAME:+-L "results/${PGAPPNAME#*/}.log"}
