/*
 * variants.c
 *		Options that change the kind of a program: unzip -l lists, sort -o writes, pytest --version runs no
 *		test.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"

/* The first matching row counts; programs NULL: all of the kind. */
static const struct
{
	uint8		of;
	const char *programs;		/* " a b " */
	ValueOptions options;		/* any of these */
	uint8		kind;
}			variants[] = {
	{PROGRAM_EDITOR, " black isort ", {"", ",check,check-only,diff,version,help,"}, PROGRAM_LIST},
	{PROGRAM_FETCH, " wget ", {"V", ",spider,version,help,"}, PROGRAM_RUN},
	{PROGRAM_FETCH, " wget ", {"O", ",output-document,"}, PROGRAM_FETCH_TO},
	{PROGRAM_FILEOP, " bunzip2 bzip2 compress gunzip gzip uncompress unxz xz ",
	{"lt", ",list,test,"}, PROGRAM_LIST},
	{PROGRAM_FILEOP, " bunzip2 bzip2 compress gunzip gzip uncompress unxz xz ",
	{"c", ",stdout,to-stdout,"}, PROGRAM_VIEW},
	{PROGRAM_FILEOP, " unzip ", {"lvtZz", ","}, PROGRAM_LIST},
	{PROGRAM_FILEOP, " unzip ", {"pc", ","}, PROGRAM_VIEW},
	{PROGRAM_FILEOP_LAST, " cp install ln mv ", {"t", ",target-directory,"}, PROGRAM_FILEOP_LAST},
	{PROGRAM_RUN, " curl ", {"o", ",output,"}, PROGRAM_FETCH_TO},
	{PROGRAM_RUN, " curl ", {"OJ", ",remote-name,remote-name-all,"}, PROGRAM_FETCH},
	{PROGRAM_TEST, " tox nox ", {"al", ",listenvs,listenvs-all,showconfig,"}, PROGRAM_LIST},
	{PROGRAM_TEST, " ctest ", {"N", ",show-only,"}, PROGRAM_LIST},
	{PROGRAM_TEST, NULL, {"h", ",co,collect-only,collectonly,fixtures,help,list,listTests,markers,version,"}, PROGRAM_LIST},
	{PROGRAM_VIEW, " iconv pygmentize shuf sort xmllint ", {"o", ",output,"}, PROGRAM_OUTPUT},
};

/*
 * Is one of the wanted options given?  *value is the rest of its word, or the next one; data NULL if there is
 * neither.
 */
static bool
find_option(const Invocation *run, const ValueOptions *wanted, Span *value)
{
	const ShellCommand *command = run->command;

	for (int i = run->at; i < command->n_words; i++)
	{
		const char *word = shell_word(command, i);
		const char *letter;

		if (word[0] != '-' || word[1] == '\0')
			continue;
		if (strcmp(word, "--") == 0)
			return false;
		if (word[1] == '-')
		{
			char		name[MAX_LISTED + 1];
			size_t		length = strcspn(word + 2, "=");

			if (length > MAX_LISTED)
				continue;
			memcpy(name, word + 2, length);
			name[length] = '\0';
			if (!is_listed(wanted->names, ',', name))
				continue;
			*value = word[2 + length] == '=' ? span_of(word + 3 + length) : shell_word_span(command, i + 1);
			return true;
		}
		for (letter = word + 1; *letter; letter++)
		{
			if (strchr(wanted->letters, *letter) != NULL)
			{
				*value = letter[1] != '\0' ? span_of(letter + 1) : shell_word_span(command, i + 1);
				return true;
			}
			if (strchr(run->program->options.letters, *letter) != NULL)
			{
				/* The rest is its value, or the next word. */
				if (letter[1] == '\0')
					i++;
				break;
			}
		}
	}
	return false;
}

/* The kind of program, considering its options; sets run->value to the value of the option that decides it. */
ProgramKind
kind_of_run(Invocation *run)
{
	for (int i = 0; i < (int) lengthof(variants); i++)
		if (variants[i].of == run->program->kind &&
			(variants[i].programs == NULL || is_listed(variants[i].programs, ' ', run->program->name)) &&
			find_option(run, &variants[i].options, &run->value))
			return variants[i].kind;
	return run->program->kind;
}

/* Do the words from `at` on only ask a program for its version or help? */
bool
only_asks(const ShellCommand *command, int at)
{
	static const char *const questions[] = {"--help", "--version", NULL};
	static const char *const alone[] = {"-V", "-h", "-help", "-v", "-version", NULL};

	if (at == command->n_words - 1 && at > 0 && is_any_of(shell_word(command, at), alone) &&
		strchr(shell_word(command, at - 1), '/') == NULL)
		return true;
	for (int i = at; i < command->n_words; i++)
	{
		if (is_any_of(shell_word(command, i), questions))
			return true;
		if (strcmp(shell_word(command, i), "--") == 0)
			return false;
	}
	return false;
}
