# What is no rollout, and what is made to do harm: each is counted and reported, nothing
# is loaded by half, and the next file is loaded as if nothing had been.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Importing;
use IO::Compress::Gzip qw(gzip $GzipError);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = begin_importing('import_bad');
my $dir = directory();
my $many = 1000000;

sub chat
{
	my ($task, $trial, $answer) = @_;
	return qq({"task_id": "$task", "trial": $trial, "reward": 1, "traj": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "$answer"}]});
}

# Name, content, what is said of it; 0: it is loaded.
my @bad = (
	[ 'cut.json', substr(chat('c', 0, 'x' x 100), 0, 90), qr{invalid input syntax for type json} ],
	[ 'cut_in_utf8.json', substr(chat('c', 1, "\xC3\xA4" x 100), 0, index(chat('c', 1, "\xC3"), "\xC3") + 3), qr{invalid byte sequence} ],
	[ 'utf8.json', chat('u', 0, "a \xED\xA0\x80 surrogate"), qr{invalid byte sequence} ],
	[ 'overlong.json', chat('u', 1, "a \xC0\x80 long NUL"), qr{invalid byte sequence} ],
	[ 'utf16.json', "\xFF\xFE" . join('', map { "$_\x00" } split //, chat('u', 2, 'x')), qr{invalid} ],
	[ 'nul.json', chat('n', 0, "a \x00 byte"), qr{a byte in a string that JSON does not allow} ],
	[ 'escaped_nul.json', chat('n', 1, 'a \\u0000 sign'), 0 ],
	[ 'half.json', chat('n', 2, 'half a \\ud83d pair'), qr{invalid input syntax for type json} ],
	[ 'deep.json', '[' x $many . ']' x $many, qr{nested too deeply} ],
	[ 'deep_objects.json', '{"a":' x $many . '1' . '}' x $many, qr{nested too deeply} ],
	[ 'deep_open.json', '[' x $many, qr{nested too deeply} ],
	[ 'deep_message.json', '{"task_id": "d", "traj": [{"role": "user", "content": ' . '[' x 100000 . ']' x 100000 . '}]}', qr{nested too deeply} ],
	[ 'deep_arguments.json', '{"task_id": "d", "trial": 1, "traj": [{"role": "assistant", "content": null, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "' . '[' x $many . '"}}]}]}', 0 ],
	[ 'number.json', qq({"task_id": "n", "trial": 3, "reward": 1@{[ '0' x 200000 ]}, "traj": [{"role": "assistant", "content": "x"}]}), qr{overflow|out of range|range} ],
	[ 'exponent.json', '{"task_id": "n", "trial": 4, "reward": 1e99999999999, "traj": [{"role": "assistant", "content": "x"}]}', qr{out of range|overflow|invalid} ],
	[ 'keys.json', '{' . join(', ', map { qq("k$_": $_) } 1 .. 20000) . '}', qr{no known format; at the top: (k\d+, ){20}…; } ],
	[ 'key.json', '{"' . 'k\\n' x 1000 . '": 1}', qr{no known format; at the top: [k?]{40}; } ],
	[ 'twice.json', '{"task_id": "t", "task_id": "t2", "messages": [{"role": "assistant", "content": "x"}]}', 0 ],
	[ 'same_id.jsonl', chat('i', 0, 'one') . "\n" . chat('i', 0, 'two') . "\n", qr{document 2: rollout i-t0 of group i is another than the one of that name in document 1} ],
	[ 'same_id_and_words.jsonl', chat('j', 0, 'one') . "\n" . chat('j', 0, 'one') . "\n", 0 ],
	[ 'object_for_list.json', '{"messages": {"role": "user", "content": "x"}}', qr{no known format} ],
	[ 'lists_for_objects.json', '{"task_id": "l", "traj": [["role"], 5, null, "x", {"role": ["user"]}, {"role": "assistant", "content": [[]], "tool_calls": {"a": 1}}]}', 0 ],
	[ 'list_for_id.json', '{"task_id": ["x"], "trial": {"a": 1}, "messages": [{"role": "assistant", "content": "x"}]}', 0 ],
	[ 'list_for_score.json', '{"input": "x", "output": "y", "score": [1], "step": 1}', qr{outcome must be a number, not array} ],
	[ 'word_for_list.json', '{"task_id": "w", "trajectory": [{"action": 1, "observation": [2]}], "history": "none", "info": []}', 0 ],
	[ 'nothing.json', 'null', qr{no known format} ],
	[ 'empty_list.json', '[]', qr{no known format; at the top: an empty list} ],
	[ 'blank.json', "  \n\n\t", 0 ],
	[ 'mark.json', "\xEF\xBB\xBF", 0 ],
	[ 'bytes.json', join('', map { chr } 0 .. 255), qr{.} ],
	[ "line\nfeed \"and' \$(touch owned) `touch owned`;.json", chat('f', 0, 'x'), 0 ],
	[ 'gone.json.gz', "\x1F\x8B\x08\x00rest", qr{gzip: } ],
	[ 'no.eval', 'no zip', qr{zip|End-of-central|unzip}i ],
	[ 'steps_deep.jsonl', qq({"task_id": "s", "rollout_id": 1, "step_no": 0, "action": "x"}\n{"task_id": "s", "rollout_id": 1, "step_no": 1, "args": @{[ '[' x 100000 . ']' x 100000 ]}}\n), qr{line 2: it is nested too deeply} ],
	[ 'steps_list.jsonl', qq({"task_id": "s", "rollout_id": 2, "step_no": 0, "action": "x"}\n["a", "list"]\n), qr{line 2: a line must be a JSON object, not array} ]);
value(q(SELECT count(*) FROM stepadv.create_tables('bad')));
foreach my $case (@bad)
{
	my ($name, $content, $expected) = @$case;
	my $file = write_file("one/$name", $content);
	my $rows = value('SELECT (SELECT count(*) FROM bad.rollouts) + (SELECT count(*) FROM bad.steps)');
	my ($status, $out, $err) = import_files('bad', $file);
	my $said = $name =~ s/\n/?/gr;
	if ($expected)
	{
		is($status, 1, "$said is left out") or diag($out . $err);
		like($err, qr{\A\S*one/[^\n]*: [^\n]*$expected[^\n]*\n\z}, 'with one line that says why');
		like($out, qr{^1 file, 1 left out$}m, 'and is counted');
		is(count_of($out, 'rollouts_added') . ' ' . count_of($out, 'steps_added'), '0 0', 'nothing of it is there');
	}
	else
	{
		like($status, qr{^[01]$}, "$said is loaded, or nothing in it is") or diag($out . $err);
		is($err, '', 'without a complaint');
	}
	unlike($err, qr{PL/pgSQL|CONTEXT|server closed|exec 4}, 'in words for people');
	is(value('SELECT (SELECT count(*) FROM bad.rollouts) + (SELECT count(*) FROM bad.steps)'), $rows + count_of($out, 'rollouts_added') + count_of($out, 'steps_added'), 'what is counted is there, and no more');
}
ok(!-e 'owned' && !-e "$dir/owned", 'a name is only a name');
my $before = value(q(SELECT count(*) || ' ' || count(DISTINCT rollout_id) FROM bad.rollouts));
is(value(q(SELECT count(*) FROM bad.steps s WHERE NOT EXISTS (SELECT FROM bad.rollouts r WHERE r.rollout_id = s.rollout_id))), 0, 'no step without its rollout');
# All of them at once, over three connections, and once more keeping what is good.
my ($status, $out, $err) = import_files('bad', '-J', '3', "$dir/one");
is($status, 1, 'all at once');
is(() = $err =~ /\n/g, scalar(grep { $_->[2] } @bad), 'a line for each that is bad') or diag($err);
is(value(q(SELECT count(*) || ' ' || count(DISTINCT rollout_id) FROM bad.rollouts)), $before, 'nothing more is loaded');
($status, $out, $err) = import_files('bad', '-k', '-q', "$dir/one/same_id.jsonl", "$dir/one/steps_deep.jsonl", "$dir/one/steps_list.jsonl");
is($status . ' ' . value(q(SELECT string_agg(rollout_id, ' ' ORDER BY rollout_id) FROM bad.rollouts WHERE task_id IN ('i', 's'))), '1 1 2 i-t0', 'with -k what is good of a file') or diag($out . $err);

# Too large: a limit says so, before anything is made of it.
{
	my $text = '[{"task_id": "big", "traj": [{"role": "assistant", "content": "' . 'x' x (257 * 1048576) . "\"}]}]\n";
	my $packed;
	gzip(\$text => \$packed, -Level => 1) or die $GzipError;
	undef $text;
	my $file = write_file('big/one.json.gz', $packed);
	($status, $out, $err) = import_files('big', $file);
	is($status, 1, 'a document of 257 MB');
	like($err, qr{\A\S*big/one\.json\.gz: (document 1: )?it has 257 MB, more than the 256 that a document may have[^\n]*\n\z}, 'is more than may be') or diag($err);
	($status, $out, $err) = import_files('big', '-f', 'steps', $file);
	like($err, qr{\A\S*big/one\.json\.gz: line 1: it has 257 MB, more than the 256 that a document may have[^\n]*\n\z}, 'and as a line of steps') or diag($err);
}
write_file('bomb/plain.jsonl', join '', map { chat('p', $_, 'x' x 1000) . "\n" } 1 .. 2000);
system_or_bail('gzip', '-k', "$dir/bomb/plain.jsonl");
($status, $out, $err) = import_files('bomb', '--limit', '0.001', "$dir/bomb/plain.jsonl.gz");
is($status, 1, 'what unpacks to more than the limit');
like($err, qr{\A\S*plain\.jsonl\.gz: it unpacks to more than 1073742 bytes: --limit allows more\n\z}, 'is read no further') or diag($err);
is((import_files('bomb', '--limit=0.1', "$dir/bomb/plain.jsonl.gz"))[0], 0, 'and is loaded with another');
is((import_files('bomb', '--limit', $_, $dir))[0], 2, "no limit: $_") foreach 'x', '-1', '1e9';
SKIP:
{
	skip 'no zip and unzip', 5 if system('command -v zip unzip >/dev/null 2>&1') != 0;
	my $sample = sub { my ($n) = @_; return qq({"id": $n, "epoch": 1, "input": "q", "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "@{[ 'y' x 10000 ]}"}], "scores": {"s": {"value": "C"}}}) };
	write_file("zip/samples/${_}_epoch_1.json", $sample->($_)) foreach 1 .. 200;
	write_file('zip/header.json', '{"version": 2, "status": "success", "eval": {"task": "t", "model": "m", "run_id": "r", "eval_id": "e"}}');
	system_or_bail("cd '$dir/zip' && zip -q -r ../bomb.eval header.json samples && rm samples/1*.json && zip -q ../nohead.eval samples/2_epoch_1.json");
	($status, $out, $err) = import_files('zip', '--limit', '0.001', "$dir/bomb.eval");
	is($status, 1, 'a zip that unpacks to more than the limit');
	like($err, qr{\A\S*bomb\.eval: it unpacks to more than 1073742 bytes: --limit allows more\n\z}, 'is said') or diag($err);
	($status, $out, $err) = import_files('zip', "$dir/bomb.eval");
	is($status . ' ' . count_of($out, 'rollouts_added'), '0 200', 'and is none') or diag($err);
	($status, $out, $err) = import_files('zip', "$dir/nohead.eval");
	is($status, 1, 'a zip of something else');
	like($err, qr{\A\S*nohead\.eval: [^\n]*header\.json[^\n]*\n\z}, 'is said') or diag($err);
}
# After all that the connection's next file is loaded.
write_file('last/1.json', '[' x $many);
write_file('last/2.json', chat('last', 1, 'x'));
($status, $out, $err) = import_files('last', "$dir/last");
is($status . ' ' . count_of($out, 'rollouts_added'), '1 1', 'the next file is loaded');

done_testing();
