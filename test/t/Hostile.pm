# Calls of every C function and aggregate in pg_proc with the worst arguments that SQL can give.  Functions are found in the
# catalog and arguments chosen by declared types: no function is named here, except a few that make initial values.
package Hostile;

use strict;
use warnings;

# What an unprivileged caller has: tables without meaning to the extension.
my $setting = q(
	CREATE TEMP TABLE h_table (id bigint, g text, r text, n integer, x float8, a bigint[]);
	INSERT INTO h_table VALUES (1, 'g', 'r', 1, 0.5, '{1}'), (2, NULL, NULL, NULL, NULL, NULL);
	CREATE TEMP TABLE h_none ();
	CREATE TEMP TABLE h_parts (id bigint, g text) PARTITION BY LIST (g);
	CREATE TEMP TABLE h_part PARTITION OF h_parts DEFAULT;
	CREATE TEMP TABLE h_typed OF stepadv.attachment;
	CREATE TEMP VIEW h_view AS SELECT * FROM h_table;
	CREATE TEMP SEQUENCE h_sequence;
	CREATE TYPE pg_temp.h_row AS (a integer, b text);
	CREATE DOMAIN pg_temp.h_domain AS bigint;
);

# Expressions by type, harmless ones first.  Other types are made from text.
my %numbers = (
	smallint => [ 1, 0, -1, -32768, 32767 ],
	integer => [ 1, 2, 3, 0, -1, 7, 65536, -2147483648, 2147483647 ],
	bigint => [ 1, 2, 3, 0, -1, 1 << 40, '-9223372036854775808', '9223372036854775807' ],
	real => [ 1, 0, 0.5, -1, 3e38, -3e38, 1e-45, "'NaN'", "'Infinity'", "'-Infinity'" ],
	'double precision' => [ 0.5, 1, 0, 2, -1, 1e308, -1e308, 5e-324, 9007199254740993, "'-0'", "'NaN'", "'Infinity'", "'-Infinity'" ],
	numeric => [ 1, 0.5, "'NaN'", "'Infinity'", '1e400' ],
);
my %texts = (
	text => [ 'a', 'b', '', 'std', 'mean', 'none', 'zero', 'raw', 'step', 'rollout', 'set', 'sequence', 'last', 'linear', 'logistic', 'paper', 'every', 'first',
		'id', 'x', 'h_table', 'pg_authid', '%s%n', '1', '{}', '{1}', '[{"a": 1}]', "\x{e9}\x{1f600}", 'a"b\'\'c\\', '<a><b></a>', "\e[2J", 'x' x 9000 ],
	name => [ 'id', '', 'n', 'x' x 63 ],
	'"char"' => [ 'a', 'O', '' ],
	bytea => [ '', '\x00', '\x01000000', '\xffffff7f0100000000000000', '\xffffffffffffffff', '\x' . '00' x 64, '\x' . 'ff' x 64, '\x6e61656d0000000000000001' . '00' x 32,
		'\x6e61656d7fffffffffffffff' . '00' x 32, '\x' . '0100000000000000' x 40 ],
	jsonb => [ '{}', '[]', 'null', '1', '"a"', '{"a": 1}', '{"1": 0.5, "2": null}', '[{"tool": "a", "meaning": "finish", "arguments": {"path": "p"}}]', '{"a": {"a": [1, {"a": "b"}]}}',
		'{"1": {"advantage": 1}, "x": [[]]}', '1e400', '[' x 200 . ']' x 200 ],
	boolean => [ 'true', 'false' ],
	uuid => [ '00000000-0000-0000-0000-000000000000' ],
	'timestamp with time zone' => [ '2024-01-01', 'infinity', '-infinity' ],
	interval => [ '1 hour', '-1 s', '178000000 years' ],
	cstring => [ '', 'x', '{}', '{"a": 1}', '[1]', '\x00', '[' x 5000 ],
	regclass => [ 'h_table', 'h_none', 'h_view', 'h_parts', 'h_part', 'h_typed', 'h_sequence', 'pg_class', 'pg_authid', 'pg_views', 'pg_class_oid_index', 'public.secret',
		'public.secret_values', 'public.secret_folded', '0', '1', '4294967295' ],
	oid => [ 0, 1, 16, 25, 1259, 4294967295 ],
	regtype => [ 'text', 'bigint', 'record', 'internal', '"any"', 'h_row', 'stepadv.rollout_group', '0', '4294967295' ],
	regprocedure => [ 'lower(text)', 'pg_sleep(float8)', '0', '4294967295' ],
	regproc => [ 'now', '0' ],
	regrole => [ 'pg_read_all_data', '0', '4294967295' ],
);
my $groups = q(SELECT stepadv.rollout_agg(i, i %% 3, i::integer, %s, %s, %s) FROM generate_series(%d::bigint, %d) i);
my %beginnings = (
	'stepadv.rollout_group' => [ (map { '(' . sprintf($groups, @$_) . ')' } [ 'i % 2', 'i % 4', 'i / 3.0', 1, 6 ], [ 'NULL', 'NULL', 'NULL', 1, 4 ], [ 'i % 2', 'NULL', "nullif(i, 2) * 1e308", 1, 9 ],
			[ '1', '1', '1', 1, 1 ], [ '1', '1', '1', 2, 1 ]),
		q((SELECT stepadv.rollout_agg(i, i % 3, i::integer, nullif(i % 2, 1), nullif(i % 4, 2), i / 3.0, i % 3 = 1, i + 1, 0.5, nullif(i, 2), 2, (i / 2)::integer, ARRAY[i, NULL]::float8[], i = 2, 7) FROM generate_series(1::bigint, 6) i)),
		q((SELECT stepadv.rollout_agg(1, 1, NULL, NULL, NULL, 1))),
		q((SELECT stepadv.rollout_agg(i, (i >> 62) + i % 2 * 9223372036854775806, 2147483647 - (i % 5)::integer, i, i, -1e308) FROM generate_series(1::bigint, 5) i)) ],
);
my $digest = q((SELECT stepadv.group_digest(g, '%s', %s) FROM (%s) x (g)));
$beginnings{'stepadv.group_digest'} = [ map { sprintf $digest, @$_ } [ '{a,b}', '(SELECT array_agg(ARRAY[s.step_no, -1]::float8[]) FROM stepadv.steps(g) s), horizon_width => 1', substr($beginnings{'stepadv.rollout_group'}[0], 1, -1) ],
	[ '{}', 'NULL', substr($beginnings{'stepadv.rollout_group'}[5], 1, -1) ] ];
