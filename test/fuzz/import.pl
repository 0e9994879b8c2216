# Mutants of the example files of every format, read by the importers of a server; see
# server.sh.  Arguments: seconds, seed, the folders of the examples.  The connection is
# the environment's.  Whatever a file is, import_one says what became of it: it raises
# no error, and the server lives; what it counts is in the tables, and nothing else; the
# file once more changes nothing.  What is wrong with a file is told by errors of data or
# of limits, never by those of programs.
use strict;
use warnings;
use File::Find;
use IPC::Open2;
use JSON::PP;
use List::Util qw(shuffle);

my ($seconds, $seed, @folders) = @ARGV;
my $end = time + $seconds;
my $json = JSON::PP->new->utf8->allow_nonref->canonical;
my (@given, @trees, $n_inputs);
srand $seed;

find({ wanted => sub { push @given, $File::Find::name if -f $_ && -s $_ < 200000 }, no_chdir => 1 }, @folders);
@given = map { { name => $_, bytes => slurp($_) } } sort @given;
foreach my $file (@given)
{
	$file->{trees} = [];
	foreach my $document ($file->{bytes}, split /\n/, $file->{bytes})
	{
		my $tree = eval { $json->decode($document) };
		next if !ref $tree;
		push @{ $file->{trees} }, $document;
		push @trees, $document if length $document < 20000;
	}
}

sub slurp
{
	open my $fh, '<:raw', $_[0] or die "$_[0]: $!";
	local $/;
	return scalar <$fh>;
}

sub finding
{
	my ($what, $input) = @_;
	open my $fh, '>:raw', 'finding_import' or die $!;
	print $fh $input;
	close $fh;
	print "$what\nthe input is in finding_import\n";
	exit 1;
}

# ---- Mutants

sub pick { return $_[ int rand @_ ]; }

# Where in a value another could be: references to its members, all the way down.
sub places
{
	my ($root) = @_;
	my @all = ($root);
	for (my $i = 0; $i < @all && @all < 3000; $i++)
	{
		my $value = ${ $all[$i] };
		push @all, map { \$value->{$_} } sort keys %$value if ref $value eq 'HASH';
		push @all, map { \$_ } @$value if ref $value eq 'ARRAY';
	}
	return @all;
}

my @odd = (sub { undef }, sub { JSON::PP::true }, sub { JSON::PP::false }, sub { 0 }, sub { -1 }, sub { 1.5 }, sub { 1e308 }, sub { 99999999999999999999 }, sub { '' }, sub { 'x' }, sub { '{"a": [1' }, sub { '[]' },
	sub { [] }, sub { {} }, sub { [ [] ] }, sub { [ undef ] }, sub { { '' => undef } }, sub { [ 1, 'a', {} ] }, sub { 'NaN' }, sub { '2026-13-45T99:99:99Z' }, sub { "\x{FFFD}\x{0}" }, sub { 'Error: x' }, sub { 'y' x 3000 },
	sub { my $deep = 1; $deep = [$deep] foreach 1 .. 200; $deep });

sub change_tree
{
	my $tree = $json->decode(pick(@{ $_[0] }));
	foreach (1 .. 1 + int rand 3)
	{
		my @all = places(\$tree);
		my $place = pick(@all);
		my $how = int rand 7;
		if ($how < 2) { $$place = pick(@odd)->() }
		elsif ($how == 2) { $$place = $json->decode($json->encode(${ pick(@all) })) }
		elsif ($how == 3) { my @others = places(\$json->decode(pick(@trees))); $$place = ${ pick(@others) } }
		elsif (ref $$place eq 'HASH' && %$$place)
		{
			my $key = pick(sort keys %$$place);
			my $value = delete $$place->{$key};
			my @objects = map { $$_ } grep { ref $$_ eq 'HASH' && %$$_ } @all;
			$$place->{ pick("$key.", '', (map { pick(sort keys %$_) } pick(@objects)), lc $key) } = $value if $how > 4 && @objects;
		}
		elsif (ref $$place eq 'ARRAY' && @$$place)
		{
			if ($how == 4) { splice @$$place, int rand @$$place, 1 }
			elsif ($how == 5) { @$$place = shuffle @$$place }
			else { push @$$place, pick(@$$place) }
		}
	}
	return $json->encode($tree);
}

