/*
 * call.c
 *		What a tool call does.
 *
 * The vocabulary says what the tool means; which argument is the path, which
 * the text, is found by the usual names of arguments or by those of the user's
 * entry.  A tool that nobody knows is `other`, with its name.
 */
#include "postgres.h"

#include "signatures/call.h"
#include "signatures/patch.h"
#include "signatures/shell/script.h"

static Span
argument_named(const Arguments *arguments, Span name)
{
	int			i;

	/* The last one counts, as in JSON. */
	for (i = arguments->n - 1; i >= 0; i--)
		if (arguments->items[i].name.length == name.length)
		{
			int			j;

			for (j = 0; j < name.length; j++)
				if (ascii_lower(arguments->items[i].name.data[j]) != ascii_lower(name.data[j]))
					break;
			if (j == name.length)
				return arguments->items[i].value;
		}
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

/*
 * The command of a shell tool may come as a block of Markdown, or, from ReAct
 * prompts, as execute[…]: what is inside.
 */
static Span
bare_command(Span text)
{
	Span		trimmed = span_trim(text);

	if (span_starts(trimmed, "```"))
	{
		static const char *const languages[] = {"bash", "shell", "sh", "console", "zsh"};
		int			stop;
		int			i;

		trimmed = span_from(trimmed, 3);
		for (i = 0; i < (int) lengthof(languages); i++)
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
	int			i;

	for (i = 0; i < (int) lengthof(fences); i++)
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
set_lines(Action *action, const Arguments *arguments, const UserEntry *entry)
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
		action->partial = true;
		action->first = Max(first, 1);
		action->last = last > 0 ? Max(last, action->first) : 0;
	}
}

static void
set_action(Action *action, ActionCategory category, Span target, bool is_path)
{
	action_init(action, category);
	action_set_target(action, target, is_path);
}

/* A tool that replaces one text by another, or inserts one. */
static void
classify_edit(const Arguments *arguments, const UserEntry *entry, Span path, Span command, bool insert, Action *action)
{
	Span		old_text = insert ? span_none() : argument(arguments, entry, ROLE_OLD);
	Span		new_text = argument(arguments, entry, ROLE_NEW);

	/* One of such a name whose only text is a patch. */
	if (path.data == NULL && old_text.data == NULL && command.data != NULL &&
		(span_find(command, "*** ") >= 0 || span_find(command, "+++ ") >= 0))
	{
		classify_patch(command, action);
		return;
	}
	set_action(action, ACTION_MODIFY, path, true);
	action->insert = insert;
	if (old_text.data != NULL || new_text.data != NULL)
		action_set_content(action, old_text, new_text);
}

static void
classify_patch_tool(const Arguments *arguments, const UserEntry *entry, Span path, Span command, Action *action)
{
	if (command.data == NULL)
		command = argument(arguments, entry, ROLE_NEW);
	if (command.data != NULL)
		classify_patch(command, action);
	else
		action_init(action, ACTION_MODIFY);
	if (path.data != NULL)
		action_set_target(action, path, true);
}

static void
classify_meaning(ToolMeaning meaning, const Arguments *arguments, const UserEntry *entry, Span tool, Action *action)
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
				action_init(action, ACTION_EXECUTE);
			else
				classify_script(bare_command(command), action);
			return;
		case TOOL_VIEW:
			set_action(action, ACTION_VIEW, path, true);
			set_lines(action, arguments, entry);
			return;
		case TOOL_OPEN:
			set_action(action, ACTION_VIEW, path, true);
			action_set_window(action, span_number(argument(arguments, entry, ROLE_FIRST)));
			return;
		case TOOL_SCROLL:
			action_init(action, ACTION_VIEW);
			action->window = true;
			return;
		case TOOL_SEARCH:
			/* Where, not what: the file_name of find_file is a pattern. */
			if (entry == NULL || entry->roles[ROLE_PATH].data == NULL)
				path = argument(arguments, entry, ROLE_WHERE);
			set_action(action, ACTION_SEARCH, path, true);
			return;
		case TOOL_REPLACE:
		case TOOL_INSERT:
			classify_edit(arguments, entry, path, command, meaning == TOOL_INSERT, action);
			return;
		case TOOL_CREATE:
			set_action(action, ACTION_CREATE, path, true);
			return;
		case TOOL_PATCH:
			classify_patch_tool(arguments, entry, path, command, action);
			return;
		case TOOL_CODE:
			set_action(action, ACTION_EXECUTE, span_of("python"), false);
			return;
		case TOOL_EXECUTE:
			set_action(action, ACTION_EXECUTE, path, true);
			return;
		case TOOL_FILEOP:
			set_action(action, ACTION_FILEOP, path, true);
			action->verb = tool_verb(tool);
			return;
		case TOOL_INSTALL:
			set_action(action, ACTION_INSTALL, path, true);
			return;
		case TOOL_TEST:
			set_action(action, ACTION_TEST, path.data ? path : span_of("all"), path.data != NULL);
			return;
		case TOOL_THINK:
			action_init(action, ACTION_THINK);
			return;
		case TOOL_FINISH:
			action_init(action, ACTION_FINISH);
			return;
		case TOOL_UNKNOWN:
		case TOOL_OTHER:
			break;
	}
	set_action(action, ACTION_OTHER, tool, false);
}

