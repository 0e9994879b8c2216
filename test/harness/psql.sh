#!/usr/bin/env bash
# pg_regress runs this instead of psql.  Files of expected/ have results and comments, but no statements, footers or empty lines; a table of one row
# and column is a line, " name: value".  Statements with their results are in results/TEST.log.
#
# A comment is a line that begins with "-- ", and becomes \echo; line numbers do not change.
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