sub change_bytes
{
	my ($bytes) = @_;
	foreach (1 .. 1 + int rand 4)
	{
		my $at = int rand(1 + length $bytes);
		my $how = int rand 8;
		my $length = 1 + int rand 2**int rand 10;
		if ($how == 0) { substr($bytes, $at) = '' }
		elsif ($how == 1 && $at < length $bytes) { substr($bytes, $at, 1) = chr int rand 256 }
		elsif ($how == 2) { substr($bytes, $at, $length) = '' }
		elsif ($how == 3) { substr($bytes, $at, 0) = substr $bytes, int rand(1 + length $bytes), $length }
		elsif ($how == 4) { substr($bytes, $at, 0) = pick("\n", '"', '\\', '{', '[', ']}', ',', ':', "\\u0000", "\xED\xA0\x80", "\x00", '\\ud800', '1e400', 'NaN', "\r", "\xEF\xBB\xBF", "\\.\n") }
		elsif ($how == 5) { my $other = pick(@given)->{bytes}; substr($bytes, $at, 0) = substr $other, int rand length $other, $length }
		elsif ($how == 6) { $bytes =~ s/(\d+)/pick(0, -$1, "$1$1$1", "$1.5", '1e9')/e if rand() < 0.5 }
		else { $bytes .= "\n" . substr $bytes, $at }
		last if length $bytes > 200000;
	}
	return $bytes;
}

sub mutant
{
	my $file = pick(@given);
	return change_bytes($file->{bytes}) if !@{ $file->{trees} } || rand() < 0.3;
	return join "\n", map { change_tree($file->{trees}) } 1 .. 1 + int rand 3 if rand() < 0.3;
	my $made = change_tree($file->{trees});
	return rand() < 0.2 ? change_bytes($made) : $made;
}

# ---- The server

my ($from, $to);
my $pid = open2($from, $to, 'psql', '-X', '-q', '-A', '-t', '-F', "\t", '-d', 'postgres');
binmode $_ foreach $from, $to;

sub ask
{
	my ($sql, $input) = @_;
	print $to "\\set LAST_ERROR_SQLSTATE 00000\n$sql\n\\echo :LAST_ERROR_SQLSTATE\n\\echo the end of it\n" or finding('the connection is gone', $input);
	$to->flush;
	my @lines;
	while (defined(my $line = <$from>))
	{
		chomp $line;
		if ($line eq 'the end of it')
		{
			my $state = pop @lines;
			return ($state, @lines);
		}
		push @lines, $line;
	}
	finding('the server closed the connection', $input);
}

# As stepadv-import brings it.
sub lines_of
{
	my ($bytes) = @_;
	$bytes =~ tr/\000\001\002\015/\032\032\032 /;
	return sprintf q(INSERT INTO pg_temp.lines (line) SELECT l FROM string_to_table(convert_from('\x%s', 'LATIN1'), E'\n') l;), unpack 'H*', $bytes;
}

my ($begun, @said) = ask(q(SET client_min_messages = error; SET statement_timeout = '120s'; DROP SCHEMA IF EXISTS fuzzed CASCADE; CREATE TEMP TABLE lines (n bigint GENERATED ALWAYS AS IDENTITY, line text);
	SELECT 'made', count(*) FROM stepadv.create_tables('fuzzed'); SELECT stepadv_internal.import_begin(); SELECT 'format', f.format FROM stepadv_internal.import_formats() f;), '');
my @formats = grep { $_ ne 'paths' } map { /^format\t(\w+)/ ? $1 : () } @said;
die "cannot begin: $begun @said" if !@formats;
push @formats, ('') x @formats;
my $paths = q({"task_id": "$.job.name", "rollout_id": "$.job.name", "success": {"path": "$.job.verdict", "map": {"pass": true, "fail": false}}, "outcome": {"path": "$.job.grade", "map": {"A": 1, "B": 0.5}}, "started_at": "$.t0", "ended_at": "$.log[*].at", "steps": "$.log[*]", "order": "$.at", "tool": {"path": "$.call", "fromjson": "$.tool"}, "args": {"path": "$.call", "fromjson": "$.with"}, "next_observation": {"path": "$.id", "in": "$.results[*]", "key": "$.of", "take": "$.text"}, "response_token_ids": "$.ids", "response_mask": "$.mask", "rollout_logprobs": "$.lp[*].p", "reward": "$.r"});

# What a path may be that somebody has mistyped.
sub paths_mutant
{
	return $paths if rand() < 0.5;
	return change_tree([$paths]) if rand() < 0.7;
	my $bytes = $paths;
	substr($bytes, int rand length $bytes, int rand 3) = pick('', '.', '[', ']', '$', '*', ' ', '"', '?', '()', '@', '\\', ' == 1');
	return $bytes;
}

