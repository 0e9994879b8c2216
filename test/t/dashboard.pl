# docs/grafana/stepadv.json: variables are declared, and the SQL of every variable and panel, with Grafana's replacements,
# returns rows over views of a run, kept or not.
use strict;
use warnings;
use Client;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dashboard = JSON::PP->new->decode(slurp_file('docs/grafana/stepadv.json'));
my @panels = grep { $_->{type} ne 'row' } @{ $dashboard->{panels} };
my @variables = @{ $dashboard->{templating}{list} };
my %value = (schema => ['my Rl'], prefix => ['It'], policy_version => [qw(v1 v2 v3)], method => ['rtmc'], other_method => ['grpo']);

my %ids;
$ids{ $_->{id} }++ for @{ $dashboard->{panels} };
is(join(' ', grep { $ids{$_} > 1 } keys %ids), '', 'ids of panels are unique');
is(join(' ', sort map { $_->{name} } @variables), join(' ', sort keys %value), 'the variables are those that this test sets');

my $node = PostgreSQL::Test::Cluster->new('dashboard');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "jit = off\ntimezone = 'UTC'");
$node->start;
$node->safe_psql('postgres', "CREATE EXTENSION stepadv;\n" . slurp_file('test/sim/simulator.sql') . q{
	CREATE SCHEMA "my Rl";
	CREATE TABLE "my Rl".steps AS
	SELECT row_number() OVER () AS id, group_id % 8 AS task, 'v' || (group_id - 1) / 8 + 1 AS version, rollout_id AS try, step_no AS n, state, action, reward,
		timestamptz '2026-03-01 12:00+00' + (group_id - 1) / 8 * interval '1 day' AS began, 'tool ' || step_no % 3 AS tool, step_no % 4 > 0 AS ok,
		ARRAY[-0.5, -1 - step_no % 3]::real[] AS logp_then, '{-0.6,-1.5}'::real[] AS logp_now
	FROM sim.simulate(24, 6, 5, max_steps => 30);
	ALTER TABLE "my Rl".steps ADD PRIMARY KEY (id);
	-- A bad row, for the panel of problems.
	UPDATE "my Rl".steps SET reward = 'NaN' WHERE id = 1;
	SELECT stepadv.attach('"my Rl".steps', '{task,version}', 'try', 'n', 'state', 'action', 'reward', columns => '{"policy_version": "version", "started_at": "began", "tool": "tool", "ok": "ok", "category": "tool", "logp_new": "logp_now", "logp_old": "logp_then"}', views => '{all}', prefix => 'It')});

sub interpolate
{
	my ($sql) = @_;
	$sql =~ s/\$\{(\w+):sqlstring\}/join ',', map { "'" . s|'|''|gr . "'" } @{ $value{$1} \/\/ die "no variable $1 in $sql" }/ge;
	$sql =~ s/\$\{(\w+)\}/join ',', @{ $value{$1} \/\/ die "no variable $1 in $sql" }/ge;
	$sql =~ s/\$__timeFrom\(\)/'2026-02-01T00:00:00Z'/g;
	$sql =~ s/\$__timeTo\(\)/'2026-06-01T00:00:00Z'/g;
	return $sql;
}

# Columns, and the number of rows with a number, or with any of a list.
sub answer
{
	my ($name, $sql, $list) = @_;
	my $query = interpolate($sql);
	my $has = $list ? '' : q( WHERE EXISTS (SELECT FROM jsonb_each(to_jsonb(q)) e WHERE jsonb_typeof(e.value) = 'number'));
	my ($status, $out, $err) = $node->psql('postgres', "$query\n\\gdesc\nSELECT count(*) FROM ($query) q$has");
	is($status, 0, $name) or diag($err);
	my @lines = split /\n/, $out // '';
	my $rows = pop(@lines) // 0;
	return ($rows, map { /^(.*)\|(.*)$/ ? ($1 => $2) : () } @lines);
}

# Every variable and panel.  A panel without a number says so itself.
sub whole
{
	my ($of, @empty) = @_;
	my %empty = map { $_ => 1 } @empty;
	foreach my $variable (@variables)
	{
		my ($rows) = answer("$of: list of $variable->{name}", $variable->{query}, 1);
		cmp_ok($rows, '>', 0, "$of: list of $variable->{name} has entries");
	}
	foreach my $panel (@panels)
	{
		my $title = $panel->{title};
		my ($rows, %type) = answer("$of: panel $title", $panel->{targets}[0]{rawSql});
		is($rows > 0, !$empty{$title}, "$of: panel $title has numbers, or is one of those without");
		like($panel->{description}, qr/\bEmpty without/, "$of: panel $title says why") if $empty{$title};
		is($type{time}, 'timestamp with time zone', 'over time') if $panel->{type} eq 'timeseries';
		is($type{ $panel->{options}{xField} }, 'text', 'along its axis') if $panel->{type} eq 'barchart';
	}
	return;
}

whole('a run');
$node->safe_psql('postgres', q(SELECT stepadv.maintain('"my Rl".steps')));
whole('a run that is kept');

# Rollouts of other kinds, as stepadv import leaves them.
SKIP:
{
	skip 'needs python3-psycopg', 48 if !Client::installed();
	%value = (%value, schema => ['imported'], prefix => ['steps']);
	IPC::Run::run([ '/usr/bin/python3', 'client/bin/stepadv', 'import', '-d', $node->connstr('postgres'), '-s', 'imported', map { "test/data/import/$_" } qw(inspect intercode tau2 react) ],
		'>', \my $out, '2>', \my $err);
	like($out . $err, qr/\d+ rollouts/, 'rollouts are imported');
	$node->safe_psql('postgres', q(SELECT stepadv.add_views('imported.steps', '{all}')));
	my ($versions) = grep { $_->{name} eq 'policy_version' } @variables;
	my @versions = split /\n/, $node->safe_psql('postgres', interpolate($versions->{query})), -1;
	$value{policy_version} = @versions ? \@versions : [''];
	whole('imported rollouts', 'Effective sample share');
}

$node->stop;
done_testing();
