/*
 * command.c
 *		What one simple command does, by its words.
 *
 * Wrappers (sudo, timeout, env, bash -c …) are taken off; the table of programs
 * says what is left, and a function per kind of program reads its options.
 */
#include "postgres.h"

#include "signatures/command.h"
#include "signatures/programs.h"

#define MAX_HOPS 12				/* of wrappers before one command */
#define SWE_WINDOW 100			/* lines that SWE-agent's `open` shows */

typedef struct Operands
{
	const ShellCommand *command;
	int			at;
	const char *options;
	const char *long_options;
	bool		ended;			/* by -- */
} Operands;

static inline Operands
operands_of(const ShellCommand *command, int at, const char *options, const char *long_options)
{
	Operands	operands = {command, at, options, long_options, false};

	return operands;
}

/* Is ,name, in the list? */
static bool
is_long_option(const char *list, const char *name)
{
	size_t		length = strlen(name);
	const char *at = list;

	if (length == 0 || length > 32)
		return false;
	while ((at = strstr(at, name)) != NULL)
	{
		if (at > list && at[-1] == ',' && at[length] == ',')
			return true;
		at++;
	}
	return false;
}

/* The index of the next word that is no option; n_words if there is none. */
static int
next_operand(Operands *operands)
{
	const ShellCommand *command = operands->command;

	while (operands->at < command->n_words)
	{
		int			i = operands->at++;
		const char *word = shell_word(command, i);
		const char *letter;

		if (operands->ended || word[0] != '-')
			return i;
		if (word[1] == '\0')
			continue;			/* standard input */
		if (word[1] == '-')
		{
			if (word[2] == '\0')
				operands->ended = true;
			else if (is_long_option(operands->long_options, word + 2))
				operands->at++;
			continue;
		}
		for (letter = word + 1; *letter; letter++)
			if (strchr(operands->options, *letter) != NULL)
			{
				if (letter[1] == '\0')
					operands->at++;
				break;
			}
	}
	operands->at = command->n_words;
	return command->n_words;
}

/* The operand after `skip` others, of the words from `i` on. */
static Span
operand_span(const ShellCommand *command, int i, const Program *program, int skip)
{
	Operands	operands = operands_of(command, i, program->options, program->long_options);
	int			at = next_operand(&operands);

	while (skip-- > 0)
		at = next_operand(&operands);
	return shell_word_span(command, at);
}

/* "/usr/bin/x" → "x"; "bin/test" keeps its directory, "test" alone is a builtin. */
static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (slash != NULL && slash - path >= 3 && strncmp(slash - 3, "bin", 3) == 0 &&
		(slash - path == 3 || slash[-4] == '/') &&
		(strcmp(name, "test") == 0 || strcmp(name, "doctest") == 0))
		return slash - 3;
	return name;
}

/* By name, and without the version at its end (python3.11, pip3). */
static const Program *
program_of(const char *name)
{
	const Program *program = find_program(name);
	char		bare[32];
	size_t		length = strlen(name);

	if (program != NULL || length >= sizeof(bare))
		return program;
	while (length > 0 && ((name[length - 1] >= '0' && name[length - 1] <= '9') || name[length - 1] == '.' || name[length - 1] == '-'))
		length--;
	if (length == 0 || name[length] == '\0')
		return NULL;
	memcpy(bare, name, length);
	bare[length] = '\0';
	return find_program(bare);
}

bool
is_assignment(const ShellCommand *command, int i)
{
	const char *word = shell_word(command, i);
	const char *at = word;

	if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_'))
		return false;
	while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') || *at == '_')
		at++;
	if (*at == '[')
	{
		while (*at && *at != ']')
			at++;
		if (*at)
			at++;
	}
	if (*at == '+')
		at++;
	return *at == '=';
}

/* Reserved words that stand before a command. */
bool
is_prefix_keyword(const char *word)
{
	static const char *const keywords[] = {"!", "do", "elif", "else", "if", "then", "time", "until", "while", "{"};
	int			i;

	for (i = 0; i < (int) lengthof(keywords); i++)
		if (strcmp(word, keywords[i]) == 0)
			return true;
	return false;
}

/* Reserved words whose own words are no command. */
static bool
is_header_keyword(const char *word)
{
	static const char *const keywords[] = {"case", "done", "esac", "fi", "for", "function", "in", "select", "}"};
	int			i;

	for (i = 0; i < (int) lengthof(keywords); i++)
		if (strcmp(word, keywords[i]) == 0)
			return true;
	return false;
}

/* The words from `i` on as one text. */
static Span
words_joined(const ShellCommand *command, int i)
{
	char	   *text;
	int			start;
	int			length;
	int			j;

	if (i >= command->n_words)
		return span_make("", 0);
	start = command->words[i].offset;
	length = command->words[command->n_words - 1].offset + command->words[command->n_words - 1].length - start;
	text = palloc(length + 1);
	memcpy(text, command->text.data + start, length);
	for (j = 0; j < length; j++)
		if (text[j] == '\0')
			text[j] = ' ';
	text[length] = '\0';
	return span_make(text, length);
}

Effect
set_outcome(Outcome *outcome, ActionCategory category, Span target, bool is_path)
{
	action_init(&outcome->action, category);
	action_set_target(&outcome->action, target, is_path);
	return outcome->effect = EFFECT_ACT;
}

/* A script inside the command. */
static Effect
act_script(Reader *reader, Outcome *outcome, Span script, Span name)
{
	if (reader->depth >= MAX_DEPTH)
		return set_outcome(outcome, ACTION_EXECUTE, name, false);
	outcome->effect = classify_at(script, &outcome->action, reader->depth + 1) ? EFFECT_ACT : EFFECT_NONE;
	return outcome->effect;
}

