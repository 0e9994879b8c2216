/*
 * command.c
 *		What one simple command does, from its words.
 *
 * Finds the effective command behind keywords, assignments and wrappers (sudo, timeout, env …).  The table of
 * programs gives the kind of the program, and a function per kind (command_*.c) reads its options.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"

#define MAX_HOPS 12				/* of wrappers before one command */

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

/* Reserved words that precede a command. */
bool
is_prefix_keyword(const char *word)
{
	static const char *const keywords[] = {"!", "do", "elif", "else", "if", "then", "time", "until", "while", "{", NULL};

	return is_any_of(word, keywords);
}

/* Reserved words that are followed by no command. */
static bool
is_header_keyword(const char *word)
{
	static const char *const keywords[] = {"case", "done", "esac", "fi", "for", "function", "in", "select", "}", NULL};

	return is_any_of(word, keywords);
}

/* Programs whose operands do not matter: date, submit. */
static Doing
act_alone(Invocation *run, Outcome *outcome)
{
	return set_outcome(outcome, run->category, span_none(), false);
}

/* Do further operands name no more files, but parts or results of the first? */
static bool
is_of_one_file(const Program *program)
{
	static const char *const names[] = {"7z", "basename", "cpio", "csplit", "dd", "fallocate", "losetup", "split", "uniq",
	"unzip", "xxd", "zip", NULL};

	return is_any_of(program->name, names);
}

/* An effect on every operand from the first that matters on; without one, on `otherwise`. */
static Doing
act_on_each(Invocation *run, Span otherwise, Outcome *outcome)
{
	Operands	operands = invocation_operands(run);
	Span		target = shell_word_span(run->command, operand_after(&operands, run->program->operands));

	set_outcome(outcome, run->category, target.data ? target : otherwise, true);
	if (!is_of_one_file(run->program))
		repeat_for_rest(outcome, &operands);
	return DOES_ACT;
}

/* One operand matters: create. */
static Doing
act_operand(Invocation *run, Outcome *outcome)
{
	return set_outcome(outcome, run->category, invocation_operand(run, run->program->operands), true);
}

/* vim, black: each of them. */
static Doing
act_operands(Invocation *run, Outcome *outcome)
{
	return act_on_each(run, span_none(), outcome);
}

/* A program that reads its standard input if it has no operand: cat, wc. */
static Doing
act_filter(Invocation *run, Outcome *outcome)
{
	static const char *const dumps[] = {"hd", "hexdump", "od", "xxd", NULL};
	const char *letters = strcmp(run->program->name, "od") == 0 ? "jN" : "lns";

	/* xxd -l 64, od -j 8: a part of the file */
	for (int i = run->at; i < run->command->n_words && is_any_of(run->program->name, dumps); i++)
		if (shell_word(run->command, i)[0] == '-' && strpbrk(shell_word(run->command, i), letters) != NULL)
			outcome->lines.choice = LINES_UNKNOWN;
	return act_on_each(run, run->command->input, outcome);
}

/* A program that starts in the current directory if it has no operand: ls. */
static Doing
act_list_here(Invocation *run, Outcome *outcome)
{
	/* In a pipe, xargs may have given operands. */
	return act_on_each(run, run->reader->in_pipe ? span_none() : span_of("."), outcome);
}

/* rm, mkdir, chmod */
static Doing
act_fileop(Invocation *run, Outcome *outcome)
{
	Operands	operands = invocation_operands(run);
	int			at = operand_after(&operands, run->program->operands);

	set_fileop(outcome, program_verb(run->program), shell_word_span(run->command, at));
	if (!is_of_one_file(run->program))
		repeat_for_rest(outcome, &operands);
	return DOES_ACT;
}

static Doing
act_nothing(Invocation *run, Outcome *outcome)
{
	return DOES_NOTHING;
}

/* The names of cd and source represent scripts without effects. */
static Doing
act_cd(Invocation *run, Outcome *outcome)
{
	outcome->idle = span_of("cd");
	return DOES_NOTHING;
}

static Doing
act_source(Invocation *run, Outcome *outcome)
{
	outcome->idle = shell_word_span(run->command, run->at);
	outcome->idle_is_path = true;
	return DOES_NOTHING;
}

/* Replace the escapes \n, \t and \\ of echo -e or printf, in place. */
static Span
unescaped(char *text, int length)
{
	int			to = 0;

	for (int i = 0; i < length; i++)
	{
		char		c = text[i];

		if (c == '\\' && i + 1 < length && strchr("nt\\", text[i + 1]) != NULL)
		{
			c = text[++i];
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
		}
		text[to++] = c;
	}
	text[to] = '\0';
	return span_make(text, to);
}

