#!/usr/bin/env bash
# Random inputs, for a given time: make fuzz FUZZ=5min, 2h, 600.
#   FUZZ=4min         for all targets together
#   SEED=1            for targets in a server; kernels continue from inputs that they found
#   MANY=1            more inputs for kernels, without coverage (host.sh)
#   FUZZERS='shell call observation matcher types calls hostile queries upkeep'
# The first four are kernels that need no server (host.sh), the others run in one
# (server.sh).  Each adds a line to build/fuzz/counts: target, seed, inputs, seconds.
# A finding is printed and stops the run; it becomes a test.

set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
all='shell call observation matcher types calls hostile queries upkeep'
fuzzers=${FUZZERS:-$all}
for f in $fuzzers; do
	case " $all " in *" $f "*) ;; *) echo "stepadv: FUZZERS has $f; it takes: $all" >&2; exit 1 ;; esac
done

in_seconds()
{
	case $1 in
		*[0-9]h) echo $((${1%h} * 3600)) ;;
		*[0-9]min) echo $((${1%min} * 60)) ;;
		*[0-9]s) echo "${1%s}" ;;
		*[!0-9]*|'') echo "stepadv: FUZZ is $1, but must be a time such as 90s, 5min or 2h" >&2; exit 1 ;;
		*) echo "$1" ;;
	esac
}

# FUZZ_SECONDS is the time of each target.
total=$(in_seconds "${FUZZ:-4min}")
each=${FUZZ_SECONDS:-$((total / $(echo "$fuzzers" | wc -w)))}
export FUZZ_SECONDS=$((each > 0 ? each : 1)) SEED=${SEED:-1}

pick() { for f in $fuzzers; do case " $1 " in *" $f "*) printf '%s ' "$f" ;; esac; done; }

mkdir -p "$top/build/fuzz"
of_host=$(pick 'shell call observation matcher')
of_server=$(pick 'types calls hostile queries upkeep')
if [ -n "$of_host" ] && ! command -v "${CLANG:-clang}" >/dev/null; then
	echo "skipped: $of_host(clang is missing: packages clang, libclang-rt-dev, libxxhash-dev)"
	of_host=
fi
[ -z "$of_host" ] || FUZZERS=$of_host bash "$here/host.sh"
[ -z "$of_server" ] || FUZZERS=$of_server bash "$here/server.sh"
echo "no findings; all runs so far: $(awk '{n += $3} END {printf "%.0f inputs in %d runs", n, NR}' "$top/build/fuzz/counts")"