/* A run of `path`, with what its first operand asks for. */
static Effect
act_run(const ShellCommand *command, int i, Outcome *outcome)
{
	static const Program plain = {"", PROGRAM_RUN, 0, "", ""};
	Span		name = shell_word_span(command, i);
	const char *base = base_name(shell_word(command, i));
	const char *operand = operand_span(command, i + 1, &plain, 0).data;
	int			category = operand ? find_subcommand(base, operand) : -1;

	if (category == ACTION_TEST)
	{
		Span		target = operand_span(command, i + 1, &plain, 1);

		return set_outcome(outcome, ACTION_TEST, target.data ? target : span_of("all"), target.data != NULL);
	}
	if (category >= 0)
		return set_outcome(outcome, category, span_none(), false);
	return set_outcome(outcome, ACTION_EXECUTE, name, memchr(name.data, '/', name.length) != NULL);
}

static Effect
act_test(const ShellCommand *command, int i, const Program *program, Outcome *outcome)
{
	Operands	operands = operands_of(command, i, program->options, program->long_options);
	int			at = program->operands == 9 ? command->n_words : next_operand(&operands);
	Span		target = shell_word_span(command, at);
	int			colons;

	if (span_is(target, "discover") || span_is(target, "test") || span_is(target, "run"))
	{
		/* unittest discover [-s DIRECTORY] */
		target = shell_word_span(command, next_operand(&operands));
		if (target.data == NULL)
		{
			for (at = i; at + 1 < command->n_words; at++)
				if (strcmp(shell_word(command, at), "-s") == 0)
					target = shell_word_span(command, at + 1);
		}
	}
	/* pytest's file::class::test: the file */
	colons = target.data ? span_find(target, "::") : -1;
	if (colons >= 0)
		target.length = colons;
	if (target.length == 0 || span_is(target, ".") || span_is(target, "./..."))
		return set_outcome(outcome, ACTION_TEST, span_of("all"), false);
	return set_outcome(outcome, ACTION_TEST, target, true);
}

static Effect
act_python(Reader *reader, ShellCommand *command, int i, Outcome *outcome, int *again)
{
	for (; i < command->n_words; i++)
	{
		const char *word = shell_word(command, i);
		const char *base;
		const Program *program;

		if (word[0] == '-')
		{
			if (strcmp(word, "-m") == 0)
			{
				program = program_of(base_name(shell_word(command, i + 1)));
				if (program != NULL && (program->kind == PROGRAM_TEST || program->kind == PROGRAM_PACKAGE || program->kind == PROGRAM_COVERAGE))
				{
					*again = i + 1;
					return EFFECT_NONE;
				}
				if (strcmp(shell_word(command, i + 1), "pdb") == 0 || strcmp(shell_word(command, i + 1), "cProfile") == 0 ||
					strcmp(shell_word(command, i + 1), "trace") == 0)
				{
					i++;
					continue;
				}
				return set_outcome(outcome, ACTION_EXECUTE, shell_word_span(command, i + 1), false);
			}
			if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 || strcmp(word, "-VV") == 0 || strcmp(word, "--help") == 0)
				return set_outcome(outcome, ACTION_SEARCH, span_none(), false);
			if (strcmp(word, "-W") == 0 || strcmp(word, "-X") == 0)
			{
				i++;
				continue;
			}
			/* A program on the command line or from standard input. */
			if (word[1] == '\0' || (word[1] != '-' && strchr(word, 'c') != NULL))
				return set_outcome(outcome, ACTION_EXECUTE, span_of("python"), false);
			continue;
		}
		base = base_name(word);
		program = find_program(base);
		if (program != NULL && program->kind == PROGRAM_TEST)
		{
			*again = i;
			return EFFECT_NONE;
		}
		act_run(command, i, outcome);
		if (outcome->action.category == ACTION_EXECUTE)
			outcome->action.is_path = true;
		return EFFECT_ACT;
	}
	return set_outcome(outcome, ACTION_EXECUTE, span_of("python"), false);
}

static Effect
act_grep(const ShellCommand *command, int i, const Program *program, Outcome *outcome)
{
	int			skip = program->operands;
	int			j;
	Span		target;

	for (j = i; j < command->n_words; j++)
	{
		const char *word = shell_word(command, j);

		/* The pattern is given by an option, or there is none. */
		if (strcmp(word, "-e") == 0 || strncmp(word, "--regexp", 8) == 0 || strcmp(word, "--files") == 0)
			skip = 0;
	}
	target = operand_span(command, i, program, skip);
	if (target.data == NULL)
		target = command->input;
	return set_outcome(outcome, ACTION_SEARCH, target, true);
}

bool
changes_things(const Action *action)
{
	switch (action->category)
	{
		case ACTION_MODIFY:
		case ACTION_CREATE:
		case ACTION_EXECUTE:
		case ACTION_TEST:
		case ACTION_INSTALL:
		case ACTION_FILEOP:
		case ACTION_FINISH:
			return true;
		default:
			return false;
	}
}

