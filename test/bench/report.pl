# The cost of a report in a browser: lines of a name and milliseconds of processor time of the page's main thread.
#
#	perl test/bench/report.pl FOLDER
#
# paint: opens the page of a group, until all visible cells are there.  search: the first search, which
# reads columns and words; again: the next search.  frame: the mean of the frames while the page scrolls.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin;
use lib "$FindBin::Bin/../t";
use Browser;

my $folder = abs_path($ARGV[0] // die "usage: perl test/bench/report.pl FOLDER\n");
my $browser = Browser->new(Browser::installed() // die "no browser\n");

# Processor time of the page so far.
$browser->call('Performance.enable', { timeDomain => 'threadTicks' });
sub worked { return map { 1000 * $_->{value} } grep { $_->{name} eq 'TaskDuration' } @{ $browser->call('Performance.getMetrics')->{metrics} } }

# Processor time of an action until an expression is true.
sub timed
{
	my ($do, $until) = @_;
	my ($before) = worked();
	$browser->evaluate(qq{new Promise((done) => {
		$do;
		const look = () => ($until) ? requestAnimationFrame(done) : requestAnimationFrame(look);
		look();
	})});
	my ($after) = worked();
	return $after - $before;
}

sub go { my ($hash, $until) = @_; return timed("location.hash = '$hash'", $until) }
my $answered = q{/ steps? of /.test(document.querySelector("[role=status]")?.textContent)};
my $index = '!!document.querySelector("main h1") && !!document.querySelector(".headline")';

$browser->visit("file://$folder/index.html", 1440);
timed('', $index);
my %time;
$time{paint} = go('#group/0', 'document.querySelectorAll("button.cell").length > 0');
my $frames = 240;
$time{frame} = timed('let n = 0', qq{(document.querySelector(".side-by-side").scrollTop += 60, ++n > $frames)}) / $frames;
$time{search} = go('#search?text=go', $answered);
$browser->evaluate('document.querySelector("[role=status]").textContent = ""');
$time{again} = go('#search?text=room+9&outcome=solved', $answered);
printf "%s\t%.1f\n", $_, $time{$_} foreach sort keys %time;
$browser->close;
