# stepadv-import: directories, gzip, names of any bytes, broken files, repeats.
use strict;
use warnings;
use Cwd;
use FindBin;
use lib $FindBin::Bin;
use Importing;
use PostgreSQL::Test::Utils;
use Session;
use Test::More;

my $node = begin_importing('import', 1);
my $script = script();
my $here = Cwd::getcwd();
my $dir = directory();

sub chat
{
	my ($task, $trial, $answer) = @_;
	return qq({"task_id": "$task", "trial": $trial, "reward": 1, "traj": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "$answer"}]});
}

sub trajectory
{
	my ($action) = @_;
	return qq({"environment": "e", "info": {}, "history": [{"role": "user", "content": "Fix"}], "trajectory": [{"action": "$action", "observation": "ok", "thought": "t"}]});
}

# Without the extension nothing is tried, and how to get it is said once.
write_file('first/1.json', chat('a', 0, 'one'));
write_file('first/2.json', chat('a', 1, 'two'));
my ($status, $out, $err) = import_files('rl', "$dir/first");
is($status, 2, 'a database without the extension');
is(() = $err =~ /CREATE EXTENSION stepadv_import CASCADE/g, 1, 'its message helps') or diag($err);
$node->safe_psql('postgres', 'CREATE EXTENSION stepadv_import CASCADE');

