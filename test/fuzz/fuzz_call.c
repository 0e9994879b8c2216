/*
 * fuzz_call.c
 *		Any bytes as a tool call: the tool's name, a NUL, its arguments as a text.
 *
 * A server reads arguments of type jsonb by PostgreSQL's iterator; names and values
 * are then processed as here.
 */
#include "postgres.h"

#include "check.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	size_t		tool_length = nul ? (size_t) (nul - data) : size;
	size_t		args_length = nul ? size - tool_length - 1 : 0;
	char	   *tool = host_text(data, tool_length);
	char	   *args = host_text(data + size - args_length, args_length);
	Arguments	arguments;
	Effects		effects;
	CallResult	result = (CallResult) (size % 3);
	UserEntry	entry;
	UserVocabulary vocabulary = {1, &entry};

	arguments_init(&arguments, size % 2 == 0);
	if (nul != NULL)
		arguments_read_text(&arguments, span_make(args, (int) args_length));
	classify_call(span_make(tool, (int) tool_length), &arguments, NULL, result, &effects);
	check_effects(&effects, result);

	/* The same as a user-defined tool, whose meaning the input chooses. */
	memset(&entry, 0, sizeof(entry));
	entry.tool = span_of("mine");
	entry.meaning = (ToolMeaning) (1 + size % TOOL_OTHER);
	entry.roles[ROLE_PATH] = span_of("p");
	classify_call(span_of("Mine"), &arguments, &vocabulary, result, &effects);
	check_effects(&effects, result);
	host_reset();
	return 0;
}