/* What echo or printf prints, if it has no expansions. */
static Span
printed_text(const Invocation *run)
{
	const ShellCommand *command = run->command;
	bool		is_printf = strcmp(run->program->name, "printf") == 0;
	bool		escapes = is_printf && run->at + 1 == command->n_words;
	bool		newline = !is_printf;
	int			at = run->at;
	Span		words;
	char	   *text;

	while (!is_printf && at < command->n_words)
	{
		const char *word = shell_word(command, at);

		if (word[0] != '-' || word[1] == '\0' || strspn(word + 1, "neE") != strlen(word + 1))
			break;
		newline &= strchr(word, 'n') == NULL;
		escapes |= strchr(word, 'e') != NULL;
		at++;
	}
	words = words_joined(command, at);
	if (!escapes && !newline)
		return words;
	text = palloc(words.length + 2);
	memcpy(text, words.data, words.length);
	if (escapes)
		words = unescaped(text, words.length);
	if (newline)
		text[words.length++] = '\n';
	text[words.length] = '\0';
	return span_make(text, words.length);
}

/* echo: no effect, unless it tells the scaffold that the task is done. */
static Doing
act_echo(Invocation *run, Outcome *outcome)
{
	Span		text = printed_text(run);

	if (span_find(text, "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT") >= 0 ||
		span_find(text, "MINI_SWE_AGENT_FINAL_OUTPUT") >= 0)
		return set_outcome(outcome, EFFECT_FINISH, span_none(), false);
	outcome->idle = span_of("echo");
	outcome->printed.span = text;
	return DOES_PRINT;
}

/* sudo, timeout 5, env A=b: the command that follows. */
static Doing
act_wrapper(Invocation *run, Outcome *outcome)
{
	const ShellCommand *command = run->command;
	const char *name = run->program->name;
	Operands	operands = invocation_operands(run);
	int			at;

	/* command -v NAME looks it up */
	if (strcmp(name, "command") == 0 && shell_word(command, run->at)[0] == '-')
		return set_outcome(outcome, EFFECT_SEARCH, span_none(), false);
	at = operand_after(&operands, run->program->operands);
	while (at < command->n_words && is_assignment(command, at))
		at++;
	if (at < command->n_words)
		run->follows = at;
	else if (strcmp(name, "env") == 0)
		return set_outcome(outcome, EFFECT_SEARCH, span_none(), false);
	return DOES_NOTHING;
}

static Doing
act_xargs(Invocation *run, Outcome *outcome)
{
	ShellCommand *command = run->command;
	Operands	operands = invocation_operands(run);
	int			at = next_operand(&operands);

	for (int i = run->at; i < at; i++)
	{
		const char *word = shell_word(command, i);

		/* Of the files that xargs -a FILE names, only FILE is known. */
		if (command->input.data == NULL && i + 1 < at && (strcmp(word, "-a") == 0 || strcmp(word, "--arg-file") == 0))
			command->input = shell_word_span(command, i + 1);
		else if (strcmp(word, "-I") == 0 && i + 1 < at)
			outcome->placeholder = shell_word_span(command, i + 1);
		else if (strncmp(word, "-I", 2) == 0)
			outcome->placeholder = span_of(word + 2);
	}
	/* xargs -i {} COMMAND is often written, if wrongly */
	if (strcmp(shell_word(command, at), "{}") == 0)
		at++;
	outcome->takes_files = true;
	if (at < command->n_words)
		run->follows = at;
	return DOES_NOTHING;
}

/* gcc --version, java -version: questions to programs that otherwise run something. */
static bool
is_question(const Invocation *run)
{
	switch (run->program->kind)
	{
		case PROGRAM_INTERPRETER:
		case PROGRAM_MAKE:
		case PROGRAM_PACKAGE:
		case PROGRAM_PYTHON:
		case PROGRAM_RUN:
		case PROGRAM_SQL:
			return only_asks(run->command, run->at);
		default:
			return false;
	}
}

