# Size limits: every number of test/house.sh, and those of views, tables, functions and parameters in a server.  It fails if one is more than a
# tenth above the goal, or above the maximum given here.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The goal, and the maximum, if that is not a tenth more.
my @wanted = (
	[ 'lines of C in src', 50_000, 50_100 ],
	[ 'bytes of SQL', 800_000 ],
	[ 'lines of SQL over 120 characters', 0 ],
	[ 'references to later parts', 0 ],
	[ 'includes of later folders', 0 ],
	[ 'lines of tests and expected output', 50_000 ],
	[ 'lines of Python in the client', 4_500, 6_400 ],
	[ 'lines of Python over 119 characters', 0 ],
	[ 'words of docs', 40_900 ],
	[ 'functions in stepadv', 150 ],
	[ 'functions in stepadv_internal', 350 ],
	[ 'parameters of attach', 12 ],
	[ 'views of create_tables', 15 ],
	[ 'characters of these', 60_000 ],
	[ 'characters of the largest', 6_000 ],
	[ 'characters of the largest of all', 6_000 ],
	[ 'tables that maintain makes', 2 ],
	[ 'columns of the widest', 20 ],
);

my %is = map { split /\t/ } split /\n/, slurp_file('house.txt');
my $node = PostgreSQL::Test::Cluster->new('house');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION stepadv');
my $tables = q{SELECT c.oid::regclass::text, c.relnatts FROM pg_class c WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'rl'::regnamespace AND NOT c.relispartition};
$node->safe_psql('postgres', q{SELECT count(*) FROM stepadv.create_tables('rl')});
$is{'functions in stepadv'} = $node->safe_psql('postgres', q{SELECT count(*) FROM pg_proc WHERE pronamespace = 'stepadv'::regnamespace});
$is{'functions in stepadv_internal'} = $node->safe_psql('postgres', q{SELECT count(*) FROM pg_proc WHERE pronamespace = 'stepadv_internal'::regnamespace});
$is{'parameters of attach'} = $node->safe_psql('postgres', q{SELECT max(pronargs) FROM pg_proc WHERE pronamespace = 'stepadv'::regnamespace AND proname = 'attach'});
@is{'views of create_tables', 'characters of these', 'characters of the largest'} = split /\|/, $node->safe_psql('postgres', q{
	SELECT count(*), sum(length(d)), max(length(d)) FROM pg_class c, pg_get_viewdef(c.oid) d
	WHERE c.relkind = 'v' AND c.relnamespace = 'rl'::regnamespace AND c.relname LIKE 'steps\_%'});
# All views, so that maintain keeps everything.
$node->safe_psql('postgres', q{SELECT count(*) FROM stepadv.add_views('rl.rollout_rows', '{all}')});
$is{'characters of the largest of all'} = $node->safe_psql('postgres', q{SELECT max(length(pg_get_viewdef(oid))) FROM pg_class WHERE relkind = 'v' AND relnamespace = 'rl'::regnamespace});
my %before = map { split /\|/ } split /\n/, $node->safe_psql('postgres', $tables);
$node->safe_psql('postgres', q{SELECT stepadv.maintain('rl.rollout_rows')});
my %after = map { split /\|/ } split /\n/, $node->safe_psql('postgres', $tables);
my @made = grep { !exists $before{$_} } sort keys %after;
$is{'tables that maintain makes'} = @made;
($is{'columns of the widest'}) = sort { $b <=> $a } map { $after{$_} } @made;
$node->stop;

for my $number (@wanted)
{
	my ($name, $wanted, $named) = @$number;
	my $most = $named // int(1.1 * $wanted);
	note(sprintf('| %-36s | %9d | wanted %7d%s |', $name, $is{$name}, $wanted, defined $named ? ", at most $named" : ''));
	cmp_ok($is{$name}, '<=', $most, $name);
}
done_testing();