sub literal { my ($text) = @_; utf8::encode($text) if utf8::is_utf8($text); $text =~ tr/\000//d; return "convert_from('\\x" . unpack('H*', $text) . "', 'UTF8')"; }

# A file as stepadv-import loads it, twice.
sub try_file
{
	my ($input, $format, $given_paths) = @_;
	my $call = sprintf q(SELECT o.kind, o.name, regexp_replace(o.value, '[[:cntrl:]]+', ' ', 'g') FROM stepadv_internal.import_one('fuzzed', 'pg_temp.lines', '/d/e/f.json', nullif('%s', ''), %s, %s, 'p-', 1, NULL, NULL, NULL, %s, '*') o;),
		$format, $_[3] ? 'true' : 'false', defined $given_paths ? literal($given_paths) . '::jsonb' : 'NULL', $_[4] ? 'true' : 'false';
	my $count = q(SELECT 'are', (SELECT count(*) FROM fuzzed.rollouts), (SELECT count(*) FROM fuzzed.steps););
	my ($state, @said) = ask('BEGIN; TRUNCATE pg_temp.lines;' . lines_of($input) . "\n$call\n$count\n\\echo again\n$call\n$count\nROLLBACK;", $input);
	my (%added, @are, $part, $told, @failed);
	$part = 0;
	foreach (@said)
	{
		my ($kind, $name, $value) = split /\t/;
		$part = 1 if $kind eq 'again';
		$added{$name}[$part] = $value if $kind eq 'count';
		$are[$part] = [ $name, $value ] if $kind eq 'are';
		$failed[$part] = $name if $kind eq 'failed';
		$told .= " $value" if $kind eq 'problem';
	}
	finding("an error $state: @said", $input) if $state ne '00000' || !$are[1];
	finding("left out by an error $_:" . ($told // ''), $input) foreach grep { defined && !/^(rollouts|22...|54...|0A000)$/ } @failed;
	finding('words of programs:' . $told, $input) if defined $told && $told =~ /cache lookup|relation \d|could not find|unexpected jsonb|unrecognized|does not exist|column "|operator /i;
	return if defined $failed[0] && "@{$are[0]}" eq '0 0';
	my $counts = sub { join ' ', map { $added{$_}[ $_[0] ] // 0 } 'rollouts_added', 'steps_added' };
	finding('counted ' . $counts->(0) . ", there are @{$are[0]}", $input) if defined $failed[0] || $counts->(0) ne "@{$are[0]}";
	finding("there were @{$are[0]}, the file again makes them @{$are[1]}: $told", $input) if "@{$are[0]}" ne "@{$are[1]}";
	finding('the file again was left out:' . ($told // ''), $input) if defined $failed[1];
}

# Many documents by the functions alone: no error, and nothing wrong with what is plain.
sub try_documents
{
	my @inputs = map { mutant() } 1 .. 20;
	my $values = join ', ', map { my $bytes = $inputs[$_]; $bytes =~ tr/\000\001\002\015/\032\032\032 /; sprintf q((%d, convert_from('\x%s', 'LATIN1'), nullif('%s', ''))), $_, unpack('H*', $bytes), pick(@formats) } 0 .. $#inputs;
	my ($state, @answers) = ask(qq(SELECT 'n', d.n, p.problem, c.plain_and_wrong FROM (VALUES $values) d(n, document, format), LATERAL stepadv_internal.import_document(d.document, NULL, nullif(d.format, 'steps'), '/d/e/f.json', d.n, NULL, true) p,
		LATERAL (SELECT count(*) FILTER (WHERE stepadv_internal.import_is_plain(r.v) AND stepadv_internal.import_problem(r.v) IS NOT NULL) AS plain_and_wrong FROM unnest(p.rollouts) r(v)) c;), join "\n====\n", @inputs);
	finding("an error $state of one of these: @answers", join "\n====\n", @inputs) if $state ne '00000' || @answers < @inputs;
	foreach (@answers)
	{
		my (undef, $n, $problem, $wrong) = split /\t/;
		finding("plain and wrong: $_", $inputs[$n]) if $wrong;
	}
	$n_inputs += @inputs;
}

sub try_paths
{
	my $given_paths = paths_mutant();
	my ($file) = grep { $_->{name} =~ /odd\.json$/ } @given;
	my $input = rand() < 0.5 ? $file->{bytes} : change_tree($file->{trees});
	my ($state, @answers) = ask('SELECT stepadv_internal.import_path_problem(NULL, ' . literal($given_paths) . ') IS NULL;', $given_paths);
	finding("an error $state: @answers", $given_paths) if $state ne '00000';
	try_file($input, '', $given_paths, rand() < 0.5) if "@answers" eq 't';
	$n_inputs++;
}

while (time < $end)
{
	try_documents() foreach 1 .. 3;
	foreach (1 .. 5)
	{
		try_file(mutant(), pick(@formats), undef, rand() < 0.5, rand() < 0.3);
		$n_inputs++;
	}
	try_paths() foreach 1 .. 3;
}
print "$n_inputs inputs\n";
