/*
 * vocabulary.c
 *		The built-in vocabulary: the tools of known scaffolds.
 *
 * The install script fills the table stepadv.tool_vocabulary from here.  A tool is looked up with the value
 * of its subcommand first, then without.  Tools with the same name must have the same meaning in all
 * scaffolds, since a call does not name its scaffold.
 */
#include "postgres.h"

#include "signatures/vocabulary.h"

/* Grouped by scaffold, in any order within one. */
const ToolEntry builtin_tools[] = {
	{"R2E-Gym", "file_editor", "view", TOOL_VIEW},
	{"R2E-Gym", "file_editor", "create", TOOL_CREATE},
	{"R2E-Gym", "file_editor", "str_replace", TOOL_REPLACE},
	{"R2E-Gym", "file_editor", "insert", TOOL_INSERT},
	{"R2E-Gym", "file_editor", "undo_edit", TOOL_FILEOP},
	{"R2E-Gym", "search", "", TOOL_SEARCH},
	{"R2E-Gym", "execute_bash", "", TOOL_SHELL},
	{"R2E-Gym", "think", "", TOOL_THINK},
	{"R2E-Gym", "finish", "", TOOL_FINISH},

	{"SWE-agent", "str_replace_editor", "view", TOOL_VIEW},
	{"SWE-agent", "str_replace_editor", "create", TOOL_CREATE},
	{"SWE-agent", "str_replace_editor", "str_replace", TOOL_REPLACE},
	{"SWE-agent", "str_replace_editor", "insert", TOOL_INSERT},
	{"SWE-agent", "str_replace_editor", "undo_edit", TOOL_FILEOP},
	{"SWE-agent", "bash", "", TOOL_SHELL},
	{"SWE-agent", "open", "", TOOL_OPEN},
	{"SWE-agent", "goto", "", TOOL_OPEN},
	{"SWE-agent", "scroll_up", "", TOOL_SCROLL},
	{"SWE-agent", "scroll_down", "", TOOL_SCROLL},
	{"SWE-agent", "set_cursors", "", TOOL_SCROLL},
	{"SWE-agent", "edit", "", TOOL_REPLACE},
	{"SWE-agent", "insert", "", TOOL_INSERT},
	{"SWE-agent", "create", "", TOOL_CREATE},
	{"SWE-agent", "find_file", "", TOOL_SEARCH},
	{"SWE-agent", "search_file", "", TOOL_SEARCH},
	{"SWE-agent", "search_dir", "", TOOL_SEARCH},
	{"SWE-agent", "filemap", "", TOOL_VIEW},
	{"SWE-agent", "submit", "", TOOL_FINISH},
	{"SWE-agent", "exit_forfeit", "", TOOL_FINISH},

	{"OpenHands", "execute_bash", "", TOOL_SHELL},
	{"OpenHands", "execute_ipython_cell", "", TOOL_CODE},
	{"OpenHands", "think", "", TOOL_THINK},
	{"OpenHands", "finish", "", TOOL_FINISH},
	{"OpenHands", "task_tracker", "", TOOL_THINK},
	{"OpenHands", "browser", "", TOOL_OTHER},
	{"OpenHands", "web_read", "", TOOL_OTHER},

	{"mini-swe-agent", "bash", "", TOOL_SHELL},

	{"Claude Code", "bash", "", TOOL_SHELL},
	{"Claude Code", "read", "", TOOL_VIEW},
	{"Claude Code", "edit", "", TOOL_REPLACE},
	{"Claude Code", "multiedit", "", TOOL_REPLACE},
	{"Claude Code", "write", "", TOOL_CREATE},
	{"Claude Code", "notebookread", "", TOOL_VIEW},
	{"Claude Code", "notebookedit", "", TOOL_REPLACE},
	{"Claude Code", "grep", "", TOOL_SEARCH},
	{"Claude Code", "glob", "", TOOL_SEARCH},
	{"Claude Code", "ls", "", TOOL_SEARCH},
	{"Claude Code", "todowrite", "", TOOL_THINK},
	{"Claude Code", "exitplanmode", "", TOOL_THINK},
	{"Claude Code", "task", "", TOOL_OTHER},
	{"Claude Code", "webfetch", "", TOOL_OTHER},
	{"Claude Code", "websearch", "", TOOL_OTHER},
	{"Claude Code", "str_replace_based_edit_tool", "view", TOOL_VIEW},
	{"Claude Code", "str_replace_based_edit_tool", "create", TOOL_CREATE},
	{"Claude Code", "str_replace_based_edit_tool", "str_replace", TOOL_REPLACE},
	{"Claude Code", "str_replace_based_edit_tool", "insert", TOOL_INSERT},
	{"Claude Code", "str_replace_based_edit_tool", "undo_edit", TOOL_FILEOP},

	{"OpenAI", "apply_patch", "", TOOL_PATCH},
	{"OpenAI", "shell", "", TOOL_SHELL},
	{"OpenAI", "local_shell", "", TOOL_SHELL},
	{"OpenAI", "shell_command", "", TOOL_SHELL},
	{"OpenAI", "container.exec", "", TOOL_SHELL},
	{"OpenAI", "exec_command", "", TOOL_SHELL},
	{"OpenAI", "python", "", TOOL_CODE},
	{"OpenAI", "code_interpreter", "", TOOL_CODE},
	{"OpenAI", "update_plan", "", TOOL_THINK},

	{"OpenCode", "list", "", TOOL_SEARCH},
	{"OpenCode", "todoread", "", TOOL_THINK},

	{"Gemini CLI", "run_shell_command", "", TOOL_SHELL},
	{"Gemini CLI", "read_file", "", TOOL_VIEW},
	{"Gemini CLI", "write_file", "", TOOL_CREATE},
	{"Gemini CLI", "replace", "", TOOL_REPLACE},
	{"Gemini CLI", "list_directory", "", TOOL_SEARCH},
	{"Gemini CLI", "search_file_content", "", TOOL_SEARCH},

	{"Hermes", "terminal", "", TOOL_SHELL},
	{"Hermes", "search_files", "", TOOL_SEARCH},
	{"Hermes", "execute_code", "", TOOL_CODE},
	{"Hermes", "patch", "", TOOL_REPLACE},

	{"Cline", "execute_command", "", TOOL_SHELL},
	{"Cline", "write_to_file", "", TOOL_CREATE},
	{"Cline", "replace_in_file", "", TOOL_REPLACE},
	{"Cline", "list_files", "", TOOL_SEARCH},
	{"Cline", "list_code_definition_names", "", TOOL_SEARCH},
	{"Cline", "attempt_completion", "", TOOL_FINISH},

	{"Cursor", "run_terminal_cmd", "", TOOL_SHELL},
	{"Cursor", "codebase_search", "", TOOL_SEARCH},
	{"Cursor", "grep_search", "", TOOL_SEARCH},
	{"Cursor", "file_search", "", TOOL_SEARCH},
	{"Cursor", "list_dir", "", TOOL_SEARCH},
	{"Cursor", "edit_file", "", TOOL_REPLACE},
	{"Cursor", "search_replace", "", TOOL_REPLACE},
	{"Cursor", "delete_file", "", TOOL_FILEOP},
};

