# Shell functions for parallel jobs, each in its own process group.  Sourced by check.sh after cluster.sh; needs bash.
#
#   add_job NAME KIND FOLDER CMD …   something to run there, without root rights
#   run_jobs 'KIND …'                run all, those of these kinds first, $slots at a
#                                    time; calls job_ended NAME STATUS SECONDS LOG
#
# stop_jobs, which the exit trap of cluster.sh calls, stops the remaining jobs.

# One more than processors: tests wait for locks and for each other.
slots=${JOBS:-$(($(nproc 2>/dev/null || echo 2) + 1))}
job_names=()
job_kinds=()
job_folders=()
job_commands=()
job_pids=()
job_starts=()

# Prints words: first those that are in a list, in its order.
long_first()
{
	local first=$1 word
	shift

	for word in $first; do
		case " $* " in *" $word "*) echo "$word" ;; esac
	done
	for word in "$@"; do
		case " $first " in *" $word "*) ;; *) echo "$word" ;; esac
	done
}

# Prints one of n parts of some words, in their order.  Long ones are distributed first, to parts 1 2 2 1 1 2 …
dealt()
{
	local part=$1 n=$2 long=$3 i=0 word mine=
	shift 3

	for word in $(long_first "$long" "$@"); do
		[ $((i % (2 * n) < n ? i % (2 * n) : 2 * n - 1 - i % (2 * n))) != $((part - 1)) ] || mine="$mine $word"
		i=$((i + 1))
	done
	for word in "$@"; do
		case " $mine " in *" $word "*) echo "$word" ;; esac
	done
}

add_job()
{
	job_names+=("$1")
	job_kinds+=("$2")
	job_folders+=("$3")
	shift 3
	job_commands+=("$(printf '%q ' "$@")")
}

start_job()
{
	local i=$1

	job_starts[$i]=$SECONDS
	# A process group of its own, which a signal from the keyboard does not reach.
	set -m
	(
		status=0
		cd "${job_folders[$i]}"
		eval "as_user ${job_commands[$i]}" </dev/null >"$work/${job_names[$i]}.log" 2>&1 || status=$?
		echo "$status" >"$work/${job_names[$i]}.status"
	) &
	job_pids[$i]=$!
	set +m
}

# Reports and removes jobs that have ended.
reap_jobs()
{
	local i status name

	for i in "${!job_pids[@]}"; do
		! kill -0 "${job_pids[$i]}" 2>/dev/null || continue
		name=${job_names[$i]}
		# A killed job leaves no status.
		status=$(cat "$work/$name.status" 2>/dev/null || echo 1)
		unset "job_pids[$i]"
		job_ended "$name" "$status" $((SECONDS - job_starts[$i])) "$work/$name.log"
	done
}

run_jobs()
{
	local kind i order=()

	for kind in $(long_first "$1" "${job_kinds[@]}"); do
		for i in "${!job_kinds[@]}"; do
			case " ${order[*]-} " in *" $i "*) continue ;; esac
			[ "${job_kinds[$i]}" != "$kind" ] || order+=("$i")
		done
	done
	for i in "${order[@]}"; do
		while [ "${#job_pids[@]}" -ge "$slots" ]; do
			wait_for_job
		done
		start_job "$i"
	done
	while [ "${#job_pids[@]}" -gt 0 ]; do
		wait_for_job
	done
}

wait_for_job()
{
	wait -n 2>/dev/null || sleep 0.1
	reap_jobs
}

# Stops jobs of the shell's job list, whose process numbers cannot have been reused, and servers, which may have left
# the process group of their job.
stop_jobs()
{
	local pid file

	for pid in $(jobs -pr); do
		kill -TERM -- "-$pid" 2>/dev/null || true
	done
	wait 2>/dev/null || true
	find "$work" -name postmaster.pid 2>/dev/null | while read -r file; do
		stop_server "$(dirname "$file")"
	done
}