my @kinds = ('integer', 'text', 'double precision', 'bigint', 'jsonb', 'boolean', 'pg_temp.h_row', 'pg_temp.h_domain', 'stepadv.rollout_group', 'record', 'oidvector', 'name', 'interval');

sub new
{
	my ($class, %given) = @_;
	my $self = bless { made => {}, number => 0, %given }, $class;
	srand($self->{seed});
	$self->{types} = { map { my ($type, $kind, $send, @attributes) = split /\|/; ($type => { kind => $kind, send => $send, attributes => \@attributes }) } $self->ask(q(
		SELECT concat_ws('|', format_type(t.oid, NULL), CASE WHEN t.typreceive <> 0 AND t.typtype = 'b' THEN 'r' ELSE t.typtype END, t.typsend::regproc,
			(SELECT string_agg(format_type(a.atttypid, NULL), '|' ORDER BY attnum) FROM pg_attribute a WHERE a.attrelid = t.typrelid AND attnum > 0 AND NOT attisdropped))
		FROM pg_type t WHERE t.typnamespace::regnamespace::text LIKE 'stepadv%' AND t.typelem = 0 AND (t.typtype <> 'c' OR EXISTS (SELECT FROM pg_class c WHERE c.oid = t.typrelid AND relkind = 'c')))) };
	$self->{functions} = [ map { my %f; @f{qw(oid name kind result rows variadic n_defaults types names)} = split /\|/, $_, -1;
			@f{qw(types names)} = map { [ split /;/, $_, -1 ] } @f{qw(types names)}; \%f } $self->ask(q(
		SELECT concat_ws('|', p.oid, p.pronamespace::regnamespace || '.' || quote_ident(p.proname), p.prokind, format_type(p.prorettype, NULL), p.proretset, p.provariadic <> 0, p.pronargdefaults,
			coalesce((SELECT string_agg(format_type(t, NULL), ';' ORDER BY i) FROM unnest(p.proargtypes) WITH ORDINALITY a (t, i)), ''), coalesce(array_to_string(p.proargnames[:p.pronargs], ';', ''), ''))
		FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
		WHERE p.pronamespace::regnamespace::text LIKE 'stepadv%' AND (l.lanname = 'c' OR p.prokind = 'a') ORDER BY p.oid::regprocedure::text COLLATE "C")) ];
	$self->make_values;
	$self->read_values;
	return $self;
}

