# A coordinator and two workers of Citus, with stepadv; for tests whose servers have it.
package CitusCluster;

use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

# Why a cluster is not possible, or undef.
sub lacking
{
	my ($pkglibdir) = run_command([ 'pg_config', '--pkglibdir' ]);
	return 'the library citus is not installed in this server' if !-e "$pkglibdir/citus.so";
	# With a copy of the extension in the server and one in the stage Citus finds two.
	return 'Citus wants a whole copy of the server: STEPADV_COPY_SERVER=1'
		if -e "stage$pkglibdir/citus.so" && slurp_file($ENV{TEMP_CONFIG}) =~ /extension_destdir/;
	return undef;
}

# Names, and further lines of the configuration; returns (coordinator, worker, worker, …).
sub start
{
	my ($configuration, @names) = @_;
	my @nodes = map { PostgreSQL::Test::Cluster->new($_) } @names;
	foreach my $node (@nodes)
	{
		$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
		$node->append_conf('postgresql.conf', "shared_preload_libraries = 'citus'\njit = off\nmax_connections = 60\nmax_prepared_transactions = 60\n$configuration");
		$node->start;
		$node->safe_psql('postgres', 'CREATE EXTENSION citus');
	}
	my ($coordinator, @workers) = @nodes;
	join_nodes('postgres', $coordinator, @workers);
	return @nodes;
}

# Another database on all nodes.
sub create_database
{
	my ($database, @nodes) = @_;
	foreach my $node (@nodes)
	{
		$node->safe_psql('postgres', "SET citus.enable_create_database_propagation = off; CREATE DATABASE $database");
		$node->safe_psql($database, 'CREATE EXTENSION citus');
	}
	join_nodes($database, @nodes);
	return;
}

sub drop_database
{
	my ($database, @nodes) = @_;
	$_->safe_psql('postgres', "SET citus.enable_create_database_propagation = off; DROP DATABASE $database WITH (FORCE)") foreach @nodes;
	return;
}

sub join_nodes
{
	my ($database, $coordinator, @workers) = @_;
	$coordinator->safe_psql($database, 'SELECT citus_set_coordinator_host(' . join(', ', "'" . $coordinator->host . "'", $coordinator->port) . ')');
	add_worker($coordinator, $_, $database) foreach @workers;
	return;
}

sub add_worker
{
	my ($coordinator, $worker, $database) = @_;
	$coordinator->safe_psql($database // 'postgres', "SELECT citus_add_node('" . $worker->host . "', " . $worker->port . ')');
	return;
}

1;
