# The page of stepadv-report: its numbers are those of the views, its text is
# harmless, it needs nothing from outside, and a browser shows it.
use strict;
use warnings;
use utf8;
use Cwd qw(abs_path);
use Digest::SHA qw(sha256);
use Encode;
use File::Find;
use List::Util qw(sum uniq);
use MIME::Base64;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use FindBin;
use lib $FindBin::Bin;
use Browser;

# Installed with the extension: in the stage here, or where the server has it.
my $program;
my ($bindir) = run_command([ 'pg_config', '--bindir' ]);
find(
	{   wanted => sub { $program //= $File::Find::name if $_ eq 'stepadv-report' },
		no_chdir => 0
	},
	grep { -d } 'stage', $bindir);
ok($program, 'stepadv-report is installed') or BAIL_OUT('no program to test');

my $node = PostgreSQL::Test::Cluster->new('report');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION stepadv');
my $dir = abs_path($node->basedir);

sub report
{
	my ($name, @options) = @_;
	my ($out, $err) = ('', '');
	unlink "$dir/$name.html";
	my $ok = IPC::Run::run([ 'sh', $program, '-d', $node->connstr('postgres'), '-o', "$dir/$name.html", @options ], '>', \$out, '2>', \$err);
	return ($ok, $err, -e "$dir/$name.html" ? decode('UTF-8', slurp_file("$dir/$name.html"), Encode::FB_CROAK) : '');
}

# PostgreSQL's own XML parser, where it was built with one.
my $has_xml = $node->psql('postgres', q(SELECT '<a/>'::xml IS DOCUMENT)) == 0;
sub is_well_formed
{
	my ($name, $what) = @_;
  SKIP:
	{
		skip 'PostgreSQL has no XML parser', 1 if !$has_xml;
		my ($status, $out, $err) = $node->psql('postgres', "SELECT pg_read_file('$dir/$name.html')::xml IS DOCUMENT");
		is($out, 't', "$what: well-formed") or diag($err);
	}
}

# What could fetch or run something.  Text from the data has no < of its own.
sub is_closed
{
	my ($page, $what) = @_;
	# A folder's pages have one script, whose hash the policy has, and which asks for nothing.
	my ($script) = $page =~ s{<script>(.*?)</script></head>}{</head>}s ? $1 : undef;
	my $policy = defined $script ? "; script-src 'sha256-" . encode_base64(sha256(encode('UTF-8', $script)), '') . "'" : '';
	unlike($script, qr/fetch|XMLHttp|import|eval|innerHTML|src|https?:|navigator/, "$what: a script that asks for nothing") if defined $script;
	is(join(' ', $page =~ m{<(script|img|link|iframe|object|embed|base|form|a (?!(?:(?:rel|class)="[\w ]+" )?href="(?:#|[-a-z0-9]+\.html")))}gi), '', "$what: no element that fetches or runs");
	is(join(' ', $page =~ m{<[^>"]*(?:"[^"]*"[^>"]*)*?\s(on\w+|src|srcset|action|formaction|xlink:href|href(?!="\#[a-z]|="[-a-z0-9]+\.html"))=}gi), '', "$what: no such attribute");
	my ($style) = $page =~ m{<style>(.*?)</style>}s;
	unlike($style, qr/url\(|\@import/, "$what: no such style");
	like($page, qr/http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\Q$policy\E"/, "$what: and a policy that forbids it");
}

# Cells by group, rollout and rank of the step, as "rollout|rank|a,b,c" lines.
sub cells
{
	my ($page) = @_;
	my @lines;
	foreach my $group (split /(?=<h2 id=)/, $page)
	{
		my ($name) = $group =~ m{^<h2 id="g\d+">Group <bdi>(.*?)</bdi>} or next;
		foreach my $rollout ($group =~ m{(<div class="rollout (?:ok|bad|open)">.*?)(?=<div class="rollout|<h3>)}gs)
		{
			my ($id) = $rollout =~ m{<bdi>(.*?)</bdi>};
			foreach my $step ($rollout =~ m{(<div class="s[^>]*id="g\d+r\d+s\d+".*?</div>)}gs)
			{
				my ($rank) = $step =~ m{id="g\d+r\d+s(\d+)"};
				push @lines, "$name|$id|$rank|" . join(',', $step =~ m{<i class="\w+" data-a="(.*?)"}g);
			}
		}
	}
	return join "\n", sort @lines;
}

# A run of the simulator -----------------------------------------------------
$node->safe_psql('postgres', slurp_file('test/sim/simulator.sql') . q(
	SET jit = off;
	SELECT stepadv.create_tables('rl', group_by => '{group_id}');
	CREATE TEMP TABLE s AS
	SELECT 'rooms ' || group_id AS g, 'rollout ' || rollout_id AS r, s.* FROM sim.simulate(6, 6, 7, max_steps => 20) s;
	INSERT INTO rl.rollouts (group_id, rollout_id, outcome, success, truncated)
	SELECT g, r, max(reward), bool_or(success), bool_or(truncated) FROM s GROUP BY g, r;
	INSERT INTO rl.steps (group_id, rollout_id, step_no, observation, action, state, action_hash, next_state, reward)
	SELECT g, r, step_no, state, action, state_hash, action_hash, next_state_hash, reward FROM s;
	-- And a group that nobody has judged, one of a single rollout, one without steps.
	INSERT INTO rl.rollouts (group_id, rollout_id, success) VALUES ('unjudged', 'u1', NULL), ('single', 's1', true), ('stepless', 'n1', true), ('stepless', 'n2', false), ('equal', 'e1', true), ('equal', 'e2', true);
	INSERT INTO rl.steps (group_id, rollout_id, step_no, observation, action, state, action_hash)
	SELECT v.g, v.r, i, 'seen ' || i, 'done ' || i, i, i FROM (VALUES ('unjudged', 'u1'), ('single', 's1'), ('equal', 'e1'), ('equal', 'e2')) v(g, r), generate_series(0, 2) i;
));
my ($ok, $err, $page) = report('run', '-n', '2', '-m', 'grpo,rtmc,gigpo');
ok($ok && $err eq '', 'a page of a run') or diag($err);
is_well_formed('run', 'run');
is_closed($page, 'run');
is(join(' ', $page =~ m{"\w+://(?!www\.w3\.org/(?:2000/svg|1999/xhtml)")[^"]*"}g), '', 'run: no address but those of namespaces');
my @full = $page =~ m{<h2 id="g\d+">Group <bdi>(.*?)</bdi>}g;
is(scalar(@full), 2, 'two groups in full');
is(join(', ', sort @full), $node->safe_psql('postgres', q(SELECT string_agg(group_id, ', ' ORDER BY group_id) FROM
	(SELECT group_id FROM rl.steps_groups ORDER BY success_rate * (1 - success_rate) * (1 + n_shared_states) DESC NULLS LAST, sd_return DESC NULLS LAST LIMIT 2) g)),
	'those with most to learn from');
is(() = $page =~ m{<td class="group">}g, 10, 'all ten in the overview');
my $list = join ',', map { "'$_'" } @full;
is(cells($page), $node->safe_psql('postgres', qq(SELECT string_agg(l, E'\\n' ORDER BY l COLLATE "C") FROM (
	SELECT concat_ws('|', group_id, rollout_id, row_number() OVER (PARTITION BY group_id, rollout_id ORDER BY step_no), concat_ws(',', grpo, rtmc, gigpo)) AS l
	FROM rl.steps_compare WHERE group_id IN ($list)) x)), 'cells have the numbers of the view');

# Where it is decided, and where failed rollouts were lost: rows, in order, and numbers are those of the views.
sub decided { return join "\n", map { my $row = $_; join ' ', map { s/−/-/r } $row =~ m{<td class="n"[^>]*>([\d.]+)[^<]*<span[^>]*>(?:/|±) ([\d.]+)} } grep { /±/ } $_[0] =~ m{<h3>Where it is decided</h3>(.*?)</table>}s ? split /<tr>/, $1 : () }
my ($part) = $page =~ m{(<h2 id="g1">.*?)<h2}s;
is(decided($part), $node->safe_psql('postgres', qq(SELECT string_agg(visits || ' ' || rollouts, E'\\n' ORDER BY gap / gap_error DESC, visits DESC) FROM (
	SELECT * FROM rl.steps_decision_points WHERE group_id = '$full[0]' AND actions > 1 AND gap > 1e-9 ORDER BY gap / gap_error DESC, visits DESC LIMIT 12) d)), 'decision points of the view');
is(scalar(() = $part =~ m{<td class="text"[^>]*><span class="dim">\d+ × q }g), 2 * (() = decided($part) =~ /^./mg), 'with a best and a worst action each');
my ($lost) = $part =~ m{<h3>Where failed rollouts were lost</h3>(.*?)</table>}s;
is(join(' ', sort map { s/<[^>]*>//gr } $lost =~ m{</span> <bdi>(.*?)</bdi></td>}g), $node->safe_psql('postgres', qq(SELECT string_agg(rollout_id, ' ' ORDER BY rollout_id COLLATE "C")
	FROM (SELECT * FROM rl.steps_failure_points WHERE group_id = '$full[0]' AND (dead_end_step_no IS NOT NULL OR drop_step_no IS NOT NULL OR last_chance_step_no IS NOT NULL) ORDER BY value_drop DESC NULLS LAST LIMIT 12) f)), 'failed rollouts of the view');

# The colours: sign and fifths of the largest of the method in the group.
my ($group) = $page =~ m{(<h2 id="g1">.*?)<h2}s;
my (@by_method, @wrong);
foreach my $step ($group =~ m{<div class="s[^>]*id="g1r\d+s\d+"[^>]*>(.*?)</div>}gs)
{
	my @cells = $step =~ m{<i class="(\w+)" data-a="(.*?)"}g;
	push @{ $by_method[$_] }, [ @cells[ 2 * $_, 2 * $_ + 1 ] ] for 0 .. 2;
}
foreach my $cells (@by_method)
{
	my ($largest) = sort { $b <=> $a } map { abs $_->[1] } @$cells;
	foreach my $cell (@$cells)
	{
		my ($class, $a) = @$cell;
		my $fifths = abs($a) / $largest * 5;
		my $right = $a == 0 ? $class eq 'z' : $class =~ /^([pn])([1-5])$/ && ($1 eq 'p') == ($a > 0) && $2 >= $fifths - 1e-9 && ($2 - 1 < $fifths + 1e-9);
		push @wrong, "$class $a of $largest" if !$right;
	}
}
ok(@by_method == 3 && @{ $by_method[0] } > 20, 'there are cells to judge');
is(join('; ', @wrong), '', 'cells have the colours of their numbers');

# Quadrants, counted from the advantages themselves.
my ($first) = @full;
my ($quadrants) = $group =~ m{<table class="quadrants cards">(.*?)</table>}s;
is(join(' ', map { join ',', m{<td class="n(?: dim)?"[^>]*>(\d+)}g } $quadrants =~ m{(<tr><td.*?</tr>)}gs),
	$node->safe_psql('postgres', qq(SELECT string_agg(concat_ws(',', n, pp, nn, pn, np, n - pp - nn - pn - np), ' ' ORDER BY success DESC) FROM (
		SELECT success, count(*) AS n, count(*) FILTER (WHERE grpo > 0 AND rtmc > 0) AS pp, count(*) FILTER (WHERE grpo < 0 AND rtmc < 0) AS nn,
			count(*) FILTER (WHERE grpo > 0 AND rtmc < 0) AS pn, count(*) FILTER (WHERE grpo < 0 AND rtmc > 0) AS np
		FROM rl.steps_compare WHERE group_id = '$first' GROUP BY 1) q)), 'quadrants');
my ($decisive) = $group =~ m{largest advantage by rtmc.*?<table.*?<tr><td>(.*?)</tr>}s;
my ($largest) = $decisive =~ m{<td class="n m \w+"[^>]*>([^<]*)};
is($largest =~ s/−/-/r + 0, $node->safe_psql('postgres', qq(SELECT round(advantage::numeric, 3) FROM rl.steps_rtmc WHERE group_id = '$first' ORDER BY n_state > 1 DESC, abs(advantage) DESC LIMIT 1)) + 0, 'the most decisive step');
my ($differ) = $group =~ m{differ most.*?<table.*?<tr><td>(.*?)</tr>}s;
is(($differ =~ m{<td class="n"[^>]*>([\d.]+)</td>})[0] + 0, $node->safe_psql('postgres', qq(SELECT round(max(abs(difference))::numeric, 2) FROM rl.steps_disagreements
	WHERE group_id = '$first' AND method_a = 'grpo' AND method_b = 'rtmc')) + 0, 'the largest disagreement');
is(() = $page =~ m{<svg }g, 4, 'a tree and a graph of each');

# A number by a method in the first row of a table, or the headings of a table.
sub headings { return join ' ', map { s/<wbr\/>//r } $_[0] =~ m{<th class="n">([^<]*(?:<wbr/>[^<]*)*)</th>}g }
sub numbers_in { return join ' ', map { s/−/-/r } $_[0] =~ m{<td class="n(?: m \w+)?"[^>]*>([^<]*)</td>}g }
# Of a picture, by its heading: what its edges and what its nodes say after a letter, in order;
# an edge of advantage 0 says nothing of it.
sub drawn_numbers
{
	my ($of, $heading, $letter) = @_;
	my ($svg) = $of =~ m{<h3>$heading.*?(<svg.*?</svg>)}s;
	return join ' ', sort { $a <=> $b } map { s/&#45;/-/r + 0 } $svg =~ m{$letter ((?:[+]|&\#45;)?\d[\d.]*)<}g;
}
is(headings($group =~ m{largest advantage by rtmc.*?(<table.*?</table>)}s), 'step grpo rtmc q v took', 'those asked for stand side by side');
like($group, qr{q: their mean return;.*rtmc = q − v\.}, 'and it says what q and v are');
like($group, qr{\(visits, rtmc advantage\).*\(visits, graphgpo advantage\)}s, 'pictures of rtmc and graphgpo');
is(drawn_numbers($group, 'The state graph', 'V'), '', 'a graph of graphgpo has no values');

($ok, $err, $page) = report('all', '-g', $first);
is(headings($page =~ m{largest advantage by rtmc.*?(<table.*?</table>)}s), 'step grpo rtmc batch_td q v took', 'if all are, batch_td beside rtmc') or diag($err);

# The first method with a q and a v is told in full, and is what the pictures show.
($ok, $err, $page) = report('batch_td', '-g', $first, '-m', 'grpo,batch_td,rtmc');
ok($ok && $err eq '', 'a page of batch_td') or diag($err);
is_well_formed('batch_td', 'batch_td');
is(headings($page =~ m{largest advantage by batch_td.*?(<table.*?</table>)}s), 'step grpo batch_td rtmc q v took', 'rtmc stands beside it');
like($page, qr{discounted value of the state that came next;.*batch_td = q − v\.}, 'what q and v are');
($decisive) = $page =~ m{largest advantage by batch_td.*?<table.*?<tr>(<td>.*?)</tr>}s;
is(numbers_in($decisive =~ s{<td class="n"[^>]*><a.*?</td>}{}r =~ s{[+]}{}gr), $node->safe_psql('postgres', qq(
	SELECT concat_ws(' ', trim_scale(round(c.grpo::numeric, 3)), trim_scale(round(b.advantage::numeric, 3)), trim_scale(round(c.rtmc::numeric, 3)), trim_scale(round(b.q::numeric, 2)), trim_scale(round(b.v::numeric, 2)), b.n_action || '/' || b.n_state)
	FROM rl.steps_batch_td b JOIN rl.steps_compare c USING (group_id, rollout_id, step_no) WHERE group_id = '$first' ORDER BY b.n_state > 1 DESC, abs(b.advantage) DESC LIMIT 1)), 'its numbers');
like($page, qr{title="step \d+\n[^"]*batch_td: q }, 'and those of the hints');
like($page, qr{\(visits, batch_td advantage\).*\(d: steps to the goal, v, visits\).*\(visits, batch_td advantage\)}s, 'pictures of batch_td');
my $edges = qq(SELECT string_agg(a::text, ' ' ORDER BY a) FROM (SELECT trim_scale(round(b.advantage::numeric, 3)) AS a
	FROM rl.steps_%s e JOIN rl.steps_batch_td b USING (group_id, step_id) WHERE group_id = '$first' AND abs(b.advantage) >= 0.0005) x);
is(drawn_numbers($page, 'The state graph', 'A'), $node->safe_psql('postgres', sprintf($edges, 'graph_edges')), 'the graph has its advantages');
is(drawn_numbers($page, 'The state graph', 'V'), $node->safe_psql('postgres', qq(SELECT string_agg(v::text, ' ' ORDER BY v) FROM (SELECT DISTINCT ON (b.state) trim_scale(round(b.v::numeric, 2)) AS v
	FROM rl.steps_batch_td b WHERE group_id = '$first' ORDER BY b.state) x)), 'and its values');
is(drawn_numbers($page, 'The rollout tree', 'V'), drawn_numbers($page, 'The state graph', 'V'), 'the tree has the same values');
# Where rollouts end, an edge is drawn for each outcome.
is(join(' ', uniq(split / /, drawn_numbers($page, 'The rollout tree', 'A'))), join(' ', uniq(split / /, $node->safe_psql('postgres', sprintf($edges, 'rtmc_tree')))), 'and its advantages');
# Where none of those asked for has them, rtmc's are told.
($ok, $err, $page) = report('others', '-g', $first, '-m', 'grpo,gigpo');
ok($ok && headings($page =~ m{largest advantage by gigpo.*?(<table.*?</table>)}s) eq 'step grpo gigpo q v took' && $page =~ /rtmc: q / && $page =~ /visits, rtmc advantage/, 'without it: rtmc') or diag($err);

# One group, and those with little to show.
($ok, $err, $page) = report('group', '-g', 'rooms 1');
ok($ok && $err eq '' && $page =~ m{<h2 id="g1">Group <bdi>rooms 1</bdi>} && $page !~ m{<h3>Groups</h3>}, 'a page of one group') or diag($err);
like($page, qr/Not drawn: gae \(no estimate\), rloo \(as grpo\), mt_grpo \(as grpo\), mt_rloo \(as grpo\)\.</, 'which draws no strips twice');
($ok, $err, $page) = report('method', '-g', 'rooms 1', '-m', 'grpo');
ok($ok && $page =~ m{largest advantage by grpo</h3><div} && $page !~ /differ most/, 'one method alone') or diag($err);
my %says = (
	unjudged => qr{No rollout of this group is judged yet.*class="u"}s,
	single => qr{Only one rollout is judged},
	stepless => qr{has a step.*no steps}s,
	equal => qr{All judged rollouts have the same return});
foreach my $name (sort keys %says)
{
	($ok, $err, $page) = report($name, '-g', $name);
	ok($ok && $err eq '' && $page =~ $says{$name}, "$name: says so") or diag($err);
	is_well_formed($name, $name);
}
$node->safe_psql('postgres', q(
	SELECT stepadv.create_tables('empty');
	CREATE TABLE plain (task int, run int, n int, score float8);
	INSERT INTO plain SELECT 1, r, n, CASE n WHEN 3 THEN r % 2 ELSE 0 END FROM generate_series(1, 4) r, generate_series(1, 3) n;
	SELECT stepadv.attach('plain', '{task}', 'run', 'n', reward => 'score')));
($ok, $err, $page) = report('empty', '-s', 'empty');
ok($ok && $page =~ /There are no rollouts/, 'no rollouts: a page all the same') or diag($err);
($ok, $err, $page) = report('plain', '-s', 'public', '-p', 'plain');
ok($ok && $err eq '' && $page =~ /The table has no states/ && $page !~ /<svg/ && $page =~ /data-a="0\.8660/, 'a table without states: strips, and no tree') or diag($err);
is_well_formed('plain', 'plain');

# A folder of pages: an index, and a page for each of the first groups, with what one page has of it.
sub site
{
	my ($name, @options) = @_;
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([ 'sh', $program, '-d', $node->connstr('postgres'), '-o', "$dir/$name/", @options ], '>', \$out, '2>', \$err);
	return ($ok, $err, map { m{([^/]+)$} => decode('UTF-8', slurp_file($_), Encode::FB_CROAK) } glob "$dir/$name/*.html");
}
$node->safe_psql('postgres', q(
	UPDATE rl.rollouts SET policy_version = 'v' || (substring(group_id FROM '\d+')::integer % 3 + 1), policy_step = substring(group_id FROM '\d+')::integer % 3 + 1, task_id = 'task ' || substring(group_id FROM '\d+')::integer % 4 WHERE group_id LIKE 'rooms %';
	UPDATE rl.rollouts SET tags = CASE WHEN rollout_id = (SELECT min(rollout_id) FROM rl.rollouts WHERE group_id = 'rooms 2') THEN '{"suite": "hard"}'::jsonb ELSE '["new", ""]' END WHERE group_id = 'rooms 2';
	UPDATE rl.steps SET tool = split_part(action, ' ', 1), ok = step_no % 5 <> 2 WHERE group_id LIKE 'rooms %'));
my %pages;
($ok, $err, my $together) = report('together', '-n', '3');
($ok, $err, %pages) = site('site', '-n', '3', '-t', 'My <run>');
ok($ok && $err eq '' && keys %pages == 4, 'an index and three pages') or diag($err);
like($pages{'index.html'}, qr{<title>My &lt;run&gt;</title>.*<h1>My &lt;run&gt;</h1>}s, 'with the title that was given');
# Several connections make the same pages as one.
sub undated { my (%of) = @_; return join "\n", map { "$_: " . $of{$_} =~ s/\d{4}-\d\d-\d\d \d\d:\d\d UTC//r } sort keys %of }
my ($alone_ok, $alone_err, %alone) = site('alone', '-n', '12', '-J', '1');
($ok, $err, my %shared) = site('shared', '-n', '12', '-J', '3');
ok($ok && $err eq '' && keys %shared > 4, 'pages by three connections') or diag($err);
ok(undated(%shared) eq undated(%alone), 'are those by one');
($ok, $err) = site('shared', '-n', '12', '-J', '2', '-m', 'magic');
is(() = ($err =~ /ERROR/g), 1, 'what is wrong for all of them is said once') or diag($err);
# A table without versions and steps of the policy, with columns that are called as little as can be.
$node->safe_psql('postgres', q(
	CREATE TABLE short (g integer, x integer, s integer, o text, a text, r float8, k boolean, d text, z text);
	INSERT INTO short SELECT i / 60, i / 6, i % 6, 'saw ' || i % 3, 'did ' || i / 6 % 4, CASE WHEN i % 6 = 5 THEN i / 6 % 2 END, i / 6 % 2 = 1, 'd', 'z' FROM generate_series(0, 239) i;
	SELECT count(*) FROM stepadv.attach('short', '{g}', 'x', 's', 'o', 'a', 'r', success => 'k')));
($ok, $err, my %short) = site('short', '-s', 'public', '-p', 'short');
ok($ok && $err eq '' && keys %short == 5, 'of any table') or diag($err);
like($short{'index.html'}, qr{<h3>Where it is decided</h3>.*<a href="group-\d+-[0-9a-f]+\.html"><bdi>\d</bdi></a>}s, 'with links from where it is decided');
$node->safe_psql('postgres', q(SELECT stepadv.detach('short'); DROP TABLE short));

is(join(' ', grep { $_ ne 'index.html' && $pages{$_} !~ m{<title>rooms \d · My &lt;run&gt;</title>} } keys %pages), '', 'and of each group its name before it');
my @linked = $pages{'index.html'} =~ m{<td class="group"><a href="([^"]*)">}g;
is(join(' ', sort @linked), join(' ', sort grep { $_ ne 'index.html' } keys %pages), 'the index leads to each');
is(join("\n", map { join ' ', $pages{$_} =~ m{data-a="(.*?)"}g } @linked), join("\n", map { join ' ', m{data-a="(.*?)"}g } $together =~ m{(<h2 id="g.*?)(?=<h2 id="g|<footer>)}gs), 'whose strips are those of one page');
# Wherever something leads, something is.
foreach my $name (sort keys %pages)
{
	my %ids;
	$ids{$_}++ foreach $pages{$name} =~ m{ id="([^"]*)"}g;
	is(join(' ', grep { $ids{$_} > 1 } sort keys %ids), '', "$name: every address is one thing's");
	is(join(' ', grep { m{^#(.*)} ? !$ids{$1} : !$pages{$_} } $pages{$name} =~ m{ href="([^"]*)"}g), '', "$name: and leads to something");
}
# The rollouts, step by step.
my $talks = $pages{ $linked[0] };
sub articles { return map { [ m{^<article id="(r\d+)-s(\d+)"}, $_ ] } $_[0] =~ m{(<article .*?</article>)}gs }
is(join(' ', map { "$_->[0]-s$_->[1]" } articles($talks)), join(' ', $talks =~ m{<a class="s[^"]*" href="#(r\d+-s\d+)"}g), 'as many as columns of the strips, in their order');
is(join("\n", sort map { my ($reason) = $_->[2] =~ m{<span class="dim">([^<]*?)(?:; |(?<=>))q [^<]*</span>}; $reason } articles($talks)), join("\n", sort split /\n/, $node->safe_psql('postgres', qq(
	SELECT string_agg(CASE WHEN n = 1 THEN 'nobody else came here' WHEN a = n THEN format('all %s visits took this', n) ELSE format('taken in %s of %s visits; ', a, n)
		|| CASE WHEN won = others THEN 'the others succeeded' WHEN won = 0 THEN 'the others failed' ELSE format('of the others %s of %s succeeded', won, others) END END, E'\n')
	FROM (SELECT s.state, s.action_hash, (SELECT count(*) FROM rl.steps x WHERE (x.group_id, x.state) = (s.group_id, s.state)) AS n, (SELECT count(*) FROM rl.steps x WHERE (x.group_id, x.state, x.action_hash) = (s.group_id, s.state, s.action_hash)) AS a,
		(SELECT count(*) FROM rl.steps x WHERE (x.group_id, x.state) = (s.group_id, s.state) AND x.action_hash <> s.action_hash) AS others,
		(SELECT count(*) FROM rl.steps x JOIN rl.rollouts r USING (group_id, rollout_id) WHERE (x.group_id, x.state) = (s.group_id, s.state) AND x.action_hash <> s.action_hash AND r.success) AS won
		FROM rl.steps s WHERE group_id = '$full[0]') v))), 'who else came to its state, and what became of them');
is_closed($pages{$_}, $_) foreach sort keys %pages;
is_well_formed("site/" . s/\.html$//r, $_) foreach sort keys %pages;
is(join(' ', map { join ',', ($pages{$_} =~ m{<nav>(.*?)</nav>}s)[0] =~ m{href="([^#"]*)"}g } @linked), "index.html,$linked[1] index.html,$linked[0],$linked[2] index.html,$linked[1]", 'and lead to one another');
# The index: what its charts and tables say is what the views say.
my $index = $pages{'index.html'};
sub chart { my ($heading) = @_; return ($index =~ m{<figure class="\w+"><figcaption>\Q$heading\E</figcaption>(.*?)</figure>}s)[0] // '' }
sub hints { return join '; ', map { s/−/-/gr } $_[0] =~ m{<title>(.*?)</title>}g }
is(hints(chart('Success by policy version')) =~ s/ \([^)]*\)//gr, $node->safe_psql('postgres', q(SELECT string_agg(format('%s: %s %% of %s rollouts', coalesce(v, '?'), round(100.0 * c / n), n), '; ' ORDER BY v)
	FROM (SELECT policy_version AS v, count(*) AS n, count(*) FILTER (WHERE success) AS c FROM rl.rollouts WHERE success IS NOT NULL GROUP BY 1) x)), 'success by version');
is(sum(hints(chart('Returns of rollouts')) =~ m{: (\d+)}g), $node->safe_psql('postgres', 'SELECT count(*) FROM rl.steps_rollouts WHERE judged'), 'as many returns as judged rollouts');
foreach my $method ('grpo', 'rtmc', 'gigpo')
{
	my ($less, $none, $more) = map { my $class = $_; sum(0, chart("Advantages by $method") =~ m{<rect class="$class"[^>]*><title>[^<]*: (\d+)</title>}g) } qw(less none more);
	# A bin of the middle is a twenty-fifth of the whole width.
	is("$less $none $more", $node->safe_psql('postgres', qq(SELECT concat_ws(' ', sum(n_steps) FILTER (WHERE bin < -m / 25), coalesce(sum(n_steps) FILTER (WHERE abs(bin) <= m / 25), 0), sum(n_steps) FILTER (WHERE bin > m / 25))
		FROM rl.steps_advantage_histogram, (SELECT max(abs(bin)) AS m FROM rl.steps_advantage_histogram WHERE method = '$method') x WHERE method = '$method')), "advantages by $method");
}
is(join(' ', sort { $a <=> $b } chart('Steps by the signs of grpo, rtmc') =~ m{<title>[^<]*: (\d+) \(}g),
	$node->safe_psql('postgres', q(SELECT string_agg(n::text, ' ' ORDER BY n) FROM (SELECT count(*) AS n FROM rl.steps_compare WHERE success IS NOT NULL AND grpo IS NOT NULL AND rtmc IS NOT NULL
		GROUP BY success, CASE WHEN grpo = 0 OR rtmc = 0 THEN 0 WHEN grpo > 0 THEN CASE WHEN rtmc > 0 THEN 1 ELSE 2 END WHEN rtmc > 0 THEN 3 ELSE 4 END) x)), 'quadrants as bars');
# The rows of a table by its heading, without elements.
sub rows_of { my ($heading, $of) = @_; my ($table) = $of =~ m{<h3>\Q$heading\E</h3>(.*?)</table>}s; return join "\n", map { join '|', map { s/<[^>]*>//gr } m{<td[^>]*>(.*?)</td>}g } ($table // '') =~ m{(<tr><td.*?</tr>)}gs }
is(rows_of('What they do', $index), $node->safe_psql('postgres', q(SELECT string_agg(concat_ws('|', coalesce(tool, '(no tool)'), n, coalesce(round(100.0 * e / n) || ' %', '·'), round(100.0 * r / n) || ' %'), E'\n' ORDER BY n DESC, tool) FROM (
	SELECT category AS tool, sum(n_calls) AS n, sum(n_errors) AS e, sum(n_repeats) AS r FROM rl.steps_behaviour GROUP BY 1) x)), 'what they do');
is($node->safe_psql('postgres', q(SELECT string_agg(concat_ws('|', tool, n, e), ' ' ORDER BY tool) FROM (SELECT tool, count(*) AS n, count(*) FILTER (WHERE NOT ok) AS e FROM rl.steps WHERE tool <> '' GROUP BY 1) x)),
	$node->safe_psql('postgres', q(SELECT string_agg(concat_ws('|', category, n, e), ' ' ORDER BY category) FROM (SELECT category, sum(n_calls) AS n, sum(n_errors) AS e FROM rl.steps_behaviour WHERE category <> '' GROUP BY 1) x)), 'which is what the rows say');
is(rows_of('Tasks that come out both ways', $index), $node->safe_psql('postgres', q(SELECT string_agg(concat_ws('|', task_id, policy_version, c || ' of ' || n), E'\n' ORDER BY abs(c::float8 / n - 0.5), n DESC, task_id) FROM (
	SELECT * FROM (SELECT task_id, policy_version, count(*) AS n, count(*) FILTER (WHERE success) AS c FROM rl.rollouts WHERE task_id IS NOT NULL GROUP BY 1, 2) t WHERE c BETWEEN 1 AND n - 1 ORDER BY abs(c::float8 / n - 0.5), n DESC, task_id LIMIT 8) x)), 'flaky tasks');
is(rows_of('How long rollouts are', $index) =~ s/\n.*//sr, $node->safe_psql('postgres', q(SELECT concat_ws('|', 'steps', trim_scale(round(avg(n), 1)), trim_scale(round(avg(n) FILTER (WHERE policy_version = 'v1'), 1)), trim_scale(round(avg(n) FILTER (WHERE policy_version = 'v3'), 1)))
	FROM (SELECT r.policy_version, count(s.step_no) AS n FROM rl.rollouts r LEFT JOIN rl.steps s USING (group_id, rollout_id) GROUP BY r.group_id, r.rollout_id, r.policy_version) x)), 'how long they are');
is(join("\n", $index =~ m{<span class="outcomes" role="img" aria-label="(.*?)"}g), $node->safe_psql('postgres', q(SELECT string_agg(l, E'\n' ORDER BY g.success_rate * (1 - g.success_rate) * (1 + g.n_shared_states) DESC NULLS LAST, g.sd_return DESC NULLS LAST, g.n_judged DESC, g.n_steps DESC, g.group_id)
	FROM rl.steps_groups g JOIN (SELECT group_id, string_agg(n || ' ' || w, ', ' ORDER BY w = 'success' DESC) AS l FROM (SELECT group_id, CASE WHEN success THEN 'success' WHEN NOT success THEN 'failure' ELSE 'not judged' END AS w, count(*) AS n FROM rl.rollouts GROUP BY 1, 2) x GROUP BY 1) o USING (group_id))), 'outcomes of each group, in words');
like($index, qr{<bdi>rooms 2</bdi></a> <bdi class="tag">new</bdi> <bdi class="tag">suite hard</bdi>|<bdi>rooms 2</bdi> <bdi class="tag">new</bdi> <bdi class="tag">suite hard</bdi>}, 'tags');
is(rows_of('What is wrong with the rows', $index) =~ s/\|[^|\n]*$//gmr, $node->safe_psql('postgres', q(SELECT string_agg(concat_ws('|', problem, g, r), E'\n' ORDER BY g DESC, problem) FROM (
	SELECT problem, count(DISTINCT group_id) AS g, sum(n_rows) AS r FROM rl.steps_problems GROUP BY 1) x)), 'problems by kind');
is(join("\n", map { s/·/none/r } $index =~ m{max \|rtmc\|">(.*?)</td>}g), $node->safe_psql('postgres', q(SELECT string_agg(coalesce(trim_scale(round(l::numeric, 2))::text, 'none'), E'\n' ORDER BY g.success_rate * (1 - g.success_rate) * (1 + g.n_shared_states) DESC NULLS LAST, g.sd_return DESC NULLS LAST, g.n_judged DESC, g.n_steps DESC, g.group_id)
	FROM rl.steps_groups g LEFT JOIN (SELECT group_id, max(abs(rtmc)) AS l FROM rl.steps_compare GROUP BY 1) m USING (group_id))), 'the largest advantage of each group');
like($index, qr{<bdi>\Q$full[0]\E</bdi></a><bdi class="words">task \d · room \d, no key}, "a group's task, and the words it begins with");

# What is above all leads to its parts; a column that says nothing is not there.
is(join(' ', ($index =~ m{<nav>(.*?)</nav>}s)[0] =~ m{href="([^"]*)"}g), '#run #panels #decided #groups', 'the index leads to its parts');
like($index, qr{<th>version</th><th>outcomes</th>}, 'groups have versions');
unlike($short{'index.html'}, qr{<th>version</th>}, 'those of a table without versions have none');
like($short{'index.html'}, qr{<th[^>]*>max [|]rtmc[|]</th><th>outcomes</th>}, 'but for that the same columns');

# Labels have room: 14 characters of 8 and a space of 8 are 120 of 270, five of them 600, so that every third one is there; what is cut is the beginning.
is(join(' ', decode('UTF-8', $node->safe_psql('postgres', q(SELECT stepadv_internal.report_trend('h', ARRAY(SELECT 'a checkpoint-000' || i FROM generate_series(1, 5) i), '{1,1,1,1,1}', '{2,2,2,2,2}')))) =~ m{<text class="x"[^>]*>(.*?)</text>}g), '…eckpoint-0001 …eckpoint-0004', 'labels of versions');
is(() = chart('Success by policy version') =~ m{<text class="x"}g, 4, 'short ones are all there');

# Tasks that got worse: of the last version against the one before it, by hand.  16 choose 10 of 8 and 8: 2 * 28 / 8008; 2 / 12870.
$node->safe_psql('postgres', q(
	SELECT stepadv.create_tables('worse', group_by => '{group_id}');
	INSERT INTO worse.rollouts (group_id, rollout_id, task_id, policy_version, policy_step, success)
	SELECT t || v, t || v || i, t, v, substr(v, 2)::bigint, i <= c FROM (VALUES ('t1', 'v1', 8, 8), ('t1', 'v2', 2, 8), ('t2', 'v1', 3, 4), ('t2', 'v2', 2, 4), ('t3', 'v1', 1, 4), ('t3', 'v2', 4, 4),
		('t4', 'v1', 0, 8), ('t4', 'v2', 8, 8), ('t4', 'v10', 0, 8), ('t5', 'v2', 1, 2)) x(t, v, c, n), generate_series(1, n) i));
($ok, $err, my %worse) = site('worse', '-s', 'worse', '-n', '0');
ok($ok && $err eq '' && keys %worse == 1, 'an index alone') or diag($err);
is(rows_of('Tasks that got worse', $worse{'index.html'}), "t4|v2: 8 of 8|v10: 0 of 8|1.6e−04\nt1|v1: 8 of 8|v2: 2 of 8|0.007", 'tasks that got worse');
like($worse{'index.html'}, qr{Of 4 tasks that two versions tried, 2 fell .* 1 by what chance may do}, 'and those of which nothing can be said');
unlike($index, qr{Tasks that got worse</h3><div}, 'none: no table');
$node->safe_psql('postgres', 'DROP SCHEMA worse CASCADE');

open my $own, '>', "$dir/site/group-of-mine.html" or die $!;
close $own;
($ok, $err, %pages) = site('site', '-n', '1');
is(join(' ', sort keys %pages), "group-of-mine.html $linked[0] index.html", 'pages of before are gone, files of others are not') or diag($err);

# Texts of several lines: what is new is marked, what is long or JSON folds.
$node->safe_psql('postgres', encode('UTF-8', q(
	INSERT INTO rl.rollouts (group_id, rollout_id, success) VALUES ('texts', 't1', true), ('texts', 't2', false);
	INSERT INTO rl.steps (group_id, rollout_id, step_no, observation, action, next_observation, state, action_hash) VALUES
		('texts', 't1', 4, E'one\ntwo\nthree', 'first', E'one\ntwo\n<four>', 1, 1), ('texts', 't1', 5, E'one\ntwo\n<four>', '{"tool": "look", "where": ["' || repeat('far ', 50) || '"]}', 'the end', 2, 2),
		('texts', 't2', 4, E'one\ntwo\nthree', 'other', NULL, 1, 3), ('texts', 't2', 5, repeat('long ', 10000), 'x', NULL, 3, 4))));
($ok, $err, my %texts) = site('texts', '-g', 'texts');
my ($talk) = grep { /Rollouts, step by step/ } values %texts;
my %said = map { ("$_->[0]-$_->[1]" => $_->[2]) } articles($talk);
my $blocks = sub { return { $said{ $_[0] } =~ m{<div class="(saw|did|got)"><span class="kind">\w+</span>(.*?)</div>}gs } };
is_deeply($blocks->('r1-4'), { saw => "<pre>one\ntwo\nthree</pre>", did => '<pre>first</pre>' }, 'a result is not said twice where the next step sees it');
is_deeply($blocks->('r1-5')->{saw}, "<pre>one\ntwo\n<mark>&lt;four&gt;</mark></pre>", 'a new line is marked');
is($blocks->('r1-5')->{got}, '<pre>the end</pre>', 'the last result is there');
is($blocks->('r1-5')->{did} =~ s/(far )+/far /gr, '<pre>{
    &quot;tool&quot;: &quot;look&quot;,
    &quot;where&quot;: [
        &quot;far &quot;
    ]
}</pre>', 'JSON is unfolded');
like($blocks->('r2-5')->{saw}, qr{^<details><summary><bdi>(long ){31}long…</bdi> <span class="dim">50000 characters</span></summary><pre>(long ){4000}</pre><p class="note">And 30000 more characters\.</p></details>$}, 'what is long is folded, and cut');
# Calls of tools are read as calls, in order of their arguments; the JSON is there on demand.
my $edit = '{"name": "edit", "arguments": {"path": "a&b.txt", "new": "x = 1\\ny = \\"<b>\\"", "all": true, "lines": [1, 2]}}';
my %acts = (
	4 => '{"name": "find", "arguments": {"path": "a.txt", "n": 3, "at": null}}',
	5 => $edit,
	6 => '[{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\\"at\\": \\"<i>\\"}"}}, {"function_name": "wait", "arguments": {}}, {"tool": "search", "input": "cats"}]',
	# What has more to say than a call, or is none, is shown as it is.
	7 => '{"name": "find", "arguments": {"path": "a.txt"}, "thought": "hm"}',
	8 => '{"name": "find", "arguments": {"path": "a\\u0000"}}',
	9 => '{"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}');
$node->safe_psql('postgres', qq(INSERT INTO rl.rollouts (group_id, rollout_id, success) VALUES ('calls', 'c1', true);
	INSERT INTO rl.steps (group_id, rollout_id, step_no, observation, action, state, action_hash) VALUES ) . join(', ', map { "('calls', 'c1', $_, 'o', '$acts{$_}', $_, 1)" } sort keys %acts));
($ok, $err, my %calls) = site('calls', '-g', 'calls');
ok($ok && $err eq '', 'calls') or diag($err);
my ($called) = grep { /Rollouts, step by step/ } values %calls;
my %did = map { ($_->[1] => ($_->[2] =~ m{<div class="did"><span class="kind">did</span>(.*?)</div>}s)[0]) } articles($called);
sub raw { return '<details class="raw"><summary>JSON</summary><pre>' . ($acts{ $_[0] } =~ s/&/&amp;/gr =~ s/</&lt;/gr =~ s/>/&gt;/gr =~ s/"/&quot;/gr) . '</pre></details>' }
is($did{4}, '<ul class="calls"><li><pre><b>find</b>(path: &quot;a.txt&quot;, n: 3, at: null)</pre></li></ul>' . raw(4), 'a short call is a line');
is($did{5}, '<ul class="calls"><li><pre><b>edit</b></pre><dl><dt>path:</dt><dd><pre>a&amp;b.txt</pre></dd><dt>new:</dt><dd class="long"><pre>x = 1' . "\n" . 'y = &quot;&lt;b&gt;&quot;</pre></dd><dt>all:</dt><dd><pre>true</pre></dd><dt>lines:</dt><dd><pre>[1, 2]</pre></dd></dl></li></ul>'
		. raw(5), 'of another each argument has its lines');
is($did{6}, '<ul class="calls"><li><pre><b>look</b>(at: &quot;&lt;i&gt;&quot;)</pre></li><li><pre><b>wait</b>()</pre></li><li><pre><b>search</b>(&quot;cats&quot;)</pre></li></ul>' . raw(6), 'several stand one below the other');
is($did{$_}, '<pre>' . (raw($_) =~ s/^.*<pre>|<.*//gr) . '</pre>', "no call: $_") foreach 7, 8, 9;
like($called, qr{title="step 6\n[^"]*did: look\(at: &quot;&lt;i&gt;&quot;\); wait\(\); search\(&quot;cats&quot;\)"}, 'and in a line where there is one');
is_closed($called, 'calls');
is($node->safe_psql('postgres', "DELETE FROM rl.steps WHERE group_id = 'calls'; DELETE FROM rl.rollouts WHERE group_id = 'calls'"), '', 'and gone');
# A tree is folded where one goes on alone, and where all that come go on alike, but for its beginning; a loop of one of them is another way.
$node->safe_psql('postgres', q(
	INSERT INTO rl.rollouts (group_id, rollout_id, success) SELECT 'chain', 'k' || r, r = 1 FROM generate_series(1, 3) r;
	INSERT INTO rl.steps (group_id, rollout_id, step_no, observation, action, state, action_hash)
	SELECT 'chain', 'k' || r, n, 'o' || s, CASE s WHEN 1 THEN 'b\\nn 7' ELSE 'act ' || s || a END, s, a
	FROM (VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0), (4, 4, 0), (5, 5, 0)) x(n, s, a), generate_series(1, 3) r
	UNION ALL SELECT 'chain', 'k1', 6, 'o5', 'again', 5, 9 UNION ALL SELECT 'chain', 'k' || r, 6 + (r = 1)::integer, 'o6', 'way ' || (r = 1), 6, (r = 1)::integer FROM generate_series(1, 3) r
	UNION ALL SELECT 'chain', 'k1', i, 'alone ' || i, 'on ' || i, i, 0 FROM generate_series(8, 10) i));
($ok, $err, my %chain) = site('chain', '-g', 'chain');
my @trees = join('', values %chain) =~ m{<h3 id="tree">The rollout tree.*?(<svg.*?</svg>).*?<summary>The whole tree</summary>.*?(<svg.*?</svg>)}s;
is(scalar(@trees), 2, 'a tree, and whole') or diag($err);
is(join(' ', map { my $svg = $_; scalar(() = $svg =~ m{class="edge"}g) } @trees), '6 12', 'of twelve edges six are drawn');
is(join(', ', sort { $a <=> $b } $trees[0] =~ m{>and (\d+) more<}g), '3, 3', 'which say how many they stand for');
is(() = $trees[1] =~ m{>and \d+ more<}g, 0, 'whole: none');
like($trees[0], qr{>b\\nn 7<}, 'and words are words');
is($node->safe_psql('postgres', "DELETE FROM rl.steps WHERE group_id = 'chain'; DELETE FROM rl.rollouts WHERE group_id = 'chain'"), '', 'and gone');
# Edges that differ in their action alone are one: of two states each rollout takes a way of its own, all fail.
$node->safe_psql('postgres', q(
	INSERT INTO rl.rollouts (group_id, rollout_id, success) SELECT 'ways', 'w' || r, false FROM generate_series(1, 3) r;
	INSERT INTO rl.steps (group_id, rollout_id, step_no, observation, action, state, action_hash) SELECT 'ways', 'w' || r, n, 'o' || n, 'do ' || r || n, n, 10 * (n <> 3)::integer * r + n FROM generate_series(1, 4) n, generate_series(1, 3) r));
($ok, $err, my %ways) = site('ways', '-g', 'ways');
@trees = join('', values %ways) =~ m{<h3 id="tree">The rollout tree.*?(<svg.*?</svg>).*?<summary>The whole tree</summary>.*?(<svg.*?</svg>)}s;
# From the first state three ways to the second and three on, which are one edge, the third's one of all included; then each ends by itself.
is(join(' ', map { my $svg = $_; scalar(() = $svg =~ m{class="edge"}g) } @trees), '4 10', 'ways that come out alike are one edge') or diag($err);
is(join(', ', map { m{>(n \d+[^<]*|in \d+ ways|and \d+ more)<}g } $trees[0] =~ m{class="edge">(.*?)</g>}gs), 'n 3, in 3 ways, and 2 more, n 1, n 1, n 1', 'with the visits of all');
is($node->safe_psql('postgres', "DELETE FROM rl.steps WHERE group_id = 'ways'; DELETE FROM rl.rollouts WHERE group_id = 'ways'"), '', 'and gone');
# A table that has a tool and its arguments, and no other words.
$node->safe_psql('postgres', q(
	CREATE TABLE tooled (g integer, r integer, n integer, o text, args jsonb, t text, won boolean);
	INSERT INTO tooled SELECT 1, r, n, 'o' || n, '{"k": "v"}', CASE WHEN n < 3 THEN 'tool' || n END, r = 1 FROM generate_series(1, 2) r, generate_series(1, 3) n;
	SELECT stepadv.attach('tooled', '{g}', 'r', 'n', state => 'o', tool => 't', args => 'args', reward => 'won', success => 'won')));
($ok, $err, my %tooled) = site('tooled', '-s', 'public', '-p', 'tooled');
ok($ok && $err eq '', 'a table of tools and arguments') or diag($err);
is(join(', ', map { s/<.*?>//gr } join('', values %tooled) =~ m{<div class="did"><span class="kind">did</span>(?:<ul class="calls"><li>)?<pre>(.*?)</pre>}g), join(', ', ('tool1(k: &quot;v&quot;)', 'tool2(k: &quot;v&quot;)', '{&quot;k&quot;: &quot;v&quot;}') x 2), 'has calls');
$node->safe_psql('postgres', q(SELECT stepadv.detach('tooled'); DROP TABLE tooled));
is($node->safe_psql('postgres', "DELETE FROM rl.steps WHERE group_id = 'texts'; DELETE FROM rl.rollouts WHERE group_id = 'texts'"), '', 'and gone');

# Mistakes.
($ok, $err, $page) = report('wrong', '-g', 'no such');
ok(!$ok && $err =~ /no such group in rl.rollout_rows: no such/ && $page eq '', 'an unknown group');
($ok, $err) = report('wrong', '-g', 'a', '-g', 'b');
ok(!$ok && $err =~ /2 values for the group, which has 1 columns: group_id/, 'too many values');
($ok, $err) = report('wrong', '-m', 'grpo,magic');
ok(!$ok && $err =~ /no method "magic".*Methods: grpo, rtmc/s, 'an unknown method');
($ok, $err) = report('wrong', '-s', 'nowhere');
ok(!$ok && $err =~ /There are \(schema and prefix\): empty steps, public plain, rl steps\./, 'views that are not there');
($ok, $err) = report('wrong', '-n', '1; DROP');
ok(!$ok && $err =~ /not a number/, 'a number that is none');

# Hostile names and texts ----------------------------------------------------
$node->safe_psql('postgres', encode('UTF-8', q(
	CREATE SCHEMA "my ""schema""";
	CREATE TABLE "my ""schema"""."we ird'""; DROP" (id text PRIMARY KEY, "a run" integer, "the 'task'" text, traj text, n integer, obs text, act text, won boolean);
	CREATE TABLE words (i serial, w text);
	INSERT INTO words (w) VALUES ('</svg><script>alert(1)</script>'), ('"><img src=x onerror=alert(2)>'), (''' onmouseover=''alert(3)'), ('&lt;b&gt; &amp; &#1; &#x3c; &nosuch;'),
		('<!--svg 1-->'), (E'a\n<!--dot 1-->\nb'), (E'bell \x07 escape \x1b del \x7f c1 \u0085'), (U&'\202Eoverride \2066isolate \200F'), (U&'\05E9\05DC\05D5\05DD'), ('\N \G \" %s %1$s'),
		(repeat('x<&', 350000)), (']]> <![CDATA[ --> <?php'), ('javascript:alert(4)'), (''), (U&'\FFFE\FFFF\2028 \D83D\DE00');
	INSERT INTO "my ""schema"""."we ird'""; DROP"
	SELECT r || '/' || i || w, 7, '</title><script>alert(5)</script>', '"><b>' || r || '<!--svg 2-->', i, w, CASE r WHEN 3 THEN json_build_array(json_build_object('name', w, 'arguments', json_build_object(w, concat_ws(E'\n', w, w), 'short', w)))::text ELSE w || r % 2 END, r = 1 FROM words, generate_series(1, 4) r WHERE length(w) < 1000;
	INSERT INTO "my ""schema"""."we ird'""; DROP"
	SELECT 'long', 7, '</title><script>alert(5)</script>', '"><b>1<!--svg 2-->', 99, w, w, NULL FROM words WHERE length(w) > 1000;
	INSERT INTO "my ""schema"""."we ird'""; DROP" VALUES ('other', 8, 'x', 'y', 1, 'o', 'a', true);
	SELECT stepadv.attach('"my ""schema"""."we ird''""; DROP"', ARRAY['a run', 'the ''task'''], 'traj', 'n', 'obs', 'act', success => 'won', reward => 'won', prefix => 'we <b>"''', options => '{"rtmc": {"gamma": 0.9}}'))));
my @hostile = ('-s', 'my "schema"', '-p', q(we <b>"'));
($ok, $err, $page) = report('hostile', @hostile, '-g', '7', '-g', '</title><script>alert(5)</script>', '-t', '</title>"&<script>alert(6)</script>', '-b', 'obs', '-a', 'act');
ok($ok && $err eq '', 'hostile names and texts') or diag($err);
is_well_formed('hostile', 'hostile');
is_closed($page, 'hostile');
is(() = $page =~ m{<svg }g, 2, 'hostile: pictures stand where they belong');
cmp_ok(length($page), '<', 400_000, 'hostile: long texts are cut');
like($page, qr/(x&lt;&amp;){100}…/, 'with an ellipsis');
unlike($page, qr/[\x{1}-\x{8}\x{b}\x{c}\x{e}-\x{1f}\x{7f}-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}\x{200f}\x{fffe}\x{ffff}]/, 'neither control characters nor those that turn text');
is($page =~ /A ([+-]\d\.\d+)<\/text>/ ? 1 : 0, 1, 'labels have advantages');
is(join(' ', sort { $a <=> $b } cells($page) =~ /\|(\d+)\|/g), join(' ', sort { $a <=> $b } (1 .. 14) x 4, 15), 'hostile: every step has its column');
# The tree is drawn with the options of the views: its advantages are theirs.
my @drawn = sort { $a <=> $b } map { $_ + 0 } (($page =~ m{<h3>The rollout tree.*?(<svg.*?</svg>)}s)[0] =~ s/&#45;/-/gr) =~ m{n \d+\W(?:&\#160;)*A ([+-][\d.]+)<}g;
my @viewed = split /\n/, $node->safe_psql('postgres', q(SELECT advantage FROM "my ""schema"""."we <b>""'_rtmc_tree" WHERE "a run" = 7 AND abs(advantage) >= 0.0005 ORDER BY 1));
is(scalar(@drawn), scalar(@viewed), 'the tree has the edges of the view');
is(join(' ', grep { abs($drawn[$_] - $viewed[$_]) > 0.000501 } 0 .. $#viewed), '', 'with their advantages');
($ok, $err, my %hostile) = site('hostile_site', @hostile, '-l', '7 / %', '-b', 'obs', '-a', 'act');
ok($ok && $err eq '' && keys %hostile == 2, 'hostile: as a folder') or diag($err);
# Of fourteen words one is empty, and so no tool.
is(() = join('', values %hostile) =~ m{<ul class="calls"><li><pre><b>}g, 13, 'hostile: calls');
foreach my $name (sort keys %hostile)
{
	is_well_formed("hostile_site/" . $name =~ s/\.html$//r, "hostile: $name");
	is_closed($hostile{$name}, "hostile: $name");
}
cmp_ok(length($hostile{$_}), '<', 600_000, "hostile: $_: long texts are cut") foreach sort keys %hostile;
($ok, $err, $page) = report('prefix', @hostile, '-g', '7');
ok($ok && $page !~ m{Group <bdi>8 / x}, 'the first columns alone choose a run') or diag($err);
($ok, $err, $page) = report('like', @hostile, '-l', '8 / %');
ok($ok && $page =~ m{Group <bdi>8 / x</bdi>}, 'or a pattern') or diag($err);
is($node->safe_psql('postgres', q(SELECT count(*) FROM pg_class WHERE relname LIKE 'report%' AND relnamespace <> 'stepadv_internal'::regnamespace)), 0, 'nothing is left behind');

# By somebody who may only read, in a session that may only read.
$node->safe_psql('postgres', q(CREATE ROLE report_reader LOGIN; ALTER ROLE report_reader SET default_transaction_read_only = on;
	REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC; GRANT USAGE ON SCHEMA rl TO report_reader; GRANT SELECT ON ALL TABLES IN SCHEMA rl TO report_reader));
($ok, $err, $page) = report('owner', '-n', '2', '-m', 'grpo,rtmc,gigpo');
{
	local $ENV{PGUSER} = 'report_reader';
	my ($by_reader, $said, $same) = report('reader', '-n', '2', '-m', 'grpo,rtmc,gigpo');
	ok($by_reader && $said eq '', 'who may only read has a page') or diag($said);
	is($same =~ s{<footer>.*?</footer>}{}r, $page =~ s{<footer>.*?</footer>}{}r, 'and the same');
}
$node->safe_psql('postgres', q(GRANT TEMPORARY ON DATABASE postgres TO PUBLIC));

# Methods of users, renamed views, and whose attachment is read --------------
$node->safe_psql('postgres', q(
	CREATE FUNCTION public.own(rollouts stepadv.rollout_group) RETURNS TABLE (step_id bigint, rollout_id bigint, step_no integer, advantage float8) LANGUAGE sql IMMUTABLE STRICT AS
		'SELECT s.step_id, s.rollout_id, s.step_no, s.step_no - 1.5 FROM stepadv.steps(rollouts) s ORDER BY 3, 1';
	SELECT stepadv.register_method('public.own(stepadv.rollout_group)');
	SELECT stepadv.detach('plain');
	ALTER TABLE plain ADD word text DEFAULT 'do it', ADD seen text DEFAULT 'a door';
	SELECT stepadv.attach('plain', '{task}', 'run', 'n', 'seen', 'word', 'score');
	ALTER VIEW plain_compare RENAME TO anything;
	ALTER VIEW plain_groups SET SCHEMA rl;
	ALTER TABLE plain RENAME COLUMN word TO deed;
	COMMENT ON VIEW plain_rollouts IS 'made by stepadv.attach';
	-- Of somebody who says that it is his.
	CREATE ROLE report_stranger;
	GRANT CREATE ON SCHEMA public TO report_stranger;
	GRANT SELECT ON plain TO report_stranger;
	SET ROLE report_stranger;
	SELECT stepadv.attach('plain', '{task}', 'run', 'n', reward => 'score', prefix => 'a_fake');
	UPDATE a_fake_attachment SET prefix = 'plain'));
($ok, $err, $page) = report('own', '-s', 'public', '-p', 'plain', '-m', 'grpo,own');
ok($ok && $err eq '' && cells($page) =~ m{^1\|1\|1\|[-\d.]+,-0\.5$}m, "a user's method") or diag($err);
like($page, qr{largest advantage by own}, 'tells steps apart');
like($page, qr{<bdi>a door</bdi></td><td class="text"[^>]*><bdi>do it</bdi>}, 'columns under their names of then');
($ok, $err, $page) = report('own', '-s', 'public', '-p', 'plain');
like($page, qr{methods grpo, rtmc, .*gigpo, .*tempo, .*own, .*rloo}, 'all methods, in the order of their kinds') or diag($err);
# An instance of a method is one of them.
$node->safe_psql('postgres', q(SELECT stepadv.attach('plain', '{task}', 'run', 'n', 'seen', 'deed', 'score', prefix => 'instances',
	options => '{"methods": {"rtmc_prior8": {"method": "rtmc", "prior": 8}, "own_twice": {"method": "own"}}}')));
($ok, $err, $page) = report('own', '-s', 'public', '-p', 'instances', '-m', 'grpo,rtmc_prior8');
ok($ok && $err eq '', 'an instance of a method') or diag($err);
like($page, qr{largest advantage by rtmc_prior8}, 'tells steps apart');
($ok, $err, $page) = report('own', '-s', 'public', '-p', 'instances');
like($page, qr{methods grpo, .*rtmc_prior8, .*own_twice, .*rloo}, 'in the order of their kinds') or diag($err);
$node->safe_psql('postgres', q(SELECT stepadv.detach('plain', 'instances')));
($ok, $err, $page) = report('own', '-s', 'public', '-p', 'a_fake');
ok(!$ok && $err =~ /There are \(schema and prefix\): empty steps, my "schema" we <b>"', public plain, rl steps\./, 'a prefix is what the row says') or diag($err);

# A browser ------------------------------------------------------------------
my $program_of_browser = Browser::installed();
SKIP:
{
	skip 'neither chromium nor google-chrome is installed', 1 if !$program_of_browser;
	my $browser = Browser->new($program_of_browser);

	# That a bad page would be noticed, and how large an empty picture is.
	open my $fh, '>', "$dir/bad.html" or die $!;
	print $fh slurp_file("$dir/empty.html") =~ s{<body>.*}{<body><script>1</script><p style="color:#999">pale</p><div style="width:5000px">wide</div></body></html>}sr;
	close $fh;
	# Words whose contrast to what is behind them is below 4.5 (WCAG 2.2, 1.4.3).
	my $pale = q{(() => {
		const rgb = (text) => (text.match(/[\d.]+/g) || []).map(Number);
		const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
		const behind = (e) => {
			const node = e.closest(".picture .node");
			const shape = node && [...node.querySelectorAll("ellipse, polygon, path")].map((s) => getComputedStyle(s).fill).find((fill) => fill !== "none");
			for (let at = shape ? null : e; at; at = at.parentElement) {
				const c = rgb(getComputedStyle(at).backgroundColor);
				if (c.length && c[3] !== 0)
					return c;
			}
			return shape ? rgb(shape) : rgb(getComputedStyle(document.body).backgroundColor);
		};
		const found = new Set();
		for (const e of document.querySelectorAll("body *")) {
			if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility() || e.closest("script, style, title"))
				continue;
			const style = getComputedStyle(e);
			const [a, b] = [light(rgb(e instanceof SVGElement ? style.fill : style.color)), light(behind(e))].sort((x, y) => y - x);
			if ((a + 0.05) / (b + 0.05) < 4.5)
				found.add(`${e.tagName}.${e.getAttribute("class")} ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
		}
		return [...found].sort().join("; ");
	})()};
	$browser->visit("file://$dir/bad.html", 1440);
	my $blank = $browser->picture("$dir/bad.png");
	like(join("\n", $browser->said), qr/Content Security Policy/, 'the browser heeds the policy and says so');
	cmp_ok($browser->evaluate('document.documentElement.scrollWidth'), '>', 4000, 'and how wide a page is');
	is($browser->evaluate($pale), 'P.null 2.85', 'and what is pale');

	my %names = (map({ $_ => "$dir/$_.html" } qw(run hostile site/index)), 'site/group' => "$dir/site/$linked[0]",
		map { 'hostile_site/' . (/^index/ ? 'index' : 'group') => "$dir/hostile_site/$_" } keys %hostile);
	foreach my $name (sort keys %names)
	{
		my $source = decode('UTF-8', slurp_file($names{$name}));
		my (@said, @wide, @pale);
		foreach my $scheme ('light', 'dark')
		{
			foreach my $width (390, 768, 1440)
			{
				$browser->visit("file://$names{$name}", $width, $scheme);
				my $is = $browser->evaluate('document.documentElement.scrollWidth');
				push @wide, "$width: $is" if $is > $width;
				push @pale, map { "$scheme: $_" } grep { $_ } $browser->evaluate($pale) if $width == 1440;
				push @said, $browser->said;
			}
		}
		is(join("\n", @said), '', "$name: nothing on the console");
		is(join(', ', @wide), '', "$name: as wide as its window");
		is(join("\n", @pale), '', "$name: words stand out, in light and dark");
		is($browser->evaluate('document.querySelectorAll("i[data-a]").length'), scalar(() = $source =~ /<i class="[pnzu]\d?" data-a=/g), "$name: all cells are there");
		is($browser->evaluate('document.querySelectorAll("script, img, b").length'), scalar(() = $source =~ /<b(?: [^>]*)?>|<script>/g), "$name: and no element that was not meant");
		is($browser->evaluate('[...document.querySelectorAll("svg")].filter((s) => !s.getAttribute("role") || !s.getAttribute("aria-label")).length'), 0, "$name: pictures say what they are");
		cmp_ok($browser->picture("$dir/picture.png", 4000), '>', 4 * $blank, "$name: the picture is not blank");
		$browser->visit("file://$names{$name}", 800, 'light', 'print');
		is($browser->evaluate('[...document.querySelectorAll("td.text")].filter((e) => e.getBoundingClientRect().width < 150).length'), 0, "$name: on paper no column of words is too narrow to be read");
		is($browser->evaluate('[...document.querySelectorAll("nav, .filters, .align")].filter((e) => e.checkVisibility()).length'), 0, "$name: on paper there is nothing to press");
	}

	# The index: sorted and filtered.
	$browser->visit("file://$names{'site/index'}", 1440);
	my $shown = q{[...document.querySelectorAll("table.groups tbody tr")].filter((row) => !row.hidden).map((row) => row.querySelector("td.group > bdi, a > bdi").textContent).join(", ")};
	my $choose = sub { my ($what, $value) = @_; $browser->evaluate(qq{(() => { const e = document.querySelector('.filters [aria-label="$what"]'); e.value = "$value"; e.dispatchEvent(new Event("input", { bubbles: true })); })()}) };
	$choose->('text of group or task', 'ROOMS');
	$choose->('version', 'v1');
	is($browser->evaluate($shown), $node->safe_psql('postgres', q(SELECT string_agg(group_id, ', ' ORDER BY success_rate * (1 - success_rate) * (1 + n_shared_states) DESC) FROM rl.steps_groups JOIN (SELECT DISTINCT group_id FROM rl.rollouts WHERE policy_version = 'v1') v USING (group_id))), 'by text and version');
	$choose->('version', '');
	$choose->('text of group or task', '');
	$choose->('outcomes', 'all equal');
	is($browser->evaluate($shown), $node->safe_psql('postgres', q(SELECT string_agg(group_id, ', ' ORDER BY n_steps DESC, group_id) FROM rl.steps_groups WHERE uniform AND n_judged > 1)), 'by outcome');
	$choose->('outcomes', '');
	$choose->('tag', 'suite hard');
	is($browser->evaluate($shown), 'rooms 2', 'by tag');
	$choose->('tag', '');
	$browser->evaluate(q{[...document.querySelectorAll("table.groups th button")].find((b) => b.textContent === "steps").click()});
	is($browser->evaluate(q{[...document.querySelectorAll('table.groups [data-of="steps"]')].map((c) => c.textContent).join(" ")}), $node->safe_psql('postgres', q(SELECT string_agg(n_steps::text, ' ' ORDER BY n_steps DESC) FROM rl.steps_groups)), 'sorted by a number');
	$browser->evaluate(q{document.querySelectorAll("table.groups th button")[1].click()});
	like($browser->evaluate(q{[...document.querySelectorAll('table.groups [data-of="rollouts"]')].map((c) => c.dataset.n).join("")}), qr/^6+2+1+$/, 'and by how many rollouts there are');

	# A group's page: keys, what is compared, strips by state.
	$browser->visit("file://$names{'site/group'}", 1440);
	my ($first_step, $second_step) = map { "#$_->[0]-s$_->[1]" } articles($talks);
	$browser->press('j');
	is($browser->evaluate('location.hash'), $first_step, 'j: the first step');
	$browser->press($_) foreach 'j', 'j', 'k';
	is($browser->evaluate('location.hash'), $second_step, 'and k back');
	# The strip follows when the page is told of the new hash, which is later.
	my $here;
	for (1 .. 100)
	{
		$here = $browser->evaluate('document.querySelector("a.s.here")?.hash ?? ""');
		last if $here eq $second_step;
		usleep(100_000);
	}
	is($here, $second_step, 'which its strip shows');
	cmp_ok($browser->evaluate('document.querySelector("article:target").getBoundingClientRect().top - document.querySelector("nav").getBoundingClientRect().bottom'), '>=', 0, 'and the header does not cover');
	$browser->evaluate('scrollTo(0, 2000)');
	is($browser->evaluate('document.querySelector("nav").getBoundingClientRect().top'), 0, 'the header stays');
	# A step of a number has its column in all strips, below the ruler's.
	is($browser->evaluate(q{[...document.querySelectorAll(".strip")].filter((strip) => [...strip.children].some((cell, i) => Math.abs(cell.getBoundingClientRect().left - document.querySelector(".ruler .strip").children[i].getBoundingClientRect().left) > 0.5)).length}), 0, 'by step, strips have the same columns');
	my $columns = q{(() => { const at = {}; for (const a of document.querySelectorAll(".strip a.s")) { const s = document.getElementById(a.hash.slice(1)).dataset.state; (at[s] ??= {})[Math.round(a.getBoundingClientRect().left)] = 1; } return Object.values(at).reduce((n, columns) => n + Object.keys(columns).length, 0); })()};
	my $by_step = $browser->evaluate($columns);
	$browser->evaluate('document.querySelectorAll(".align button")[1].click()');
	cmp_ok($browser->evaluate($columns), '<', $by_step, 'by state, states stand in fewer columns');
	is($browser->evaluate(q{[...document.querySelectorAll(".strip")].filter((strip) => { const at = [...strip.querySelectorAll("a.s")].map((a) => a.getBoundingClientRect().left); return at.some((left, i) => i && left <= at[i - 1]); }).length}), 0, 'in their order');
	$browser->evaluate('document.querySelectorAll(".align button")[0].click()');
	is($browser->evaluate($columns), $by_step, 'and back');
	$browser->evaluate('document.querySelectorAll(".choose input").forEach((box, i) => { if (i === 1 || i === 4) box.click(); })');
	is($browser->evaluate('[...document.querySelectorAll(".talk")].map((t, i) => t.checkVisibility() ? i : "").join("")'), '14', 'two that are compared are there');
	# The steps that they begin with alike are not, but for the last one before they part.
	my @compared = map { my $r = $_; [ map { $_->[2] =~ m{data-state="(.*?)".*<div class="did">.*?<pre>(.*?)</pre>}s ? "$1 $2" : '' } grep { $_->[0] eq $r } articles($talks) ] } 'r2', 'r5';
	my $alike = 0;
	$alike++ while $alike < @{ $compared[0] } && $alike < @{ $compared[1] } && $compared[0][$alike] eq $compared[1][$alike];
	is($browser->evaluate('document.querySelectorAll(".talk.chosen article.alike").length'), 2 * ($alike > 1 ? $alike - 1 : 0), 'from where they part');
	$browser->close;
}

$node->stop;
done_testing();
