# docs/grafana/stepadv.json: it is what Grafana expects of a dashboard, as far as
# that can be told without Grafana, and every query in it, with variables and
# macros replaced as Grafana replaces them, returns what its panel needs.
use strict;
use warnings;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $file = 'docs/grafana/stepadv.json';
my $dashboard = JSON::PP->new->utf8->decode(slurp_file($file));
my @panels = @{ $dashboard->{panels} };
my %variable = map { $_->{name} => $_ } @{ $dashboard->{templating}{list} };
# Every query: where it is from, its text, its panel if it has one.
my @queries = map { { name => "variable $_->{name}", sql => $_->{query} } } grep { $_->{type} eq 'query' } @{ $dashboard->{templating}{list} };
foreach my $panel (@panels)
{
	push @queries, { name => "panel $panel->{id} $_->{refId}", sql => $_->{rawSql}, panel => $panel, target => $_ } for @{ $panel->{targets} // [] };
}

# ---- The definition

cmp_ok($dashboard->{schemaVersion}, '>=', 36, 'a schema of Grafana 10');
ok(!defined $dashboard->{id}, 'no id: Grafana gives one');
like($dashboard->{uid}, qr/^[A-Za-z0-9_-]{1,40}$/, 'uid');
my %ids;
$ids{ $_->{id} }++ for @panels;
is(join(' ', grep { $ids{$_} > 1 } keys %ids), '', 'ids of panels are unique');
my %cells;
my @misplaced;
foreach my $panel (@panels)
{
	my ($x, $y, $w, $h) = @{ $panel->{gridPos} }{qw(x y w h)};
	push @misplaced, "$panel->{id} is out of the grid" if $x < 0 || $x + $w > 24 || $w < 1 || $h < 1;
	foreach my $cell (map { my $row = $_; map { "$row $_" } $x .. $x + $w - 1 } $y .. $y + $h - 1)
	{
		push @misplaced, "$panel->{id} covers $cells{$cell}" if exists $cells{$cell};
		$cells{$cell} = $panel->{id};
	}
}
is("@misplaced", '', 'panels do not overlap');
my $text = slurp_file($file);
my %input = map { $_->{name} => $_ } @{ $dashboard->{__inputs} };
my %asked = map { $_ => 1 } $text =~ /\$\{((?:DS|VAR)_\w+)\}/g;
is(join(' ', sort keys %asked), join(' ', sort keys %input), 'every input is used, and every one used is asked for');
is(join(' ', grep { !defined $_->{gridPos} || ($_->{type} ne 'row' && $_->{datasource}{uid} ne '${DS_STEPADV}') } @panels), '', 'panels have a place and the data source');
is(join(' ', map { $_->{name} } grep { $_->{target} && $_->{target}{datasource}{uid} ne '${DS_STEPADV}' } @queries), '', 'so have their queries');
is(join(' ', map { $_->{name} } grep { $_->{datasource} && $_->{datasource}{uid} ne '${DS_STEPADV}' } values %variable), '', 'and variables');
my %required = map { ("$_->{type} $_->{id}" => 1) } @{ $dashboard->{__requires} };
is(join(' ', grep { !$required{"panel $_"} } map { $_->{type} } grep { $_->{type} ne 'row' } @panels), '', 'kinds of panels are listed');
foreach my $name (map { /\$\{(\w+)[:}]/g, /\$(?!__)(\w+)/g } map { ($_->{title}, $_->{description} // '', encode_json($_->{fieldConfig} // {})) } @panels)
{
	ok($variable{$name}, "$name, of a title or a display name, is a variable");
}
# A variable can be set to anything by the address of the page, but for constants.
foreach my $query (@queries)
{
	my $sql = $query->{sql};
	my @constants = grep { $variable{$_}{type} eq 'constant' } keys %variable;
	$sql =~ s/\$\{(\w+):sqlstring\}/$variable{$1} ? '' : "no variable $1"/ge;
	# A list, whose names have their quotes themselves.
	$sql =~ s/\$\{group_columns:raw\}//g if $variable{group_columns}{type} eq 'constant';
	$sql =~ s/"[^"\n]*"/my $name = $&; $name =~ s{\$\{(\w+):raw\}}{(grep { $_ eq $1 } @constants) ? '' : "no constant $1"}ge; $name/ge;
	$sql =~ s/\$__time(?:From|To)\(\)//g;
	unlike($sql, qr/\$|no (?:variable|constant)/, "$query->{name}: variables are literals, or constants within quotes or between commas");
}
is(join(' ', grep { !$variable{$_}{skipUrlSync} || $variable{$_}{hide} != 2 } grep { $variable{$_}{type} eq 'constant' } keys %variable), '', 'constants are not in the address');

# ---- As Grafana does it: variables in the browser, then macros in the server.

sub literal
{
	return join ',', map { "'" . s/'/''/gr . "'" } @_;
}

sub macro
{
	my ($name, $argument, $from, $to) = @_;
	return "'$from'" if $name eq '__timeFrom' && $argument eq '';
	return "'$to'" if $name eq '__timeTo' && $argument eq '';
	die "unknown macro $name";
}

sub interpolate
{
	my ($sql, $value) = @_;
	# A custom value for All is put in as it is.
	$sql =~ s/\$\{(\w+):(sqlstring|raw)\}/my @values = ref $value->{$1} ? @{ $value->{$1} } : ($value->{$1});
		!defined $values[0] ? $variable{$1}{allValue} : $2 eq 'sqlstring' ? literal(@values) : $values[0]/ge;
	$sql =~ s/\$([_a-zA-Z0-9]+)\(([^)]*)\)/macro($1, $2, $value->{from} \/\/ '2026-02-01T00:00:00Z', $value->{to} \/\/ '2026-06-01T00:00:00Z')/ge;
	return $sql;
}

# ---- The data

my $node = PostgreSQL::Test::Cluster->new('dashboard');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "jit = off\ntimezone = 'UTC'");
$node->start;
$node->safe_psql('postgres', "CREATE EXTENSION stepadv;\n" . slurp_file('test/sim/simulator.sql'));
my $fill = q{
	INSERT INTO %1$s.rollouts (group_id, rollout_id, policy_version, outcome, success, started_at)
	SELECT g, r, version, max(reward), bool_or(success), started FROM s GROUP BY g, r, version, started;
	INSERT INTO %1$s.steps (group_id, rollout_id, step_no, observation, action, state, action_hash, next_state, reward, response_token_ids, rollout_logprobs, policy_logprobs)
	SELECT g, r, step_no, state, action, state_hash, action_hash, next_state_hash, reward, '{1,2}', ARRAY[-0.5, -1 - step_no %% 3], '{-0.6,-1.5}' FROM s;
	-- Of one nothing is known yet but its steps; another waits for its outcome.
	UPDATE %1$s.rollouts SET policy_version = NULL, started_at = NULL WHERE rollout_id = 'r1';
	UPDATE %1$s.rollouts SET outcome = NULL, success = NULL WHERE rollout_id = 'r2';
};
$node->safe_psql('postgres', q{
	SELECT count(*) FROM stepadv.create_tables('rl', group_by => '{group_id}');
	SELECT count(*) FROM stepadv.create_tables('it''s my Rl%');
	CREATE TABLE s AS SELECT format('task %s of v%s', (group_id - 1) % 8, (group_id - 1) / 8 + 1) AS g, 'v' || (group_id - 1) / 8 + 1 AS version, 'r' || rollout_id AS r,
		timestamptz '2026-03-01 12:00+00' + (group_id - 1) / 8 * interval '1 day' AS started, s.* FROM sim.simulate(24, 6, 5, max_steps => 30) s;
	DELETE FROM s WHERE r = 'r1' AND step_no > 3;
	} . sprintf($fill, 'rl') . q{
	-- A table of somebody else's: groups by number, other names, a prefix and no critic.
	CREATE SCHEMA other;
	CREATE TABLE other.t AS SELECT row_number() OVER ()::int AS id, s.group_id AS episode, s.rollout_id AS try, s.step_no AS n, s.state AS "What, seen", s.action AS did, s.reward, s.started::date AS day FROM s;
	ALTER TABLE other.t ADD PRIMARY KEY (id);
	SELECT count(*) FROM stepadv.attach('other.t', '{episode}', 'try', 'n', 'What, seen', 'did', 'reward', prefix => 'My steps', started_at => 'day');
	CREATE TABLE other.three AS SELECT *, (episode - 1) / 8 + 1.0 AS "Vers"", ion", (episode - 1) % 8 AS task FROM other.t;
	ALTER TABLE other.three ADD PRIMARY KEY (id);
	SELECT count(*) FROM stepadv.attach('other.three', '{"Vers\", ion",task,day}', 'try', 'n', 'What, seen', 'did', 'reward', prefix => 'of three', started_at => 'day');
	ANALYZE;
	});
# The same in groups of three columns, and of no known version where one was unknown above.
my $fill_three = ($fill =~ s/group_id/run_id, policy_version, task_id/gr) =~ s/rollout_id, policy_version, outcome/rollout_id, outcome/r
	=~ s/SELECT g, r, version,/SELECT 'run 1', version, split_part(g, ' of ', 1), r,/r =~ s/SELECT g, r, step_no/SELECT 'run 1', version, split_part(g, ' of ', 1), r, step_no/r
	=~ s/SET policy_version = NULL, /SET /r;
$node->safe_psql('postgres', sprintf($fill_three, q{"it's my Rl%"}));

my %canonical = (
	schema => 'rl', prefix => 'steps', group_columns => 'group_id', observation_column => 'observation', action_column => 'action',
	policy_version => [ 'v1', 'v2', 'v3', '(none)' ], method => 'rtmc', other_method => 'grpo', group => '{"group_id":"task 1 of v2"}');
my %three = (
	%canonical, schema => q(it's my Rl%), group_columns => $input{VAR_GROUP_COLUMNS}{value}, policy_version => [ 'v1', 'v2', 'v3' ],
	group => '{"run_id":"run 1","policy_version":"v2","task_id":"task 1"}');
my %other = (
	%canonical, schema => 'other', prefix => 'My steps', group_columns => 'episode', observation_column => 'What, seen', action_column => 'did',
	policy_version => undef, group => '{"episode":3}');
my %other_three = (%other, prefix => 'of three', group_columns => '"Vers"", ion", task, "day"', group => '{"Vers\", ion":1.0,"task":2,"day":"2026-03-01"}');

# Names and types of a query's columns, and its rows.
sub answer
{
	my ($query, $value) = @_;
	my $sql = interpolate($query->{sql}, $value);
	my ($status, $types, $errors) = $node->psql('postgres', "$sql\n\\gdesc", extra_params => [ '-F', "\x1f" ]);
	return { error => $errors } if $status || $errors;
	($status, my $rows, $errors) = $node->psql('postgres', "SELECT to_json(array_agg(to_json(x))) FROM ($sql\n) x");
	return { error => $errors } if $status || $errors;
	my @columns = map { [ split /\x1f/ ] } split /\n/, $types;
	return { columns => [ map { $_->[0] } @columns ], type => { map { @$_ } @columns }, rows => $rows eq '' ? [] : JSON::PP->new->decode($rows) };
}

sub is_number { return $_[0] =~ /^(?:smallint|integer|bigint|numeric|real|double precision)$/; }

# What a kind of panel needs; the complaints.
sub complaints
{
	my ($panel, $target, $answer) = @_;
	my ($columns, $type, $rows) = @{$answer}{qw(columns type rows)};
	my @complaints;
	push @complaints, 'no rows' if !@$rows;
	push @complaints, 'columns of one name' if scalar(keys %$type) < @$columns;
	if ($panel->{type} eq 'timeseries')
	{
		push @complaints, 'format is not time_series' if $target->{format} ne 'time_series';
		push @complaints, 'no column time' if ($type->{time} // '') ne 'timestamp with time zone';
		push @complaints, 'no numbers' if !grep { is_number($_) } values %$type;
		push @complaints, 'more than one label' if (grep { $_ eq 'text' } values %$type) > 1;
		push @complaints, 'neither number nor label' if grep { $_ ne 'time' && !is_number($type->{$_}) && $type->{$_} ne 'text' } @$columns;
		my @times = map { $_->{time} } @$rows;
		push @complaints, 'a row without time' if grep { !defined } @times;
		push @complaints, 'not sorted by time' if join(' ', @times) ne join(' ', sort @times);
	}
	else
	{
		push @complaints, 'format is not table' if $target->{format} ne 'table';
	}
	if ($panel->{type} eq 'barchart')
	{
		my $x = $panel->{options}{xField};
		push @complaints, 'no text for the x axis' if ($type->{$x} // '') ne 'text';
		push @complaints, 'bars are no numbers' if @$columns < 2 || grep { $_ ne $x && !is_number($type->{$_}) } @$columns;
	}
	foreach my $matcher (map { $_->{matcher} } @{ $panel->{fieldConfig}{overrides} })
	{
		push @complaints, "no column $matcher->{options} to override" if !grep { $matcher->{id} eq 'byName' ? $_ eq $matcher->{options} : /$matcher->{options}/ } @$columns;
	}
	return @complaints;
}

sub run_all
{
	my ($name, $value) = @_;
	my %answers;
	foreach my $query (@queries)
	{
		my $answer = $answers{ $query->{name} } = answer($query, $value);
		is($answer->{error} // '', '', "$name: $query->{name} runs") or next;
		my @complaints = $query->{panel} ? complaints($query->{panel}, $query->{target}, $answer)
			: @{ $answer->{rows} } && "@{ $answer->{columns} }" =~ /^(?:\S+|__text __value)$/ && !grep({ $_ ne 'text' } values %{ $answer->{type} }) ? () : 'not one column of texts, or two with names for them';
		is("@complaints", '', "$name: $query->{name} has what it needs");
	}
	foreach my $panel (grep { $_->{type} eq 'nodeGraph' } @panels)
	{
		my ($nodes, $edges) = map { $answers{"panel $panel->{id} $_"} } qw(nodes edges);
		my (%node, %edge);
		$node{ $_->{id} }++ for @{ $nodes->{rows} };
		$edge{ $_->{id} }++ for @{ $edges->{rows} };
		# Grafana fails on an edge without its nodes.
		is(scalar(grep { !$node{ $_->{source} } || !$node{ $_->{target} } } @{ $edges->{rows} }), 0, "$name: edges join nodes");
		is(scalar(grep { $_ > 1 } values %node, values %edge), 0, "$name: ids of nodes and of edges are unique");
		is(scalar(grep { abs($_->{arc__success} + $_->{arc__failure} - 1) > 1e-9 } @{ $nodes->{rows} }), 0, "$name: the parts of a ring sum to 1");
		is(join(' ', grep { !exists $nodes->{type}{$_} } qw(id title mainstat secondarystat), map { $_->{field} } @{ $panel->{options}{nodes}{arcs} }), '', "$name: columns of nodes");
		is(join(' ', grep { !exists $edges->{type}{$_} } qw(id source target mainstat secondarystat thickness color)), '', "$name: columns of edges");
		is($nodes->{type}{id} . $edges->{type}{source} . $edges->{type}{target} . $edges->{type}{mainstat}, 'texttexttexttext', "$name: ids are texts, bigints would lose digits");
	}
	return \%answers;
}

my $answers = run_all('canonical', \%canonical);
my $three_answers = run_all('three columns', \%three);
run_all('three columns, all versions', { %three, policy_version => undef });
run_all('other', \%other);
run_all('other, three columns', \%other_three);

# ---- The same from maintained groups, to nine digits: sums over groups have no order

sub rounded
{
	my ($value) = @_;
	return { map { $_ => rounded($value->{$_}) } keys %$value } if ref $value eq 'HASH';
	return [ map { rounded($_) } @$value ] if ref $value eq 'ARRAY';
	return defined $value && $value =~ /^-?\d+\.\d+(?:e[-+]?\d+)?$/ ? sprintf('%.9g', $value) : $value;
}
sub shown { return JSON::PP->new->canonical->allow_nonref->encode(rounded($_[0])); }

my $other_answers = run_all('other, again', \%other);
$node->safe_psql('postgres', q{CREATE INDEX ON other.t (episode); SELECT stepadv.maintain('rl.rollout_rows'), stepadv.maintain('other.t', how => 'refresh')});
# What is kept is read, and kept.
$node->safe_psql('postgres', q{UPDATE rl.rollouts SET policy_version = 'v7' WHERE group_id = 'task 1 of v2';
	UPDATE rl.rollouts SET policy_version = 'v2' WHERE group_id = 'task 1 of v2'});
foreach my $set ([ 'canonical, maintained', \%canonical, $answers ], [ 'other, maintained', \%other, $other_answers ])
{
	my ($name, $value, $folded) = @$set;
	my $kept = run_all($name, $value);
	is(shown($kept->{ $_->{name} }{rows}), shown($folded->{ $_->{name} }{rows}), "$name: $_->{name} shows the same") for @queries;
}
is($node->safe_psql('postgres', q{SELECT count(*) > 10 FROM rl.steps_folded_over_time WHERE n_rollouts > 0}), 't', 'rows are kept');
$node->safe_psql('postgres', q{SELECT stepadv.unmaintain('rl.rollout_rows'), stepadv.unmaintain('other.t')});

# ---- A few values, from the tables by other ways

my %by_title = map { $_->{title} => $_->{id} } @panels;
sub rows_of { my ($title, $ref) = @_; return $answers->{"panel $by_title{$title} " . ($ref // 'A')}{rows}; }
sub direct { return $node->safe_psql('postgres', $_[0]); }

my @success = map { sprintf '%.6f', $_->{'success rate'} } @{ rows_of('Success, informative groups, shared states') };
is(join("\n", @success), direct(q{SELECT round(avg(success::int), 6) FROM rl.rollouts WHERE started_at IS NOT NULL GROUP BY started_at::date ORDER BY started_at::date}), 'success by day');
is(join("\n", map { "$_->{'policy version'} $_->{rollouts} $_->{steps}" } @{ rows_of('By policy version') }),
	direct(q{SELECT concat_ws(' ', coalesce(policy_version, '(none)'), count(DISTINCT (group_id, rollout_id)), count(step_no))
		FROM rl.rollouts JOIN rl.steps USING (group_id, rollout_id) GROUP BY policy_version ORDER BY policy_version NULLS LAST}), 'rollouts and steps of a version');
is(join("\n", map { sprintf '%.6f %.6f', $_->{'step ratios'}, $_->{'sequence ratios'} } @{ rows_of('Effective sample share') }),
	direct(q{SELECT concat_ws(' ', round((sum(w) ^ 2 / sum(w * w) / count(*))::numeric, 6), round((sum(v) ^ 2 / sum(v * v) / count(*))::numeric, 6))
		FROM (SELECT group_id, rollout_id, exp((policy_logprobs[1]::float8 - rollout_logprobs[1] + policy_logprobs[2] - rollout_logprobs[2]) / 2) AS w,
			exp(policy_logprobs[1]::float8 - rollout_logprobs[1] + policy_logprobs[2] - rollout_logprobs[2]) AS v FROM rl.steps) s
		JOIN rl.rollouts USING (group_id, rollout_id) WHERE started_at IS NOT NULL GROUP BY started_at::date ORDER BY started_at::date}), 'effective sample share');
my @bars = @{ rows_of('Distribution of advantages: $method and $other_method') };
my %sum = (a => 0, b => 0);
foreach my $bar (@bars) { $sum{$_} += $bar->{$_} for qw(a b); }
is(sprintf('%d bars, %.6f %.6f', scalar(@bars), @sum{qw(a b)}), '33 bars, 1.000000 1.000000', 'shares of the distribution sum to 1');
is(sprintf('%.6f', $bars[16]{b}), direct(q{
	WITH a AS (SELECT advantage, sqrt(avg(advantage ^ 2) OVER ()) AS rms FROM rl.steps_advantages WHERE method = 'grpo' AND advantage IS NOT NULL)
	SELECT round(avg((abs(advantage) < rms / 10)::int), 6) FROM a}), 'the bar in the middle: within a tenth of the root mean square');
is(sprintf('%.6f', $bars[32]{a}), direct(q{
	WITH a AS (SELECT advantage, sqrt(avg(advantage ^ 2) OVER ()) AS rms FROM rl.steps_advantages WHERE method = 'rtmc' AND advantage IS NOT NULL)
	SELECT round(avg((advantage >= 3.1 * rms)::int), 6) FROM a}), 'the last bar: all beyond');
# r1 alone is of another version than its group, so all other groups are whole.
foreach my $order ([ 'Best steps', 'DESC' ], [ 'Worst steps', '' ])
{
	is(join("\n", map { sprintf '%.6f', $_->{advantage} } @{ rows_of($order->[0]) }[ 0 .. 9 ]),
		direct(qq{SELECT round(advantage::numeric, 6) FROM (
			SELECT advantage FROM rl.steps_rtmc WHERE group_id <> (SELECT group_id FROM rl.rollouts WHERE rollout_id = 'r1')
			UNION ALL SELECT advantage FROM rl.steps_advantages WHERE method = 'rtmc' AND group_id = (SELECT group_id FROM rl.rollouts WHERE rollout_id = 'r1')) x
			WHERE advantage IS NOT NULL ORDER BY advantage $order->[1] LIMIT 10}), lc $order->[0]);
}
is(join("\n", map { sprintf '%s %.6f %.6f', @{$_}{ 'first, second', 'successful rollouts', 'failed rollouts' } } grep { $_->{'first, second'} =~ /[+-]{2}/ } @{ rows_of('Signs of $method and $other_method') }),
	direct(q{SELECT concat_ws(' ', label, round(avg((sign(rtmc) = a AND sign(grpo) = b)::int) FILTER (WHERE success), 6), round(avg((sign(rtmc) = a AND sign(grpo) = b)::int) FILTER (WHERE NOT success), 6))
		FROM rl.steps_compare, (VALUES (1, '++', 1, 1), (2, '+-', 1, -1), (3, '-+', -1, 1), (4, '--', -1, -1)) v(i, label, a, b) GROUP BY i, label ORDER BY i}), 'quadrants, the first method first');
is(join("\n", map { sprintf '%.6f %s', $_->{difference}, ($_->{a} > 0) == ($_->{b} > 0) ? 'same sign' : 'opposite' } @{ rows_of('Steps that $method and $other_method disagree on') }[ 0 .. 9 ]),
	direct(q{WITH c AS (SELECT group_id, rtmc / nullif(sqrt(avg(rtmc ^ 2) OVER w), 0) AS a, grpo / nullif(sqrt(avg(grpo ^ 2) OVER w), 0) AS b
			FROM rl.steps_compare WHERE success IS NOT NULL WINDOW w AS (PARTITION BY group_id))
		SELECT round(abs(a - b)::numeric, 6) || ' opposite' FROM c WHERE a * b < 0 ORDER BY abs(a - b) DESC LIMIT 10}), 'disagreements');
my ($goal) = grep { $_->{id} eq 'success' } @{ rows_of('Rollout tree of the group', 'nodes') };
is($goal->{secondarystat}, direct(q{SELECT count(*) || ' visits' FROM rl.rollouts WHERE group_id = 'task 1 of v2' AND success}), 'as many edges end in success as rollouts');
is(scalar(grep { !defined $_->{mainstat} } @{ rows_of('Rollout tree of the group', 'edges') }), 0, 'edges have their actions');
is(join("\n", map { sprintf '%s %d %.6f %.6f', @{$_}{qw(rollout step a b)} } @{ rows_of('Steps of the group') }),
	direct(q{SELECT concat_ws(' ', rollout_id, step_no, round(r.advantage::numeric, 6), round(g.advantage::numeric, 6))
		FROM rl.steps_rtmc r JOIN rl.steps_grpo g USING (group_id, rollout_id, step_no) WHERE group_id = 'task 1 of v2' ORDER BY rollout_id, step_no}), 'steps of a group');
is(join(' ', map { values %$_ } @{ $answers->{'variable policy_version'}{rows} }), 'v1 v2 v3 (none)', 'policy versions, as they came');
like(join(' ', map { values %$_ } @{ $answers->{'variable method'}{rows} }), qr/^rtmc grpo rloo .*\bbatch_td\b/, 'methods');
like(join(' ', map { values %$_ } @{ $answers->{'variable other_method'}{rows} }), qr/^grpo rloo .* rtmc\b/, 'the other method begins with another');

# ---- Variables filter, and do nothing else

my ($by_version) = grep { $_->{panel} && $_->{panel}{title} eq 'By policy version' } @queries;
is(scalar(@{ answer($by_version, { %canonical, policy_version => [ 'v3', "v'1" ] })->{rows} }), 1, 'policy version filters');
is(scalar(@{ answer($by_version, { %canonical, policy_version => undef })->{rows} }), 4, 'All is all');
# Against what _compare shows of the rollouts of a version.
my ($signs) = grep { $_->{panel} && $_->{panel}{title} =~ /^Signs/ } @queries;
my ($differing) = grep { $_->{panel} && $_->{panel}{title} =~ /disagree on$/ } @queries;
foreach my $version ('v2', '(none)')
{
	my %value = (%canonical, policy_version => [$version]);
	my @signs = map { [ @{$_}{ 'first, second', 'successful rollouts', 'failed rollouts' } ] } @{ answer($signs, \%value)->{rows} };
	is(join("\n", map { join ' ', $_->[0], map { sprintf '%.6f', $_ // 0 } @$_[ 1, 2 ] } @signs),
		direct(qq{SELECT concat_ws(' ', label, round(coalesce(avg((sign(rtmc) = a AND sign(grpo) = b)::int) FILTER (WHERE success), 0), 6), round(coalesce(avg((sign(rtmc) = a AND sign(grpo) = b)::int) FILTER (WHERE NOT success), 0), 6))
			FROM (SELECT c.* FROM rl.steps_compare c JOIN rl.rollouts r USING (group_id, rollout_id) WHERE coalesce(r.policy_version, '(none)') = '$version') c
			RIGHT JOIN (VALUES (1, '++', 1, 1), (2, '+0', 1, 0), (3, '+-', 1, -1), (4, '0+', 0, 1), (5, '00', 0, 0), (6, '0-', 0, -1), (7, '-+', -1, 1), (8, '-0', -1, 0), (9, '--', -1, -1)) v(i, label, a, b) ON true
			GROUP BY i, label ORDER BY i}), "signs of $version");
	is(join(' ', map { "$_->{group}/$_->{rollout}/$_->{step}" } @{ answer($differing, \%value)->{rows} }),
		direct(qq{WITH c AS (SELECT group_id, rollout_id, step_no, step_id, rtmc / nullif(sqrt(avg(rtmc ^ 2) OVER w), 0) AS a, grpo / nullif(sqrt(avg(grpo ^ 2) OVER w), 0) AS b
				FROM rl.steps_compare WHERE success IS NOT NULL WINDOW w AS (PARTITION BY group_id)),
			t AS (SELECT c.*, abs(a - b) AS difference FROM c JOIN rl.rollouts USING (group_id, rollout_id) WHERE a * b < 0 AND coalesce(policy_version, '(none)') = '$version'
				ORDER BY round(abs(a - b)::numeric, 9) DESC, group_id, step_id LIMIT 25)
			SELECT coalesce(string_agg(group_id || '/' || rollout_id || '/' || step_no, ' ' ORDER BY round(difference::numeric, 9) DESC, group_id, rollout_id, step_no), '') FROM t}), "disagreements of $version");
}
isnt(shown(answer($signs, { %canonical, policy_version => ['v2'] })->{rows}), shown(answer($signs, \%canonical)->{rows}), 'which are not those of all');
my ($by_time) = grep { $_->{panel} && $_->{panel}{title} eq 'Mean return' } @queries;
is(scalar(@{ answer($by_time, { %canonical, from => '2026-03-02T00:00:00Z', to => '2026-03-02T23:59:59Z' })->{rows} }), 1, 'time filters');
my $tables = q{SELECT count(*) FROM pg_class WHERE relnamespace = 'rl'::regnamespace};
my $before = direct($tables);
# An address can be written by hand; then what is no group is said to be none.
my $no_value = qr/ERROR:  invalid input syntax for type json(?:(?!ERROR)[\s\S])*/;
foreach my $hostile (q{'; DROP SCHEMA rl CASCADE; --}, q{\\'; DROP SCHEMA rl CASCADE; --}, q{x') OR true; DROP SCHEMA rl CASCADE; --}, q{"; DROP SCHEMA rl CASCADE; --}, '${group}', '')
{
	my @errors;
	# As a value of the group's column, and of no form that the list of groups has.
	foreach my $group (JSON::PP->new->encode({ group_id => $hostile }), $hostile)
	{
		my %value = (%canonical, (map { $_ => $hostile } qw(method other_method)), group => $group, policy_version => [$hostile]);
		foreach my $query (@queries)
		{
			my $error = answer($query, \%value)->{error} // '';
			$error = $error =~ s/^.*$no_value$//r if $group eq $hostile && $query->{sql} =~ /\$\{group:/;
			push @errors, "$query->{name}: $error" if $error ne '';
		}
	}
	is("@errors", '', "$hostile is but a value");
}
is(direct($tables), $before, 'and nothing was dropped');

# ---- Groups of several columns

# What is shown of them is what is shown of groups of one, where these are the same:
# a rollout of no known version had another one's group there.
sub three { my ($title, $ref) = @_; return $three_answers->{"panel $by_title{$title} " . ($ref // 'A')}{rows}; }
is(shown(three($_)), shown(rows_of($_)), "three columns: $_") for 'The group', 'Steps of the group', 'Mean return';
is(shown(three('Rollout tree of the group', $_)), shown(rows_of('Rollout tree of the group', $_)), "three columns: $_ of the tree") for 'nodes', 'edges';
my $direct_three = q{SELECT string_agg(concat_ws('|', x."group", rollout_id, step_no, x.success, round(advantage::numeric, 6)), E'\n' ORDER BY place) FROM (
	SELECT concat_ws(' / ', r.run_id, r.policy_version, r.task_id) AS "group", r.rollout_id, r.step_no, s.success, r.advantage, row_number() OVER (ORDER BY r.advantage %1$s, concat_ws(' / ', r.run_id, r.policy_version, r.task_id), r.rollout_id, r.step_no) AS place
	FROM (SELECT * FROM "it's my Rl%%".steps_advantages WHERE method = 'rtmc' AND advantage IS NOT NULL ORDER BY advantage %1$s, run_id, policy_version, task_id, step_id LIMIT 25) r
	JOIN "it's my Rl%%".rollouts s USING (run_id, policy_version, task_id, rollout_id)) x};
foreach my $order ([ 'Best steps', 'DESC' ], [ 'Worst steps', '' ])
{
	is(join("\n", map { sprintf '%s|%s|%d|%s%.6f', @{$_}{qw(group rollout step)}, defined $_->{success} ? ($_->{success} ? 't|' : 'f|') : '', $_->{advantage} } @{ three($order->[0]) }),
		direct(sprintf $direct_three, $order->[1]), "three columns: \l$order->[0]");
}
my ($groups) = grep { $_->{name} eq 'variable group' } @queries;
is(shown([ @{ $three_answers->{'variable group'}{rows} }[ 0, 1, 23 ] ]),
	shown([ map { { __text => "run 1 / v$_->[0] / task $_->[1]", __value => qq({"run_id":"run 1","policy_version":"v$_->[0]","task_id":"task $_->[1]"}) } } [ 1, 0 ], [ 1, 1 ], [ 3, 7 ] ]), 'groups, by their columns');
# No name has to be taken apart: of each value the panel about the group shows that group.
my ($of_group) = grep { $_->{panel} && $_->{panel}{title} eq 'The group' } @queries;
$node->safe_psql('postgres', q{
	CREATE SCHEMA odd;
	SELECT count(*) FROM stepadv.create_tables('odd');
	INSERT INTO odd.rollouts (run_id, policy_version, task_id, rollout_id, outcome)
	SELECT a, b, c, 'r' || r, 1 FROM (VALUES (1, 'a / b', 'c', 'd'), (2, 'a', 'b / c', 'd'), (3, '', '', 'it''s'), (4, '', '\"', '{}'), (5, 'a', '', 'c'), (6, '', 'a', '$__timeTo ${group}')) v(n, a, b, c), generate_series(1, n) r;
	INSERT INTO odd.steps (run_id, policy_version, task_id, rollout_id, step_no, observation, action) SELECT run_id, policy_version, task_id, rollout_id, 0, 'door', 'open it' FROM odd.rollouts});
my %odd = (%three, schema => 'odd', policy_version => undef);
my @odd = @{ answer($groups, \%odd)->{rows} };
is(join("\n", map { my $of = answer($of_group, { %odd, group => $_->{__value} }); "$_->{__text}: " . ($of->{error} // join ' ', map { $_->{rollouts} } @{ $of->{rows} }) } @odd),
	join("\n", '\\" / {}: 4', 'a /  / c: 5', 'a / $__timeTo ${group}: 6', '{"run_id":"a / b","policy_version":"c","task_id":"d"}: 1', '{"run_id":"a","policy_version":"b / c","task_id":"d"}: 2', q(it's: 3)), 'groups of odd names');
is(answer((grep { $_->{name} eq 'variable policy_version' } @queries), \%odd)->{error} // '', '', 'versions of odd names');
is(join(' ', map { $_->{'policy version'} } @{ answer($by_version, \%odd)->{rows} }), '(none) \\" a b / c c', 'a version that nobody named is none');
# The group is looked up: below the fold by an index, as by literals.
my $found = qr/(?:\$|\(InitPlan)/;
foreach my $query ($of_group, grep { $_->{panel} && $_->{panel}{title} =~ /^(?:Steps of the group|Rollout tree of the group|Best steps)$/ } @queries)
{
	my $plan = $node->safe_psql('postgres', 'SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN ' . interpolate($query->{sql}, \%three));
	like($plan, qr/Index Cond: [^\n]*run_id = $found[^\n]*policy_version = $found[^\n]*task_id = $found/, "$query->{name}: by index");
}

# ---- Problems

is(join("\n", map { join '|', @{$_}{qw(problem effect groups rollouts rows)} } @{ rows_of('Problems') }),
	direct(q{SELECT concat_ws('|', problem, effect, count(DISTINCT group_id), count(DISTINCT group_id || '/' || rollout_id), sum(n_rows)) FROM rl.steps_problems GROUP BY problem, effect
		ORDER BY effect LIKE 'nothing%', sum(n_rows) DESC, problem}), 'problems');
like(join("\n", map { "$_->{problem} $_->{groups} $_->{rollouts}" } @{ rows_of('Problems') }), qr/^not judged 1 1$/m, 'r2 is not judged');

$node->stop;
done_testing();
