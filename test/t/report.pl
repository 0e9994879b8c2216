# The pages of stepadv report in a browser: numbers of the views, search, filters, keys, no script error, nothing wider than its page,
# readable contrast, labels that do not overlap, and texts shown as text.
use strict;
use warnings;
use Client;
use utf8;
use Cwd qw(abs_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use Browser;

my $client = abs_path('client');
plan skip_all => 'the viewer is not built: npm or Node.js 18 is missing (52 tests)' if !-e "$client/stepadv/report/static/viewer.js";
plan skip_all => 'needs python3-psycopg' if !Client::installed();

my $node = PostgreSQL::Test::Cluster->new('report');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;
my $dir = abs_path($node->basedir);
$node->safe_psql('postgres', 'CREATE EXTENSION stepadv; SET jit = off;' . slurp_file('test/sim/simulator.sql') . q(
	SELECT stepadv.create_tables('rl', views => '{all}');
	CREATE TEMP TABLE s AS
	SELECT 'rooms ' || group_id AS g, 'rollout ' || rollout_id AS r, s.* FROM sim.simulate(6, 6, 7, max_steps => 20) s;
	INSERT INTO rl.rollouts (task_id, rollout_id, policy_version, outcome, success, truncated)
	SELECT g, r, '', max(reward), bool_or(success), bool_or(truncated) FROM s GROUP BY g, r;
	INSERT INTO rl.steps (task_id, rollout_id, step_no, observation, action, tool, ok, reward)
	SELECT g, r, step_no, state, action, CASE WHEN step_no % 2 = 0 THEN 'walk' END, CASE WHEN step_no % 4 = 0 THEN step_no % 8 = 0 END, reward FROM s;
	-- Texts that would break a page without escaping.
	INSERT INTO rl.rollouts (task_id, rollout_id, success) SELECT '</title><script>alert(1)</script>', r, r = '1' FROM unnest('{1,2}'::text[]) r;
	INSERT INTO rl.steps (task_id, rollout_id, step_no, observation, action, next_observation)
	SELECT '</title><script>alert(1)</script>', r, i, w, w, w FROM unnest('{1,2}'::text[]) r, unnest(ARRAY['</script><img src=x onerror=alert(2)>',
		'<svg/onload=alert(3)>', '"; digraph { a -> b }', E'U+2028 \u2028 and \u2029', '${alert(4)}', repeat('wide', 400)]) WITH ORDINALITY u(w, i);
	-- A task that v10 mostly solves and v9 does not.
	INSERT INTO rl.rollouts (policy_version, task_id, rollout_id, success) SELECT v, 'two doors', v || r, (r = 1) = (v = 'v9') FROM unnest('{v9,v10}'::text[]) v, generate_series(1, 4) r;
	INSERT INTO rl.steps (policy_version, task_id, rollout_id, step_no, observation, action) SELECT policy_version, task_id, rollout_id, 0, 'hall', CASE WHEN success THEN 'right' ELSE 'left' END FROM rl.rollouts WHERE task_id = 'two doors';
	-- More rows than are drawn at once.
	INSERT INTO rl.rollouts (task_id, rollout_id, success) SELECT 'long way', 'long ' || r, r = 1 FROM generate_series(1, 2) r;
	INSERT INTO rl.steps (task_id, rollout_id, step_no, observation, action) SELECT 'long way', 'long ' || r, i, 'place ' || i, 'go on' FROM generate_series(1, 2) r, generate_series(0, 299) i;
	-- And a group that is not judged.
	INSERT INTO rl.rollouts (task_id, rollout_id) VALUES ('unjudged', 'u1');
	INSERT INTO rl.steps (task_id, rollout_id, step_no, observation, action) SELECT 'unjudged', 'u1', i, 'seen', 'done' FROM generate_series(0, 2) i;
));

sub report
{
	my (@options) = @_;
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([ '/usr/bin/python3', "$client/bin/stepadv", 'report', '-d', $node->connstr('postgres'), @options ], '>', \$out, '2>', \$err);
	return ($ok, $err);
}

my ($ok, $err) = report('-o', "$dir/site");
ok($ok, 'a folder') or diag($err);
($ok, $err) = report('-o', "$dir/one.html", '--groups', '2');
ok($ok, 'one file') or diag($err);
($ok, $err) = report('-o', "$dir/none", 'nobody.steps');
is($ok, '', 'no such views');
like($err, qr/no view "steps_compare" in schema "nobody"/, 'which it says');
($ok, $err) = report('-o', "$dir/none", '--observation', 'nothing');
like($err, qr/column "nothing" does not exist in view "steps_compare"/, 'nor such a column');

$node->safe_psql('postgres', q(SELECT count(*) FROM stepadv.create_tables('my "R''l;'); SELECT set_config('search_path', quote_ident('my "R''l;'), false);
	INSERT INTO rollouts (task_id, rollout_id, success) VALUES ('t', 'a', true), ('t', 'b', false);
	INSERT INTO steps (task_id, rollout_id, step_no, observation, action) VALUES ('t', 'a', 0, 'o', 'x'), ('t', 'b', 0, 'o', 'y')));
($ok, $err) = report('-o', "$dir/quoted.html", q(my "R'l;.steps));
ok($ok, 'names that need quotes') or diag($err);
# A corridor with a key: in one task the state has the key and the time, in the other it does not.
$node->safe_psql('postgres', q(
	CREATE TABLE corridor AS
	WITH act AS (SELECT task, i, n, get_byte(decode(md5(format('%s %s %s', task, i, n)), 'hex'), 0) % 16 AS luck FROM unnest('{seen,unseen}'::text[]) task, generate_series(0, 127) i, generate_series(0, 3) n),
	key AS (SELECT *, coalesce(bool_or(luck < 5) OVER (PARTITION BY task, i ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), false) AS has FROM act)
	SELECT task, i / 8 AS policy_version, i AS rollout_id, n AS step_no, CASE task WHEN 'seen' THEN concat(n, has) ELSE (n < 3)::text END AS state,
		CASE WHEN n = 3 THEN 'open' WHEN luck < 5 THEN 'take' ELSE 'look' END AS action, CASE WHEN n = 3 THEN (luck < CASE WHEN has THEN 13 ELSE 4 END)::integer END AS reward FROM key;
	SELECT count(*) FROM stepadv.attach('corridor', '{task,policy_version}', 'rollout_id', 'step_no', 'state', 'action', 'reward', views => '{compare,groups,rollouts,values,batch_td}')));
($ok, $err) = report('-o', "$dir/corridor", 'public.corridor', '--groups', '1');
ok($ok, 'another attachment') or diag($err);
my $said = join '', map { slurp_file($_) } grep { -f } glob("$dir/corridor/* $dir/corridor/*/*");
like($said, qr/In 1 of 2 tasks with 16 groups or more the state hides something/, 'where states hide something, it says so');
my $hidden = $node->safe_psql('postgres', q(
	SELECT format('tries end %s better than their state says (z %s, %s tries)', round(c.difference::numeric, 2), round(c.z::numeric, 1), c.n_rollouts)
	FROM (SELECT array_agg(rollouts) AS groups FROM corridor_values WHERE task = 'unseen') x, stepadv.state_check(x.groups) c WHERE c.action = stepadv.signature_hash('take') AND c.z > 5));
like($said, qr/unseen: after .{1,6}take.{1,6} in .{1,6}true.{1,6} \Q$hidden/, 'and what, and how sure that is');

my $program = Browser::installed();
if (!$program)
{
	note('no browser: skipped 42 tests');
	done_testing();
	exit;
}
my $browser = Browser->new($program);

# Until an expression is true: pages are drawn after they are loaded.
sub until_true
{
	my ($expression) = @_;
	foreach (1 .. 400)
	{
		return 1 if $browser->evaluate($expression);
		usleep(25_000);
	}
	return 0;
}
my $group_name = q{document.querySelector("main h1")?.textContent};
sub visit
{
	my ($page, $width, $scheme, $medium) = @_;
	$browser->visit("file://$dir/site/index.html$page", $width // 1440, $scheme, $medium);
	return until_true('!!document.querySelector("main h1") && !/Loading|Laying/.test(document.querySelector("main").textContent)');
}

# The index --------------------------------------------------------------------
ok(visit(''), 'the index');
like($browser->evaluate('document.querySelector(".headline").textContent'), qr/49 tries of 10 tasks, \d+ % of those judged solved/, 'a headline in words');
is($browser->evaluate(q{new Set([...document.querySelectorAll("td:first-child a[href^='#group/']")].map((a) => a.textContent)).size}), 11, 'all groups');
like($browser->evaluate('document.querySelector(".headline").textContent'), qr/Of 1 task that both tried, v10 solves 1 in most tries that v9 did not, and loses 0 \(p 1\)/, 'versions in the order of their numbers');
is($browser->evaluate(q{[...[...document.querySelectorAll("tr")].find((r) => r.cells[0].textContent === "two doors").cells].map((c) => c.textContent).join("|")}), 'two doors|hall|1 of 4|3 of 4', 'and which task that is');
is($browser->evaluate(q{(() => { const row = [...document.querySelectorAll("tr")].find((r) => r.cells[0].textContent === "walk"); return [...row.cells].map((c) => c.textContent).join("|"); })()}),
	$node->safe_psql('postgres', q(SELECT concat_ws('|', 'walk', count(*), count(ok), round(100.0 * count(*) FILTER (WHERE NOT ok) / count(ok)) || ' %') FROM rl.steps WHERE tool = 'walk')),
	'errors are a share of the calls whose result is known');
is($browser->evaluate(q{[...document.querySelectorAll(".share")].filter((c) => Math.round(/ ([\d.]+)%/.exec(getComputedStyle(c).backgroundImage)?.[1]) + " %" !== c.textContent).length}),
	0, 'bars are as long as the shares in them');
is($browser->evaluate(q{[...document.querySelectorAll("main h2")].filter((h) => /^Advantages by/.test(h.textContent) && h.querySelectorAll(".term").length < 2).map((h) => h.textContent).join()}), '', 'each method is explained');
is($browser->evaluate(q{[...document.querySelectorAll("main .term")].filter((t) => !t.dataset.tip).length + " " + [...document.querySelectorAll(".headline .term")].map((t) => t.textContent).join()}),
	'0 judged,judged,groups,informative,share a state,RTMC,GiGPO,GraphGPO,batch TD', 'terms are explained where they stand');

visit('', 390);
$browser->evaluate('[...document.querySelectorAll("main .term")].find((t) => t.textContent === "confidence" || t.textContent === "Groups").focus()');
ok(until_true(q{(() => { const box = document.querySelector(".tip")?.getBoundingClientRect();
	return box && box.left >= 0 && box.right <= 390 && document.elementFromPoint(box.left + 9, box.bottom - 9)?.className === "tip"; })()}), 'in a box that nothing cuts off');

# A group ------------------------------------------------------------------------
my ($first) = $browser->evaluate(q{[...document.querySelectorAll("main a[href^='#group/']")].find((a) => a.textContent.startsWith("rooms")).hash}) =~ m{(\d+)};
ok(visit("#group/$first"), 'a group');
my $name = $browser->evaluate($group_name);
is($browser->evaluate('document.querySelectorAll("button.cell").length'),
	$node->safe_psql('postgres', "SELECT count(*) FROM rl.steps WHERE task_id = '$name'"), 'a cell for each step');
$browser->press('j');
ok(until_true('!!document.querySelector("aside.step")'), 'j opens a step');
my $title = $browser->evaluate('document.querySelector("aside.step h2").textContent');
$browser->press('j');
ok(until_true(qq{document.querySelector("aside.step h2").textContent !== "$title"}), 'and the next');
$browser->press('k');
ok(until_true(qq{document.querySelector("aside.step h2").textContent === "$title"}), 'k back');
my ($rollout) = $title =~ /of (.*)/;
my ($method) = $browser->evaluate('document.querySelector("select#method").selectedOptions[0].textContent');
my $shown = $browser->evaluate('[...document.querySelectorAll("aside.step table")].at(-1).querySelector("tr.on td").textContent');
is($shown + 0, 0 + sprintf('%.3f', $node->safe_psql('postgres', "SELECT $method FROM rl.steps_compare WHERE task_id = '$name' AND rollout_id = '$rollout' ORDER BY step_no LIMIT 1")),
	"the advantage of the first step by $method");
is($browser->evaluate(q{[...document.querySelectorAll(".rollout-name")].map((n) => n.title + ":" + (/decided at (\d+)/.exec(n.textContent)?.[1] ?? "")).sort().join()}),
	$node->safe_psql('postgres', qq(SELECT string_agg(r.rollout_id || ':' || coalesce(d.step_no::text, ''), ',' ORDER BY r.rollout_id COLLATE "C") FROM rl.rollouts r LEFT JOIN LATERAL (
		SELECT step_no FROM rl.steps_$method t WHERE t.task_id = r.task_id AND t.rollout_id = r.rollout_id AND n_state >= 5 AND n_state > n_action AND confidence >= .8
		AND CASE WHEN r.success THEN advantage > 0 ELSE advantage < 0 END ORDER BY round(abs(advantage)::numeric, 6) DESC, step_no LIMIT 1) d ON true WHERE r.task_id = '$name')),
	'the step that decided each rollout');
is($browser->evaluate('[...document.querySelectorAll("[role=tab]")].map((b) => b.textContent).join()'), 'side by side,methods,tree,graph', 'four views');
foreach my $view ('methods', 'tree', 'graph')
{
	$browser->evaluate(qq{[...document.querySelectorAll("[role=tab]")].find((b) => b.textContent === "$view").click()});
	ok(until_true(q{!!document.querySelector(".strips, .picture .node")}), $view);
	# Boxes of labels in the picture's own measure.
	is($browser->evaluate(q{(() => {
		const boxes = [...document.querySelectorAll(".picture .node rect:first-of-type")].map((r) => r.getBoundingClientRect());
		for (const text of document.querySelectorAll(".picture text.did")) boxes.push(text.getBoundingClientRect());
		let n = 0;
		boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => { if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1) n++; }));
		const wide = [...document.querySelectorAll(".picture .node")].filter((n) => [...n.querySelectorAll("text")].some((t) => t.getBoundingClientRect().right > n.querySelector("rect").getBoundingClientRect().right + 1)).length;
		return n + wide;
	})()}), 0, "$view: no label overlaps another, or leaves its box");
	is($browser->evaluate(q{(() => {
		const seen = Map.groupBy(document.querySelectorAll(".picture .node"), (n) => n.querySelector("text").textContent);
		return [...seen].filter(([, nodes]) => new Set(nodes.map((n) => n.querySelector("title").textContent)).size > 1).map(([label]) => label).join();
	})()}), '', 'no state is called as another') if $view eq 'graph';
	is($browser->evaluate(q{(async () => {
		const x = (n) => /translate\((\d+)/.exec(n.getAttribute("transform"))[1] / 250;
		const last = [...document.querySelectorAll(".picture .node")].sort((a, b) => x(b) - x(a))[0];
		last.dispatchEvent(new MouseEvent("mouseenter"));
		await new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame));
		return document.querySelectorAll(".picture .edge.lit").length - x(last);
	})()}), 0, 'the way of the rollout under the pointer is lit') if $view eq 'tree';
}