/* The user's entry for a tool: the one with the subcommand, then the one without. */
static const UserEntry *
find_user_tool(const UserVocabulary *vocabulary, Span tool, const Arguments *arguments)
{
	const UserEntry *any = NULL;
	int			i;

	for (i = 0; vocabulary != NULL && i < vocabulary->n; i++)
	{
		const UserEntry *entry = &vocabulary->entries[i];
		int			j;

		if (entry->tool.length != tool.length)
			continue;
		for (j = 0; j < tool.length; j++)
			if (ascii_lower(entry->tool.data[j]) != ascii_lower(tool.data[j]))
				break;
		if (j < tool.length)
			continue;
		if (entry->subcommand.length == 0)
			any = any ? any : entry;
		else if (span_equal(entry->subcommand, argument(arguments, entry, ROLE_SUBCOMMAND)))
			return entry;
	}
	return any;
}

/* tool.data NULL: the step called no tool. */
void
classify_call(Span tool, Arguments *arguments, const UserVocabulary *vocabulary, Action *action)
{
	const UserEntry *entry;
	ToolMeaning meaning;
	Span		command;

	tool = tool.data ? span_trim(tool) : tool;
	if (tool.length == 0)
	{
		Span		block = arguments->text.data ? code_block(arguments->text) : span_none();

		if (arguments->tool.data != NULL && arguments->tool.length > 0)
			tool = arguments->tool;
		else if (block.data != NULL)
		{
			classify_script(block, action);
			return;
		}
		else
		{
			/* Words and no call are a thought; arguments without a tool are anything. */
			action_init(action, arguments->n == 0 ? ACTION_THINK : ACTION_OTHER);
			return;
		}
	}

	entry = find_user_tool(vocabulary, tool, arguments);
	if (entry != NULL)
	{
		classify_meaning(entry->meaning, arguments, entry, tool, action);
		return;
	}
	command = argument(arguments, NULL, ROLE_SUBCOMMAND);
	meaning = find_builtin_tool(tool, command.data ? command : span_none());

	/*
	 * SWE-agent's commands are lines of a shell: the tool is the first word, or
	 * `bash`.  Also how tools of one's own are called there.
	 */
	command = argument_named(arguments, span_of("command"));
	if (command.data != NULL && arguments->n == 1)
	{
		Span		line = span_trim(command);

		if (line.length >= tool.length && memcmp(line.data, tool.data, tool.length) == 0 &&
			(line.length == tool.length || is_space(line.data[tool.length])))
			meaning = TOOL_LINE;
	}
	classify_meaning(meaning, arguments, NULL, tool, action);
}