static Effect
act_find(Reader *reader, ShellCommand *command, int i, Outcome *outcome)
{
	Span		root = span_none();
	bool		expression = false;
	bool		deletes = false;
	int			n_words = command->n_words;
	int			n_followed = 0;

	for (; i < n_words; i++)
	{
		const char *word = shell_word(command, i);

		if (!expression && (strcmp(word, "-L") == 0 || strcmp(word, "-H") == 0 || strcmp(word, "-P") == 0))
			continue;
		if (word[0] != '-' && strcmp(word, "(") != 0 && strcmp(word, "!") != 0)
		{
			if (!expression && root.data == NULL)
				root = shell_word_span(command, i);
			continue;
		}
		expression = true;
		if (strcmp(word, "-delete") == 0)
			deletes = true;
		else if (strcmp(word, "-exec") == 0 || strcmp(word, "-execdir") == 0 || strcmp(word, "-ok") == 0 || strcmp(word, "-okdir") == 0)
		{
			int			stop = i + 1;

			while (stop < n_words && strcmp(shell_word(command, stop), ";") != 0 && strcmp(shell_word(command, stop), "+") != 0)
				stop++;
			if (reader->depth < MAX_DEPTH && n_followed++ < 4)
			{
				Effect		effect;

				command->n_words = stop;
				reader->depth++;
				effect = classify_words(reader, command, i + 1, outcome);
				reader->depth--;
				command->n_words = n_words;
				if (effect == EFFECT_ACT && changes_things(&outcome->action))
				{
					if (outcome->action.category != ACTION_EXECUTE)
						action_set_target(&outcome->action, root, true);
					return EFFECT_ACT;
				}
			}
			i = stop;
		}
	}
	return set_outcome(outcome, deletes ? ACTION_FILEOP : ACTION_SEARCH, root, true);
}

/* N, N,M  N,+M  N,$ at the start of a script of sed; then p, or !d. */
static bool
sed_range(Span script, bool quiet, Outcome *outcome)
{
	int64		first;
	int64		last;
	int			i = 0;

	script = span_trim(script);
	first = span_number(script);
	if (first < 1)
		return false;
	while (i < script.length && script.data[i] >= '0' && script.data[i] <= '9')
		i++;
	last = first;
	while (i < script.length && script.data[i] == ' ')
		i++;
	if (i < script.length && script.data[i] == ',')
	{
		bool		relative = false;

		i++;
		while (i < script.length && script.data[i] == ' ')
			i++;
		if (i < script.length && script.data[i] == '$')
		{
			last = 0;
			i++;
		}
		else
		{
			if (i < script.length && script.data[i] == '+')
			{
				relative = true;
				i++;
			}
			last = span_number(span_from(script, i));
			if (last < 0)
				return false;
			if (relative)
				last += first;
			if (last < first)
				last = first;
			while (i < script.length && script.data[i] >= '0' && script.data[i] <= '9')
				i++;
		}
		while (i < script.length && script.data[i] == ' ')
			i++;
	}
	if (i >= script.length)
		return false;
	if (!(quiet && (script.data[i] == 'p' || script.data[i] == '{')) &&
		!(!quiet && span_starts(span_from(script, i), "!d")))
		return false;
	outcome->first = first;
	outcome->last = last;
	return true;
}

static Effect
act_sed(const ShellCommand *command, int i, Outcome *outcome)
{
	StringInfoData joined;
	Span		script = span_none();
	Span		target = span_none();
	bool		quiet = false;
	bool		in_place = false;
	bool		has_script = false;
	bool		several = false;

	joined.data = NULL;
	for (; i < command->n_words; i++)
	{
		const char *word = shell_word(command, i);
		Span		part = span_none();

		if (word[0] == '-' && word[1] != '\0')
		{
			if (strncmp(word, "--in-place", 10) == 0)
				in_place = true;
			else if (strcmp(word, "--quiet") == 0 || strcmp(word, "--silent") == 0)
				quiet = true;
			else if (strncmp(word, "--expression=", 13) == 0)
				part = span_of(word + 13);
			else if (word[1] != '-')
			{
				const char *letter;

				for (letter = word + 1; *letter; letter++)
				{
					if (*letter == 'n')
						quiet = true;
					else if (*letter == 'i')
					{
						in_place = true;
						/* BSD's -i '' */
						if (letter[1] == '\0' && i + 1 < command->n_words && command->words[i + 1].length == 0)
							i++;
						break;
					}
					else if (*letter == 'e' || *letter == 'f')
					{
						if (letter[1] != '\0')
							part = span_of(letter + 1);
						else
							part = shell_word_span(command, ++i);
						break;
					}
				}
			}
			if (part.data == NULL)
				continue;
			has_script = true;
		}
		else if (!has_script)
		{
			has_script = true;
			part = shell_word_span(command, i);
		}
		else
		{
			if (target.data == NULL)
				target = shell_word_span(command, i);
			continue;
		}
		if (script.data == NULL)
			script = part;
		else
		{
			if (joined.data == NULL)
			{
				initStringInfo(&joined);
				appendBinaryStringInfo(&joined, script.data, script.length);
			}
			appendStringInfoChar(&joined, '\n');
			appendBinaryStringInfo(&joined, part.data, part.length);
			several = true;
		}
	}
	if (in_place)
	{
		set_outcome(outcome, ACTION_MODIFY, target, true);
		action_set_content(&outcome->action, span_none(), several ? span_make(joined.data, joined.len) : script);
		return EFFECT_ACT;
	}
	set_outcome(outcome, ACTION_VIEW, target.data ? target : command->input, true);
	if (script.data != NULL)
		sed_range(script, quiet, outcome);
	return EFFECT_ACT;
}