visit('');
my $long = $browser->evaluate(q{[...document.querySelectorAll("main a[href^='#group/']")].find((a) => a.textContent === "long way").hash});
visit("$long?rollout=1&step=250");
ok(until_true(q{(() => { const cell = document.getElementById("s1-250")?.getBoundingClientRect(), box = document.querySelector(".side-by-side").getBoundingClientRect();
	return cell && cell.top >= box.top && cell.bottom <= box.bottom; })()}), 'a step far down a long group is in view');
cmp_ok($browser->evaluate('document.querySelectorAll("button.cell").length'), '<', 200, 'and few others are drawn');

# Search -------------------------------------------------------------------------
ok(visit('#search?text=door&outcome=solved'), 'search');
ok(until_true('/ steps? of /.test(document.querySelector("[role=status]")?.textContent)'), 'has an answer');
my $hits = $node->safe_psql('postgres', q(SELECT count(*) FROM rl.steps_compare WHERE observation || ' ' || action ~* '\mdoor' AND success));
like($browser->evaluate('document.querySelector("[role=status]").textContent'), qr/^$hits steps/, 'a word, and an outcome');
ok(visit('#search?text=door+loc&tool=walk&error=error&method=rtmc&above=0'), 'more filters');
$hits = $node->safe_psql('postgres', q(SELECT count(*) FROM rl.steps_compare WHERE observation || ' ' || action ~* '\mdoor\M' AND observation || ' ' || action ~* '\mloc' AND tool = 'walk' AND NOT ok AND rtmc::real > 0));
ok(until_true(qq{/^$hits steps? of/.test(document.querySelector("[role=status]")?.textContent)}), "tool, error, advantage and the beginning of a word: $hits")
	or diag($browser->evaluate('document.querySelector("[role=status]")?.textContent'));
