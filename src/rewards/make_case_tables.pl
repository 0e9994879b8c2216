# Writes case_tables.h from what this perl knows of Unicode:
#
#	perl make_case_tables.pl > case_tables.h
#
# Lower-case mappings of one character to one, in runs; what has another mapping is
# refused, but for U+0130, which lower_case.c knows.  And which characters are
# case-ignorable or else cased, for the condition Final_Sigma.
use strict;
use warnings;
use feature 'unicode_strings';
use Unicode::UCD;

my (@runs, @classes);
for my $c (0x80 .. 0x10FFFF)
{
	next if $c >= 0xD800 && $c <= 0xDFFF;
	my $char = chr $c;
	my $class = $char =~ /\p{Case_Ignorable}/ ? 'CASE_IGNORABLE' : $char =~ /\p{Cased}/ ? 'CASED' : '';
	if (@classes && $classes[-1][1] == $c - 1 && $classes[-1][2] eq $class)
	{
		$classes[-1][1] = $c;
	}
	elsif ($class ne '')
	{
		push @classes, [ $c, $c, $class ];
	}

	my $lower = lc $char;
	next if $lower eq $char || $c == 0x130;
	die sprintf('U+%04X becomes more than one character', $c) if length $lower != 1;
	my $by = ord($lower) - $c;
	my $run = $runs[-1];
	# Neighbours, or every other one, that move by the same.
	if ($run && $run->[3] == $by && ($run->[0] == $run->[1] ? $c - $run->[1] <= 2 : $c - $run->[1] == $run->[2]))
	{
		@$run[ 1, 2 ] = ($c, $c - $run->[1]);
	}
	else
	{
		push @runs, [ $c, $c, 1, $by ];
	}
}

sub rows
{
	my ($per_line, @rows) = @_;
	my $text = '';
	while (my @line = splice @rows, 0, $per_line)
	{
		$text .= "\t" . join(', ', @line) . ",\n";
	}
	return $text;
}

print '/*
 * case_tables.h
 *		Lower case of Unicode ', Unicode::UCD::UnicodeVersion(), ', made by make_case_tables.pl.
 */

/* Each `step`th character from first to last moves by that much. */
static const LowerRun lower_runs[] = {
', rows(4, map { sprintf '{0x%04X, 0x%04X, %d, %d}', @$_ } @runs), '};

static const CaseClassRange case_class_ranges[] = {
', rows(4, map { sprintf '{0x%04X, 0x%04X, %s}', @$_ } @classes), '};
';
