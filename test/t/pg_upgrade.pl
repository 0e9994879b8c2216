# pg_upgrade preserves attachments: tables of a type with columns that name relations, views, triggers in C, values.  To a new data
# directory of this server always, and from or to other versions that have the extension.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename;
use Life;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Both sides must have checksums or none; 18 has them by default.
my @init = (extra => [ '--encoding=UTF8', '--locale=C', '--data-checksums' ]);
# For a server with extension_control_path, a copy that has the extension in the default place: LOAD '$libdir/stepadv', which pg_upgrade
# uses to check a library, ignores the setting, and other versions do not have it.
my $bindir = $ENV{STEPADV_COPIED_BINDIR} // (run_command([ 'pg_config', '--bindir' ]))[0];
delete $ENV{TEMP_CONFIG} if defined $ENV{STEPADV_COPIED_BINDIR};
my $here = abs_path('.');

sub new_node
{
	my ($name, $install_path) = @_;
	# The module of 14 takes a new() with such a parameter for another.
	my $new = PostgreSQL::Test::Cluster->can('get_new_node') ? 'get_new_node' : 'new';
	my $node = PostgreSQL::Test::Cluster->$new($name, install_path => $install_path);
	$node->init(@init);
	$node->append_conf('postgresql.conf', "jit = off\nfsync = off\n");
	return $node;
}

# The command that moves one into the other.  It leaves files where it runs.
sub upgrade
{
	my ($old, $from, $new, $to) = @_;
	my @data = map { abs_path($_->data_dir) } $old, $new;
	chdir abs_path(PostgreSQL::Test::Utils::tempdir());
	return [ "$to->{bin}/pg_upgrade", ($to->{number} >= 15 ? '--no-sync' : ()), '-d', $data[0], '-D', $data[1],
		'-b', $from->{bin}, '-B', $to->{bin}, '-s', $new->host, '-p', $old->port, '-P', $new->port ];
}

# Whether the two can upgrade an unrelated table: a minor release may write what the other version supports only from a later one.
sub can_move
{
	my ($name, $from, $to) = @_;
	my $node_name = $name =~ tr/ /_/r;
	my ($old, $new) = (new_node("old_plain_$node_name", $from->{path}), new_node("new_plain_$node_name", $to->{path}));
	$old->start;
	$old->safe_psql('postgres', 'CREATE TABLE plain (i integer)');
	$old->stop;
	my $moved = run_log(upgrade($old, $from, $new, $to));
	chdir $here;
	return $moved;
}

# Use in a cluster, the upgrade, and the result.
sub move
{
	my ($name, $from, $to) = @_;
	my $node_name = $name =~ tr/ /_/r;
	my ($old, $new) = (new_node("old_$node_name", $from->{path}), new_node("new_$node_name", $to->{path}));
	$old->start;
	$old->safe_psql('postgres', 'CREATE ROLE ann LOGIN');
	$old->safe_psql('postgres', "CREATE DATABASE $_") for qw(moved stayed);
	for my $database (qw(moved stayed))
	{
		$old->safe_psql($database, 'CREATE EXTENSION stepadv');
		live($old, $database);
	}
	my ($members, $hers, $numbers) = (catalog($old, 'moved'), catalog($old, 'moved', 'ann'), numbers($old, 'moved'));
	psql_file($old, 'stayed', 'later.sql', user => 'ann');
	my $later = numbers($old, 'stayed');
	my $hers_later = catalog($old, 'stayed', 'ann');
	$old->stop;

	command_ok(upgrade($old, $from, $new, $to), "$name: pg_upgrade");
	chdir $here;

	$new->start;
	# Until it was checked, kept data are not used.
	my ($looked, $folded, $why) = $new->psql('moved', q(SELECT sum(stepadv.refresh(a.source, a.prefix)) FROM stepadv.attachments() a WHERE a.mode = 'triggers'), extra_params => [ '-U', 'ann' ]);
	# 16 and later print views without names of tables, so that definitions differ by name.
	if ($from->{number} < 16 && $to->{number} >= 16) { cmp_ok($folded, '>', 0, "$name: a refresh folds again") or diag($why) }
	else { is($folded, 0, "$name: a refresh folds nothing") or diag($why) }
	same_numbers(numbers($new, 'moved'), $numbers, "$name: the same numbers");
	# Differences in how server versions print definitions do not count.
	if ($from->{bin} eq $to->{bin})
	{
		for my $who ([ 'moved', $members, undef, 'members of the extension' ], [ 'moved', $hers, 'ann', 'relations of a user' ])
		{
			my @differences = differences(catalog($new, $who->[0], $who->[2]), $who->[1]);
			is(scalar @differences, 0, "$name: the same $who->[3]") or diag(join("\n", @differences));
		}
	}
	my ($status, $upgraded, $err) = $new->psql('moved', 'SELECT a.prefix, (SELECT count(*) FROM stepadv.add_views(a.source, NULL, a.prefix)) FROM stepadv.attachments() a', extra_params => [ '-U', 'ann' ]);
	is($status, 0, "$name: views are made anew") or diag($err);
	is(scalar(split /\n/, $upgraded), 3, "$name: of all attachments") or diag($upgraded);
	same_numbers(numbers($new, 'moved'), $numbers, "$name: and give the same numbers");
	unlike(psql_file($new, 'moved', 'later.sql', user => 'ann'), qr/^f$/m, "$name: nothing is stale later");
	same_numbers(numbers($new, 'moved'), $later, "$name: life goes on as if nothing had been");
	if ($from->{bin} eq $to->{bin})
	{
		my @differences = differences(catalog($new, 'moved', 'ann'), $hers_later);
		is(scalar @differences, 0, "$name: and leaves the same relations") or diag(join("\n", @differences));
	}
	$new->stop;
	return;
}

my $tested = { bin => $bindir, path => dirname($bindir), number => (run_command([ "$bindir/postgres", '--version' ]))[0] =~ /(\d+)/ };
move('same version', $tested, $tested);

# Other versions where distributions put them, and where the tester says.
SKIP:
{
	my @others;
	for my $bin (glob('/usr/lib/postgresql/*/bin /usr/pgsql-*/bin'), $ENV{STEPADV_OTHER_BINDIR} // ())
	{
		next if !-x "$bin/pg_upgrade" || !-x "$bin/initdb" || !-x "$bin/pg_config" || abs_path($bin) eq abs_path($bindir);
		my ($lib) = run_command([ "$bin/pg_config", '--pkglibdir' ]);
		my ($share) = run_command([ "$bin/pg_config", '--sharedir' ]);
		my ($number) = (run_command([ "$bin/postgres", '--version' ]))[0] =~ /(\d+)/;
		next if $number == $tested->{number} || !-e "$lib/stepadv.so" || !-e "$share/extension/stepadv.control";
		push @others, { bin => $bin, number => $number, path => $bin =~ s{/bin/?$}{}r };
	}
	skip 'no other version of PostgreSQL has stepadv installed (STEPADV_OTHER_BINDIR names its bin, too)', 1 if !@others;
	for my $other (@others)
	{
		my $older = $other->{number} < $tested->{number};
		my $name = "$other->{number} " . ($older ? 'to' : 'from') . " $tested->{number}";
		my @way = $older ? ($other, $tested) : ($tested, $other);
		if (can_move($name, @way))
		{
			move($name, @way);
			next;
		}
	SKIP: { skip "$name: these releases cannot even move a plain table", 1; }
	}
}

done_testing();