/* How each kind of program is read. */
static const struct
{
	Doing		(*act) (Invocation *run, Outcome *outcome);
	EffectCategory category;	/* if all programs of the kind have the same */
}			kinds[N_PROGRAM_KINDS] = {
	[PROGRAM_APPLY_PATCH] = {.act = act_apply_patch},
	[PROGRAM_ASK] = {.act = act_alone, .category = EFFECT_SEARCH},
	[PROGRAM_AWK] = {.act = act_awk},
	[PROGRAM_CD] = {.act = act_cd},
	[PROGRAM_COVERAGE] = {.act = act_coverage},
	[PROGRAM_ECHO] = {.act = act_echo},
	[PROGRAM_EDITOR] = {.act = act_operands, .category = EFFECT_MODIFY},
	[PROGRAM_FETCH] = {.act = act_fetch},
	[PROGRAM_FETCH_TO] = {.act = act_fetch},
	[PROGRAM_FILEOP] = {.act = act_fileop},
	[PROGRAM_FILEOP_LAST] = {.act = act_destination},
	[PROGRAM_FIND] = {.act = act_find},
	[PROGRAM_GIT] = {.act = act_git},
	[PROGRAM_GREP] = {.act = act_grep},
	[PROGRAM_HEAD] = {.act = act_head_tail},
	[PROGRAM_INTERPRETER] = {.act = act_interpreter},
	[PROGRAM_LIST] = {.act = act_filter, .category = EFFECT_SEARCH},
	[PROGRAM_LIST_HERE] = {.act = act_list_here, .category = EFFECT_SEARCH},
	[PROGRAM_MAKE] = {.act = act_make},
	[PROGRAM_NOTHING] = {.act = act_nothing},
	[PROGRAM_OUTPUT] = {.act = act_output},
	[PROGRAM_PACKAGE] = {.act = act_package},
	[PROGRAM_PATCH] = {.act = act_patch},
	[PROGRAM_PYTHON] = {.act = act_python},
	[PROGRAM_RUN] = {.act = act_plain},
	[PROGRAM_SEARCH] = {.act = act_operand, .category = EFFECT_SEARCH},
	[PROGRAM_SEARCH_HERE] = {.act = act_grep},
	[PROGRAM_SED] = {.act = act_sed},
	[PROGRAM_SHELL] = {.act = act_shell},
	[PROGRAM_SOURCE] = {.act = act_source},
	[PROGRAM_SQL] = {.act = act_sql},
	[PROGRAM_SUBMIT] = {.act = act_alone, .category = EFFECT_FINISH},
	[PROGRAM_SWE_CREATE] = {.act = act_operand, .category = EFFECT_CREATE},
	[PROGRAM_SWE_EDIT] = {.act = act_swe_edit},
	[PROGRAM_SWE_EDITOR] = {.act = act_swe_editor},
	[PROGRAM_SWE_GOTO] = {.act = act_swe_goto},
	[PROGRAM_SWE_OPEN] = {.act = act_swe_open},
	[PROGRAM_SWE_SCROLL] = {.act = act_swe_scroll},
	[PROGRAM_TAIL] = {.act = act_head_tail},
	[PROGRAM_TAR] = {.act = act_tar},
	[PROGRAM_TEE] = {.act = act_tee},
	[PROGRAM_TEST] = {.act = act_test},
	[PROGRAM_VIEW] = {.act = act_filter, .category = EFFECT_VIEW},
	[PROGRAM_WRAPPER] = {.act = act_wrapper},
	[PROGRAM_XARGS] = {.act = act_xargs},
};

/* Classify the command that starts at word i.  The outcome must be empty; redirections are left to the caller. */
void
classify_words(Reader *reader, ShellCommand *command, int i, Outcome *outcome)
{
	int			hop;

	outcome->doing = DOES_NOTHING;
	for (hop = 0; hop < MAX_HOPS; hop++)
	{
		Invocation	run = {.reader = reader, .command = command};
		const char *word;
		Doing		doing;

		while (i < command->n_words && !command->words[i].quoted && is_prefix_keyword(shell_word(command, i)))
			i++;
		while (i < command->n_words && is_assignment(command, i))
			i++;
		if (i >= command->n_words)
			return;
		/*
		 * Not after a wrapper.  After an assignment these are no keywords either, but that does not occur in
		 * practice.
		 */
		word = shell_word(command, i);
		if (hop == 0 && is_header_keyword(word) && !command->words[i].quoted)
		{
			command->substitution = span_none();
			return;
		}
		if (command->words[i].dynamic && command->substitution.data != NULL)
			return;
		if (*word == '\\')
			word++;
		run.program = find_any_version(program_name(word));
		run.at = i + 1;
		/* ./test is no builtin. */
		if (run.program != NULL && run.program->kind == PROGRAM_NOTHING && *word != '/' && strchr(word, '/') != NULL)
			run.program = NULL;
		if (run.program == NULL ? only_asks(command, run.at) : is_question(&run))
			doing = set_outcome(outcome, EFFECT_SEARCH, span_none(), false);
		else if (run.program == NULL)
			doing = run_program(command, i, outcome);
		else
		{
			run.kind = kind_of_run(&run);
			Assert(kinds[run.kind].act != NULL);
			run.category = kinds[run.kind].category;
			doing = kinds[run.kind].act(&run, outcome);
		}
		outcome->doing = doing;
		if (run.follows == 0)
			return;
		i = run.follows;
	}
	outcome->doing = set_outcome(outcome, EFFECT_EXECUTE, shell_word_span(command, i), false);
}
