# Prints the delays that interrupts.sh measured, in ms, the longest first; for those
# above the limit also the functions in which they occurred.
use strict;
use warnings;

my ($library, $limit) = @ARGV;
my (%late, %places, %failed, %cut_off, $asked);
my %address = map { /^(\w+) \w (\S+)$/ ? ($2 => hex $1) : () } `nm -D '$library'`;

sub name_of
{
	my ($frame) = @_;
	return $1 if $frame =~ /^\S*?\((\w+)\+/ && $frame !~ /stepadv\.so/;
	return undef unless $frame =~ /stepadv\.so\((\w*)\+0x(\w+)\)/;
	my $at = sprintf '0x%x', hex($2) + ($1 eq '' ? 0 : $address{$1} // 0);
	my ($function) = split /\n/, `addr2line -f -e '$library' $at`;
	return $function;
}

while (my $line = <STDIN>)
{
	if ($line =~ /^## (.*)/) { $asked = $1; }
	elsif (!defined $asked) { next; }
	elsif ($line =~ /^gap (\d+)/ || $line =~ /^late ([\d.]+)/)
	{
		$late{$asked} = $1 if $1 > ($late{$asked} // -1);
	}
	elsif ($line =~ /^ .*\[0x/)
	{
		my @names = grep { defined } map { name_of($_) } $line =~ /(\S+\([^)]*\)) \[/g;
		$places{$asked}{ join ' < ', @names[0 .. ($#names < 3 ? $#names : 3)] }++;
	}
	elsif ($line =~ /ERROR:  (.*)/ && $asked !~ /, cancelled$/)
	{
		if ($1 =~ /canceling statement/) { $cut_off{$asked} = 1; }
		else { $failed{$asked} = $1; }
	}
}
foreach my $what (sort { $late{$b} <=> $late{$a} || $a cmp $b } keys %late)
{
	printf "%6.0f ms  %s%s\n", $late{$what}, $what, $cut_off{$what} ? ' (cut off)' : '';
	print "             in $_\n" foreach sort keys %{ $places{$what} // {} };
}
print "failed: $_: $failed{$_}\n" foreach sort keys %failed;
printf "%d calls, %d delays above %d ms, %d calls cut off\n", scalar keys %late, scalar(grep { $_ > $limit } values %late), $limit, scalar keys %cut_off;
exit(%failed ? 1 : 0);
