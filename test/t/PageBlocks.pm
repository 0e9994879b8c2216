# The SQL of a page of the documentation, for the tests that run it.
package PageBlocks;

use strict;
use warnings;
use PostgreSQL::Test::Utils;

# Its ```sql blocks in order: sql, and expected, the text of a plain ``` block directly after it.  Other labels are ignored.
sub blocks
{
	my ($page) = @_;
	my @blocks;
	my ($label, $text, $after_sql);

	foreach my $line (split /\n/, slurp_file($page))
	{
		if ($line =~ /^```(\S*)$/)
		{
			if (!defined $label)
			{
				($label, $text) = ($1, '');
			}
			else
			{
				if ($label eq 'sql')
				{
					push @blocks, { sql => $text };
				}
				elsif ($label eq '' && $after_sql)
				{
					$blocks[-1]{expected} = $text;
				}
				$after_sql = $label eq 'sql';
				undef $label;
			}
		}
		elsif (defined $label)
		{
			$text .= "$line\n";
		}
		elsif ($line ne '')
		{
			$after_sql = 0;
		}
	}
	return @blocks;
}

# Without the count of rows, which a page may leave out.
sub tidy
{
	my ($output) = @_;

	return join "\n", grep { $_ ne '' && !/^\(\d+ rows?\)$/ } map { s/\s+$//r } split /\n/, $output;
}

# Runs all SQL of a page in one session: output of each block, by its number from 0, and messages with the block's number.
sub run_page
{
	my ($connstr, $before, @sql) = @_;
	my ($stdout, $stderr) = ('', '');
	my $script = "$before\n";

	$script .= "\\echo \@\@$_\n\\warn \@\@$_\n$sql[$_]" for 0 .. $#sql;
	IPC::Run::run [ 'psql', '-X', '-q', '-v', 'VERBOSITY=terse', '-v', 'ON_ERROR_STOP=0', '-d', $connstr ], '<', \$script, '>', \$stdout, '2>', \$stderr;
	my %output = $stdout =~ /^@@(\d+)\n(.*?)(?=^@@\d+\n|\z)/gms;
	my %messages = "\@\@-1\n$stderr" =~ /^@@(-?\d+)\n(.*?)(?=^@@\d+\n|\z)/gms;
	return (\%output, \%messages);
}

1;
