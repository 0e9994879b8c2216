# awk [-v except='rooms'] -f check_order.awk PARTS: a part may name only objects that it or an earlier part creates,
# also in bodies of functions and in generated SQL.  Prints a line for each name that a later part creates;
# without any, there are no circular references either.
#
# A name that several parts create belongs to the first.

function room(file)
{
	sub(/\/[^\/]*$/, "", file)
	sub(/.*\//, "", file)
	return file
}

FNR == 1 { part++ }

{
	line = $0
	sub(/^[ \t]*--.*/, "", line)
	if (match(line, /^CREATE (OR REPLACE )?(FUNCTION|AGGREGATE|PROCEDURE|TYPE|DOMAIN|TABLE|VIEW|SEQUENCE) stepadv(_internal)?\.[a-z0-9_]+/))
	{
		name = substr(line, RSTART, RLENGTH)
		sub(/.* /, "", name)
		if (!(name in created))
			created[name] = part
	}
	while (match(line, /stepadv(_internal)?\.[a-z0-9_]+/))
	{
		name = substr(line, RSTART, RLENGTH)
		line = substr(line, RSTART + RLENGTH)
		if (!((FILENAME, name) in seen))
		{
			seen[FILENAME, name] = 1
			n++
			from[n] = FILENAME
			at[n] = FNR
			from_part[n] = part
			to[n] = name
		}
	}
	file[part] = FILENAME
}

END {
	for (i = 1; i <= n; i++)
		if (to[i] in created && created[to[i]] > from_part[i] && index(" " except " ", " " room(from[i]) " ") == 0)
		{
			printf "%s:%d: %s is created later, in %s\n", from[i], at[i], to[i], file[created[to[i]]]
			upward++
		}
	exit upward > 0
}