/* The lines that a program of awk selects by NR, if it does so plainly. */
static void
awk_range(Span program, Outcome *outcome)
{
	int64		first = 1;
	int64		last = 0;
	bool		found = false;
	int			at = 0;
	int			i;

	/* No plain selection is longer; the search must not be repeated over a megabyte. */
	if (program.length > 200)
		return;
	while ((i = span_find(span_from(program, at), "NR")) >= 0)
	{
		bool		less;
		bool		equal;
		bool		or_equal = false;
		int64		number;

		at += i + 2;
		while (at < program.length && program.data[at] == ' ')
			at++;
		if (at >= program.length)
			break;
		less = program.data[at] == '<';
		equal = program.data[at] == '=';
		if (!less && !equal && program.data[at] != '>')
			continue;
		at++;
		if (at < program.length && program.data[at] == '=')
		{
			or_equal = true;
			at++;
		}
		while (at < program.length && program.data[at] == ' ')
			at++;
		number = span_number(span_from(program, at));
		if (number < 0)
			continue;
		found = true;
		if (equal)
		{
			/* NR==a, NR==b: from a to b */
			if (last == 0 && first == 1)
				first = number;
			last = number;
		}
		else if (less)
			last = or_equal ? number : number - 1;
		else
			first = or_equal ? number : number + 1;
	}
	if (found && first >= 1 && (last == 0 || last >= first))
	{
		outcome->first = first;
		outcome->last = last;
	}
}

/* How many lines head and tail let through. */
static void
head_tail_range(const ShellCommand *command, int i, bool is_tail, Outcome *outcome)
{
	for (; i < command->n_words; i++)
	{
		const char *word = shell_word(command, i);
		const char *value = NULL;
		bool		from_start = false;
		int64		number;

		if (strcmp(word, "-n") == 0 || strcmp(word, "--lines") == 0)
			value = shell_word(command, i + 1);
		else if (strncmp(word, "-n", 2) == 0)
			value = word + 2;
		else if (strncmp(word, "--lines=", 8) == 0)
			value = word + 8;
		else if (word[0] == '-' && word[1] >= '0' && word[1] <= '9')
			value = word + 1;
		else if (is_tail && word[0] == '+' && word[1] >= '0' && word[1] <= '9')
			value = word;
		if (value == NULL)
			continue;
		if (*value == '+')
		{
			from_start = true;
			value++;
		}
		number = span_number(span_of(value));
		if (number < 0)
			return;				/* head -n -5: all but the last lines */
		if (!is_tail)
		{
			outcome->first = 1;
			outcome->last = Max(number, 1);
		}
		else if (from_start)
			outcome->first = Max(number, 1);
		else
			outcome->tail = Max(number, 1);
		return;
	}
}

void
apply_range(Action *action, const Outcome *range)
{
	int64		base = action->partial ? action->first : 1;
	int64		end = action->partial ? action->last : 0;

	if (range->first > 0)
	{
		int64		last = range->last > 0 ? base + range->last - 1 : end;

		if (end > 0 && last > end)
			last = end;
		action->partial = true;
		action->first = base + range->first - 1;
		action->last = last > 0 && last < action->first ? action->first : last;
	}
	else if (range->tail > 0 && end > 0)
		action->first = Max(base, end - range->tail + 1);
}

/* Has it an extension, unlike a branch, HEAD~1, a..b or v1.2? */
static bool
is_file_name(Span name)
{
	int			i = name.length;

	while (i > 0 && name.data[i - 1] != '.' && name.data[i - 1] != '/' && name.data[i - 1] != ':')
		i--;
	return i > 1 && i < name.length && name.data[i - 1] == '.' && name.data[i - 2] != '.' &&
		ascii_lower(name.data[i]) >= 'a' && ascii_lower(name.data[i]) <= 'z';
}

static Effect
act_git(Reader *reader, ShellCommand *command, int i, Outcome *outcome)
{
	static const Program git = {"git", PROGRAM_GIT, 0, "mCcubn", ",message,git-dir,work-tree,"};
	Operands	operands = operands_of(command, i, "Cc", ",git-dir,work-tree,namespace,");
	int			at = next_operand(&operands);
	const char *name = shell_word(command, at);
	int			category = find_subcommand("git", name);
	Span		target = span_none();
	int			j;

	if (at >= command->n_words)
		return set_outcome(outcome, ACTION_SEARCH, span_none(), false);
	if (category < 0)
		return set_outcome(outcome, ACTION_EXECUTE, span_of("git"), false);
	if (category == ACTION_MODIFY)
	{
		set_outcome(outcome, ACTION_MODIFY, span_none(), false);
		if (command->heredoc > 0)
		{
			outcome->heredoc = command->heredoc;
			outcome->use = BODY_PATCH;
		}
		return EFFECT_ACT;
	}
	for (j = at + 1; j < command->n_words; j++)
		if (strcmp(shell_word(command, j), "--") == 0)
		{
			target = shell_word_span(command, j + 1);
			break;
		}
	if (target.data == NULL &&
		(strcmp(name, "rm") == 0 || strcmp(name, "mv") == 0 || strcmp(name, "add") == 0 || strcmp(name, "checkout") == 0 ||
		 strcmp(name, "restore") == 0 || strcmp(name, "blame") == 0 || strcmp(name, "clean") == 0))
		target = operand_span(command, at + 1, &git, 0);
	else if (target.data == NULL && strcmp(name, "grep") == 0)
		target = operand_span(command, at + 1, &git, 1);
	else if (target.data == NULL &&
			 (strcmp(name, "diff") == 0 || strcmp(name, "log") == 0 || strcmp(name, "show") == 0))
	{
		target = operand_span(command, at + 1, &git, 0);
		if (target.data != NULL && !is_file_name(target))
			target = operand_span(command, at + 1, &git, 1);
		if (target.data != NULL && !is_file_name(target))
			target = span_none();
	}
	return set_outcome(outcome, category, target, true);
}