const int	n_builtin_tools = lengthof(builtin_tools);

static const char *const meaning_names[] = {
	[TOOL_UNKNOWN] = "",
	[TOOL_SHELL] = "shell",
	[TOOL_LINE] = "line",
	[TOOL_VIEW] = "view",
	[TOOL_OPEN] = "open",
	[TOOL_SCROLL] = "scroll",
	[TOOL_SEARCH] = "search",
	[TOOL_REPLACE] = "replace",
	[TOOL_INSERT] = "insert",
	[TOOL_CREATE] = "create",
	[TOOL_PATCH] = "patch",
	[TOOL_CODE] = "code",
	[TOOL_EXECUTE] = "execute",
	[TOOL_TEST] = "test",
	[TOOL_INSTALL] = "install",
	[TOOL_FILEOP] = "fileop",
	[TOOL_THINK] = "think",
	[TOOL_FINISH] = "finish",
	[TOOL_OTHER] = "other",
};

static const char *const role_keys[] = {
	[ROLE_COMMAND] = "command",
	[ROLE_PATH] = "path",
	[ROLE_OLD] = "old",
	[ROLE_NEW] = "new",
	[ROLE_RANGE] = "range",
	[ROLE_FIRST] = "first",
	[ROLE_LAST] = "last",
	[ROLE_COUNT] = "count",
	[ROLE_SUBCOMMAND] = "subcommand",
	[ROLE_WHERE] = "",
};

