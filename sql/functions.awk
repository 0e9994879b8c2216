# Prints the functions, aggregates and comments of the parts as CREATE OR REPLACE and
# COMMENT statements.  An update script runs them after its handwritten part.
#
# A statement begins at the start of a line and ends with a semicolon at the end
# of one, outside of quotes, dollar quotes, comments and BEGIN ATOMIC … END.

# Scans a line; quote: the closing quote of an open string, or ''.
function scan(line,    c, rest)
{
	while (line != "")
	{
		if (quote != "")
		{
			c = index(line, quote)
			if (c == 0)
				return
			line = substr(line, c + length(quote))
			quote = ""
			continue
		}
		if (!match(line, /'|--|\$[A-Za-z_]*\$/))
		{
			ends = line ~ /;[ \t]*$/
			return
		}
		rest = substr(line, RSTART)
		if (substr(rest, 1, 2) == "--")
		{
			ends = substr(line, 1, RSTART - 1) ~ /;[ \t]*$/
			return
		}
		quote = substr(line, RSTART, RLENGTH)
		line = substr(rest, RLENGTH + 1)
		ends = line ~ /^;[ \t]*$/
	}
}

statement == "" && /^[A-Z]/ {
	# Statements before the schema are only for CREATE EXTENSION.
	begun = begun || /^CREATE SCHEMA /
	wanted = /^(CREATE FUNCTION|CREATE AGGREGATE|COMMENT ON) / || (/^DO / && begun)
	sub(/^CREATE (FUNCTION|AGGREGATE) /, "CREATE OR REPLACE " $2 " ")
	statement = "open"
	ends = 0
}
statement == "open" {
	if (wanted)
		print
	ends = 0
	scan($0)
	if (/^BEGIN ATOMIC/)
		atomic = 1
	else if (/^END;/)
		atomic = 0
	if (quote == "" && ends && !atomic)
	{
		if (wanted)
			print ""
		statement = ""
	}
}