static Effect
act_make(const ShellCommand *command, int i, const Program *program, Outcome *outcome)
{
	Operands	operands = operands_of(command, i, program->options, program->long_options);
	int			at;

	while ((at = next_operand(&operands)) < command->n_words)
	{
		const char *goal = shell_word(command, at);

		if (strncmp(goal, "test", 4) == 0 || strncmp(goal, "check", 5) == 0)
		{
			bool		plain = strcmp(goal, "test") == 0 || strcmp(goal, "tests") == 0 || strcmp(goal, "check") == 0;

			return set_outcome(outcome, ACTION_TEST, plain ? span_of("all") : shell_word_span(command, at), false);
		}
		if (strstr(goal, "install") != NULL)
			return set_outcome(outcome, ACTION_INSTALL, span_none(), false);
	}
	return set_outcome(outcome, ACTION_EXECUTE, span_of(program->name), false);
}

/* pip install x, npm test, cargo build …; *again if another command follows. */
static Effect
act_package(const ShellCommand *command, int i, const Program *program, Outcome *outcome, int *again)
{
	/* Not the program's own options: -e . and -r FILE name what is installed. */
	static const Program plain = {"", PROGRAM_RUN, 0, "iptmc", ",index-url,extra-index-url,prefix,target,platform,"};
	Operands	operands = operands_of(command, i, program->options, program->long_options);
	int			at = next_operand(&operands);
	const char *name = shell_word(command, at);
	int			category;
	Span		target;

	if (at >= command->n_words)
	{
		/* Only options: pip --version, pacman -S … */
		for (at = i; at < command->n_words; at++)
			if ((category = find_subcommand(program->name, shell_word(command, at))) >= 0)
				return set_outcome(outcome, category, span_none(), false);
		if (strcmp(program->name, "yarn") == 0)
			return set_outcome(outcome, ACTION_INSTALL, span_none(), false);
		return set_outcome(outcome, ACTION_EXECUTE, span_of(program->name), false);
	}
	if (strcmp(name, "run") == 0 || strcmp(name, "exec") == 0 || strcmp(name, "run-script") == 0)
	{
		Operands	rest = operands_of(command, at + 1, "npw", ",name,with,python,extra,group,");
		bool		is_script = strcmp(program->name, "npm") == 0 || strcmp(program->name, "yarn") == 0 ||
			strcmp(program->name, "pnpm") == 0 || strcmp(program->name, "bun") == 0;

		at = next_operand(&rest);
		if (at < command->n_words && (!is_script || strcmp(name, "exec") == 0) &&
			strcmp(program->name, "cargo") != 0 && strcmp(program->name, "go") != 0 && strcmp(program->name, "dotnet") != 0)
		{
			*again = at;
			return EFFECT_NONE;
		}
		if (is_script && strncmp(shell_word(command, at), "test", 4) == 0)
			return set_outcome(outcome, ACTION_TEST, span_of("all"), false);
		return set_outcome(outcome, ACTION_EXECUTE, at < command->n_words ? shell_word_span(command, at) : span_of(program->name), false);
	}
	if (strcmp(program->name, "uv") == 0 && strcmp(name, "pip") == 0)
	{
		*again = at;
		return EFFECT_NONE;
	}
	category = find_subcommand(program->name, name);
	if (category < 0 && program->options[0] == '\0')
	{
		/* dpkg -i x.deb, pacman -S x: the option is the subcommand */
		int			j;

		for (j = i; j < at && category < 0; j++)
			category = find_subcommand(program->name, shell_word(command, j));
		if (category >= 0)
			at = i - 1;
	}
	if (category < 0)
		return set_outcome(outcome, ACTION_EXECUTE, strcmp(program->name, "npx") == 0 ? shell_word_span(command, at) : span_of(program->name), false);
	if (category == ACTION_THINK)
		return EFFECT_NONE;
	target = operand_span(command, at + 1, &plain, 0);
	if (category == ACTION_TEST)
	{
		if (target.data == NULL || span_is(target, ".") || span_is(target, "./..."))
			return set_outcome(outcome, ACTION_TEST, span_of("all"), false);
		return set_outcome(outcome, ACTION_TEST, target, true);
	}
	if (category == ACTION_INSTALL || category == ACTION_CREATE)
		return set_outcome(outcome, category, target, true);
	return set_outcome(outcome, category, span_none(), false);
}

/* perl -i -pe, perl -ne: sed by another name; anything else is run. */
static Effect
act_interpreter(const ShellCommand *command, int i, const Program *program, Outcome *outcome)
{
	bool		in_place = false;
	bool		loops = false;
	Span		code = span_none();
	Span		operand;
	int			j;
	static const Program perl = {"", PROGRAM_RUN, 0, "eEMI", ",eval,require,"};

	for (j = i; j < command->n_words; j++)
	{
		const char *word = shell_word(command, j);
		const char *letter;

		if (word[0] != '-' || word[1] == '-')
			continue;
		for (letter = word + 1; *letter; letter++)
		{
			if (*letter == 'i')
				in_place = true;
			else if (*letter == 'n' || *letter == 'p')
				loops = true;
			else if (*letter == 'e' || *letter == 'E')
			{
				if (code.data == NULL)
					code = shell_word_span(command, j + 1);
				break;
			}
			else if (*letter == 'M' || *letter == 'I')
				break;
		}
	}
	operand = operand_span(command, i, &perl, 0);
	if ((strcmp(program->name, "perl") == 0 || strcmp(program->name, "ruby") == 0) && code.data != NULL && (loops || in_place))
	{
		if (in_place)
		{
			set_outcome(outcome, ACTION_MODIFY, operand, true);
			action_set_content(&outcome->action, span_none(), code);
			return EFFECT_ACT;
		}
		return set_outcome(outcome, ACTION_VIEW, operand.data ? operand : command->input, true);
	}
	if (code.data != NULL)
		return set_outcome(outcome, ACTION_EXECUTE, span_of(program->name), false);
	operand = operand_span(command, i, program, 0);
	if (operand.data != NULL && operand.length > 0 && memchr(operand.data, '.', operand.length) != NULL &&
		memchr(operand.data, ' ', operand.length) == NULL)
		return set_outcome(outcome, ACTION_EXECUTE, operand, true);
	return set_outcome(outcome, ACTION_EXECUTE, span_of(program->name), false);
}

