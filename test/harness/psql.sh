#!/usr/bin/env bash
# What pg_regress runs instead of psql.  Files of expected/ have the results, and the comments that say what a result
# must show: no statements, footers or empty lines, and a table of one row and column is a line, " name: value".
# The statements are in test/sql.  All of them with their results are in results/TEST.log, for who looks at a failure.
#
# A comment is a line that begins with "-- ", and becomes \echo; every other line stays, and with it its number.
set -euo pipefail
psql=$1
shift
for option; do
	shift
	[ "$option" = -a ] || set -- "$@" "$option"
done
sed "/^-- /{s/\\\\/&&/g;s/'/''/g;s/.*/\\\\echo '&'/;}" |
	"$psql" "$@" -P footer=off ${PGAPPNAME:+-L "results/${PGAPPNAME#*/}.log"} 2>&1 |
	awk '
		function trim(text) { gsub(/^ +| +$/, "", text); return text }
		# Every table ends with an empty line.
		function give(i) {
			if (n > 2 && line[n - 1] ~ /^-+$/ && line[n - 2] ~ /^ / && line[n] ~ /^ /) {
				line[n - 2] = " " trim(trim(line[n - 2]) ": " trim(line[n]))
				n -= 2
			}
			for (i = 1; i <= n; i++)
				print line[i]
			n = 0
		}
		/^$/ { give(); next }
		{ line[++n] = $0 }
		END { give() }'
