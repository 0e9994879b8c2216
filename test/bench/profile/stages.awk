# Instructions per step of one run, by stage, from the output of callgrind_annotate
# for a statement run once and run twice.
#	awk -v steps=N -f stages.awk ONCE TWICE

function stage(line)
{
	if (line ~ /stepadv\.so\]|\/src\/(plan|group|estimators)\/|\/src\/[a-z_]+\.[ch]:|simplehash\.h/)
	{
		if (line ~ /fold_input\.[ch]|fold_run\.c|stored_rows\.h/) return 2
		if (line ~ /\/plan\/group_fold|\/group\/row\./) return 3
		if (line ~ /:(group_builder_add|group_builder_create_among|group_builder_pause|add_following_rows)|row_memory/) return 4
		if (line ~ /\/group\/(finish|ordered_rows|repeated_rows|codec|collected_rows|group)\./) return 5
		if (line ~ /identity|simplehash|xxhash/) return 6
		if (line ~ /step_scan|\/rows\.[ch]|column_sink/) return 8
		return 7
	}
	return 1
}

BEGIN {
	split("the server: pages and visible rows, nodes, join, sum, memory|columns out of stored rows|whose group, which arguments|encoding the row|the value: decoding into columns|numbers for states and pairs|returns, table, advantages|rows to the executor", names, "|")
}

# "66,457,940  FILE:FUNCTION [OBJECT]"
/^ *[0-9][0-9,]* +[^ ]/ && !/PROGRAM TOTALS/ {
	n = $1
	gsub(/,/, "", n)
	s = stage($0)
	count[s] += FILENAME == ARGV[2] ? n : -n
}

END {
	for (s = 1; s in names; s++)
	{
		if (count[s] > 0)
			printf "| %s | %.0f |\n", names[s], count[s] / steps
		all += count[s]
	}
	printf "| all | %.0f |\n", all / steps
}
