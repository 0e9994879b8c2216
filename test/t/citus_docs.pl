# The SQL of README.md and docs/ over tables that Citus distributes: every page that attaches tables runs twice, over two
# workers and on one server, and each block prints the same, in any order of rows.  What Citus refuses is listed.
# Run where the library citus is in the server that PG_CONFIG names, and STEPADV_COPY_SERVER=1; nothing here builds it.
use strict;
use warnings;
use CitusCluster;
use PageBlocks;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $lacking = CitusCluster::lacking();
plan skip_all => $lacking if $lacking;

# Blocks (from 1) that Citus or an attachment of distributed tables refuses: errors and reasons; later blocks that depend
# on them; and alternative queries.
my $not_kept = 'groups of distributed tables are not kept (citus_upkeep.pl)';
my %refused = (
	'docs/training.md' => {
		4 => { says => [ 'cannot make a pool of groups of pool.rollout_rows: it is a distributed table', 'relation "pool.steps_ready" does not exist at character 92' ],
			because => 'groups are claimed by locks of their rows, in one place', needed_by => [ 5 .. 6 ] },
	},
	'docs/upkeep.md' => {
		1 => { says => ['cannot maintain groups of public.my_steps: it is a distributed table'], because => $not_kept, needed_by => [ 2 .. 5 ] },
	},
);
# Tables of pages that are not attached, by the column by which they are distributed here; '': a copy on every node.
my %more = (
	'docs/import.md' => { 'langfuse.traces' => '', 'langfuse.observations' => '', 'langfuse.scores' => '' },
	'docs/rewards.md' => { turn => 'task', call => 'rollout', token => 'id', logp => 'step' },
	'docs/methods.md' => { visit => 'task' },
	'docs/states.md' => { steps => 'rollout_id' },
);

my ($coordinator, @workers) = CitusCluster::start("fsync = off\n", qw(coordinator worker_1 worker_2));
my $alone = PostgreSQL::Test::Cluster->new('alone');
$alone->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$alone->append_conf('postgresql.conf', "jit = off\nfsync = off\n");
$alone->start;

# On both: without the keys that Citus does not support, which may identify steps.
my $distribute = q{
CREATE SCHEMA testing;
CREATE FUNCTION testing.distribute(name regclass, key text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	c record;
	is_here CONSTANT boolean := to_regclass('pg_dist_partition') IS NULL;
BEGIN
	IF (SELECT r.relkind FROM pg_class r WHERE r.oid = distribute.name) <> 'r' THEN
		RETURN;
	ELSIF NOT is_here THEN
		IF EXISTS (SELECT FROM pg_dist_partition d WHERE d.logicalrelid = distribute.name) THEN
			RETURN;
		END IF;
	END IF;
	FOR c IN
		SELECT k.conname, k.conrelid::regclass AS relation FROM pg_constraint k
		WHERE distribute.name IN (k.conrelid, k.confrelid) AND (k.contype = 'f'
			OR k.contype IN ('p', 'u', 'x') AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey) AND a.attname = key))
		ORDER BY k.contype
	LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.relation, c.conname);
	END LOOP;
	IF is_here THEN
		NULL;
	ELSIF EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = distribute.name AND a.attname = key) THEN
		PERFORM create_distributed_table(distribute.name, key, shard_count => 4);
	ELSE
		PERFORM create_reference_table(distribute.name);
	END IF;
END $$;
};

# A statement that attaches tables distributes them before, by the first column of the group.
sub distributed
{
	my ($page, $sql) = @_;
	my $quiet = '\g /dev/null';
	while (my ($table, $key) = each %{ $more{$page} // {} })
	{
		$sql =~ s/^(CREATE TABLE \Q$table\E\b[^;]*;)/$1\nSELECT testing.distribute('$table', '$key') $quiet\n/m;
	}
	$sql =~ s{^((?:SELECT|CREATE|WITH|INSERT)\b[^;]*?stepadv\.attach\(\s*'([\w."]+)',\s*(?:group_by => )?(?:'\{|ARRAY\[')(\w+)[^;]*;)}{
		my ($statement, $table, $key) = ($1, $2, $3);
		join('', map { "SELECT testing.distribute('$_', '$key') $quiet\n" } $table, $statement =~ /show_(?:steps|rollouts) => '([\w."]+)'/g) . $statement
	}gme;
	return $sql;
}
# Citus's own tables.
sub with_shards
{
	my ($sql) = @_;
	$sql =~ s/(stepadv\.create_tables\('\w+')/$1, distribute => true, shards => 4/g;
	return $sql;
}
sub errors { return join '', ($_[0] // '') =~ /^ERROR.*\n/mg; }
sub sorted { return join "\n", sort split /\n/, PageBlocks::tidy($_[0] // ''); }

foreach my $page ('README.md', sort glob('docs/*.md'))
{
	my @sql = map { distributed($page, $_->{sql}) } PageBlocks::blocks($page);
	my $database = 'docs_' . lc($page =~ s/\W/_/gr);

	next if !grep { /testing\.distribute|stepadv\.create_tables\(/ } @sql;
	CitusCluster::create_database($database, $coordinator, @workers);
	$alone->safe_psql('postgres', "CREATE DATABASE $database");
	$_->safe_psql($database, $distribute) foreach $coordinator, $alone;
	my $before = 'CREATE EXTENSION IF NOT EXISTS stepadv; SET client_min_messages = warning;';
	my %known = %{ $refused{$page} // {} };
	my %skipped = map { $_ => 1 } map { @{ $_->{needed_by} // [] } } values %known;
	# Alternative queries run at the end.
	my @other = grep { $known{$_}{but} } sort { $a <=> $b } keys %known;
	my @asked = map { my ($from, $to) = @{ $known{$_}{but} }; $sql[ $_ - 1 ] =~ s/\Q$from\E/$to/gr } @other;
	my ($there, $said_there) = PageBlocks::run_page($coordinator->connstr($database), $before, map { with_shards($_) } @sql, @asked);
	my ($here, $said_here) = PageBlocks::run_page($alone->connstr($database), $before, @sql, @asked);

	isnt($coordinator->safe_psql($database, 'SELECT count(*) FROM pg_dist_shard'), '0', "$page: its tables are distributed");
	foreach my $i (0 .. $#sql + @other)
	{
		my $block = $i > $#sql ? $other[ $i - @sql ] . ', asked otherwise' : $i + 1;
		next if $skipped{$block};
		if (my $known = $known{$block})
		{
			is(errors($said_there->{$i}), join('', map { "ERROR:  $_\n" } @{ $known->{says} }), "$page, block $block is refused: $known->{because}");
			next;
		}
		is(errors($said_there->{$i}), errors($said_here->{$i}), "$page, block $block runs as on one server");
		is(sorted($there->{$i}), sorted($here->{$i}), "$page, block $block prints what it prints there");
	}
	CitusCluster::drop_database($database, $coordinator, @workers);
	$alone->safe_psql('postgres', "DROP DATABASE $database");
}
done_testing();
