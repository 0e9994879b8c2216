# Features stored as pgvector's vector or halfvec work as real[] does, if the server has that extension.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('pgvector');
$node->init;
$node->start;
# In schemas of their own: no cast may depend on the search path.
$node->safe_psql('postgres', 'CREATE SCHEMA vectors; CREATE EXTENSION stepadv');
# Checked by creating it, since the list of available extensions leaves out those of extension_destdir.
my ($status, $stdout, $stderr) = $node->psql('postgres', 'CREATE EXTENSION vector SCHEMA vectors');
if ($status != 0)
{
	$node->stop;
	die $stderr if $stderr !~ /is not available|could not open extension control file/;
	plan skip_all => 'the extension vector (pgvector) is not installed in this server';
}
$node->safe_psql('postgres', q{
	CREATE TABLE step (task integer, r integer, n integer, x real[], e vectors.vector(3), h vectors.halfvec(3), outcome float8, PRIMARY KEY (task, r, n));
	INSERT INTO step SELECT r / 5, r, n, x, x, x::vectors.vector::vectors.halfvec, r % 2
	FROM generate_series(1, 50) r, generate_series(1, 3) n, LATERAL (SELECT ARRAY[r % 3, n / 4.0, r * n % 5]::real[] AS x) f;
	INSERT INTO stepadv.progress_models SELECT 'ridge', stepadv.progress_fit(r, x, outcome, 0.1) FROM step;
});
foreach my $type ('e', 'h')
{
	is($node->safe_psql('postgres', "SELECT stepadv.progress_fit(r, $type\::real[], outcome, 0.1) ::text = (SELECT model FROM stepadv.progress_models WHERE name = 'ridge')::text FROM step"),
		't', "a fit on $type\::real[] is that on the real[]");
	is($node->safe_psql('postgres', "SELECT count(*) FROM step WHERE stepadv.progress_predict((SELECT model FROM stepadv.progress_models WHERE name = 'ridge'), $type\::real[]) <> stepadv.progress_predict((SELECT model FROM stepadv.progress_models WHERE name = 'ridge'), x)"),
		'0', "so is a prediction");
	$node->safe_psql('postgres', qq{SELECT count(*) FROM stepadv.attach('step', '{task}', 'r', 'n', reward => 'outcome', columns => '{"features": "$type"}', views => '{all}', prefix => '$type', options => '{"spa": {"model": "ridge"}}')});
	is($node->safe_psql('postgres', "SELECT count(*), count(*) FILTER (WHERE contribution = stepadv.progress_predict((SELECT model FROM stepadv.progress_models WHERE name = 'ridge'), x)) FROM ${type}_spa"),
		'150|150', "and the view _spa over it");
}
is($node->safe_psql('postgres', "SELECT count(*) FROM step WHERE stepadv.progress_predict((SELECT model FROM stepadv.progress_models WHERE name = 'ridge'), e) IS NULL"),
	'0', 'a vector needs no cast in writing');

$node->stop;
done_testing();
