/*
 * call.c
 *		What a tool call does: the list of its effects.
 *
 * The vocabulary gives the meaning of the tool.  The path and the texts are found by the usual argument names
 * or by those of the user's entry.  An unknown tool is `other`, with its name.
 */
#include "postgres.h"

#include "signatures/call.h"
#include "signatures/patch.h"
#include "signatures/shell/script.h"

static Span
argument_named(const Arguments *arguments, Span name)
{
	/* The last one counts, as in JSON. */
	for (int i = arguments->n - 1; i >= 0; i--)
		if (span_equal_caseless(arguments->items[i].name, name))
			return arguments->items[i].value;
	return span_none();
}

static Span
argument(const Arguments *arguments, const UserEntry *entry, ArgumentRole role)
{
	const char *const *name;

	if (entry != NULL && entry->roles[role].data != NULL)
		return argument_named(arguments, entry->roles[role]);
	for (name = role_names(role); *name; name++)
	{
		Span		value = argument_named(arguments, span_of(*name));

		if (value.data != NULL)
			return value;
	}
	return span_none();
}

/* Take the command out of a Markdown block, or out of the execute[…] of ReAct prompts. */
static Span
bare_command(Span text)
{
	Span		trimmed = span_trim(text);

	if (span_starts(trimmed, "```"))
	{
		static const char *const languages[] = {"bash", "shell", "sh", "console", "zsh"};
		int			stop;

		trimmed = span_from(trimmed, 3);
		for (int i = 0; i < (int) lengthof(languages); i++)
		{
			int			length = (int) strlen(languages[i]);

			if (trimmed.length > length && is_space(trimmed.data[length]) &&
				span_is_caseless(span_make(trimmed.data, length), languages[i]))
			{
				trimmed = span_from(trimmed, length);
				break;
			}
		}
		stop = span_find(trimmed, "```");
		if (stop >= 0)
			trimmed.length = stop;
		return trimmed;
	}
	if (span_starts(trimmed, "execute[") && trimmed.data[trimmed.length - 1] == ']')
		return span_make(trimmed.data + 8, trimmed.length - 9);
	return text;
}

/* The first block ```bash … ``` of a message; data NULL if it has none. */
static Span
code_block(Span message)
{
	static const char *const fences[] = {"```bash\n", "```sh\n", "```mswea_bash_command\n"};

	for (int i = 0; i < (int) lengthof(fences); i++)
	{
		int			start = span_find(message, fences[i]);

		if (start >= 0)
		{
			Span		block = span_from(message, start + (int) strlen(fences[i]));
			int			stop = span_find(block, "```");

			if (stop >= 0)
				block.length = stop;
			return block;
		}
	}
	return span_none();
}

static void
set_lines(Effect *effect, const Arguments *arguments, const UserEntry *entry)
{
	Span		range = argument(arguments, entry, ROLE_RANGE);
	int64		first = -1;
	int64		last = -1;

	if (range.data != NULL)
	{
		Span		rest = span_trim(range);
		int			i = 0;
		bool		separated = false;

		/* "10 20", "[10, 20]", "10-20", "10:20"; "10 -1" goes to the end */
		while (rest.length > 0 && (rest.data[0] == '[' || rest.data[0] == '\''))
			rest = span_from(rest, 1);
		first = span_number(rest);
		while (i < rest.length && rest.data[i] >= '0' && rest.data[i] <= '9')
			i++;
		while (i < rest.length && (is_space(rest.data[i]) || rest.data[i] == ',' || rest.data[i] == ':'))
		{
			separated = true;
			i++;
		}
		if (i < rest.length && rest.data[i] == '-' && !separated)
			i++;
		last = span_number(span_from(rest, i));
		if (first >= 0 && last < 0)
			last = 0;
	}
	else
	{
		Span		count = argument(arguments, entry, ROLE_COUNT);
		int64		n = count.data ? span_number(count) : -1;

		first = span_number(argument(arguments, entry, ROLE_FIRST));
		last = span_number(argument(arguments, entry, ROLE_LAST));
		if (first < 0 && (last > 0 || n > 0))
			first = 1;
		if (first >= 0 && last < 0)
			last = n > 0 ? Max(first, 1) + n - 1 : 0;
	}
	if (first >= 0)
	{
		effect->partial = true;
		effect->first = Max(first, 1);
		effect->last = last > 0 ? Max(last, effect->first) : 0;
	}
}

/* A tool that replaces one text by another, or inserts one. */
static void
classify_edit(const Arguments *arguments, const UserEntry *entry, Span path, Span command, bool insert, Effects *effects)
{
	Span		old_text = insert ? span_none() : argument(arguments, entry, ROLE_OLD);
	Span		new_text = argument(arguments, entry, ROLE_NEW);
	Effect	   *effect;

	/* An editing tool whose only text is a patch. */
	if (path.data == NULL && old_text.data == NULL && command.data != NULL &&
		(span_find(command, "*** ") >= 0 || span_find(command, "+++ ") >= 0))
	{
		classify_patch(command, effects);
		return;
	}
	effect = effects_add(effects, EFFECT_MODIFY, path, true);
	effect->insert = insert;
	if (old_text.data != NULL || new_text.data != NULL)
		effect_set_content(effect, old_text, new_text);
}

static void
classify_patch_tool(const Arguments *arguments, const UserEntry *entry, Span path, Span command, Effects *effects)
{
	if (command.data == NULL)
		command = argument(arguments, entry, ROLE_NEW);
	if (command.data != NULL)
		classify_patch(command, effects);
	else
		effects_add(effects, EFFECT_MODIFY, span_none(), false);
	if (path.data != NULL && effects->n == 1)
		effect_set_target(effects->newest, path, true);
}

