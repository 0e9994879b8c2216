# Work that the owner of kept groups deferred does not run with the writer's privileges: a deferred trigger would run at
# COMMIT, when the role is the writer's again.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('deferred');
$node->init;
$node->append_conf('postgresql.conf', "jit = off\n");
$node->start;
$node->safe_psql('postgres', q(CREATE EXTENSION stepadv; CREATE ROLE alice LOGIN; CREATE ROLE mallory LOGIN; CREATE SCHEMA m AUTHORIZATION mallory;
	GRANT USAGE ON SCHEMA m TO PUBLIC));

sub as
{
	my ($role, $sql) = @_;
	my ($status, $out, $err) = $node->psql('postgres', $sql, extra_params => [ '-U', $role ], on_error_stop => 1);
	return ($status, $err);
}

foreach my $how ('triggers', 'refresh')
{
	my $kept = $how eq 'triggers' ? 'folded' : 'changed';
	my ($status, $err) = as('mallory', qq(SET client_min_messages = warning;
		CREATE OR REPLACE FUNCTION m.evil() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE WARNING ''evil ran as %'', current_user; RETURN NULL; END';
		CREATE TABLE m.$how (id bigint PRIMARY KEY, g integer NOT NULL, r integer, n integer, score float8);
		CREATE INDEX ON m.$how (g);
		SELECT count(*) FROM stepadv.attach('m.$how'::regclass, '{g}'::text[], 'r', 'n', reward => 'score');
		SELECT stepadv.maintain('m.$how'::regclass, mode => '$how');
		GRANT INSERT, SELECT ON m.$how TO alice;));
	is($status, 0, "$how: mallory keeps groups") or diag($err);
	($status, $err) = as('alice', "INSERT INTO m.$how VALUES (1, 1, 1, 1, 1)");
	is($status, 0, "$how: alice writes") or diag($err);
	is($node->safe_psql('postgres', "SELECT n_rollouts FROM m.${how}_groups"), $how eq 'triggers' ? 1 : '', "$how: and the groups are kept");

	($status, $err) = as('mallory', "CREATE TRIGGER evil AFTER INSERT OR UPDATE ON m.${how}_$kept FOR EACH ROW EXECUTE FUNCTION m.evil()");
	is($status, 0, "$how: mallory has a trigger on what is kept") or diag($err);
	($status, $err) = as('alice', "INSERT INTO m.$how VALUES (2, 1, 2, 1, 1)");
	like($err, qr/evil ran as mallory/, "$how: it runs with her rights");
	unlike($err, qr/evil ran as alice/, "$how: and not with alice's");

	($status, $err) = as('mallory', "DROP TRIGGER evil ON m.${how}_$kept; CREATE CONSTRAINT TRIGGER evil AFTER INSERT OR UPDATE ON m.${how}_$kept DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION m.evil()");
	is($status, 0, "$how: and a deferred one") or diag($err);
	foreach my $who ('alice', $node->safe_psql('postgres', 'SELECT current_user'))
	{
		($status, $err) = as($who, "BEGIN; INSERT INTO m.$how SELECT max(id) + 1, 1, 3, max(id), 1 FROM m.$how; COMMIT");
		unlike($err, qr/evil ran as (?!mallory)/, "$how: it does not run with the rights of $who");
		like($err, qr/cannot fire deferred trigger within security-restricted operation/, "$how: but is refused");
	}
}

$node->stop;
done_testing();