/* bash -c SCRIPT, bash FILE, eval WORDS, su -c SCRIPT */
static Effect
act_shell(Reader *reader, ShellCommand *command, int i, const Program *program, Outcome *outcome)
{
	bool		is_script = false;
	int			at;
	Operands	operands;

	if (strcmp(program->name, "eval") == 0)
		return act_script(reader, outcome, words_joined(command, i), span_of("eval"));
	for (at = i; at < command->n_words; at++)
	{
		const char *word = shell_word(command, at);

		if (word[0] != '-')
		{
			/* su USER -c … */
			if (strcmp(program->name, "su") != 0)
				break;
			continue;
		}
		if (word[1] != '-' && strchr(word, 'c') != NULL)
		{
			is_script = true;
			break;
		}
	}
	if (is_script)
	{
		/* bash -c -e 'SCRIPT' is allowed, too */
		do
			at++;
		while (at < command->n_words && shell_word(command, at)[0] == '-' && shell_word(command, at)[1] != '\0');
		if (at < command->n_words)
			return act_script(reader, outcome, shell_word_span(command, at), span_of(program->name));
	}
	operands = operands_of(command, i, program->options, program->long_options);
	at = next_operand(&operands);
	if (at < command->n_words && strcmp(program->name, "su") != 0)
		return act_run(command, at, outcome);
	set_outcome(outcome, ACTION_EXECUTE, span_of(program->name), false);
	if (command->heredoc > 0)
	{
		outcome->heredoc = command->heredoc;
		outcome->use = BODY_SCRIPT;
	}
	else if (reader->piped.data != NULL && reader->depth < MAX_DEPTH)
		return act_script(reader, outcome, reader->piped, span_of(program->name));
	return EFFECT_ACT;
}

static Effect
act_patch(Reader *reader, ShellCommand *command, Span operand, bool is_file, Outcome *outcome)
{
	outcome->effect = EFFECT_ACT;
	if (command->heredoc > 0)
	{
		set_outcome(outcome, ACTION_MODIFY, is_file ? operand : span_none(), true);
		outcome->heredoc = command->heredoc;
		outcome->use = BODY_PATCH;
	}
	else if (operand.data != NULL && !is_file)
		classify_patch(operand, &outcome->action);
	else if (reader->piped.data != NULL)
		classify_patch(reader->piped, &outcome->action);
	else
		set_outcome(outcome, ACTION_MODIFY, operand, true);
	return EFFECT_ACT;
}

/* str_replace_editor as a command line: view PATH --view_range A B … */
static Effect
act_swe_editor(const ShellCommand *command, int i, Outcome *outcome)
{
	const char *verb = shell_word(command, i);
	Span		path = shell_word_span(command, i + 1);
	Span		old_text = span_none();
	Span		new_text = span_none();
	int64		first = -1;
	int64		last = -1;
	int			j;

	for (j = i + 2; j < command->n_words; j++)
	{
		const char *word = shell_word(command, j);

		if (strcmp(word, "--old_str") == 0)
			old_text = shell_word_span(command, ++j);
		else if (strcmp(word, "--new_str") == 0 || strcmp(word, "--insert_text") == 0)
			new_text = shell_word_span(command, ++j);
		else if (strcmp(word, "--view_range") == 0)
		{
			first = span_number(span_of(shell_word(command, j + 1)));
			last = span_number(span_of(shell_word(command, j + 2)));
			j += 2;
		}
	}
	if (strcmp(verb, "view") == 0)
	{
		set_outcome(outcome, ACTION_VIEW, path, true);
		if (first > 0)
		{
			outcome->action.partial = true;
			outcome->action.first = first;
			outcome->action.last = Max(last, 0);
		}
	}
	else if (strcmp(verb, "create") == 0)
		set_outcome(outcome, ACTION_CREATE, path, true);
	else if (strcmp(verb, "str_replace") == 0 || strcmp(verb, "insert") == 0)
	{
		set_outcome(outcome, ACTION_MODIFY, path, true);
		outcome->action.insert = verb[0] == 'i';
		action_set_content(&outcome->action, old_text, new_text);
	}
	else
		set_outcome(outcome, ACTION_MODIFY, path, true);
	return EFFECT_ACT;
}

/*
 * SWE-agent's edit: "edit 6:7", the new lines, "end_of_edit"; or the later
 * form: edit SEARCH REPLACE [ALL]; insert TEXT [LINE].  The file is the open one.
 */
static Effect
act_swe_edit(Reader *reader, ShellCommand *command, int i, Outcome *outcome)
{
	const char *word = shell_word(command, i);
	int64		line = span_number(span_of(word));

	set_outcome(outcome, ACTION_MODIFY, span_none(), false);
	if (line >= 0 && strchr(word, ':') != NULL && !command->words[i].quoted)
	{
		Span		rest = span_make(reader->lexer.at, reader->lexer.end - reader->lexer.at);
		int			stop = span_find(rest, "end_of_edit");

		if (stop >= 0)
			rest.length = stop;
		action_set_content(&outcome->action, span_none(), rest);
		reader->stop = true;
	}
	else if (strcmp(shell_word(command, i - 1), "edit") == 0)
		action_set_content(&outcome->action, shell_word_span(command, i), shell_word_span(command, i + 1));
	else
	{
		action_set_content(&outcome->action, span_none(), shell_word_span(command, i));
		outcome->action.insert = true;
	}
	return EFFECT_ACT;
}

