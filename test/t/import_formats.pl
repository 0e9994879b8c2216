# The example files of test/data/import, of every format that has some: what is loaded
# is what an independent count of the files says.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Importing;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $data = "$FindBin::Bin/../data/import";

my $node = begin_importing('import_formats');

sub documents
{
	my ($file) = @_;
	my $text = slurp_file("$data/$file");
	return $file =~ /\.jsonl$/ ? map { decode_json($_) } split /\n/, $text : decode_json($text);
}

sub is_list { return ref $_[0] eq 'ARRAY'; }

# Rollouts, steps, calls and calls with a result, of messages of the chat interface.
sub count_messages
{
	my ($messages) = @_;
	my ($steps, $calls) = (0, 0);
	foreach my $message (@$messages)
	{
		next if $message->{role} ne 'assistant';
		my $n = is_list($message->{tool_calls}) ? @{ $message->{tool_calls} } : 0;
		$calls += $n;
		$steps += $n || 1;
	}
	return (1, $steps, $calls);
}

my %count = (
	inspect => sub { my ($d) = @_; return map { [ count_messages($_->{messages}) ] } $d->{sample} ? $d->{sample} : @{ $d->{samples} } },
	openhands => sub {
		my ($d) = @_;
		my @events = is_list($d) ? @$d : @{ $d->{history} };
		my @own = grep { ($_->{source} // '') eq 'agent' && (defined $_->{action} || ($_->{kind} // '') eq 'MessageEvent') && ($_->{action} // '') ne 'recall' } @events;
		return [ 1, scalar @own, scalar grep { ($_->{kind} // '') ne 'MessageEvent' } @own ];
	},
	atif => sub {
		my ($d) = @_;
		my @turns = map { is_list($_->{tool_calls}) ? scalar @{ $_->{tool_calls} } : 0 } grep { $_->{source} eq 'agent' } @{ $d->{steps} };
		my ($steps, $calls) = (0, 0);
		$steps += $_ || 1, $calls += $_ foreach @turns;
		return [ 1, $steps, $calls ];
	},
	swe_agent => sub {
		my ($d) = @_;
		my $n = $d->{trajectory} ? @{ $d->{trajectory} } : grep { $_->{role} eq 'assistant' && !$_->{is_demo} && defined $_->{action} } @{ $d->{history} };
		return [ 1, $n, $n ];
	},
	intercode => sub {
		my ($d) = @_;
		return map { my $n = @{ $_->{turn_history}{actions} }; [ 1, $n, $n ] } values %{ $d->{logs} // $d };
	});

foreach my $format (sort keys %count)
{
	my @files = glob "$data/$format/*";
	ok(@files > 1, "$format: there are examples");
	foreach my $path (@files)
	{
		my $name = $path =~ s{.*/}{}r;
		my ($rollouts, $steps, $calls) = (0, 0, 0);
		foreach my $found (map { $count{$format}->($_) } documents("$format/$name"))
		{
			$rollouts += $found->[0];
			$steps += $found->[1];
			$calls += $found->[2];
		}
		my $schema = "$format $name";
		my ($status, $out, $err) = import_files($schema, $path);
		is($status, 0, "$format/$name is loaded") or diag($out . $err);
		is(value(qq(SELECT (SELECT count(*) FROM "$schema".rollouts) || ' ' || (SELECT count(*) FROM "$schema".steps) || ' ' || (SELECT count(tool) FROM "$schema".steps))),
			"$rollouts $steps $calls", "$format/$name: rollouts, steps, calls");
		like((import_files($schema, '--explain', $path))[1], qr/^  $format: fits\n(?!.*: fits\n).*it is loaded as $format$/sm, "$format/$name is nothing else");
		my ($again, $repeated) = import_files($schema, $path);
		like($repeated, qr/^rollouts_added +0\n.*^steps_added +0\n/ms, "$format/$name again: nothing new");
	}
}

# What the examples say, by hand.
is(value(q(SELECT string_agg(concat_ws(' ', task_id, rollout_id, outcome, success, truncated, model, run_id), E'\n' ORDER BY rollout_id) FROM "inspect rooms.json".rollouts)),
	"rooms/1 s1e1 1 t f lab/m1 run1\nrooms/1 s1e2 0 f f lab/m1 run1\nrooms/two stwoe1 0.5 f t lab/m1 run1\nrooms/two stwoe2 0.25 f f lab/m1 run1", 'Inspect: C, I, P and numbers of the first scorer, epochs, limits');
is(value(q(SELECT string_agg(concat_ws('|', turn, tool, args, ok, told), E'\n' ORDER BY rollout_id, step_no) FROM (SELECT *, coalesce(next_observation, lead(observation) OVER (PARTITION BY rollout_id ORDER BY step_no)) AS told FROM "inspect rooms.json".steps) s WHERE tool IS NOT NULL)),
	qq(0|look|{"at": "door"}|t|a red door\n0|feel|{"at": "handle"}|t|cold\n0|bash|{"cmd": "open"}|f|it took too long), 'calls by their ids, and an error');
is(value(q(SELECT string_agg(concat_ws('|', turn, tool, ok, told, metadata ->> 'thought'), E'\n' ORDER BY step_no) FROM (SELECT *, coalesce(next_observation, lead(observation) OVER (PARTITION BY rollout_id ORDER BY step_no)) AS told FROM "openhands trajectory.json".steps) s)),
	"0|execute_bash|f|ls: nothing|Let me look.\n0|str_replace_editor|t|x = 1\n1|str_replace_editor|f|no such text\n2|finish", 'OpenHands: observations by their cause, in any order; turns by answers of the model');
is(value(q(SELECT string_agg(concat_ws('|', turn, tool, args, ok, told), E'\n' ORDER BY step_no) FROM (SELECT *, coalesce(next_observation, lead(observation) OVER (PARTITION BY rollout_id ORDER BY step_no)) AS told FROM "openhands events_v1.json".steps) s)),
	qq(0|terminal|{"command": "ls"}|t|a.py\n0|terminal|{"command": "pwd"}|f|not allowed\n1), 'version 1: by the call\'s id');
is(value(q(SELECT string_agg(concat_ws(' ', task_id, rollout_id, success), E'\n' ORDER BY rollout_id) FROM "openhands output.jsonl".rollouts)),
	"own__proj-1 openhands--output--own__proj-1 t\nown__proj-2 openhands--output--own__proj-2 f", 'outputs of an evaluation');
is(value(q(SELECT string_agg(concat_ws('|', turn, tool, ok, told), E'\n' ORDER BY step_no) FROM (SELECT *, coalesce(next_observation, lead(observation) OVER (PARTITION BY rollout_id ORDER BY step_no)) AS told FROM "atif trajectory.json".steps) s)),
	"0|bash|t|a.py\n0|bash|t|/w\n1|edit|f|Error: locked\n2", 'ATIF: each step of the agent is a turn');
is(value(q(SELECT string_agg(concat_ws(' ', turn, tool, prompt_token_ids, response_token_ids, rollout_logprobs, metadata -> 'metrics'), ',' ORDER BY step_no) FROM "atif trajectory.json".steps)),
	'0 bash {7,8} {-0.1,-0.2} {"prompt_tokens": 5, "completion_tokens": 2},0 bash,1 edit,2', 'tokens and metrics at the first step of their turn');
is(value(q(SELECT task_id || ' ' || outcome || ' ' || started_at::date FROM "atif trajectory.json".rollouts)), 'fix 1 2026-02-04', 'task and outcome of extra');
is(value(q(SELECT string_agg(concat_ws('|', turn, observation, tool, args), E'\n' ORDER BY step_no) FROM "swe_agent demonstration.traj".steps)),
	qq(0|The sum is off by one.\n(Open file: n/a)\nbash-\$|find_file|{"file_name": "sum.py"}\n1|Found 1 match: /r/sum.py|edit|{"search": "1", "replace": "2"}\n2|Text replaced.|submit|{}),
	'SWE-agent: a demonstration is what its history tells, its own demonstrations left out');
is(value(q(SELECT string_agg(concat_ws(' ', r.outcome, r.success, r.metadata ->> 'query', s.n), E'\n' ORDER BY r.rollout_id) FROM "intercode refine.json".rollouts r, LATERAL (SELECT string_agg(reward || '/' || ok, ', ' ORDER BY step_no) AS n FROM "intercode refine.json".steps s WHERE s.rollout_id = r.rollout_id) s)),
	"1 t Count the doors 0.25/true, 1/true\n0.5 f Name the cellar 0/false, 0/false, 0.5/true", 'InterCode: plans that were refined, below logs');

# An .eval file: a zip, of which each sample is read by itself.
SKIP:
{
	skip 'no zip and unzip', 2 if system('command -v zip unzip >/dev/null 2>&1') != 0;
	my $dir = directory() . '/eval';
	mkdir $_ or die $! foreach $dir, "$dir/samples";
	my ($log) = documents('inspect/rooms.json');
	my $samples = delete $log->{samples};
	foreach my $part ([ 'header.json', $log ], map { [ "samples/$_->{id}_epoch_$_->{epoch}.json", $_ ] } @$samples)
	{
		open my $fh, '>', "$dir/$part->[0]" or die $!;
		print $fh JSON::PP->new->utf8->pretty->encode($part->[1]);
		close $fh;
	}
	system_or_bail("cd '$dir' && zip -q -r rooms.eval header.json samples && rm -r header.json samples");
	my ($status, $out, $err) = import_files('eval', $dir);
	is($status, 0, 'an .eval file in a directory') or diag($out . $err);
	is(value(q(SELECT count(*) FROM (TABLE eval.rollouts EXCEPT SELECT r.* FROM "inspect rooms.json".rollouts r) x WHERE metadata - 'source' NOT IN (SELECT metadata - 'source' FROM "inspect rooms.json".rollouts))), 0, 'says what the log says');
}
append_to_file($node->basedir . '/broken.eval', "PK\x03\x04 cut");
my ($status, $out, $err) = import_files('broken', $node->basedir . '/broken.eval');
is($status, 1, 'no zip');
like($err, qr{^\S*broken\.eval: .*(zip|End-of-central).*\n\z}i, 'is said') or diag($err);

done_testing();
