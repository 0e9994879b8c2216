#!/usr/bin/env bash
# Fuzzing of the signature kernels on this machine, without a server: clang's
# libFuzzer with the address and undefined-behaviour sanitizers.
#   FUZZ_SECONDS=20   per fuzzer (short by default)
#   FUZZ_RUNS=-1      or a number of runs
#   FUZZERS='shell call observation matcher'
#   MANY=1            without coverage: mutations by SEED of inputs that earlier runs found,
#                     several times as many; MANY=2 without the address sanitizer, again five
#                     to ten times as many: it detects reads beyond an input and writes beyond
#                     a chunk, and build/fuzz/fuzz_NAME FILE reports details
# Starts from the inputs in corpus/, and from those that earlier runs kept in build/fuzz
# because they reached new code.

set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
clang=${CLANG:-clang}
seconds=${FUZZ_SECONDS:-20}
runs=${FUZZ_RUNS:--1}
work=$top/build/fuzz

# Says what to install; installs nothing.
need()
{
	echo "stepadv: make fuzz needs $1; on Debian or Ubuntu run" >&2
	if [ "$(id -u)" = 0 ]; then sudo=; else sudo='sudo '; fi
	echo "    ${sudo}apt-get update && ${sudo}apt-get install -y clang libclang-rt-dev libxxhash-dev" >&2
	exit 1
}

links()
{
	echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return 0; }' |
		"$clang" -x c "$1" -o /dev/null - 2>/dev/null
}

command -v "$clang" >/dev/null || need "clang, but found no $clang (CLANG= names another)"
links -fsanitize=fuzzer || need "libFuzzer, which $clang does not find (package libclang-rt-dev)"
links -fsanitize=fuzzer,address,undefined || need "the address and undefined-behaviour sanitizers, which $clang does not find (package libclang-rt-dev)"
echo '#include <xxhash.h>' | "$clang" -E -x c - >/dev/null 2>&1 || need "xxhash.h (package libxxhash-dev)"

kernels="call call_arguments effects observation patch render sequence_matcher signature vocabulary \
	shell/blocks shell/command shell/command_build shell/command_file shell/command_git \
	shell/command_run shell/command_search shell/command_swe shell/command_view \
	shell/line_range shell/operands shell/outcome shell/pipeline shell/programs shell/script shell/shell \
	shell/shell_heredoc shell/shell_word shell/subcommands shell/variants"
case ${MANY:-} in '') sanitizers=fuzzer,address,undefined ;; 1) sanitizers=address,undefined ;; *) sanitizers='undefined -fsanitize-trap=undefined' ;; esac
mkdir -p "$work/objects"

# The common objects of all targets are compiled once.
compile()
{
	"$clang" -std=gnu11 -g -O2 -Wall -Werror -fno-omit-frame-pointer \
		-fsanitize=$sanitizers -fno-sanitize-recover=all \
		-I"$top/test/fuzz/host" -I"$top/test/fuzz" -I"$top/src" "$@"
}
objects=$work/objects/host.o
compile -c -o "$objects" "$top/test/fuzz/host/host.c"
for source in ${MANY:+host/many server/mutate}; do
	object=$work/objects/$(basename "$source").o
	compile -c -o "$object" "$top/test/fuzz/$source.c"
	objects="$objects $object"
done
for kernel in $kernels; do
	object=$work/objects/$(basename "$kernel").o
	compile -c -o "$object" "$top/src/signatures/$kernel.c"
	objects="$objects $object"
done

for fuzzer in ${FUZZERS:-shell call observation matcher}; do
	sources=$top/test/fuzz/fuzz_$fuzzer.c
	if [ -n "${MANY:-}" ]; then program=many_$fuzzer; else program=fuzz_$fuzzer; fi
	# Targets that make signatures check the grammar.
	case $fuzzer in shell|call) sources="$sources $top/test/fuzz/check.c" ;; esac
	compile -o "$work/$program" $sources $objects
	mkdir -p "$work/corpus_$fuzzer"
	dictionary=$top/test/fuzz/$fuzzer.dict
	echo "== $fuzzer: $seconds seconds"
	if [ -n "${MANY:-}" ]; then
		input=$work/many_$fuzzer.input
		runs_done=$(ASAN_OPTIONS=detect_leaks=0 "$work/$program" "$seconds" "${SEED:-1}" "$input" "$work/corpus_$fuzzer" "$top/test/fuzz/corpus/$fuzzer") ||
			{ head -c "$(od -An -t d4 -j 16384 "$input" | tr -d ' ')" "$input" >"$work/finding_$fuzzer"; echo "stepadv: $program found something, see $work/finding_$fuzzer" >&2; exit 1; }
		echo "$runs_done inputs"
		echo "$fuzzer ${SEED:-1} $runs_done $seconds" >>"$work/counts"
		continue
	fi
	# Leak detection is off: as in a server's memory context, allocations live until
	# a reset, here at the end of each run.
	"$work/$program" -max_total_time="$seconds" -runs="$runs" -max_len="${FUZZ_MAX_LEN:-4096}" -timeout=10 \
		-detect_leaks=0 -print_final_stats=1 -artifact_prefix="$work/finding_${fuzzer}_" \
		$([ ! -f "$dictionary" ] || echo "-dict=$dictionary") "$work/corpus_$fuzzer" $([ ! -d "$top/test/fuzz/corpus/$fuzzer" ] || echo "$top/test/fuzz/corpus/$fuzzer") 2>"$work/$fuzzer.log" ||
		{ tail -n 60 "$work/$fuzzer.log" >&2; echo "stepadv: fuzzer $fuzzer found something, see $work" >&2; exit 1; }
	runs_done=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$fuzzer.log")
	echo "$runs_done inputs"
	echo "$fuzzer - $runs_done $seconds" >>"$work/counts"
done