/* Code for an interpreter is identified by its text. */
static void
classify_code(Span command, Effects *effects)
{
	Effect	   *effect = effects_add(effects, EFFECT_EXECUTE, span_of("python"), false);

	if (command.data != NULL)
		effect_set_content(effect, span_none(), command);
}

static void
classify_meaning(ToolMeaning meaning, const Arguments *arguments, const UserEntry *entry, Span tool, Effects *effects)
{
	Span		command = argument(arguments, entry, ROLE_COMMAND);
	Span		path = meaning > TOOL_LINE ? argument(arguments, entry, ROLE_PATH) : span_none();

	if (arguments->text.data != NULL)
		command = arguments->text;
	switch (meaning)
	{
		case TOOL_SHELL:
		case TOOL_LINE:
			if (command.data == NULL)
				effects_add(effects, EFFECT_EXECUTE, span_none(), false);
			else
				classify_script(bare_command(command), effects);
			return;
		case TOOL_VIEW:
			set_lines(effects_add(effects, EFFECT_VIEW, path, true), arguments, entry);
			return;
		case TOOL_OPEN:
			effect_set_window(effects_add(effects, EFFECT_VIEW, path, true),
							  span_number(argument(arguments, entry, ROLE_FIRST)));
			return;
		case TOOL_SCROLL:
			effects_add(effects, EFFECT_VIEW, span_none(), false)->window = true;
			return;
		case TOOL_SEARCH:
			/* The target is the place searched: the file_name of find_file is a pattern. */
			if (entry == NULL || entry->roles[ROLE_PATH].data == NULL)
				path = argument(arguments, entry, ROLE_WHERE);
			effects_add(effects, EFFECT_SEARCH, path, true);
			return;
		case TOOL_REPLACE:
		case TOOL_INSERT:
			classify_edit(arguments, entry, path, command, meaning == TOOL_INSERT, effects);
			return;
		case TOOL_CREATE:
			effects_add(effects, EFFECT_CREATE, path, true);
			return;
		case TOOL_PATCH:
			classify_patch_tool(arguments, entry, path, command, effects);
			return;
		case TOOL_CODE:
			classify_code(command, effects);
			return;
		case TOOL_EXECUTE:
			effects_add(effects, EFFECT_EXECUTE, path, true);
			return;
		case TOOL_FILEOP:
			effects_add(effects, EFFECT_FILEOP, path, true)->verb = tool_verb(tool);
			return;
		case TOOL_INSTALL:
			effects_add(effects, EFFECT_INSTALL, path, true);
			return;
		case TOOL_TEST:
			effects_add(effects, EFFECT_TEST, path.data ? path : span_of("all"), path.data != NULL);
			return;
		case TOOL_THINK:
			effects_add(effects, EFFECT_THINK, span_none(), false);
			return;
		case TOOL_FINISH:
			effects_add(effects, EFFECT_FINISH, span_none(), false);
			return;
		case TOOL_UNKNOWN:
		case TOOL_OTHER:
			break;
	}
	effects_add(effects, EFFECT_OTHER, tool, false);
}

/* The user's entry for a tool: the one with the subcommand, then the one without. */
static const UserEntry *
find_user_tool(const UserVocabulary *vocabulary, Span tool, const Arguments *arguments)
{
	const UserEntry *any = NULL;

	for (int i = 0; vocabulary != NULL && i < vocabulary->n; i++)
	{
		const UserEntry *entry = &vocabulary->entries[i];

		if (!span_equal_caseless(entry->tool, tool))
			continue;
		if (entry->subcommand.length == 0)
			any = any ? any : entry;
		else if (span_equal_caseless(entry->subcommand, argument(arguments, entry, ROLE_SUBCOMMAND)))
			return entry;
	}
	return any;
}

/* tool.data NULL: the step called no tool. */
void
classify_call(Span tool, Arguments *arguments, const UserVocabulary *vocabulary, CallResult result, Effects *effects)
{
	const UserEntry *entry;
	ToolMeaning meaning;
	Span		command;

	effects_init(effects);
	effects->succeeded = result == RESULT_OK;
	tool = tool.data ? span_trim(tool) : tool;
	if (tool.length == 0)
	{
		Span		block = arguments->text.data ? code_block(arguments->text) : span_none();

		if (arguments->tool.data != NULL && arguments->tool.length > 0)
			tool = arguments->tool;
		else if (block.data != NULL)
		{
			classify_script(block, effects);
			return;
		}
		else
		{
			/* A text without a call is a thought; arguments without a tool are `other`. */
			effects_add(effects, arguments->n == 0 ? EFFECT_THINK : EFFECT_OTHER, span_none(), false);
			return;
		}
	}

	entry = find_user_tool(vocabulary, tool, arguments);
	if (entry != NULL)
	{
		classify_meaning(entry->meaning, arguments, entry, tool, effects);
		return;
	}
	command = argument(arguments, NULL, ROLE_SUBCOMMAND);
	meaning = find_builtin_tool(tool, command.data ? command : span_none());

	/* SWE-agent's commands, also custom ones, are shell lines that start with the tool's name. */
	command = argument_named(arguments, span_of("command"));
	if (command.data != NULL && arguments->n == 1)
	{
		Span		line = span_trim(command);

		if (line.length >= tool.length && memcmp(line.data, tool.data, tool.length) == 0 &&
			(line.length == tool.length || is_space(line.data[tool.length])))
			meaning = TOOL_LINE;
	}
	classify_meaning(meaning, arguments, NULL, tool, effects);
}