visit('#search?text=' . 'wide' x 20);
ok(until_true(q{/^2 steps? of/.test(document.querySelector("[role=status]")?.textContent)}), 'a word of more than 40 characters');
visit('#search?version=v10');
ok(until_true(q{/^4 steps? of/.test(document.querySelector("[role=status]")?.textContent)}), 'of one version');
visit('#search?version=v10&method=grpo&order=worst');
ok(until_true(q{/, v101, step 0 failed grpo -1\.50/.test(document.querySelector(".results li")?.textContent)}), 'the worst step first')
	or diag($browser->evaluate('document.querySelector(".results li")?.textContent'));
visit('#failures');
is($browser->evaluate(q{[...document.querySelectorAll("main tbody tr")].map((r) => [...r.cells].map((c) => c.textContent).join("|")).join()}), 'hall two doors|v9|left 75 %|4|25 %,v10|right 75 %|4|75 %', 'what two versions do in a state');
visit('');
$browser->press('/');
ok(until_true('document.activeElement?.type === "search"'), '/ leads to search');

# What every page must hold ---------------------------------------------------------
# What both measures of contrast need: colours, and what is below a text.
my $colours = q{
	const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgb = (c) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); return canvas.getImageData(0, 0, 1, 1).data; };
	const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
	const over = (layers) => layers.reduce((under, [r, g, b, a]) => [r, g, b].map((v, i) => v * a / 255 + under[i] * (1 - a / 255)), rgb(getComputedStyle(document.body).backgroundColor).slice(0, 3));
	const ratio = (text, layers) => { const [a, b] = [light(rgb(text)), light(over(layers))].sort((x, y) => y - x); return (a + .05) / (b + .05); };
	const bad = new Set();
};
my $contrast = '(() => {' . $colours . q{
	const back = (e) => { const layers = []; for (; e; e = e.parentElement) layers.unshift(rgb(getComputedStyle(e).backgroundColor)); return layers; };
	for (const e of document.querySelectorAll("main *")) {
		if (!e.checkVisibility() || e.closest("svg") || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
		const contrast = ratio(getComputedStyle(e).color, back(e));
		if (contrast < 4.5) bad.add(`${e.tagName}.${e.className} ${contrast.toFixed(2)}`);
	}
	return [...bad].slice(0, 5).join(", ");
} . '})()';
# In pictures a text covers what was drawn at its middle before it.
my $picture_contrast = '(() => {' . $colours . q{
	let n = 0;
	for (const text of document.querySelectorAll("main svg text")) {
		if (!text.checkVisibility() || !text.textContent.trim()) continue;
		text.scrollIntoView({ block: "center" });
		const box = text.getBoundingClientRect();
		const drawn = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2);
		if (!drawn.includes(text)) continue;
		n++;
		const layers = drawn.slice(drawn.indexOf(text) + 1).filter((e) => !(e instanceof SVGTextContentElement)).map((e) => {
			const style = getComputedStyle(e);
			if (!(e instanceof SVGGeometryElement)) return rgb(style.backgroundColor);
			const fill = [...rgb(style.fill === "none" ? "transparent" : style.fill)];
			fill[3] *= style.fillOpacity * style.opacity;
			return fill;
		}).reverse();
		const contrast = ratio(getComputedStyle(text).fill, layers);
		if (contrast < 4.5) bad.add(`${text.textContent} ${contrast.toFixed(2)}`);
	}
	return `${n}|${[...bad].slice(0, 5).join(", ")}`;
} . '})()';
my (@wide, @pale, @said);
my ($bad) = grep { defined } map { visit(''); $browser->evaluate(q{[...document.querySelectorAll("main a[href^='#group/']")].find((a) => a.textContent.includes("<script>"))?.hash}) } 1;
foreach my $page ('', "#group/$first?rollout=0&step=0", $bad, '#failures', '#search?text=onerror', '#glossary')
{
	visit($page);
	foreach my $scheme ('light', 'dark')
	{
		foreach my $width (390, 768, 1440)
		{
			$browser->look($width, $scheme);
			push @wide, "$page $width" if $browser->evaluate('document.documentElement.scrollWidth') > $width;
			# A column of text is no column of letters.
			push @wide, map { "$page $width: $_" } grep { $_ } $browser->evaluate('[...document.querySelectorAll("main td")].find((c) => c.checkVisibility() && c.textContent.length > 12 && c.clientWidth < 50)?.textContent');
			push @pale, map { "$page $scheme: $_" } grep { $_ } $browser->evaluate($contrast) if $width == 1440;
			push @said, $browser->said, $browser->evaluate('[...document.querySelectorAll("main img, main script, main iframe, main [onload], main [onerror]")].map((e) => e.outerHTML).join()') || ();
		}
	}
}
my $n_texts = 0;
foreach my $view ('', 'methods', 'tree', 'graph')
{
	visit($view ? "#group/$first" : '');
	$browser->evaluate(qq{[...document.querySelectorAll("[role=tab]")].find((b) => b.textContent === "$view").click()}) if $view;
	until_true('document.querySelectorAll("main svg text").length > 0');
	foreach my $scheme ('light', 'dark')
	{
		$browser->look(1440, $scheme);
		my ($n, $found) = split /\|/, $browser->evaluate($picture_contrast), 2;
		$n_texts += $n;
		push @pale, "picture of $view $scheme: $found" if $found;
	}
}
cmp_ok($n_texts, '>', 50, 'texts of pictures are measured');
visit("#group/$first?rollout=0&step=0", 1000, 'light', 'print');
push @wide, 'printed' if $browser->evaluate('document.documentElement.scrollWidth') > 1000
	|| $browser->evaluate('document.querySelector("aside.step").getBoundingClientRect().top < document.querySelector(".side-by-side").getBoundingClientRect().bottom');
is(join("\n", @wide), '', 'no page is wider than its window, at 390, 768 and 1440 pixels or on paper');
is(join("\n", @pale), '', 'contrast of text, light and dark');
is(join("\n", @said), '', 'no script has an error');
visit($bad);
is($browser->evaluate($group_name), '</title><script>alert(1)</script>', 'a name stays a text');
is($browser->evaluate('document.querySelectorAll("main img, main script, main iframe").length'), 0, 'and no text an element');
$browser->evaluate(q{[...document.querySelectorAll("[role=tab]")].find((b) => b.textContent === "graph").click()});
ok(until_true(q{!!document.querySelector(".picture .node")}), 'texts reach no picture as anything else');
is($browser->evaluate('[...document.querySelectorAll("svg")].filter((s) => !s.getAttribute("aria-label")).length'), 0, 'pictures say what they are');
$browser->visit("file://$dir/one.html", 1440);
ok(until_true('document.querySelectorAll(".headline li").length > 0'), 'one file with all in it');
is(join("\n", $browser->said), '', 'without an error');
$browser->evaluate('location.hash = "#group/0"');
ok(until_true('document.querySelectorAll("button.cell").length > 0'), 'and a page of a group in it');
$browser->close;
done_testing();
