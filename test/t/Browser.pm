# A browser without a window, spoken to through a pipe in the DevTools protocol: a page at
# any width, in light and dark, what its console says, and what is found in it.
package Browser;
use strict;
use warnings;
use Fcntl qw(F_DUPFD);
use File::Temp qw(tempdir);
use JSON::PP;
use MIME::Base64;
use POSIX ();

# The path of one that is installed, or undef.
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
		# The protocol is read from descriptor 3 and written to 4: first out of their way.
		my ($in, $out) = map { fcntl($_, F_DUPFD, 10) or POSIX::_exit(1) } $commands, $answers;
		POSIX::dup2($in, 3);
		POSIX::dup2($out, 4);
		open STDIN, '<', '/dev/null';
		open STDOUT, '>', '/dev/null';
		open STDERR, '>', '/dev/null';
		@ENV{qw(HOME XDG_CONFIG_HOME XDG_CACHE_HOME)} = ($home) x 3;
		# The sandbox needs rights that a test may not have; the pages are our own.
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
	# Events of the focus, too: a page without a window has none.
	$self->call('Emulation.setFocusEmulationEnabled', { enabled => JSON::PP::true });
	return $self;
}

# The next message; what a page says of itself is kept.
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

# What is there, at a width, in light or dark, or on paper.
sub look
{
	my ($self, $width, $scheme, $medium) = @_;
	$self->call('Emulation.setDeviceMetricsOverride', { width => 0 + $width, height => 900, deviceScaleFactor => 1, mobile => JSON::PP::false });
	$self->call('Emulation.setEmulatedMedia', { media => $medium // '', features => [ { name => 'prefers-color-scheme', value => $scheme // 'light' } ] });
	$self->evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))');
	return;
}

# A page, looked at; what was said until it was there.
sub visit
{
	my ($self, $url, @look) = @_;
	$self->look(@look);
	# Another address first: one that differs in its fragment alone would not be loaded.
	foreach my $address ('about:blank', $url)
	{
		$self->{said} = [];
		$self->{loaded} = 0;
		$self->call('Page.navigate', { url => $address });
		$self->hear until $self->{loaded};
	}
	return;
}

# What a page has said since it was visited.
sub said { my ($self) = @_; $self->evaluate('0'); return @{ $self->{said} } }

# The value of an expression, a promise's included.
sub evaluate
{
	my ($self, $expression) = @_;
	my $answer = $self->call('Runtime.evaluate', { expression => $expression, returnByValue => JSON::PP::true, awaitPromise => JSON::PP::true });
	die $answer->{exceptionDetails}{exception}{description} // $answer->{exceptionDetails}{text} if $answer->{exceptionDetails};
	return $answer->{result}{value};
}

# A key, as somebody at a keyboard gives it.
sub press
{
	my ($self, $key) = @_;
	my $upper = uc $key;
	$self->call('Input.dispatchKeyEvent', { type => $_, key => $key, text => $_ eq 'keyDown' ? $key : '', code => "Key$upper", windowsVirtualKeyCode => ord $upper }) foreach 'keyDown', 'keyUp';
	return;
}

# Of the whole page, or its first so many pixels.
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
