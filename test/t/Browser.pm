# A headless browser, driven through a pipe in the DevTools protocol: pages at any width, in light and dark, console
# messages, and values of expressions.
package Browser;
use strict;
use warnings;
use Fcntl qw(F_DUPFD);
use File::Temp qw(tempdir);
use JSON::PP;
use MIME::Base64;
use POSIX ();

# The path of an installed one, or undef.
sub installed
{
	my ($found) = grep { -x } map { my $name = $_; map { "$_/$name" } split /:/, $ENV{PATH} } qw(chromium google-chrome);
	return $found;
}

sub new
{
	my ($class, $program) = @_;
	my $home = tempdir(CLEANUP => 1);
	pipe(my $commands, my $to) or die $!;
	pipe(my $from, my $answers) or die $!;
	my $pid = fork // die $!;
	if ($pid == 0)
	{
		# The protocol is read from descriptor 3 and written to 4: free these first.
		my ($in, $out) = map { fcntl($_, F_DUPFD, 10) or POSIX::_exit(1) } $commands, $answers;
		POSIX::dup2($in, 3);
		POSIX::dup2($out, 4);
		open STDIN, '<', '/dev/null';
		open STDOUT, '>', '/dev/null';
		open STDERR, '>', '/dev/null';
		@ENV{qw(HOME XDG_CONFIG_HOME XDG_CACHE_HOME)} = ($home) x 3;
		# The sandbox needs privileges that a test may not have; the pages are our own.
		exec {$program} $program, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking',
			'--hide-scrollbars', "--user-data-dir=$home/profile", '--remote-debugging-pipe', 'about:blank'
			or POSIX::_exit(1);
	}
	close $commands;
	close $answers;
	my $self = bless { pid => $pid, to => $to, from => $from, text => '', n => 0, said => [] }, $class;
	my ($page) = grep { $_->{type} eq 'page' } @{ $self->call('Target.getTargets')->{targetInfos} };
	$page //= $self->call('Target.createTarget', { url => 'about:blank' });
	$self->{session} = $self->call('Target.attachToTarget', { targetId => $page->{targetId}, flatten => JSON::PP::true })->{sessionId};
	$self->call("$_.enable") foreach 'Page', 'Runtime', 'Log';
	# Focus events, too: a headless page has none.
	$self->call('Emulation.setFocusEmulationEnabled', { enabled => JSON::PP::true });
	return $self;
}

# The next message; console messages are kept.
sub hear
{
	my ($self) = @_;
	my $end = time + ($PostgreSQL::Test::Utils::timeout_default // 180);
	while (index($self->{text}, "\0") < 0)
	{
		my $ready = '';
		vec($ready, fileno($self->{from}), 1) = 1;
		die 'the browser does not answer' if time > $end;
		next if select($ready, undef, undef, 1) < 1;
		sysread($self->{from}, $self->{text}, 1 << 20, length $self->{text}) or die 'the browser has ended';
	}
	my $message = decode_json(substr($self->{text}, 0, index($self->{text}, "\0") + 1, '') =~ s/\0\z//r);
	my $method = $message->{method} // '';
	push @{ $self->{said} }, $message->{params}{entry}{text} if $method eq 'Log.entryAdded';
	push @{ $self->{said} }, join ' ', map { $_->{value} // $_->{description} // '' } @{ $message->{params}{args} } if $method eq 'Runtime.consoleAPICalled';
	push @{ $self->{said} }, $message->{params}{exceptionDetails}{exception}{description} // $message->{params}{exceptionDetails}{text} if $method eq 'Runtime.exceptionThrown';
	$self->{loaded} = 1 if $method eq 'Page.loadEventFired';
	return $message;
}

sub call
{
	my ($self, $method, $parameters) = @_;
	my $n = ++$self->{n};
	my %message = (id => $n, method => $method, params => $parameters // {});
	$message{sessionId} = $self->{session} if $self->{session};
	my $text = encode_json(\%message) . "\0";
	while (length $text)
	{
		my $written = syswrite($self->{to}, $text) or die 'the browser has ended';
		substr($text, 0, $written) = '';
	}
	while (1)
	{
		my $answer = $self->hear;
		next if ($answer->{id} // 0) != $n;
		die "$method: $answer->{error}{message}" if $answer->{error};
		return $answer->{result};
	}
}

# A screenshot, at a width, in light or dark, or on paper.
sub look
{
	my ($self, $width, $scheme, $medium) = @_;
	$self->call('Emulation.setDeviceMetricsOverride', { width => 0 + $width, height => 900, deviceScaleFactor => 1, mobile => JSON::PP::false });
	$self->call('Emulation.setEmulatedMedia', { media => $medium // '', features => [ { name => 'prefers-color-scheme', value => $scheme // 'light' } ] });
	$self->evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))');
	return;
}

# Load a page; returns its messages until it was loaded.
sub visit
{
	my ($self, $url, @look) = @_;
	$self->look(@look);
	# Another address first: a page that differs only in its fragment would not be reloaded.
	foreach my $address ('about:blank', $url)
	{
		$self->{said} = [];
		$self->{loaded} = 0;
		$self->call('Page.navigate', { url => $address });
		$self->hear until $self->{loaded};
	}
	return;
}

# Messages of a page since it was loaded.
sub said { my ($self) = @_; $self->evaluate('0'); return @{ $self->{said} } }

# The value of an expression; promises are awaited.
sub evaluate
{
	my ($self, $expression) = @_;
	my $answer = $self->call('Runtime.evaluate', { expression => $expression, returnByValue => JSON::PP::true, awaitPromise => JSON::PP::true });
	die $answer->{exceptionDetails}{exception}{description} // $answer->{exceptionDetails}{text} if $answer->{exceptionDetails};
	return $answer->{result}{value};
}

# A key, as from a keyboard.
sub press
{
	my ($self, $key) = @_;
	my $upper = uc $key;
	$self->call('Input.dispatchKeyEvent', { type => $_, key => $key, text => $_ eq 'keyDown' ? $key : '', code => "Key$upper", windowsVirtualKeyCode => ord $upper }) foreach 'keyDown', 'keyUp';
	return;
}

# The whole page, or the first pixels of it.
sub picture
{
	my ($self, $file, $most, $from) = @_;
	my ($width, $height) = @{ $self->call('Page.getLayoutMetrics')->{cssContentSize} }{qw(width height)};
	$from //= 0;
	$height -= $from;
	$height = $most if $most && $height > $most;
	my $data = decode_base64($self->call('Page.captureScreenshot',
		{ format => 'png', captureBeyondViewport => JSON::PP::true, clip => { x => 0, y => 0 + $from, width => 0 + $width, height => 0 + $height, scale => 1 } })->{data});
	open my $out, '>:raw', $file or die "$file: $!";
	print $out $data;
	close $out;
	return length $data;
}

sub close
{
	my ($self) = @_;
	eval { local $self->{session}; $self->call('Browser.close') };
	waitpid $self->{pid}, 0;
	return;
}

1;
