# Every C function and aggregate in pg_proc checks its arguments: called with the worst ones by a role with only CONNECT (see
# Hostile.pm).  The server keeps running, no error is internal, and no result has uninitialized memory: results are computed twice,
# by servers that fill fresh memory with other bytes.  SEED=7 has other arguments, CALLS=100 more of them.
use strict;
use warnings;
use Hostile;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{SEED} // 1;
my $calls = $ENV{CALLS} // 8;

# Results that differ each time: times, random values, types or tables that each session creates.
my $changing = qr/oldest_transaction|unique_state|read_below|mark_below|stored_image.*h_(row|domain)|h_(row|domain).*stored_image/;

my $node = PostgreSQL::Test::Cluster->new('hostile');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\nrestart_after_crash = on\nstatement_timeout = 20s\nclient_min_messages = error\nlog_min_messages = fatal\nlog_min_error_statement = panic\n");
{
	local $ENV{MALLOC_PERTURB_} = 85;
	$node->start;
}
$node->safe_psql('postgres', q(CREATE EXTENSION stepadv; CREATE ROLE stranger LOGIN;
	CREATE TABLE public.secret (id bigserial PRIMARY KEY, g text NOT NULL, r text, n integer, st text, x float8);
	INSERT INTO public.secret (g, r, n, st, x) SELECT 'top secret', i % 3, i / 3, 'secret state', 271828.25 FROM generate_series(0, 11) i;
	SELECT count(*) FROM stepadv.attach('public.secret'::regclass, '{g}'::text[], 'r', 'n', 'st', reward => 'x');
	SELECT stepadv.maintain('public.secret'::regclass);));

my $hostile = Hostile->new(seed => $seed, folder => PostgreSQL::Test::Utils::tempdir(),
	psql => sub {
		my ($out, $err) = ('', '');
		IPC::Run::run([ 'psql', '-X', '-U', 'stranger', '-d', $node->connstr('postgres'), @_ ], '<', \undef, '>', \$out, '2>&1');
		utf8::decode($out);
		return $out;
	},
	wait => sub { $node->poll_query_until('postgres', 'SELECT true') });
my @statements = $hostile->statements($calls);
cmp_ok(scalar @{ $hostile->{functions} }, '>', 100, 'functions are found');
cmp_ok(scalar @statements, '>', 20 * @{ $hostile->{functions} } / 2, "calls are made of them (seed $seed)");

my ($findings, $rows) = $hostile->try(@statements);
show_findings($findings);
is(scalar(grep { $_->{said} =~ /process ended/ } @$findings), 0, 'no call ends the server');
is(scalar(grep { $_->{said} !~ /process ended/ } @$findings), 0, 'no error is an internal one, or of memory, or of time');
cmp_ok(scalar keys %$rows, '>', 800, 'many are answered');
my @told = grep { /271828|top secret|secret state/ } values %$rows;
is(scalar(@told), 0, 'none with what the caller may not read') or diag(map { substr($_, 0, 500) . "\n" } @told);

{
	local $ENV{MALLOC_PERTURB_} = 170;
	$node->restart;
}
my ($again, $others) = $hostile->try(@statements);
# The number of a temporary schema varies.
s/pg_temp_\d+/pg_temp/g foreach values %$rows, values %$others;
my %statement = map { /^SELECT (\d+), / ? ($1 => $_) : () } @statements;
# A call of an aggregate of the caller is listed with its definition.
my %made = map { /^CREATE AGGREGATE (pg_temp\.\w+)/ ? ($1 => $_) : () } @statements;
foreach my $number (keys %statement)
{
	my ($aggregate) = $statement{$number} =~ /(pg_temp\.[fh]\d+)\(/ or next;
	$statement{$number} .= " $made{$aggregate}" if $made{$aggregate};
}
my @differ = grep { ($rows->{$_} // '') ne ($others->{$_} // '') && ($statement{$_} // '') !~ $changing } sort { $a <=> $b } keys %{ { %$rows, %$others } };
show_findings([ map { { said => substr(($rows->{$_} // '') . ' or ' . ($others->{$_} // ''), 0, 200), statement => $statement{$_} // $_ } } @differ ]);
is(scalar @differ, 0, 'the answers do not depend on what was in memory');

# A few of each function.
sub show_findings
{
	my ($findings) = @_;
	my %told;
	foreach my $finding (@$findings)
	{
		my $function = $finding->{statement} =~ /(stepadv\w*\.\w+)\((?!.*SFUNC)/ ? $1 : '';
		diag("$finding->{said}: " . substr($finding->{statement}, 0, 600)) if ++$told{"$finding->{said} $function"} <= 2;
	}
	diag(scalar(@$findings) . " findings with seed $seed") if @$findings;
	return;
}

$node->stop;
done_testing();
