# Calls every C function and aggregate with hostile arguments, as test/t/hostile.pl does,
# for some seconds with one seed after another, as `stranger`, a role without privileges.
#   perl hostile.pl SECONDS SEED FOLDER    on the server of PGHOST and PGPORT
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t", $FindBin::Bin;
use Hostile;

my ($seconds, $seed, $folder) = @ARGV;
$ENV{PGUSER} = 'stranger';
$ENV{PGOPTIONS} = '-c statement_timeout=60s -c client_min_messages=error';

sub psql
{
	open my $out, '-|', 'sh', '-c', 'exec psql -X "$@" 2>&1', 'sh', @_ or die "psql: $!";
	binmode $out, ':encoding(UTF-8)';
	local $/;
	return scalar <$out> // '';
}

my $end = time + $seconds;
my $n = 0;
binmode STDOUT, ':encoding(UTF-8)';
while (time < $end)
{
	my $hostile = Hostile->new(seed => $seed, folder => $folder, psql => \&psql, wait => sub { sleep 1 while psql('-Atc', 'SELECT 1') ne "1\n" });
	my @statements = $hostile->statements(30);
	my ($findings) = $hostile->try(@statements);
	print "$_->{said}: $_->{statement}\n" foreach @$findings;
	die "found with seed $seed\n" if @$findings;
	unlink glob "$folder/copied.* $folder/hostile.*";
	$n += @statements;
	$seed++;
}
print "$n inputs\n";
