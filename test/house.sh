#!/bin/sh
# Prints sizes of the source, one per line: name, tab, number.  test/t/house.pl adds numbers that need a
# server, and compares all of them with their limits.  Run in the source folder.
set -eu
LC_ALL=C
export LC_ALL

say() { printf '%s\t%s\n' "$1" "$2"; }

parts=$(sed 's|^|sql/|' sql/order)
say 'lines of C in src' "$(find src -name '*.[ch]' -exec cat {} + | wc -l)"
say 'bytes of SQL' "$(cat $parts | wc -c)"
say 'lines of SQL over 120 characters' "$(cat $parts | LC_ALL=C.UTF-8 awk '{ gsub(/\t/, "    ") } length > 120 { n++ } END { print n + 0 }')"
say 'references to later parts' "$(awk -f sql/check_order.awk $parts | wc -l)"
later='BEGIN { n = split("group plan signatures estimators analysis policy rewards progress tokens digest attach upkeep", names); for (i = 1; i <= n; i++) rank[names[i]] = i }
	/^#include "[a-z]+\// { split(FILENAME, at, "/"); split($2, to, /["\/]/); if (rank[to[2]] > rank[at[2]]) print FILENAME, $2 }'
say 'includes of later folders' "$(find src -name '*.[ch]' ! -name stepadv.c -exec awk "$later" {} + | wc -l)"
say 'lines of tests and expected output' "$(find test expected -type f ! -name '*.o' -exec cat {} + | wc -l)"
python() { find client -name '*.py' ! -path '*/report/*' ! -path '*/node_modules/*' -exec cat {} +; }
say 'lines of Python in the client' "$(python | wc -l)"
say 'lines of Python over 119 characters' "$(python | LC_ALL=C.UTF-8 grep -cE '^.{120}')"
say 'words of docs' "$(cat README.md $(find docs -name '*.md' ! -path 'docs/reference/*' ! -path 'docs/results/*') | wc -w)"
