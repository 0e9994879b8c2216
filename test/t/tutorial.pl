# docs/tutorial.md to its training file: ```console blocks in a shell, ```sql blocks in the database that these create, in order, each with
# the output that the page shows.
use strict;
use warnings;
use Client;
use IPC::Run;
use PageBlocks;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs python3-psycopg' if !Client::installed();

my $node = PostgreSQL::Test::Cluster->new('tutorial');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->start;
local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, PYTHONDONTWRITEBYTECODE => 1);
delete $ENV{PGDATABASE};
# Files that the page writes to /tmp.
my $folder = PostgreSQL::Test::Utils::tempdir();
my @blocks = slurp_file('docs/tutorial.md') =~ /^```(console|sql)\n(.*?)^```\n(?:```\n(.*?)^```\n)?/msg;
my $n = 0;

while (my ($label, $text, $expected) = splice @blocks, 0, 3)
{
	$n++;
	if ($label eq 'sql')
	{
		my ($output, $messages) = PageBlocks::run_page($node->connstr('tutorial'), '', $text);
		is($messages->{0} // '', '', "block $n runs");
		is(PageBlocks::tidy($output->{0} // ''), PageBlocks::tidy($expected), "output of block $n") if defined $expected;
		next;
	}
	foreach my $command ($text =~ /^\$ (.*)$/mg)
	{
		my ($shown, $printed, $said) = ($command, '', '');
		$command =~ s{/tmp/}{$folder/}g;
		ok(IPC::Run::run([ 'bash', '-c', $command ], '>', \$printed, '2>', \$said), $shown) or diag($said);
	}
}
cmp_ok($n, '>', 8, 'the page has its blocks');
my @lines = split /\n/, slurp_file("$folder/tutorial.jsonl");
cmp_ok(scalar @lines, '>', 0, 'the training file has lines');
is(join(' ', grep { !/^\{.*"messages": ?\[/ } @lines), '', 'each of them a conversation');
$node->stop;
done_testing();