# Functions of a stranger that would suit better: none is called.
$node->safe_psql('postgres', q(
	CREATE FUNCTION public.format(text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'a stranger''s function'; END $$;
	CREATE FUNCTION public.to_regclass(varchar) RETURNS regclass LANGUAGE plpgsql AS $$ BEGIN RAISE 'a stranger''s function'; END $$;
	CREATE FUNCTION public.jsonb_each_text(varchar) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'a stranger''s function'; END $$));

# A directory of everything, with names that shells and psql would choke on.
my $soh = "\x01";
write_file('all/tau/results.json', '[' . chat('a', 0, 'one') . ",\n" . chat('a', 1, "\xC3\xA4\xE2\x86\x92\xF0\x9F\x99\x82 \\u0000") . ']');
write_file('all/verl/7.jsonl', join("\r\n", map { qq({"input": "q", "output": "$_", "score": 0.0, "step": 7}) } 1 .. 3) . "\n");
write_file("all/runs/it's \$(touch owned) \"x\";\n-- y/-t 'z'.traj", trajectory('ls'));
write_file("all/runs/latin\xE9/latin\xE9.traj", trajectory('pwd'));
write_file('all/log.txt', "-----------------\n5\nAction: reset\nObservation: \nShop\n\\.\n:\\.\n::\\.\n\n::x\\.\n:\nAction: click[Buy Now]\nObservation: Your score (min 0.0, max 1.0): 1.0\n\n1 1.0 1.0 0.0\n-------------\n");
write_file('all/steps.jsonl', qq({"group_id": "s", "rollout_id": "r", "step_no": 0, "action": "x", "outcome": 1}\n{"group_id": "s", "rollout_id": "r", "step_no": 1, "action": "y"}\n));
write_file('all/pretty.json', "\xEF\xBB\xBF{\n  \"task_id\": \"p\",\n  \"trial\": 0,\n  \"messages\": [\n    {\"role\": \"assistant\", \"content\": \"\\\\.\"}\n  ]\n}\n");
write_file('all/notes.md', 'passed over');
system_or_bail('gzip', "$dir/all/verl/7.jsonl");
symlink "$dir/all/steps.jsonl", "$dir/all/link.jsonl";

($status, $out, $err) = import_files('rl', "$dir/all");
is($status, 0, 'a directory is loaded') or diag($out . $err);
like($out, qr/^7 files, 0 left out$/m, 'seven files of it, no link');
# 2 of chat, 3 of verl, 1 + 1 of SWE-agent, 1 of ReAct, 1 of steps, 1 printed over lines
is(count_of($out, 'rollouts_added'), 10, 'rollouts');
is(count_of($out, 'steps_added'), 11, 'steps');
is(count_of($out, 'nul_replaced'), 1, 'U+0000');
is($err, '', 'no complaint, and no progress where no terminal is');
ok(!-e 'owned' && !-e "$dir/owned", 'a file name is only a name');
is(value(q(SELECT action FROM rl.steps WHERE rollout_id = 'a-t1')), "\xC3\xA4\xE2\x86\x92\xF0\x9F\x99\x82 \xEF\xBF\xBD", 'texts are those of the file');
is(value(q(SELECT action FROM rl.steps WHERE task_id = 'p')), '\.', 'a backslash and a dot end nothing');
is(value(q(SELECT observation FROM rl.steps WHERE action = 'click[Buy Now]')), "\nShop\n\\.\n:\\.\n::\\.\n\n::x\\.\n:", 'nor does a line of them');
is(value(qq(SELECT string_agg(task_id || ' ' || rollout_id, ',' ORDER BY task_id) FROM rl.rollouts WHERE metadata ->> 'environment' = 'e')),
	"-t 'z' it's \$(touch owned) \"x\";\n-- y---t 'z',latin\xC3\xA9 runs--latin\xC3\xA9", 'names of any bytes are ids');
is(value(q(SELECT string_agg(rollout_id, ' ' ORDER BY rollout_id) FROM rl.rollouts WHERE policy_version = '7')), 'verl--7:1 verl--7:2 verl--7:3', 'lines of a gzip file');

# Again: nothing new, by any way to name the files.
($status, $out, $err) = import_files('rl', '-q', "$dir/all/.", "$dir/all/verl/../verl/7.jsonl.gz");
is($status, 0, 'a repeat is no error');
is(count_of($out, 'rollouts_added') . ' ' . count_of($out, 'steps_added') . ' ' . count_of($out, 'steps_repeated'), '0 0 14', 'and adds nothing');
($status, $out, $err) = import_files('named', '-f', 'steps', "$dir/all/steps.jsonl");
is($status . ' ' . count_of($out, 'rollouts_added') . ' ' . count_of($out, 'steps_added'), '0 1 2', 'a format that is named need not be guessed') or diag($err);
is($err, '', 'quiet');
{
	write_file('all/runs/-q.traj', trajectory('id'));
	chdir "$dir/all/runs" or die $!;
	($status, $out, $err) = import_files('rl', '--', '-q.traj');
	is($status, 0, 'a name that begins with a dash') or diag($err);
	is(count_of($out, 'rollouts_added'), 1, 'is loaded');
	chdir $here or die $!;
}

# Files that cannot be used are left out whole, the others are loaded.
write_file('bad/1.json', chat('b', 0, 'good'));
write_file('bad/2.json', substr(chat('b', 1, 'cut'), 0, 60));
write_file('bad/3.json', chat('b', 2, "not UTF-8: \xC3("));
write_file('bad/4.jsonl', chat('b', 3, 'good') . "\n" . chat('b', 4, "NUL \x00") . "\n" . chat('b', 5, 'good') . "\n");
write_file('bad/5.json', '{"some": "settings"}');
write_file('bad/6.json', '');
write_file('bad/7.json.gz', substr(slurp_file("$dir/all/verl/7.jsonl.gz"), 0, 30));
write_file('bad/8.json', chat('b', 8, 'good'));
my $unreadable = write_file('bad/9.json', chat('b', 9, 'secret'));
chmod 0, $unreadable;
($status, $out, $err) = import_files('strict', "$dir/bad");
is($status, 1, 'something was left out');
like($out, qr/^9 files, 6 left out$/m, 'files 2, 3, 4, 5, 7 and 9');
is(value(q(SELECT string_agg(rollout_id, ' ' ORDER BY rollout_id) FROM strict.rollouts)), 'b-t0 b-t8', 'whole files or nothing');
like($err, qr{bad/2\.json: document 1: invalid input syntax for type json}, 'each with its name and reason') or diag($err);
like($err, qr{bad/3\.json: document 1: invalid byte sequence}, 'not UTF-8');
like($err, qr{bad/4\.jsonl: document 2: a byte in a string that JSON does not allow[^\n]*; at the top: traj, trial, reward, task_id; -k loads the other 2\n}, 'a line of many');
like($err, qr{bad/5\.json: document 1: the document has no known format; at the top: some; --explain shows[^\n]*-j says where things are\n}, 'no rollouts');
is(() = $err =~ /\n/g, 6, 'one line each') or diag($err);
like($err, qr{bad/7\.json\.gz: gzip: [^\n/]*unexpected end of file\n}, 'gzip that ends too early');
unlike($err, qr{exec|exit code|CONTEXT|PL/pgSQL|psql|stepadv-import\.}, 'in gzip\'s words alone');
unlike(value(q(SELECT string_agg(nspname, ' ') FROM pg_namespace)), qr/temp_left/, 'nothing else is left');

# With -k what can be used of a file is.
($status, $out, $err) = import_files('kept', '-k', "$dir/bad");
is($status, 1, 'something was left out still');
is(value(q(SELECT string_agg(rollout_id, ' ' ORDER BY rollout_id) FROM kept.rollouts)), 'b-t0 b-t3 b-t5 b-t8', 'but only what cannot be used');
is(count_of($out, 'bad_documents'), 4, 'documents of 2, 3, 4 and 5');
like($out, qr/^9 files, 2 left out$/m, 'files 7 and 9');

# The owner of a database makes both extensions, and whoever has tables uses them.
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; CREATE ROLE author LOGIN; CREATE DATABASE owned OWNER owner');
$node->safe_psql('owned', 'CREATE EXTENSION stepadv_import CASCADE; CREATE SCHEMA hers; GRANT ALL ON SCHEMA hers TO author',
	extra_params => [ '-U', 'owner' ]);
IPC::Run::run([ $script, '-q', '-d', $node->connstr('owned') . ' user=author', '-s', 'hers', "$dir/first" ], '>', \$out, '2>', \$err);
is($? >> 8, 0, 'by a role that owns no database') or diag($err);
is(count_of($out, 'rollouts_added'), 2, 'in tables of its own');
is($node->safe_psql('owned', q(SELECT string_agg(extname || ' ' || extowner::regrole, ', ' ORDER BY extname) FROM pg_extension WHERE extname ~ 'stepadv')),
	'stepadv owner, stepadv_import owner', 'both are the owner\'s');

# Several files at once, tables made by the first of them: the others are loaded
# though one of them is broken, and it is said which was.
write_file("many/$_.json", chat('m' . $_ % 3, $_, "answer $_")) foreach 1 .. 12;
write_file('many/bad.json', substr(chat('m', 1, 'cut'), 0, 60));
($status, $out, $err) = import_files('many', '-J', '4', "$dir/many");
is($status, 1, 'one of many files cannot be used');
like($out, qr{^13 files, 1 left out\nleft out: \Q$dir\E/many/bad\.json$}m, 'and is named') or diag($out);
is(count_of($out, 'rollouts_added') . ' ' . count_of($out, 'steps_added'), '12 12', 'all others are counted');
is(value(q(SELECT count(*) || ' ' || count(DISTINCT action) FROM many.steps)), '12 12', 'and loaded');
is(() = $err =~ /\n/g, 1, 'one message') or diag($err);
unlike($err, qr/CONTEXT/, 'without what functions it came through');
# The same rollouts in two files, which are loaded at the same time.
write_file("twice/$_/same.json", '[' . join(',', map { chat('same', $_, 'x') } ($_ eq 'a' ? 1 .. 300 : reverse 1 .. 300)) . ']') foreach 'a', 'b';
($status, $out, $err) = import_files('many', '-J', '2', "$dir/twice");
is($status . ' ' . count_of($out, 'rollouts_added') . ' ' . count_of($out, 'steps_added') . ' ' . count_of($out, 'steps_repeated'), '0 300 300 300', 'one repeats the other') or diag($err);
{
	# Surely at the same time: the import must wait for who has written and not said so.
	my ($in, $told, $wrong) = ("BEGIN;\nCREATE TEMP TABLE docs AS SELECT 1::bigint AS n, '" . chat('slow', 1, 'x')
		. "'::text AS document;\nSELECT 'added ' || steps_added FROM stepadv.import_rollouts('many', 'docs');\n", '', '');
	my $other = IPC::Run::start([ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr('postgres') ], '<', \$in, '>', \$told, '2>', \$wrong);
	IPC::Run::pump($other) until $told =~ /added 1/ || $wrong ne '';
	my ($late_out, $late_err) = ('', '');
	write_file('late.json', '[' . chat('slow', 1, 'x') . ', ' . chat('slow', 2, 'x') . ']');
	my $late = IPC::Run::start([ $script, '-d', $node->connstr('postgres'), '-s', 'many', "$dir/late.json" ], '<', \undef, '>', \$late_out, '2>', \$late_err);
	ok($node->poll_query_until('postgres', q(SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'transactionid')), 'it waits');
	$in .= "COMMIT;\n";
	IPC::Run::finish($other);
	IPC::Run::finish($late);
	is($? . ' ' . count_of($late_out, 'rollouts_added') . ' ' . count_of($late_out, 'steps_added') . ' ' . count_of($late_out, 'steps_repeated'), '0 1 1 1', 'and takes what came meanwhile for what it is') or diag($late_err);
}
# A deadlock with somebody who writes rollouts in another order, found while the
# steps are written the quick way: what was written is taken back, and the long way
# finds what the other has put there.
{
	value(q(SELECT count(*) FROM stepadv.create_tables('dead')));
	my $deadlocks = value(q(SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'));
	my ($in, $told, $wrong) = ("SET deadlock_timeout = '1h'; SET client_min_messages = error;\nBEGIN;\nCREATE TEMP TABLE late AS SELECT 1::bigint AS n, '" . chat('dead', 2, 'x') . "'::text AS document;\n"
		. "SELECT 'added ' || steps_added FROM stepadv.import_rollouts('dead', 'late');\n", '', '');
	my $other = IPC::Run::start([ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr('postgres') ], '<', \$in, '>', \$told, '2>', \$wrong);
	IPC::Run::pump($other) until $told =~ /added 1/ || $wrong ne '';
	write_file('dead.json', '[' . join(', ', map { chat('dead', $_, 'x') } 1 .. 3) . ']');
	my ($dead_out, $dead_err) = ('', '');
	my $dead;
	{
		local $ENV{PGOPTIONS} = '-c deadlock_timeout=4s';
		$dead = IPC::Run::start([ $script, '-d', $node->connstr('postgres'), '-s', 'dead', "$dir/dead.json" ], '<', \undef, '>', \$dead_out, '2>', \$dead_err);
	}
	ok($node->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'transactionid')), 'the import waits for who came first');
	# The first of the file's rollouts is written already: who came first waits now, too.
	$in .= "UPDATE late SET document = '" . chat('dead', 1, 'x') . "';\nSELECT 'then ' || steps_added FROM stepadv.import_rollouts('dead', 'late');\nCOMMIT;\n";
	IPC::Run::pump_nb($other) for 1 .. 10;
	IPC::Run::finish($other);
	IPC::Run::finish($dead);
	like($told, qr/then 1/, 'who came first goes on') or diag($wrong);
	is($? . ' ' . count_of($dead_out, 'rollouts_added') . ' ' . count_of($dead_out, 'steps_added') . ' ' . count_of($dead_out, 'steps_repeated'), '0 1 1 2', 'the file is loaded all the same') or diag($dead_err);
	ok($node->poll_query_until('postgres', "SELECT deadlocks > $deadlocks FROM pg_stat_database WHERE datname = 'postgres'"), 'there was a deadlock');
	is(value(q(SELECT count(*) || ' ' || count(DISTINCT rollout_id) FROM dead.steps)), '3 3', 'each step once');
}

# Interrupted while four files are being loaded, at whatever point: nothing of them is
# there, nobody works on, and nothing is left in the temporary folder.
{
	value(q(SELECT count(*) FROM stepadv.create_tables('cut')));
	my $many = join(', ', map { chat('c', $_, 'word ' x 50) } 1 .. 2000);
	write_file("cut/$_.json", '[' . ($many =~ s/"task_id": "c"/"task_id": "c$_"/gr) . ']') foreach 1 .. 6;
	my $temp = "$dir/temp";
	mkdir $temp or die $!;
	my $lock = Session->new($node, 'postgres', value('SELECT current_user'));
	foreach my $case ([ 'INT', 130, 1 ], [ 'TERM', 143, 1 ], [ 'INT', 130, 0 ])
	{
		my ($signal, $expected, $locked) = @$case;
		# Whoever started the test in the background has it ignore the keyboard's signal.
		local $SIG{$signal} = 'DEFAULT';
		my ($cut_out, $cut_err) = ('', '');
		# Where they wait is in the middle of the statement that writes.
		$lock->psql('BEGIN; LOCK TABLE cut.rollouts IN SHARE MODE') if $locked;
		local $ENV{TMPDIR} = $temp;
		my $cut = IPC::Run::start([ $script, '-d', $node->connstr('postgres') . ' application_name=cut', '-s', 'cut', '-J', '4', "$dir/cut" ], '<', \undef, '>', \$cut_out, '2>', \$cut_err);
		ok($node->poll_query_until('postgres', $locked ? q(SELECT count(*) = 4 FROM pg_stat_activity WHERE application_name = 'cut' AND wait_event_type = 'Lock')
				: q(SELECT count(*) = 4 FROM pg_stat_activity WHERE application_name = 'cut' AND query ~ 'import_one')), "four files are being loaded ($signal)");
		IPC::Run::signal($cut, $signal);
		IPC::Run::finish($cut);
		is($? >> 8, $expected, "exit status after SIG$signal") or diag($cut_err);
		ok($node->poll_query_until('postgres', q(SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'cut')), 'no server process works on');
		$lock->psql('ROLLBACK') if $locked;
		opendir my $left, $temp or die $!;
		is(join(' ', grep { !/^\./ } readdir $left), '', 'no temporary folder is left');
		is(value(q(SELECT (SELECT count(*) FROM cut.rollouts) || ' ' || (SELECT count(*) FROM cut.steps))), '0 0', 'and nothing is loaded by half');
	}
	$lock->end;
	($status, $out, $err) = import_files('cut', '-J', '4', "$dir/cut");
	is($status . ' ' . count_of($out, 'rollouts_added') . ' ' . count_of($out, 'steps_added'), '0 12000 12000', 'then all of it is, once') or diag($err);
}

# What JSON of real programs has that JSON has not, as lines of steps and as chats.
{
	my $line = sub { my ($rollout, $more) = @_; return qq({"task_id": "odd", "rollout_id": "$rollout", "step_no": 0, "action": "x"$more}\n) };
	write_file('odd/1-nul.jsonl', $line->('a', ', "observation": "\u0000 and \\\\u0000"') . $line->('b', ''));
	write_file('odd/2-nan.jsonl', $line->('c', '') . $line->('d', ', "reward": NaN') . $line->('e', ''));
	write_file('odd/3-infinity.jsonl', $line->('f', ', "reward": 1e999') . $line->('g', ', "outcome": -Infinity') . $line->('h', ''));
	write_file('odd/4-cut.jsonl', $line->('i', '') . substr($line->('j', ', "observation": "long"'), 0, 70));
	write_file('odd/5-bytes.jsonl', $line->('k', '') . $line->('l', ", \"observation\": \"\xC3\xA4 \xFF\"") . $line->('m', ", \"observation\": \"\xC3\xA4\""));
	write_file('odd/6-chat.json', chat('odd', 0, 'good') =~ s/"reward": 1/"reward": NaN/r);
	write_file('odd/7-chat.json', '[' . chat('odd', 1, 'good') . ', ' . (chat('odd', 2, 'large') =~ s/"reward": 1/"reward": 1e400/r) . ']');
	write_file('odd/8-log.json', '{"0": {"environment": "ic_sql", "query": "q", "turn_history": {"actions": ["a"], "observations": ["o\u0000"], "rewards": [NaN], "valid_action": [true]}}}');
	($status, $out, $err) = import_files('odd', "$dir/odd");
	is($status, 1, 'files that are no JSON');
	like($out, qr/^8 files, 7 left out$/m, 'are left out, the one with U+0000 is not') or diag($out . $err);
	is(count_of($out, 'nul_replaced'), 1, 'U+0000, but not its name behind a backslash');
	is(value(q(SELECT string_agg(rollout_id || ' ' || coalesce(observation, '-'), ', ' ORDER BY rollout_id) FROM odd.steps)), "a \xEF\xBF\xBD and \\u0000, b -", 'nothing is loaded by half');
	like($err, qr{odd/2-nan\.jsonl: line 2: .*NaN}, 'NaN, with its line') or diag($err);
	like($err, qr{odd/3-infinity\.jsonl: line 1: }, 'too large a number, with its line') or diag($err);
	like($err, qr{odd/4-cut\.jsonl: line 2: }, 'a line that ends too early') or diag($err);
	like($err, qr{odd/5-bytes\.jsonl: line 2: invalid byte sequence}, 'bytes that are no UTF-8') or diag($err);
	like($err, qr{odd/$_: document 1: }, $_) foreach '6-chat.json', '7-chat.json', '8-log.json';
	($status, $out, $err) = import_files('odd', '-k', "$dir/odd");
	is($status, 1, 'and of some of them the rest is loaded');
	is(value(q(SELECT string_agg(rollout_id, ' ' ORDER BY rollout_id) FROM odd.rollouts)), 'a b c e h i k m odd-t1', 'each rollout that is good');
	is(count_of($out, 'bad_documents') . ' ' . count_of($out, 'bad_rollouts'), '7 1', 'and the others are counted') or diag($out . $err);
	like($out, qr/^8 files, 0 left out$/m, 'no file is left out whole');
}
# What the line of progress says last, and what before.
($status, $out, $err) = import_files('line', '-J', '2', '--progress', "$dir/many", "$dir/all");
my @line = split /\r/, $err =~ s/\s+$//r;
like($line[-1], qr{^21/21 files, 0\.0 of 0\.0 MB, 24 steps(, \d+ steps/s)?, 0:\d\d$}, 'the last state of the line') or diag($err);
like($line[1], qr{^0/21 files, 0\.0 of 0\.0 MB, 0 steps\s*$}, 'the first');
is(length($line[1]), 78, 'padded, so that nothing of a longer one is left');
is((import_files('line', '-q', '--progress', "$dir/first"))[2] =~ /files/, 1, 'the later of two options holds');

# Nothing is loaded, only said: what a file is, and what would be stored of it.
write_file('said/pair.json', '{"input": "q", "output": "a"}');
write_file('said/own.json', '{"runs": [{"task": "t", "won": true, "turns": [{"obs": "o", "act": "a"}]}]}');
($status, $out, $err) = import_files('unsaid', '--explain', "$dir/said", "$dir/first/1.json");
is($status, 0, '--explain') or diag($err);
like($out, qr{said/pair\.json\n.*  verl: no: without score beside.*  the document has no known format\n}s, 'a pair of texts is no dump of verl');
like($out, qr{said/own\.json\n.*-j '\{[^\n]*"steps": "\$\.turns\[\*\]"}s, 'paths to begin with') or diag($out);
like($out, qr{first/1\.json\n.*  openai_chat: fits\n.*  it is loaded as openai_chat\n}s, 'and what fits');
{
	# These paths are taken as they are said.
	my ($likely) = $out =~ m{said/own\.json\n.*?-j '([^']*)'}s;
	my ($likely_status, $likely_out) = import_files('likely', '-j', $likely, "$dir/said/own.json");
	is($likely_status . ' ' . count_of($likely_out, 'steps_added'), '0 1', 'can be used') or diag($likely);
}
($status, $out, $err) = import_files('unsaid', '--preview', "$dir/many/1.json");
is($status, 0, '--preview') or diag($err);
like($out, qr{^rollout_id +\| m1-t1\n.*^action +\| answer 1\n}ms, 'a step') or diag($out);
($status, $out, $err) = import_files('unsaid', '--preview', "$dir/said/pair.json", "$dir/bad/7.json.gz");
is($status, 1, 'of files that cannot be read there is none');
write_file('cut/short.json', '[{"traj": [{"role": "user"');
write_file('cut/empty.json', '');
($status, $out, $err) = import_files('unsaid', '--preview', "$dir/cut/short.json", "$dir/cut/empty.json");
is($status, 1, 'nor of what breaks off or is empty');
like($out, qr{short\.json\n  no step could be read:\n  one document\n  no JSON: .*empty\.json\n  no step could be read:\n  the file is empty\n}s, 'which is said') or diag($out);
is(value(q(SELECT count(*) FROM pg_namespace WHERE nspname = 'unsaid')), 0, 'and nothing is made');
# What there was to load: nothing; files of one name; what is another now.
mkdir "$dir/void" or die $!;
($status, $out, $err) = import_files('void', "$dir/void");
is($status, 1, 'an empty directory');
like($out, qr{^no files to read: .*/void$}m, 'is said');
write_file("same/$_/log.txt", "Question: Who?\nAction 1: Search[$_]\nObservation 1: none\n") foreach 'a', 'b';
($status, $out, $err) = import_files('same', '--policy-version=v1', '--states', 'signature', "$dir/same");
is($status . ' ' . count_of($out, 'rollouts_added'), '0 2', 'files of one name in two directories') or diag($out . $err);
like($out, qr{^judged, with states 0 of 2 rollouts, 2 of 2 steps\nmissing: outcome: .*\nmissing: started_at}m, 'what they lack');
unlike($out, qr{missing: policy_version}, 'and not what was given');
is(value(q(SELECT string_agg(policy_version || rollout_id, ' ' ORDER BY rollout_id COLLATE "C") ~ '^v1a--log-[0-9a-f]+ v1b--log-[0-9a-f]+$' FROM same.rollouts)), 't', 'have ids with their directories');
is(value(q(SELECT states FROM stepadv.attachments() WHERE schema = 'same')), 'signature', 'states');
is(value(q(SELECT reltuples FROM pg_class WHERE oid = 'same.rollouts'::regclass)), 2, 'plans know of them');
is((import_files('same', '--states', 'signature', '-q', '-v', 'v1', "$dir/same"))[0], 0, 'the same states again');
is((import_files('same', '--states=history', "$dir/same"))[0], 2, 'and not others');
write_file('same/a/log.txt', "Question: Who?\nAction 1: Search[c]\nObservation 1: none\n");
($status, $out, $err) = import_files('same', '-v', 'v1', "$dir/same/a/log.txt");
is($status, 1, 'another content under a name that is there');
like($err, qr{^\S*same/a/log\.txt: document 1: step 0 of rollout .* is not what the table has.*; --update replaces what the tables have\n\z}, 'what may help') or diag($err);
($status, $out, $err) = import_files('same', '-v', 'v1', '--update', "$dir/same/a/log.txt");
is($status . ' ' . count_of($out, 'rollouts_updated') . ' ' . value(q(SELECT string_agg(action, ' ' ORDER BY action) FROM same.steps)), '0 1 Search[b] Search[c]', 'helps') or diag($out . $err);

# Lines of steps say as much of themselves as documents.
write_file('lines/stepless.jsonl', join('', map { qq({"task_id": "l", "rollout_id": "s$_", "outcome": 1}\n) } 1 .. 4));
write_file('lines/unjudged.jsonl', join('', map { qq({"task_id": "l", "rollout_id": "u$_", "step_no": 0, "observation": "o"}\n) } 1 .. 3));
write_file('lines/empty.jsonl', '');
foreach my $again (0, 1)
{
	($status, $out, $err) = import_files('lines', "$dir/lines");
	is(join(' ', $status, map { count_of($out, $_) } 'rollouts_added', 'steps_added', 'stepless_rollouts', 'unjudged_rollouts'),
		$again ? '0 0 0 4 3' : '0 7 3 4 3', 'lines, some rollouts without steps, some not judged' . ($again ? ', again' : '')) or diag($out . $err);
	like($out, qr{^3 files, 0 left out\nnothing in it: \S*lines/empty\.jsonl\n}, 'an empty file is named');
	like($out, qr{^missing: 4 of 7 rollouts have no step\n.*^missing: 3 of 7 outcome: .*^missing: action: all are NULL}ms, 'what they lack') or diag($out);
}
write_file('lines/twice.jsonl', join('', map { qq({"task_id": "t", "rollout_id": "t", "step_no": 0, "action": "$_"}\n) } 'a', 'b'));
($status, $out, $err) = import_files('lines', "$dir/lines/twice.jsonl");
like($err, qr{twice\.jsonl: line 2: step 0 of rollout t of group t.* is not what line 1 says; .*; -k takes the first of such lines\n\z}, 'two lines that differ') or diag($err);
is($status . ' ' . count_of($out, 'steps_added'), '1 0', 'are left out');
($status, $out, $err) = import_files('lines', '-k', "$dir/lines/twice.jsonl");
is(value(q(SELECT string_agg(action, ' ') FROM lines.steps WHERE task_id = 't')), 'a', 'the first of them with -k');
unlike($err, qr{-k takes}, 'which is not said again');

# Options, hostile values of them, and misuse.
write_file("opt/x.json", chat('o', 0, 'x') =~ s/"reward": 1/"reward": 0.5/r);
my $schema = q(s"'; DROP SCHEMA rl; -- %I);
($status, $out, $err) = import_files($schema, '-g', q(g'"\\ $1 :x-), '-a', '0.5', "$dir/opt");
is($status, 0, 'hostile schema and prefix') or diag($err);
is($node->safe_psql('postgres', q(SELECT task_id || ' ' || success FROM "s""'; DROP SCHEMA rl; -- %I".rollouts)), q(g'"\\ $1 :x-o true), 'are only names');
# Of which run and version, where the file does not say.
($status, $out, $err) = import_files('runs', '-r', q(seed '1' \\), '-v', 'v "1"', '-n', '-12', "$dir/opt/x.json", "$dir/all/verl", "$dir/all/steps.jsonl");
is($status, 0, 'a run, a version and a step') or diag($err);
is(value(q(SELECT string_agg(concat_ws('|', run_id, policy_version, policy_step, rollout_id), E'\n' ORDER BY rollout_id) FROM runs.rollouts)),
	join("\n", q(seed '1' \|v "1"|-12|o-t0), q(seed '1' \|v "1"|-12|r), map { "seed '1' \\|7|7|verl--7:$_" } 1 .. 3), 'what the files do not say is what was given');
write_file('opt/y.json', '{"e": [{"t": 1, "s": [{"a": "x"}, {"a": "y"}]}]}');
($status, $out, $err) = import_files('paths', '-j', '{"rollouts": "$.e[*]", "group_id": "$.t", "steps": "$.s[*]", "action": "$.a"}', "$dir/opt/y.json");
is($status . ' ' . count_of($out, 'steps_added'), '0 2', 'paths') or diag($err);
($status, $out, $err) = import_files('sub', '-f', 'swe_agent', "$dir/all");
like($out, qr/^3 files, 0 left out$/m, 'of a directory only what has the endings of the format');
symlink $script, "$dir/program" or die $!;
IPC::Run::run([ "$dir/program", '-d', $node->connstr('postgres'), '-s', 'linked', '-q', "$dir/first" ], '>', \$out, '2>', \$err);
is($? >> 8, 0, 'by a link from another folder');
is((import_files('none'))[0], 2, 'no file: usage');
is((import_files('none', '-f', 'csv', $dir))[0], 2, 'unknown format');
unlike((import_files('none', '-f', 'csv', $dir))[2], qr{perhaps}, 'that is like none');
foreach ([ 'openai-chat', 'openai_chat' ], [ 'Inter', 'intercode' ], [ 'step', 'steps' ])
{
	like((import_files('none', '-f', $$_[0], $dir))[2], qr{^stepadv-import: unknown format: \Q$$_[0]\E; perhaps you meant "$$_[1]"; there are openai_chat, }, "perhaps $$_[1]");
}
is((import_files('none', '-a', '1; DROP', $dir))[0], 2, 'a score that is none');
is((import_files('none', '-n', $_, $dir))[0], 2, "no step: $_") foreach '1.5', '1; DROP', '-', 'x';
is((import_files('none', '-J', $_, $dir))[0], 2, "no number of files: $_") foreach '0', '-1', 'x', '2.5';
is((import_files('none', '-z', $dir))[0], 2, 'unknown option');
is((import_files('none', '--jobs', $dir))[0], 2, 'unknown long option');
like((import_files('none', '--help'))[1], qr/^Usage:.*-J JOBS/s, 'help');
like((import_files('none', '-?'))[1], qr/^Usage:/, 'help');
is((import_files('none', "$dir/nowhere"))[0], 1, 'a missing file');
is(value(q(SELECT count(*) FROM pg_namespace WHERE nspname = 'none')), 0, 'nothing was made for it');
$node->stop;
($status, $out, $err) = import_files('rl', "$dir/all");
is($status, 2, 'no server');

done_testing();