/* The window of `open` and `goto` around a line. */
static void
set_window(Action *action, int64 line)
{
	action->partial = true;
	action->first = line > SWE_WINDOW / 2 ? line - SWE_WINDOW / 2 : 1;
	action->last = Max(line + SWE_WINDOW / 2, SWE_WINDOW);
}

static Effect
act_tar(const ShellCommand *command, int i, Outcome *outcome)
{
	Span		target = span_none();
	bool		lists = false;
	int			j;

	for (j = i; j < command->n_words; j++)
	{
		const char *word = shell_word(command, j);

		if (strncmp(word, "--file=", 7) == 0)
			target = span_of(word + 7);
		else if (strcmp(word, "--list") == 0)
			lists = true;
		else if (word[0] == '-' && word[1] == '-')
			continue;
		else if (word[0] == '-' || j == i)
		{
			lists |= strchr(word, 't') != NULL && strchr(word, 'c') == NULL && strchr(word, 'x') == NULL;
			if (target.data == NULL && word[0] != '\0' && word[strlen(word) - 1] == 'f')
				target = shell_word_span(command, j + 1);
		}
	}
	return set_outcome(outcome, lists ? ACTION_SEARCH : ACTION_FILEOP, target, true);
}

/* The command in words i … of a simple command; redirections are left to the caller. */
Effect
classify_words(Reader *reader, ShellCommand *command, int i, Outcome *outcome)
{
	int			hop;

	memset(outcome, 0, sizeof(*outcome));
	action_init(&outcome->action, ACTION_EXECUTE);
	for (hop = 0; hop < MAX_HOPS; hop++)
	{
		const char *word;
		const Program *program;
		int			again = -1;
		Span		operand;

		while (i < command->n_words && !command->words[i].quoted && is_prefix_keyword(shell_word(command, i)))
			i++;
		while (i < command->n_words && is_assignment(command, i))
			i++;
		if (i >= command->n_words)
			return outcome->effect = EFFECT_NONE;
		/* A wrapper's command may be a keyword after an assignment; nobody writes that. */
		word = shell_word(command, i);
		if (hop == 0 && is_header_keyword(word) && !command->words[i].quoted)
		{
			command->substitution = span_none();
			return outcome->effect = EFFECT_NONE;
		}
		if (command->words[i].dynamic && command->substitution.data != NULL)
			return outcome->effect = EFFECT_NONE;
		if (*word == '\\')
			word++;
		program = program_of(base_name(word));
		if (program == NULL)
			return act_run(command, i, outcome);
		i++;
		switch ((ProgramKind) program->kind)
		{
			case PROGRAM_RUN:
				break;
			case PROGRAM_WRAPPER:
				{
					Operands	operands = operands_of(command, i, program->options, program->long_options);
					int			skip = program->operands;

					if (strcmp(program->name, "command") == 0 && shell_word(command, i)[0] == '-')
						return set_outcome(outcome, ACTION_SEARCH, span_none(), false);
					i = next_operand(&operands);
					while (skip-- > 0)
						i = next_operand(&operands);
					while (i < command->n_words && is_assignment(command, i))
						i++;
					if (i >= command->n_words)
					{
						if (strcmp(program->name, "env") == 0)
							return set_outcome(outcome, ACTION_SEARCH, span_none(), false);
						return outcome->effect = EFFECT_NONE;
					}
					continue;
				}
			case PROGRAM_NOTHING:
				return outcome->effect = EFFECT_NONE;
			case PROGRAM_CD:
				action_set_target(&outcome->action, span_of("cd"), false);
				return outcome->effect = EFFECT_NONE;
			case PROGRAM_SOURCE:
				action_set_target(&outcome->action, shell_word_span(command, i), true);
				return outcome->effect = EFFECT_NONE;
			case PROGRAM_ECHO:
				{
					Span		text = words_joined(command, i);

					if (span_find(text, "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT") >= 0 ||
						span_find(text, "MINI_SWE_AGENT_FINAL_OUTPUT") >= 0)
						return set_outcome(outcome, ACTION_FINISH, span_none(), false);
					action_set_target(&outcome->action, span_of("echo"), false);
					outcome->action.new_text = text;
					return outcome->effect = EFFECT_PRINT;
				}
			case PROGRAM_ASK:
				return set_outcome(outcome, ACTION_SEARCH, span_none(), false);
			case PROGRAM_LIST:
				operand = operand_span(command, i, program, 0);
				return set_outcome(outcome, ACTION_SEARCH, operand.data ? operand : command->input, true);
			case PROGRAM_VIEW:
				operand = operand_span(command, i, program, program->operands);
				return set_outcome(outcome, ACTION_VIEW, operand.data ? operand : command->input, true);
			case PROGRAM_AWK:
				{
					int			at = i;

					set_outcome(outcome, ACTION_VIEW, span_none(), true);
					for (; at + 1 < command->n_words; at++)
						if (strcmp(shell_word(command, at), "inplace") == 0)
							outcome->action.category = ACTION_MODIFY;
					operand = operand_span(command, i, program, 0);
					if (operand.data != NULL)
						awk_range(operand, outcome);
					if (outcome->action.category == ACTION_MODIFY)
						action_set_content(&outcome->action, span_none(), operand);
					operand = operand_span(command, i, program, 1);
					outcome->action.target = operand.data ? operand : command->input;
					return EFFECT_ACT;
				}
			case PROGRAM_HEAD:
			case PROGRAM_TAIL:
				operand = operand_span(command, i, program, 0);
				/* tail +5 FILE: an old form */
				if (operand.length > 1 && operand.data[0] == '+')
					operand = operand_span(command, i, program, 1);
				set_outcome(outcome, ACTION_VIEW, operand.data ? operand : command->input, true);
				head_tail_range(command, i, program->kind == PROGRAM_TAIL, outcome);
				return EFFECT_ACT;
			case PROGRAM_SED:
				return act_sed(command, i, outcome);
			case PROGRAM_GREP:
				return act_grep(command, i, program, outcome);
			case PROGRAM_FD:
				return set_outcome(outcome, ACTION_SEARCH, operand_span(command, i, program, 1), true);
			case PROGRAM_FIND:
				return act_find(reader, command, i, outcome);
			case PROGRAM_FILEOP:
				return set_outcome(outcome, ACTION_FILEOP, operand_span(command, i, program, 0), true);
			case PROGRAM_FILEOP_SECOND:
				return set_outcome(outcome, ACTION_FILEOP, operand_span(command, i, program, 1), true);
			case PROGRAM_FILEOP_LAST:
				{
					Operands	operands = operands_of(command, i, program->options, program->long_options);
					int			at;

					operand = span_none();
					while ((at = next_operand(&operands)) < command->n_words)
						operand = shell_word_span(command, at);
					return set_outcome(outcome, ACTION_FILEOP, operand, true);
				}
			case PROGRAM_TAR:
				return act_tar(command, i, outcome);
			case PROGRAM_GIT:
				return act_git(reader, command, i, outcome);
			case PROGRAM_MAKE:
				return act_make(command, i, program, outcome);
			case PROGRAM_INTERPRETER:
				return act_interpreter(command, i, program, outcome);
			case PROGRAM_SHELL:
				return act_shell(reader, command, i, program, outcome);
			case PROGRAM_TEST:
				return act_test(command, i, program, outcome);
			case PROGRAM_COVERAGE:
				if (strcmp(shell_word(command, i), "run") != 0)
					return set_outcome(outcome, ACTION_SEARCH, span_none(), false);
				i++;
				/* FALLTHROUGH */
			case PROGRAM_PYTHON:
				if (act_python(reader, command, i, outcome, &again) == EFFECT_ACT)
					return EFFECT_ACT;
				i = again;
				continue;
			case PROGRAM_PACKAGE:
				if (act_package(command, i, program, outcome, &again) == EFFECT_ACT)
					return EFFECT_ACT;
				if (again < 0)
					return outcome->effect = EFFECT_NONE;
				i = again;
				continue;
			case PROGRAM_XARGS:
				{
					Operands	operands = operands_of(command, i, program->options, program->long_options);

					i = next_operand(&operands);
					/* xargs -i {} COMMAND is often written, if wrongly */
					if (strcmp(shell_word(command, i), "{}") == 0)
						i++;
					if (i >= command->n_words)
						return outcome->effect = EFFECT_NONE;
					continue;
				}
			case PROGRAM_TEE:
				operand = operand_span(command, i, program, 0);
				if (operand.data == NULL || span_starts(operand, "/dev/"))
					return outcome->effect = EFFECT_NONE;
				if (strcmp(shell_word(command, i), "-a") == 0 || strcmp(shell_word(command, i), "--append") == 0)
				{
					set_outcome(outcome, ACTION_MODIFY, operand, true);
					outcome->action.insert = true;
				}
				else
					set_outcome(outcome, command->heredoc > 0 ? ACTION_CREATE : ACTION_MODIFY, operand, true);
				if (outcome->action.category == ACTION_MODIFY)
				{
					if (command->heredoc > 0)
					{
						outcome->heredoc = command->heredoc;
						outcome->use = BODY_CONTENT;
					}
					else if (reader->piped.data != NULL)
						action_set_content(&outcome->action, span_none(), reader->piped);
				}
				return EFFECT_ACT;
			case PROGRAM_EDITOR:
				return set_outcome(outcome, ACTION_MODIFY, operand_span(command, i, program, 0), true);
			case PROGRAM_PATCH:
				return act_patch(reader, command, operand_span(command, i, program, 0), true, outcome);
			case PROGRAM_APPLY_PATCH:
				return act_patch(reader, command, shell_word_span(command, i), false, outcome);
			case PROGRAM_SUBMIT:
				return set_outcome(outcome, ACTION_FINISH, span_none(), false);
			case PROGRAM_SWE_CREATE:
				return set_outcome(outcome, ACTION_CREATE, operand_span(command, i, program, 0), true);
			case PROGRAM_SWE_EDIT:
				return act_swe_edit(reader, command, i, outcome);
			case PROGRAM_SWE_EDITOR:
				return act_swe_editor(command, i, outcome);
			case PROGRAM_SWE_OPEN:
			case PROGRAM_SWE_GOTO:
				{
					int64		line;

					set_outcome(outcome, ACTION_VIEW, span_none(), true);
					if (program->kind == PROGRAM_SWE_OPEN)
					{
						outcome->action.target = shell_word_span(command, i);
						i++;
					}
					line = span_number(span_of(shell_word(command, i)));
					set_window(&outcome->action, Max(line, 1));
					return EFFECT_ACT;
				}
			case PROGRAM_SWE_SCROLL:
				set_outcome(outcome, ACTION_VIEW, span_none(), true);
				outcome->action.window = true;
				return EFFECT_ACT;
			case PROGRAM_SWE_SEARCH:
				return set_outcome(outcome, ACTION_SEARCH, operand_span(command, i, program, 1), true);
		}
		return act_run(command, i - 1, outcome);
	}
	return set_outcome(outcome, ACTION_EXECUTE, shell_word_span(command, i), false);
}