/* In the order of preference. */
static const char *const command_names[] = {"command", "cmd", "code", "script", "input", "patch", "patchtext", "bash_command", "commands", "keystrokes", NULL};
static const char *const path_names[] = {"path", "file_path", "filepath", "filename", "file_name", "file", "target_file", "notebook_path", "absolute_path", "relative_workspace_path", "dir", "dir_path", "directory", "target_directory", NULL};
static const char *const old_names[] = {"old_str", "old_string", "oldstring", "search", "old_text", "old_code", NULL};
static const char *const new_names[] = {"new_str", "new_string", "newstring", "replace", "insert_text", "replacement_text", "new_text", "new_source", "edits", "text", "code_edit", "content", "file_text", "diff", "patch", "code", NULL};
static const char *const range_names[] = {"view_range", "lines", "line_range", NULL};
static const char *const first_names[] = {"offset", "line_number", "start_line", "start_line_one_indexed", "line", "start", NULL};
static const char *const last_names[] = {"end_line", "end_line_one_indexed", "end_line_one_indexed_inclusive", "end", NULL};
static const char *const count_names[] = {"limit", "num_lines", "n_lines", NULL};
static const char *const subcommand_names[] = {"command", "action", "operation", "mode", NULL};

static const char *const where_names[] = {"path", "dir", "directory", "dir_path", "target_directory", "file", "file_path", "filepath", "absolute_path", "relative_workspace_path", NULL};

static const char *const *const usual_names[] = {
	[ROLE_COMMAND] = command_names,
	[ROLE_PATH] = path_names,
	[ROLE_OLD] = old_names,
	[ROLE_NEW] = new_names,
	[ROLE_RANGE] = range_names,
	[ROLE_FIRST] = first_names,
	[ROLE_LAST] = last_names,
	[ROLE_COUNT] = count_names,
	[ROLE_SUBCOMMAND] = subcommand_names,
	[ROLE_WHERE] = where_names,
};

const char *
meaning_name(ToolMeaning meaning)
{
	return meaning_names[meaning];
}

ToolMeaning
meaning_of(Span name)
{
	for (int i = TOOL_UNKNOWN + 1; i < (int) lengthof(meaning_names); i++)
		if (span_is(name, meaning_names[i]))
			return (ToolMeaning) i;
	return TOOL_UNKNOWN;
}

int
role_of(Span name)
{
	for (int i = 0; i < ROLE_WHERE; i++)
		if (span_is(name, role_keys[i]))
			return i;
	return -1;
}

const char *const *
role_names(ArgumentRole role)
{
	return usual_names[role];
}

/* The verb of a built-in fileop tool, if a program does the same to its file. */
Span
tool_verb(Span tool)
{
	return span_is_caseless(tool, "delete_file") ? span_of("rm") : span_none();
}

ToolMeaning
find_builtin_tool(Span tool, Span subcommand)
{
	ToolMeaning any = TOOL_UNKNOWN;

	for (int i = 0; i < n_builtin_tools; i++)
	{
		const ToolEntry *entry = &builtin_tools[i];

		if (ascii_lower(tool.data[0]) != entry->tool[0] || !span_is_caseless(tool, entry->tool))
			continue;
		if (entry->subcommand[0] == '\0')
		{
			if (any == TOOL_UNKNOWN)
				any = entry->meaning;
		}
		else if (span_is_caseless(subcommand, entry->subcommand))
			return entry->meaning;
	}
	return any;
}