sub one_of { return $_[int rand @_] }

# ---- Values

sub quoted { my ($text) = @_; $text =~ s/'/''/g; return "'$text'" }

# Expressions of a type; without NULL, which is always added.
sub values_of
{
	my ($self, $type) = @_;
	my @values;

	return $self->values_of_array($1) if $type =~ /^(.+)\[\]$/;
	@values = map { "($_)::$type" } @{ $numbers{$type} } if $numbers{$type};
	@values = map { quoted($_) . "::$type" } @{ $texts{$type} } if $texts{$type};
	@values = (@{ $beginnings{$type} // [] }, @{ $self->{made}{$type} // [] }) unless @values;
	@values = ('ROW(1, \'x\')', 'ROW()', 'ROW(NULL, ROW(1))') if $type eq 'record';
	my $known = $self->{types}{$type};
	push @values, map { 'ROW(' . join(', ', map { $self->value($_) } @{ $known->{attributes} }) . ")::$type" } 1 .. 6 if $known && $known->{kind} eq 'c';
	push @values, map { quoted(mutated(one_of(@{ $self->{texts}{$type} }))) . "::$type" } 1 .. 3 if $self->{texts}{$type};
	# For a type not listed here.
	push @values, map { quoted($_) . "::$type" } '', '1', 'x', '{}', '[]', '{"a": 1}', '\x00', '(1,2)' if $type !~ /record|internal|trigger/ && (!@values || $known && $known->{kind} ne 'c');
	return @values;
}

sub values_of_array
{
	my ($self, $type) = @_;
	my ($a, $b, $c) = map { $self->value($type, 0.1) } 1 .. 3;
	my $first = ($self->values_of($type))[0];
	return ("ARRAY[$first]::${type}\[]", "ARRAY[$first, $first]::${type}\[]") if $type =~ /^any/;
	return ("ARRAY[$first]::${type}\[]", "ARRAY[$first, $a]::${type}\[]", "ARRAY[$first, $a, $b]::${type}\[]", "'{}'::${type}\[]", "ARRAY[NULL]::${type}\[]", "ARRAY[$a, NULL, $b, $c]::${type}\[]",
		"ARRAY[[$a, $b], [$b, $c]]::${type}\[]", "array_fill($a, ARRAY[3], ARRAY[-2])::${type}\[]", "array_fill($b, ARRAY[2, 1, 2], ARRAY[2147483640, 0, -5])::${type}\[]",
		"array_fill($a, ARRAY[" . one_of(4, 5, 6, 7, 8, 16, 33, 1000) . "])::${type}\[]", "array_fill(NULL::$type, ARRAY[2, 2])", "array_fill($first, ARRAY[6])::${type}\[]", "array_fill($first, ARRAY[3])::${type}\[]");
}

sub value
{
	my ($self, $type, $nulls) = @_;
	my @values = $self->values_of($type);
	return !@values || rand() < ($nulls // 0.2) ? ($type eq 'record' || $type eq 'unknown' ? 'NULL' : "NULL::$type") : one_of(@values);
}

# Any arguments that fit a function: in one call all of the same kind, for "any".
sub concrete
{
	my ($self, $type, $kind) = @_;
	return one_of(@kinds, 'unknown', map { "$_\[]" } @kinds[ 0 .. 3 ]) if $type eq '"any"';
	return $kind . '[]' if $type =~ /^any(compatible)?array$/;
	return $kind if $type =~ /^any(compatible)?(element|nonarray|)$/;
	return $type;
}

# Harmless arguments: any group, so that some have what the function needs.
sub harmless
{
	my ($self, $type) = @_;
	my $beginnings = $beginnings{$type};
	return $beginnings ? one_of(@$beginnings) : ($self->values_of($type))[0] // 'NULL';
}

# ---- Calls

# Arguments: harmless except one, or random, or NULL.
sub arguments
{
	my ($self, $function, $how, $which) = @_;
	my $kind = $how eq 'harmless' ? 'double precision' : one_of(@kinds);
	my @types = map { $self->concrete($_, $kind) } @{ $function->{types} };
	my @given = map {
		my $type = $types[$_];
		my $first = $self->harmless($type);
		$how eq 'null' || $how eq 'one null' && $_ == $which ? "NULL::$type" =~ s/::(unknown|record)$//r : $how eq 'random' || $how eq 'one' && $_ == $which ? $self->value($type) : $first
	} 0 .. $#types;

	if ($function->{variadic} eq 't' && @given)
	{
		my $last = pop @given;
		my $n = one_of(0 .. 3);
		push @given, $types[-1] =~ /\[\]$/ && rand() < 0.7 ? "VARIADIC $last" : $function->{types}[-1] eq '"any"' ? map { $self->value($self->concrete('"any"')) } 1 .. $n : "VARIADIC $last";
		push @given, one_of("VARIADIC ARRAY[1.5, NULL]", "VARIADIC NULL::text[]") if $function->{types}[-1] eq '"any"' && rand() < 0.2;
	}
	# Arguments with defaults that are not tested may be left out.
	elsif ($function->{n_defaults} > 0 && ($how eq 'harmless' || $how =~ /^one/ && rand() < 0.8))
	{
		my $required = @types - $function->{n_defaults};
		@given = map { $_ < $required ? $given[$_] : defined $which && $_ == $which ? "\"$function->{names}[$_]\" => $given[$_]" : () } 0 .. $#given;
	}
	return @given;
}

# A statement that calls it, with a number to identify its rows.
sub call
{
	my ($self, $function, $how, $which) = @_;
	my $number = ++$self->{number};
	my $shown = $function->{result} =~ /^(void|trigger|event_trigger|internal|cstring)$/ ? '' : '::text';
	my $name = $function->{as} // $function->{name};

	if ($function->{kind} eq 'w')
	{
		my @given = $self->arguments($function, $how, $which);
		return "SELECT $number, ($name(" . join(', ', @given) . ") OVER (" . one_of('', 'ORDER BY g', 'PARTITION BY g % 2 ORDER BY g', 'ORDER BY g ROWS 1 PRECEDING') . "))::text FROM generate_series(1, 4) g;";
	}
	return $self->call_of_aggregate($function, $how, $which) if $function->{kind} eq 'a';
	my $given = join ', ', $self->arguments($function, $how, $which);
	return "SELECT $number, left(r::text, 900) FROM $name($given) r LIMIT 40;" if $function->{rows} eq 't' || $function->{result} eq 'record';
	return "SELECT $number, $name($given)$shown;";
}

# Over rows made in different ways, with the types of the first.
sub call_of_aggregate
{
	my ($self, $function, $how, $which) = @_;
	my $name = $function->{as} // $function->{name};
	my $kind = one_of(@kinds);
	my @types = map { $_ eq '"any"' ? $self->concrete($_) : $self->concrete($_, $kind) } @{ $function->{types} };
	@types = (@types[ 0 .. $#types - 1 ], map { $self->concrete('"any"') } 1 .. one_of(0 .. 3)) if $function->{variadic} eq 't' && @types && $function->{types}[-1] eq '"any"';
	$_ = 'text' foreach grep { $_ eq 'unknown' } @types;
	my @rows = map { my $row = $_;
		'(' . join(', ', 0, map { my $i = $_;
			my $first = $self->harmless($types[$i]);
			$how eq 'null' || $how eq 'one null' && $i == $which && $row == 2 ? "NULL::$types[$i]" =~ s/::record$//r : $how eq 'random' || $how eq 'one' && $i == $which ? $self->value($types[$i]) : $first } 0 .. $#types) . ')' } 1 .. ($how eq 'harmless' ? 2 : one_of(1 .. 4));
	my $columns = join ', ', map { "c$_" } 1 .. @types;
	my $given = @types ? $columns : $function->{types}[0] ? '' : '*';
	$given =~ s/c(\d+)$/VARIADIC c$1/ if $function->{variadic} eq 't' && @types && $types[-1] =~ /\[\]$/ && ($function->{types}[-1] ne '"any"' || rand() < 0.5);
	my $ways = rand();
	my $after = $ways < 0.7 || $how eq 'harmless' ? '' : $ways < 0.78 ? ' FILTER (WHERE false)' : $ways < 0.86 ? ' OVER (ROWS 1 PRECEDING)' : $ways < 0.93 ? ' OVER (ORDER BY c0)' : '';
	my $call = "$name(" . ($after eq '' && $ways > 0.93 && $given =~ /^c/ ? 'DISTINCT ' : '') . "$given)$after";
	return "SELECT $self->{number}, left(($call)::text, 900) FROM (VALUES " . join(', ', @rows) . ") v (" . join(', ', 'c0', $columns || ()) . ");";
}

# Calls per function: harmless, all NULL, NULL at each position, then random.
sub calls_of
{
	my ($self, $function, $n) = @_;
	my $n_arguments = @{ $function->{types} };
	return grep { defined } $self->call($function, 'harmless'), $self->call($function, 'null'),
		(map { $self->call($function, 'one null', $_) } 0 .. $n_arguments - 1),
		$n_arguments == 0 ? () : map { rand() < 0.6 ? $self->call($function, 'one', int rand $n_arguments) : $self->call($function, 'random') } 1 .. $n;
}

# ---- Aggregates of the caller

my %states = (
	bytea => [ '', '\xffffff7f0100000000000000', '\x00' ],
	'stepadv.rollout_group' => [ '[]', 'x' ],
);

sub states_of
{
	my ($type) = @_;
	return @{ $states{$type} } if $states{$type};
	return ('{}', '{NULL}', '{1}', '{0,0,0}', '{1,2,3}', '{{1,2},{3,4}}', '[5:7]={1,2,3}', '{1,1,1,1,1,1}', '{NULL,NULL,NULL,NULL,NULL,NULL}', '{9e18,-1,9e18}', '{4000000000000000000,1,2}',
		'{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24}') if $type =~ /\[\]$/;
	return ('', '0', '1', 'NaN');
}

# A function as transition and final function of an aggregate with a state type chosen by the caller.
sub aggregates_of
{
	my ($self, $function, $n) = @_;
	my @types = @{ $function->{types} };
	return if $function->{kind} ne 'f' || $function->{rows} eq 't' || !@types || $types[0] eq 'internal' || $types[0] eq 'cstring' || $function->{result} eq 'trigger' || grep { $_ eq 'internal' } @types[ 1 .. $#types ];
	my @statements;
	foreach (1 .. $n)
	{
		my $number = ++$self->{number};
		my $kind = one_of(@kinds);
		my $state = $self->concrete($types[0] eq '"any"' ? 'text' : $types[0], $kind);
		my $as_transition = $types[0] =~ /any/ || $types[0] eq $function->{result};
		my @others = map { $self->concrete($_, $kind) =~ s/^unknown$/text/r } @types[ 1 .. $#types ];
		my $initial = rand() < 0.15 ? '' : ', INITCOND = ' . quoted(one_of(states_of($state)));
		my $arguments = @others ? join ', ', @others : '*';
		my %aggregate = (%$function, kind => 'a', as => "pg_temp.h$number", types => \@others, variadic => 'f', n_defaults => 0);
		push @statements, "CREATE AGGREGATE pg_temp.h$number ($arguments) (SFUNC = $function->{name}, STYPE = $state$initial);", map({ $self->call_of_aggregate(\%aggregate, 'random') } 1 .. 2) if $as_transition;
		next if $as_transition && rand() < 0.5;
		push @statements, 'CREATE FUNCTION pg_temp.keep' . "$number(" . join(', ', $state, @others) . ") RETURNS $state LANGUAGE sql AS 'SELECT \$1';",
			"CREATE AGGREGATE pg_temp.f$number ($arguments) (SFUNC = pg_temp.keep$number, STYPE = $state$initial, FINALFUNC = $function->{name}" . (@others ? ', FINALFUNC_EXTRA' : '') . ');',
			$self->call_of_aggregate({ %aggregate, as => "pg_temp.f$number" }, 'random');
	}
	return @statements;
}

# ---- Triggers of the caller

sub triggers_of
{
	my ($self, $function, $n) = @_;
	return if $function->{result} ne 'trigger';
	my @statements;
	foreach (1 .. $n)
	{
		my $number = ++$self->{number};
		my $table = "pg_temp.t$number";
		my $when = one_of('BEFORE', 'AFTER', 'AFTER');
		my $event = one_of('INSERT', 'UPDATE', 'DELETE', 'INSERT OR UPDATE OR DELETE', 'TRUNCATE');
		my $each = $event eq 'TRUNCATE' ? 'STATEMENT' : one_of('ROW', 'STATEMENT');
		my $tables = $when eq 'AFTER' && $event =~ /^(INSERT|UPDATE|DELETE)$/ && rand() < 0.6
			? 'REFERENCING ' . ($event eq 'INSERT' ? 'NEW TABLE AS n' : $event eq 'DELETE' ? 'OLD TABLE AS o' : 'OLD TABLE AS o NEW TABLE AS n') : '';
		my $given = join ', ', map { quoted(one_of(@{ $texts{text} }, $self->{number}, '-1', '99999999999', $table, 'id', 'g', '{id,g}', 'public.secret', 'public.secret_values')) } 1 .. one_of(0, 0, 1, 2, 3, 5, 9);
		my $trigger = rand() < 0.2 && $event ne 'TRUNCATE' ? "CONSTRAINT TRIGGER h AFTER $event ON $table DEFERRABLE INITIALLY DEFERRED FOR EACH ROW" : "TRIGGER h $when $event ON $table $tables FOR EACH $each";
		$trigger .= one_of('', map { " WHEN ('$_'::regclass IS NOT NULL)" } 'public.secret_attachment', 'public.secret', 'h_typed', 'pg_class');
		push @statements, "CREATE TEMP TABLE t$number (LIKE " . one_of('h_table', 'h_table', 'h_table', 'h_typed', 'h_none') . ');', "CREATE $trigger EXECUTE FUNCTION $function->{name}($given);",
			"INSERT INTO $table DEFAULT VALUES;", "INSERT INTO $table SELECT * FROM h_table;", "UPDATE $table SET g = 'x';", "UPDATE $table SET id = id + 1;", "DELETE FROM $table WHERE id = 2;", "DELETE FROM $table;", "TRUNCATE $table;", "DROP TABLE IF EXISTS $table;";
	}
	return @statements;
}

# ---- The binary form of a type, as COPY reads it

sub receives_of
{
	my ($self, $type, $n) = @_;
	my @sent = grep { /^[0-9a-f]+$/ } map { $self->ask_maybe("SELECT encode($self->{types}{$type}{send}($_), 'hex')") } @{ $self->{made}{$type} // [] };
	my @statements = ("CREATE TEMP TABLE IF NOT EXISTS \"h_copy_$type\" (v $type);");
	foreach (1 .. $n)
	{
		my $bytes = @sent && rand() < 0.9 ? pack('H*', one_of(@sent)) : join '', map { chr int rand 256 } 1 .. int rand 80;
		foreach (1 .. one_of(0, 1, 1, 2, 5))
		{
			next if $bytes eq '';
			substr($bytes, int rand length $bytes, one_of(1, 1, 4, 8)) = join '', map { chr one_of(0, 1, 127, 128, 255, int rand 256) } 1 .. one_of(0, 1, 1, 4, 8);
		}
		my $file = "$self->{folder}/copied." . ++$self->{number};
		open my $out, '>:raw', $file or die "$file: $!";
		print $out "PGCOPY\n\377\r\n\0", pack('NN', 0, 0), pack('n', 1), pack('N', length $bytes), $bytes, pack('n', 0xffff);
		close $out;
		push @statements, "\\copy pg_temp.\"h_copy_$type\" FROM '$file' (FORMAT binary)";
	}
	return (@statements, "SELECT $self->{number}, v::text FROM pg_temp.\"h_copy_$type\";");
}

# ---- Values of our own types: the results of functions for harmless arguments

sub make_values
{
	my ($self) = @_;
	foreach my $round (1, 2)
	{
		my (@tried, @statements);
		foreach my $function (@{ $self->{functions} })
		{
			my $type = $function->{result};
			next if !$self->{types}{$type} || $function->{rows} eq 't' || grep { $_ eq 'internal' || $_ eq 'cstring' } @{ $function->{types} };
			foreach my $how ('harmless', 'one', 'random')
			{
				my $call = $self->call($function, $how, int rand(@{ $function->{types} } || 1));
				next if $call !~ s/^SELECT \d+, (?:left\(\()?(.*?)(?:\)::text, 900\)|::text)(?= FROM \(VALUES|;$)/SELECT $1/ || length $call > 3000;
				push @tried, { type => $type, expression => '(' . $call =~ s/;$//r . ')' };
				push @statements, "SELECT $#tried, 'made' FROM (SELECT $tried[-1]{expression} AS v) x WHERE v IS NOT NULL;";
			}
		}
		my ($findings, $rows) = $self->try(@statements);
		foreach my $i (sort { $a <=> $b } keys %$rows)
		{
			my $made = $self->{made}{ $tried[$i]{type} } //= [];
			push @$made, $tried[$i]{expression} if @$made < 6;
		}
	}
}

# For base types, from text, to vary it.
sub read_values
{
	my ($self) = @_;
	foreach my $type (grep { $self->{types}{$_}{kind} =~ /[rb]/ } sort keys %{ $self->{types} })
	{
		my @texts = grep { length > 2 && length() < 6000 && !/ERROR/ } map { $self->ask("SELECT ($_)::text") } @{ $beginnings{$type} // [] }, @{ $self->{made}{$type} // [] };
		$self->{texts}{$type} = \@texts if @texts;
	}
}

sub mutated
{
	my ($text) = @_;
	foreach (1 .. one_of(1, 1, 1, 2, 4))
	{
		my $at = int rand length $text;
		my $by = one_of('0', '1', '7', 'f', '-1', '9', ',', '00', 'ff', '7f', '80', 'null', '1e308', '99999999999999999999', '', '');
		substr($text, $at, one_of(0, 1, 1, 2, 4), $by) if $at < length $text;
	}
	return $text;
}

# ---- Queries

# Lines of the answer that every user may see.
sub ask
{
	my ($self, $query) = @_;
	return grep { $_ ne '' } split /\n/, join '', $self->{psql}->('-At', '-c', $query);
}

sub ask_maybe { my ($self, $query) = @_; return eval { $self->ask($query) } // () }

# Statements one after another, each on a line; psql's output.
sub run_in
{
	my ($self, @statements) = @_;
	my $file = "$self->{folder}/hostile." . ++$self->{n_files} . '.sql';

	open my $out, '>:encoding(UTF-8)', $file or die "$file: $!";
	print $out "\\set VERBOSITY sqlstate\n", ($setting . ($self->{more} // '')) =~ s/\s*\n\s*/ /gr, "\n\\set n 0\n";
	print $out "$_\n" foreach map { s/\n/ /gr } @statements;
	close $out;
	$self->{offset} = 3;
	return split /\n/, $self->{psql}->('-At', '-f', $file);
}

# Runs statements; continues after one that crashed the server.  Returns faults by statement.
sub try
{
	my ($self, @statements) = @_;
	my @findings;
	my %rows;
	my $first = 0;

	while ($first < @statements)
	{
		my $lost;
		foreach my $line ($self->run_in(@statements[ $first .. $#statements ]))
		{
			$rows{$1} .= "$line\n" if $line =~ /^(\d+)\|/;
			next unless $line =~ /^psql:[^ ]*?:(\d+): (.*)/;
			my ($at, $said) = ($1 - $self->{offset} - 1, $2);
			my $statement = $statements[ $first + $at ];
			$lost //= $at if $said =~ /server closed the connection|connection to server was lost|terminating connection|no connection to the server/;
			push @findings, { statement => $statement, said => $said =~ s/ERROR: +//r } if $said =~ /ERROR: +(XX|53|57014|58)/;
		}
		last unless defined $lost;
		push @findings, { statement => $statements[ $first + $lost ], said => 'the server process ended' };
		$first += $lost + 1;
		last if ++$self->{n_crashes} >= 60;
		$self->{wait}->();
	}
	return (\@findings, \%rows);
}

# All of it, determined by the seed.
sub statements
{
	my ($self, $n) = @_;
	my @functions = grep { !$self->{only} || $_->{name} =~ /$self->{only}/ } @{ $self->{functions} };
	return ((map { $self->calls_of($_, $n) } @functions), (map { $self->aggregates_of($_, $n / 4) } @functions), (map { $self->triggers_of($_, 2 * $n) } @functions),
		map { $self->{types}{$_}{kind} eq 'r' ? $self->receives_of($_, 2 * $n) : () } sort keys %{ $self->{types} });
}

1;
