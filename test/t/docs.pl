# The SQL of README.md and docs/.  Every ```sql block of a page runs, in order, in one session; a plain ``` block directly after it must
# be what psql prints (the count of rows may be left out).  Blocks with other labels are not run.  Each page has its own database.
use strict;
use warnings;
use PageBlocks;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# In reading order.
my @pages = map { $_ eq 'README' ? "$_.md" : "docs/$_.md" } qw(README questions tables import states methods rewards
	analysis compare papers report training upkeep);

my $node = PostgreSQL::Test::Cluster->new('docs');
# Rollouts are UTF-8, in any locale of the tester.
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;

# Output of psql for the blocks of a page, in a database.
sub run_page
{
	my ($page, $database, @blocks) = @_;
	my ($output, $messages) = PageBlocks::run_page($node->connstr($database), 'CREATE EXTENSION IF NOT EXISTS stepadv;', map { $_->{sql} } @blocks);

	is(join('', map { $messages->{$_} } sort { $a <=> $b } keys %$messages) =~ s/^NOTICE.*\n//mgr, '', "$page: its SQL runs");
	foreach my $i (0 .. $#blocks)
	{
		is(PageBlocks::tidy($output->{$i} // ''), PageBlocks::tidy($blocks[$i]{expected}), "$page: output of block " . ($i + 1))
		  if defined $blocks[$i]{expected};
	}
}

my %blocks = map { $_ => [ PageBlocks::blocks($_) ] } 'README.md', glob('docs/*.md');
my %listed = map { $_ => 1 } @pages;
# The tutorial has a separate test, which runs its commands too.
is(join(' ', grep { @{ $blocks{$_} } && !$listed{$_} } sort keys %blocks), 'docs/tutorial.md', 'the list above has every other page with SQL');
@pages = grep { @{ $blocks{$_} // [] } } @pages;
# Roles are shared by all databases.
my @roles = map { map { $_->{sql} =~ /^CREATE ROLE (\w+)/mg } @{ $blocks{$_} } } @pages;

foreach my $page (@pages)
{
	my $database = 'docs_' . ($page =~ s/\W/_/gr);

	$node->safe_psql('postgres', join ";\n", (map { "DROP ROLE IF EXISTS $_" } @roles), "CREATE DATABASE \"$database\"");
	run_page($page, $database, @{ $blocks{$page} });
	# README's database is queried below.
	$node->safe_psql('postgres', "DROP DATABASE \"$database\"") if $page ne 'README.md';
}

# The reference is made from the comments of the objects, and has all of them.
my $made = PostgreSQL::Test::Utils::tempdir();
ok(IPC::Run::run([ $^X, 'test/harness/reference.pl', $node->connstr('docs_README_md'), $made ]), 'pages of the reference are made')
  and is(join(' ', grep { !-e "docs/reference/$_" || slurp_file("docs/reference/$_") ne slurp_file("$made/$_") } map { s{.*/}{}r } glob("$made/*.md")), '',
	'docs/reference is what `make reference` makes');

# A comment fits on a screen; a page has the rest.
is($node->safe_psql('docs_README_md', q{SELECT string_agg(p.proname, ' ') FROM pg_proc p, obj_description(p.oid, 'pg_proc') d
	WHERE p.pronamespace = 'stepadv'::regnamespace AND length(d) > 300}), '', 'no comment on a function has more than 300 characters');
# Functions and views that exist.
my $functions = $node->safe_psql('docs_README_md', q{SELECT DISTINCT p.proname FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'stepadv' WHERE p.pronamespace = 'stepadv'::regnamespace AND NOT EXISTS (SELECT FROM pg_type t WHERE p.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend)) ORDER BY 1});
# The internals of views over many groups are documented with these views.
$functions =~ s/^(?:digest_\w+|group_digest)\n//mg;
$node->safe_psql('docs_README_md', "SELECT stepadv.create_tables('every_view', views => '{all}')");
my $views = $node->safe_psql('docs_README_md', q{SELECT substr(relname, 7) FROM pg_class WHERE relnamespace = 'every_view'::regnamespace AND relkind = 'v' AND relname LIKE 'steps\_%' ORDER BY 1});


# Every function and view is in a query, or named.
my $questions = slurp_file('docs/questions.md');
is(join(' ', grep { $questions !~ /(?:stepadv\.|`)\Q$_\E\b/ } split /\n/, $functions), '', 'docs/questions.md: has every function');
is(join(' ', grep { $questions !~ /(?:steps_|`_?)\Q$_\E\b/ } split /\n/, $views), '', 'and every view');
# A question has its query, unless it needs more than these tables.
my @unanswered = grep { !/^```sql/m } $questions =~ /^(\*\*[^*]+\?\*\*.*?)(?=^\*\*|^## |\z)/msg;
is(join(' ', map { /^\*\*(.*?)\*\*/ } @unanswered), q{What are SPA's rewards? Which groups are complete and available?}, 'every other question has a query');
# Every page explains its terms by the glossary.
foreach my $page (sort 'README.md', glob('docs/*.md docs/*/*.md'))
{
	like(slurp_file($page), qr/\]\((?:docs\/|\.\.\/)?glossary\.md/, "$page: links to the glossary") if $page ne 'docs/glossary.md';
}
# Targets of links.
my %anchors = map { my $page = $_; $page => { map { my $anchor = lc; $anchor =~ s/`//g; $anchor =~ s/[^\w\s-]//g; $anchor =~ s/ /-/g; $anchor => 1 } slurp_file($page) =~ /^#+ (.*)$/mg } } 'README.md', glob('docs/*.md docs/*/*.md');
foreach my $page (sort keys %anchors)
{
	my @lost;
	foreach my $link (slurp_file($page) =~ /\]\(((?!\w+:)[^)\s]*\.md[^)\s]*|#[^)\s]*)\)/g)
	{
		my ($to, $anchor) = $link =~ /^([^#]*)#?(.*)$/;
		my $file = $to eq '' ? $page : ($page =~ m{^(.*/)} ? $1 : '') . $to;
		1 while $file =~ s{[^/]+/\.\./}{};
		push @lost, $link if !-e $file || $anchor ne '' && $anchors{$file} && !$anchors{$file}{$anchor};
	}
	is(join(' ', @lost), '', "$page: its links lead somewhere");
}

$node->stop;
done_testing();
