# docs/grafana/stepadv.json: it is what Grafana expects of a dashboard, as far as
# that can be told without Grafana, and every query in it, with variables and
# macros replaced as Grafana replaces them, returns what its panel needs, or nothing
# where the attachment has no such view.  docs/grafana/panels.sql has the same queries.
use strict;
use warnings;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $file = 'docs/grafana/stepadv.json';
# As bytes, which is how psql takes and gives them.
my $dashboard = JSON::PP->new->decode(slurp_file($file));
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

# What JSON Schema says of a value, of as much of it as the schema uses; the complaints.
sub violations
{
	my ($value, $schema, $root, $at) = @_;
	my @wrong;

	if (my $ref = $schema->{'$ref'})
	{
		my ($name) = $ref =~ m{^#/definitions/(\w+)$} or die "cannot follow $ref";
		return violations($value, $root->{definitions}{$name}, $root, $at);
	}
	my $kind = !defined $value ? 'null' : JSON::PP::is_bool($value) ? 'boolean' : ref $value eq 'HASH' ? 'object' : ref $value eq 'ARRAY' ? 'array'
		: JSON::PP->new->allow_nonref->encode($value) =~ /^"/ ? 'string' : $value =~ /^-?\d+$/ ? 'integer' : 'number';
	if (my $type = $schema->{type})
	{
		my %may = map { $_ => 1, $_ eq 'number' ? (integer => 1) : () } ref $type ? @$type : $type;
		return "$at is a $kind" if !$may{$kind};
	}
	push @wrong, "$at is not one of @{ $schema->{enum} }" if $schema->{enum} && !grep { defined $value && $_ eq $value } @{ $schema->{enum} };
	push @wrong, "$at does not match $schema->{pattern}" if defined $schema->{pattern} && $kind eq 'string' && $value !~ /$schema->{pattern}/;
	push @wrong, "$at is below $schema->{minimum}" if defined $schema->{minimum} && $kind =~ /integer|number/ && $value < $schema->{minimum};
	push @wrong, "$at is above $schema->{maximum}" if defined $schema->{maximum} && $kind =~ /integer|number/ && $value > $schema->{maximum};
	if ($kind eq 'object')
	{
		my $known = $schema->{properties} // {};
		push @wrong, map { "$at has no $_" } grep { !exists $value->{$_} } @{ $schema->{required} // [] };
		foreach my $key (sort keys %$value)
		{
			my $of = $known->{$key} // $schema->{additionalProperties} // {};
			push @wrong, !ref $of || JSON::PP::is_bool($of) ? ($of ? () : "$at has $key") : violations($value->{$key}, $of, $root, "$at.$key");
		}
	}
	elsif ($kind eq 'array')
	{
		push @wrong, "$at has too few" if @$value < ($schema->{minItems} // 0);
		push @wrong, map { violations($value->[$_], $schema->{items} // {}, $root, "$at\[$_]") } 0 .. $#$value;
	}
	return @wrong;
}

my $schema = JSON::PP->new->decode(slurp_file('test/data/dashboard.schema.json'));
is(join("\n", violations($dashboard, $schema, $schema, 'dashboard')), '', 'as its JSON schema says');
ok(scalar(violations({ %$dashboard, uid => 'a b' }, $schema, $schema, 'd')) && scalar(violations({ %$dashboard, panels => [ { id => 1, type => 'pie' } ] }, $schema, $schema, 'd')), 'which finds what is wrong');
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
# A variable can be set to anything by the address of the page.
foreach my $query (@queries)
{
	my $sql = $query->{sql};
	$sql =~ s/\$\{(\w+):sqlstring\}/$variable{$1} ? '' : "no variable $1"/ge;
	$sql =~ s/\$__time(?:From|To)\(\)//g;
	# What stands between two $$ is not touched by Grafana, and has braces without a dollar.
	$sql =~ s/\$\$//g;
	unlike($sql, qr/\$|no variable/, "$query->{name}: variables are literals");
	unlike($query->{sql} =~ /\$\$(.*)\$\$/s ? $1 : '', qr/\$/, "$query->{name}: none within the query's text");
}
# A list that asks for another's choice comes after it.
my %before;
foreach my $of (@{ $dashboard->{templating}{list} })
{
	is(join(' ', grep { !$before{$_} } ($of->{query} // '') =~ /\$\{(\w+):/g), '', "list of $of->{name}: what it asks for comes before");
	$before{ $of->{name} } = 1;
}
is(join(' ', map { $_->{title} } grep { $_->{type} ne 'row' && ($_->{fieldConfig}{defaults}{noValue} // '') eq '' } @panels), '', 'every panel says what it means that there is nothing');

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
	$sql =~ s/\$\{(\w+):sqlstring\}/my @values = ref $value->{$1} ? @{ $value->{$1} } : ($value->{$1});
		defined $values[0] ? literal(@values) : $variable{$1}{allValue}/ge;
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
	INSERT INTO %1$s.steps (group_id, rollout_id, step_no, observation, action, state, action_hash, next_state, reward, tool, ok, response_token_ids, rollout_logprobs, policy_logprobs)
	SELECT g, r, step_no, state, action, state_hash, action_hash, next_state_hash, reward, 'tool ' || step_no %% 3, step_no %% 4 > 0, '{1,2}', ARRAY[-0.5, -1 - step_no %% 3], '{-0.6,-1.5}' FROM s;
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
	UPDATE rl.rollouts SET task_id = group_id;
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

# As somebody begins: no version, no time, nothing to compare by but what was done.
$node->safe_psql('postgres', q{
	CREATE TABLE other.bare AS SELECT episode, try, n, did, reward FROM other.t;
	SELECT count(*) FROM stepadv.attach('other.bare', '{episode}', 'try', 'n', action => 'did', reward => 'reward');
	-- Nor when.
	CREATE TABLE other.timeless AS SELECT t.*, 'v' || (t.episode - 1) / 8 + 1 AS version FROM other.t t;
	SELECT count(*) FROM stepadv.attach('other.timeless', '{episode}', 'try', 'n', 'What, seen', 'did', 'reward', policy_version => 'version')});

my %canonical = (
	views => 'rl.steps', policy_version => [ 'v1', 'v2', 'v3', '(none)' ], method => 'rtmc', other_method => 'grpo', search => '', group => '["task 1 of v2"]');
my %three = (%canonical, views => q("it's my Rl%".steps), policy_version => [ 'v1', 'v2', 'v3' ], group => '["run 1", "v2", "task 1"]');
my %other = (%canonical, views => 'other."My steps"', policy_version => undef, group => '["3"]');
my %other_three = (%other, views => 'other."of three"', group => '["1.0", "2", "2026-03-01"]');
# Panels that stay empty: nothing is the matter; no category of calls; of another set.
my $complete = 'What stays empty here';
my @uncategorised = ('Calls by category', 'Advantages by category: $method and $other_method');

# Names and types of a query's columns, and its rows.
sub answer
{
	my ($query, $value) = @_;
	my $sql = interpolate($query->{sql}, $value);
	my ($status, $out, $errors) = $node->psql('postgres', "$sql\n\\gdesc\n\\echo @@\nSELECT to_json(array_agg(to_json(x))) FROM ($sql\n) x", extra_params => [ '-F', "\x1f" ]);
	return { error => $errors } if $status || $errors;
	my ($types, $rows) = split /^@@\n?/m, $out;
	my @columns = map { [ split /\x1f/ ] } split /\n/, $types;
	return { columns => [ map { $_->[0] } @columns ], type => { map { @$_ } @columns }, rows => ($rows // '') eq '' ? [] : JSON::PP->new->decode($rows) };
}

sub is_number { return $_[0] =~ /^(?:smallint|integer|bigint|numeric|real|double precision)$/; }

# What a kind of panel needs; the complaints.
sub complaints
{
	my ($panel, $target, $answer) = @_;
	my ($columns, $type, $rows) = @{$answer}{qw(columns type rows)};
	my @complaints;
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

# The query itself, as it is for these values.
sub text_of
{
	my ($query, $value) = @_;
	my $sql = interpolate($query->{sql}, $value) =~ s/\ASELECT \* FROM stepadv\.panel_rows\((.*)\) AS \([^()]*\)\z/SELECT stepadv.panel_query($1)/sr;
	return $node->safe_psql('postgres', $sql);
}

sub run_all
{
	my ($name, $value, @empty) = @_;
	my %answers;
	my @nothing;
	foreach my $query (@queries)
	{
		my $answer = $answers{ $query->{name} } = answer($query, $value);
		is($answer->{error} // '', '', "$name: $query->{name} runs") or next;
		push @nothing, $query->{panel} ? $query->{panel}{title} : $query->{name} if !@{ $answer->{rows} };
		my @complaints = $query->{panel} ? complaints($query->{panel}, $query->{target}, $answer)
			: "@{ $answer->{columns} }" =~ /^(?:\S+|__text __value)$/ && !grep({ $_ ne 'text' } values %{ $answer->{type} }) ? () : 'not one column of texts, or two with names for them';
		is("@complaints", '', "$name: $query->{name} has what it needs");
	}
	is(join("\n", sort @nothing), join("\n", sort @empty), "$name: empty are these");
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

my $answers = run_all('canonical', \%canonical, $complete);
my $three_answers = run_all('three columns', \%three, $complete);
run_all('three columns, all versions', { %three, policy_version => undef }, $complete);
run_all('other', \%other, @uncategorised);
run_all('other, three columns', \%other_three, @uncategorised);
my @timed = map { $_->{title} } grep { $_->{type} eq 'timeseries' } @panels;
my $timeless = run_all('without time', { %other, views => 'other.timeless' }, @uncategorised, @timed);
my @names = map { $_->{panel} ? $_->{panel}{title} : $_->{name} } @queries;
my $bare = run_all('bare', { %other, views => 'other.bare' },
	grep { !/^(?:What stays empty here|Success at k|Signs |The group|Steps of the group|variable (?:views|method|other_method|group)$)/ } @names);
run_all('nothing chosen', { %canonical, views => '' }, grep { $_ ne 'variable views' && $_ ne $complete } @names);

# ---- The same from maintained groups, to nine digits: sums over groups have no order

sub rounded
{
	my ($value) = @_;
	return { map { $_ => rounded($value->{$_}) } keys %$value } if ref $value eq 'HASH';
	return [ map { rounded($_) } @$value ] if ref $value eq 'ARRAY';
	return defined $value && $value =~ /^-?\d+\.\d+(?:e[-+]?\d+)?$/ ? sprintf('%.9g', $value) : $value;
}
sub shown { return JSON::PP->new->canonical->allow_nonref->encode(rounded($_[0])); }

my $other_answers = run_all('other, again', \%other, @uncategorised);
$node->safe_psql('postgres', q{CREATE INDEX ON other.t (episode); SELECT stepadv.maintain('rl.rollout_rows'), stepadv.maintain('other.t', how => 'refresh')});
# What is kept is read, and kept.
$node->safe_psql('postgres', q{UPDATE rl.rollouts SET policy_version = 'v7' WHERE group_id = 'task 1 of v2';
	UPDATE rl.rollouts SET policy_version = 'v2' WHERE group_id = 'task 1 of v2'});
foreach my $set ([ 'canonical, maintained', \%canonical, $answers, $complete ], [ 'other, maintained', \%other, $other_answers, @uncategorised ])
{
	my ($name, $value, $folded, @empty) = @$set;
	my $kept = run_all($name, $value, @empty);
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
is(join("\n", map { "$_->{'policy version'} $_->{rollouts} $_->{steps}" } @{ rows_of('Rollouts of each version') }),
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
like(join(' ', map { values %$_ } @{ $answers->{'variable method'}{rows} }), qr/^rtmc grpo batch_td gigpo .*\brloo\b/, 'methods');
like(join(' ', map { values %$_ } @{ $answers->{'variable other_method'}{rows} }), qr/^grpo rtmc batch_td /, 'the other method begins with another');

# ---- Variables filter, and do nothing else

my ($by_version) = grep { $_->{panel} && $_->{panel}{title} eq 'Rollouts of each version' } @queries;
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
# An address can be written by hand; then what is no group shows none.
foreach my $hostile (q{'; DROP SCHEMA rl CASCADE; --}, q{\\'; DROP SCHEMA rl CASCADE; --}, q{x') OR true; DROP SCHEMA rl CASCADE; --}, q{"; DROP SCHEMA rl CASCADE; --}, '${group}', '{signs}', '{"a":1}', '[null]', '$$', '')
{
	# As a value of the group's column, and of no form that the list of groups has.
	foreach my $group (JSON::PP->new->encode([$hostile]), $hostile)
	{
		my %value = (%canonical, (map { $_ => $hostile } qw(method other_method search)), group => $group, policy_version => [$hostile]);
		is(($node->psql('postgres', join '', map { interpolate($_->{sql}, \%value) . ";\n" } @queries))[2], '', "$hostile is but a value");
	}
	my @asking = grep { $_->{sql} =~ /\$\{views:/ } @queries;
	my ($status, $out, $errors) = $node->psql('postgres', join('', map { interpolate($_->{sql}, { %canonical, views => $hostile }) . ";\n" } @asking), on_error_stop => 0);
	is(join('|', grep { !/no views of stepadv\.attach with schema and prefix "\Q$hostile\E"$/ } $errors =~ /^.*ERROR: .*/mg), '', "$hostile is no attachment");
	is(scalar(() = $errors =~ /ERROR: /g), $hostile eq '' ? 0 : scalar(@asking), 'which every panel says');
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
	shown([ map { { __text => "run 1 / v$_->[0] / task $_->[1]", __value => qq(["run 1", "v$_->[0]", "task $_->[1]"]) } } [ 1, 0 ], [ 1, 1 ], [ 3, 7 ] ]), 'groups, by their columns');
# No name has to be taken apart: of each value the panel about the group shows that group.
my ($of_group) = grep { $_->{panel} && $_->{panel}{title} eq 'The group' } @queries;
$node->safe_psql('postgres', q{
	CREATE SCHEMA odd;
	SELECT count(*) FROM stepadv.create_tables('odd');
	INSERT INTO odd.rollouts (run_id, policy_version, task_id, rollout_id, outcome)
	SELECT a, b, c, 'r' || r, 1 FROM (VALUES (1, 'a / b', 'c', 'd'), (2, 'a', 'b / c', 'd'), (3, '', '', 'it''s'), (4, '', '\"', '{}'), (5, 'a', '', 'c'), (6, '', 'a', '$__timeTo ${group}')) v(n, a, b, c), generate_series(1, n) r;
	INSERT INTO odd.steps (run_id, policy_version, task_id, rollout_id, step_no, observation, action) SELECT run_id, policy_version, task_id, rollout_id, 0, 'door', 'open it' FROM odd.rollouts});
my %odd = (%three, views => 'odd.steps', policy_version => undef);
my @odd = @{ answer($groups, \%odd)->{rows} };
is(join("\n", map { my $of = answer($of_group, { %odd, group => $_->{__value} }); "$_->{__text}: " . ($of->{error} // join ' ', map { $_->{rollouts} } @{ $of->{rows} }) } @odd),
	join("\n", '\\" / {}: 4', 'a / $__timeTo ${group}: 6', '["a / b", "c", "d"]: 1', '["a", "b / c", "d"]: 2', 'a / c: 5', q(it's: 3)), 'groups of odd names');
is(join(' ', map { $_->{__text} } @{ answer($groups, { %odd, search => "IT'S" })->{rows} }), "it's", 'groups are found by a part of their name');
is(scalar(@{ answer($groups, { %odd, search => '%' })->{rows} }), 0, 'which is no pattern');
# Of thousands the list has the first hundred, and finds the others.
$node->safe_psql('postgres', q{
	CREATE TABLE other.many AS SELECT g AS episode, 1 AS try, 0 AS n, 'a' AS did, 'b' AS seen, 1.0 AS reward FROM generate_series(1, 3000) g;
	SELECT count(*) FROM stepadv.attach('other.many', '{episode}', 'try', 'n', 'seen', 'did', 'reward')});
is(scalar(@{ answer($groups, { %other, views => 'other.many' })->{rows} }), 100, 'of 3000 groups a hundred');
is(join(' ', map { $_->{__value} } @{ answer($groups, { %other, views => 'other.many', search => '2987' })->{rows} }), '["2987"]', 'the others are found');
is(answer((grep { $_->{name} eq 'variable policy_version' } @queries), \%odd)->{error} // '', '', 'versions of odd names');
is(join(' ', map { $_->{'policy version'} } @{ answer($by_version, \%odd)->{rows} }), '(none) \\" a b / c c', 'a version that nobody named is none');
# The group is looked up: below the fold by an index.
foreach my $query ($of_group, grep { $_->{panel} && $_->{panel}{title} =~ /^(?:Steps of the group|Rollout tree of the group|Best steps|Worst steps|Steps that .*|Which method .*)$/ } @queries)
{
	my $plan = $node->safe_psql('postgres', 'SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN ' . text_of($query, \%three));
	like($plan, qr/Index Cond: [^\n]*run_id = \S[^\n]*policy_version = \S[^\n]*task_id = /, "$query->{name}: by index");
}

# ---- Who may only read

$node->safe_psql('postgres', q{CREATE ROLE visitor; GRANT USAGE ON SCHEMA rl, stepadv TO visitor; GRANT SELECT ON ALL TABLES IN SCHEMA rl TO visitor});
is($node->safe_psql('postgres', 'SET ROLE visitor; SELECT views FROM stepadv.panel_sources()'), 'rl.steps', 'a reader is shown what he may read');
is(($node->psql('postgres', 'SET ROLE visitor; ' . join '', map { interpolate($_->{sql}, \%canonical) . ";\n" } @queries))[2], '', 'every query runs');
like(($node->psql('postgres', 'SET ROLE visitor; ' . interpolate($of_group->{sql}, \%other)))[2], qr/no views of stepadv\.attach with schema and prefix "other\."My steps""\nHINT:  There are: rl\.steps\.$/m, 'of others he learns nothing');
$node->safe_psql('postgres', 'DROP OWNED BY visitor; DROP ROLE visitor');

# ---- What stays empty, and by version where there is no time

my @said = map { $_->{'stays empty'} } @{ $bare->{"panel $by_title{$complete} A"}{rows} };
is(join('; ', @said), 'advantages by category; all over time and by policy version; best and worst steps, groups of the credit check; calls by category; credit check; distribution of advantages; lengths and costs; rollout tree; success by distance from the goal',
	'said of little');
is(join(' ', map { "$_->{'policy version'} $_->{rollouts}" } @{ $timeless->{"panel $by_title{'Rollouts of each version'} A"}{rows} }),
	direct(q{SELECT string_agg(version || ' ' || n, ' ' ORDER BY version) FROM (SELECT version, count(DISTINCT (episode, try)) AS n FROM other.timeless GROUP BY 1) x}), 'by version, without time');
is(join(' ', map { $_->{'policy version'} } @{ $timeless->{"panel $by_title{'Success at k of the two newest versions'} A"}{rows} }) =~ s/(v\d)(?: \1)+/$1/gr, 'v3 v2', 'the newest are those of the last names');

# ---- What rollouts do, success at k, which method to believe

is(join("\n", map { "$_->{category} $_->{calls} $_->{errors}" . sprintf(' %.6f', $_->{'error share'}) } @{ rows_of('Calls by category') }),
	direct(q{SELECT concat_ws(' ', tool, count(*), count(*) FILTER (WHERE NOT ok), round(avg((NOT ok)::int), 6)) FROM rl.steps GROUP BY tool ORDER BY count(*) DESC, tool}), 'calls and errors');
is(join("\n", map { sprintf '%s %.6f %.6f %d', @{$_}{qw(category a b steps)} } sort { $a->{category} cmp $b->{category} } @{ rows_of('Advantages by category: $method and $other_method') }),
	direct(q{SELECT concat_ws(' ', s.tool, round(avg(a.advantage) FILTER (WHERE method = 'rtmc')::numeric, 6), round(avg(a.advantage) FILTER (WHERE method = 'grpo')::numeric, 6), count(a.advantage) / 2)
		FROM rl.steps_advantages a JOIN rl.steps s USING (group_id, rollout_id, step_no) WHERE method IN ('rtmc', 'grpo') AND a.advantage IS NOT NULL GROUP BY s.tool ORDER BY s.tool}), 'advantages by category');
is(join("\n", map { sprintf '%s %d %.6f %.6f', @{$_}{ 'policy version', 'rollouts', 'mean', 'per success' } } grep { $_->{measure} eq 'steps' && $_->{'policy version'} ne '(none)' } @{ rows_of('Lengths and costs by version') }),
	direct(q{SELECT concat_ws(' ', policy_version, count(*), round(avg(n), 6), round(sum(n) FILTER (WHERE outcome IS NOT NULL)::numeric / count(*) FILTER (WHERE success), 6))
		FROM (SELECT r.*, (SELECT count(*) FROM rl.steps s WHERE (s.group_id, s.rollout_id) = (r.group_id, r.rollout_id)) AS n FROM rl.rollouts r) x
		WHERE policy_version IS NOT NULL GROUP BY policy_version ORDER BY policy_version}), 'lengths, and steps per success');
is(join("\n", map { sprintf '%s %d %d %.6f %.6f', @{$_}{ 'policy version', 'k', 'tasks', 'pass@k', 'pass^k' } } grep { $_->{k} == 2 } @{ rows_of('Success at k of the two newest versions') }),
	direct(q{SELECT concat_ws(' ', policy_version, 2, count(*), round(avg(1 - (n - c) * (n - c - 1) / (n * (n - 1))::numeric), 6), round(avg(c * (c - 1) / (n * (n - 1))::numeric), 6))
		FROM (SELECT policy_version, group_id, count(*) AS n, count(*) FILTER (WHERE success) AS c FROM rl.rollouts WHERE outcome IS NOT NULL AND policy_version IN ('v2', 'v3') GROUP BY 1, 2) x
		GROUP BY policy_version ORDER BY policy_version DESC}), 'success at 2');
is(join("\n", map { sprintf '%s %.6f', @{$_}{ 'horizon', 'success rate' } } @{ rows_of('Success by distance from the goal') }),
	direct(q{SELECT concat_ws(' ', coalesce(horizon::text, 'none known'), round((sum(n_successes) / sum(n_rollouts))::numeric, 6)) FROM rl.steps_success_by_horizon GROUP BY horizon ORDER BY horizon NULLS LAST}), 'success by distance');
# There are fewer groups than are drawn.
is(join("\n", map { sprintf '%s %d %.6f %.6f %.6f %.6f', @{$_}{ 'method', 'groups', 'coverage', 'rank correlation', 'rank error', 'slope' } } @{ rows_of('Which method to believe: credit check of 40 groups') }),
	direct(q{SELECT concat_ws(' ', method, groups, round(coverage::numeric, 6), round(rank_correlation::numeric, 6), round(rank_correlation_error::numeric, 6), round(slope::numeric, 6)) FROM rl.steps_credit_check WHERE method IN ('rtmc', 'grpo') ORDER BY method DESC}), 'credit check');

# ---- The same for other tools

# Of the tables that create_tables('rl') makes, as SQL that needs nothing but the views.
$node->safe_psql('postgres', q{CREATE DATABASE plain});
$node->safe_psql('plain', q{CREATE EXTENSION stepadv; SELECT count(*) FROM stepadv.create_tables('rl');
	INSERT INTO rl.rollouts (policy_version, task_id, rollout_id, outcome, started_at) VALUES ('v1', 'task 1', 'a', 1, '2026-03-01'), ('v1', 'task 1', 'b', 0, '2026-03-01'), ('v2', 'task 1', 'c', 1, '2026-03-02');
	INSERT INTO rl.steps (policy_version, task_id, rollout_id, step_no, observation, action) SELECT policy_version, task_id, rollout_id, n, 'room ' || n, rollout_id || n FROM rl.rollouts, generate_series(0, 1) n});
my %plain = (views => 'rl.steps', policy_version => [ 'v1', 'v2' ], method => 'rtmc', other_method => 'grpo', search => '', group => '["", "v1", "task 1"]', from => '2026-01-01', to => '2026-12-31');
my $sql = slurp_file('test/data/panels.head.sql');
foreach my $query (grep { $_->{panel} } @queries)
{
	my $of_text = interpolate($query->{sql}, \%plain) =~ s/\ASELECT \* FROM stepadv\.panel_rows\((.*)\) AS \([^()]*\)\z/SELECT stepadv.panel_query($1)/sr;
	my $plain = $of_text =~ /\ASELECT stepadv\.panel_query/ ? $node->safe_psql('plain', $of_text) : $of_text;
	# Operators that need no schema here.
	$plain =~ s/ OPERATOR\(pg_catalog\.=\) / = /g;
	$plain =~ s/^\n+|\n+$//g;
	my $title = $query->{panel}{title} =~ s/\$other_method/GRPO/r =~ s/\$method/RTMC/r;
	$sql .= "\n-- $title" . ($query->{target}{refId} eq 'A' ? '' : " ($query->{target}{refId})") . "\n-- " . ($query->{panel}{description} =~ s/\s+/ /gr) . "\n$plain;\n";
}
# Where it is not, build/results has what it should be.
open my $out, '>:raw', "$PostgreSQL::Test::Utils::log_path/dashboard_panels.log" or die $!;
print $out $sql;
close $out;
is(slurp_file('docs/grafana/panels.sql'), $sql, "docs/grafana/panels.sql is what stepadv.json says: build/results/dashboard_panels.log");
my ($done, $shown_sql, $shown_errors) = $node->psql('plain', slurp_file('docs/grafana/panels.sql'));
is("$done $shown_errors", '0 ', 'and runs');

# ---- Problems

is(join("\n", map { join '|', @{$_}{qw(problem effect groups rollouts rows)} } @{ rows_of('Problems') }),
	direct(q{SELECT concat_ws('|', problem, effect, count(DISTINCT group_id), count(DISTINCT group_id || '/' || rollout_id), sum(n_rows)) FROM rl.steps_problems GROUP BY problem, effect
		ORDER BY effect LIKE 'nothing%', sum(n_rows) DESC, problem}), 'problems');
like(join("\n", map { "$_->{problem} $_->{groups} $_->{rollouts}" } @{ rows_of('Problems') }), qr/^not judged 1 1$/m, 'r2 is not judged');

$node->stop;
done_testing();
