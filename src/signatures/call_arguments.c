/*
 * call_arguments.c
 *		Parses the arguments of a tool call.
 *
 * PostgreSQL's JSON parser raises errors for invalid JSON and uses stack for nesting.  Here the text may be
 * anything: a text that is neither JSON nor XML is taken as it is.  Only the outermost object is split.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "signatures/call_arguments.h"

typedef struct Json
{
	const char *at;
	const char *end;
	bool		utf8;
} Json;

void
arguments_init(Arguments *arguments, bool utf8)
{
	arguments->n = 0;
	arguments->text = arguments->tool = span_none();
	arguments->utf8 = utf8;
}

void
arguments_add(Arguments *arguments, Span name, Span value)
{
	if (arguments->n < MAX_ARGUMENTS)
	{
		arguments->items[arguments->n].name = name;
		arguments->items[arguments->n].value = value;
		arguments->n++;
	}
}

/* Append a string to a list so that a shell would read it as one word. */
void
arguments_add_quoted(StringInfo list, Span element)
{
	if (list->len > 0)
		appendStringInfoChar(list, ' ');
	appendStringInfoChar(list, '\'');
	for (int i = 0; i < element.length; i++)
	{
		if (i % LOOK_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		if (element.data[i] == '\'')
			appendBinaryStringInfo(list, "'\\''", 4);
		else
			appendStringInfoChar(list, element.data[i]);
	}
	appendStringInfoChar(list, '\'');
}

static void
skip_space(Json *json)
{
	while (json->at < json->end && is_space(*json->at))
		json->at++;
}

static int
hex4(const char *at, const char *end)
{
	char		digits[5] = "";

	if (end - at < 4)
		return -1;
	memcpy(digits, at, 4);
	return strspn(digits, "0123456789abcdefABCDEF") == 4 ? (int) strtol(digits, NULL, 16) : -1;
}

static void
append_utf8(StringInfo out, pg_wchar code)
{
	unsigned char bytes[MAX_MULTIBYTE_CHAR_LEN];

	unicode_to_utf8(code, bytes);
	appendBinaryStringInfo(out, (char *) bytes, pg_utf_mblen(bytes));
}

/* Decode \uXXXX, with json->at after the u; false if it is kept as written. */
static bool
read_unicode(Json *json, StringInfo out)
{
	int			code = hex4(json->at, json->end);

	if (code <= 0 || (code >= 0x80 && !json->utf8))
		return false;
	if (is_utf16_surrogate_second(code))
		return false;
	if (is_utf16_surrogate_first(code))
	{
		int			low;

		if (json->end - json->at < 10 || json->at[4] != '\\' || json->at[5] != 'u')
			return false;
		low = hex4(json->at + 6, json->end);
		if (low < 0 || !is_utf16_surrogate_second(low))
			return false;
		append_utf8(out, surrogate_pair_to_codepoint(code, low));
		json->at += 10;
		return true;
	}
	append_utf8(out, code);
	json->at += 4;
	return true;
}

/* Read a string whose quote is at json->at; false if it never ends. */
static bool
read_string(Json *json, Span *value)
{
	StringInfoData out;
	const char *start = ++json->at;

	/* Most strings have no escapes: then no copy is needed. */
	while (json->at < json->end && *json->at != '"' && *json->at != '\\')
		if ((++json->at - start) % LOOK_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
	if (json->at >= json->end)
		return false;
	if (*json->at == '"')
	{
		*value = span_make(start, json->at++ - start);
		return true;
	}
	initStringInfo(&out);
	appendBinaryStringInfo(&out, start, json->at - start);
	while (json->at < json->end)
	{
		char		c = *json->at++;

		if ((json->at - start) % LOOK_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		if (c == '"')
		{
			*value = span_make(out.data, out.len);
			return true;
		}
		if (c == '\\' && json->at < json->end)
		{
			c = *json->at++;
			switch (c)
			{
				case 'n':
					c = '\n';
					break;
				case 't':
					c = '\t';
					break;
				case 'r':
					c = '\r';
					break;
				case 'b':
					c = '\b';
					break;
				case 'f':
					c = '\f';
					break;
				case 'u':
					if (read_unicode(json, &out))
						continue;
					appendStringInfoChar(&out, '\\');
					break;
				default:
					break;
			}
		}
		appendStringInfoChar(&out, c);
	}
	return false;
}

/* Skip an object or array with its contents; false if it never ends. */
static bool
skip_nested(Json *json, Span *value)
{
	const char *start = json->at;
	int64		depth = 0;

	while (json->at < json->end)
	{
		char		c = *json->at++;

		if (c == '"')
		{
			while (json->at < json->end && *json->at != '"')
			{
				if (*json->at == '\\')
					json->at++;
				json->at++;
			}
			if (json->at >= json->end)
				return false;
			json->at++;
		}
		else if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
		{
			*value = span_make(start, json->at - start);
			return true;
		}
	}
	return false;
}

/* A number, true, false or any other bare word. */
static bool
read_bare(Json *json, Span *value)
{
	const char *start = json->at;

	while (json->at < json->end && !is_space(*json->at) && strchr(",]}[{\":", *json->at) == NULL)
		json->at++;
	*value = span_make(start, json->at - start);
	return json->at > start;
}

static bool
read_value(Json *json, Span *value, bool *is_string)
{
	skip_space(json);
	*is_string = false;
	if (json->at >= json->end)
		return false;
	if (*json->at == '"')
	{
		*is_string = true;
		return read_string(json, value);
	}
	if (*json->at == '{' || *json->at == '[')
		return skip_nested(json, value);
	return read_bare(json, value);
}

/* The elements of an array as a list of words, see call_arguments.h. */
static Span
flatten_array(Span array, bool utf8)
{
	Json		json;
	StringInfoData list;

	json.at = array.data + 1;
	json.end = array.data + array.length;
	json.utf8 = utf8;
	initStringInfo(&list);
	for (;;)
	{
		Span		element;
		bool		is_string;

		if (!read_value(&json, &element, &is_string))
			break;
		if (is_string)
			arguments_add_quoted(&list, element);
		else
		{
			if (list.len > 0)
				appendStringInfoChar(&list, ' ');
			appendBinaryStringInfo(&list, element.data, element.length);
		}
		skip_space(&json);
		if (json.at >= json.end || *json.at != ',')
			break;
		json.at++;
	}
	return span_make(list.data, list.len);
}

/* Read an object; false, with nothing added, if the text is none. */
static bool
read_object(Arguments *arguments, Span text)
{
	Json		json;

	json.at = text.data;
	json.end = text.data + text.length;
	json.utf8 = arguments->utf8;
	skip_space(&json);
	if (json.at >= json.end || *json.at != '{')
		return false;
	json.at++;
	for (;;)
	{
		Span		name;
		Span		value;
		bool		is_string;

		skip_space(&json);
		if (json.at < json.end && *json.at == '}')
			return true;
		if (json.at >= json.end || *json.at != '"' || !read_string(&json, &name))
			break;
		skip_space(&json);
		if (json.at >= json.end || *json.at != ':')
			break;
		json.at++;
		if (!read_value(&json, &value, &is_string))
			break;
		if (is_string || !span_is(value, "null"))
		{
			if (!is_string && value.length > 0 && value.data[0] == '[')
				value = flatten_array(value, json.utf8);
			arguments_add(arguments, name, value);
		}
		skip_space(&json);
		if (json.at < json.end && *json.at == ',')
			json.at++;
		else if (json.at >= json.end || *json.at != '}')
			break;
	}
	arguments->n = 0;
	return false;
}

/* Models put one line break after an opening and before a closing tag. */
static Span
without_outer_newlines(Span value)
{
	if (value.length > 0 && value.data[0] == '\n')
		value = span_from(value, 1);
	if (value.length > 0 && value.data[value.length - 1] == '\n')
		value.length--;
	return value;
}

/* NAME of <tag=NAME> or <tag name="NAME">, given the text after "<tag". */
static Span
tag_name(Span tag)
{
	Span		name = span_trim(tag);

	if (name.length > 0 && name.data[0] == '=')
		name = span_trim(span_from(name, 1));
	else if (span_starts(name, "name="))
		name = span_trim(span_from(name, 5));
	if (name.length >= 2 && (name.data[0] == '"' || name.data[0] == '\'') && name.data[name.length - 1] == name.data[0])
		name = span_make(name.data + 1, name.length - 2);
	return name;
}

/*
 * <function=NAME><parameter=NAME>…</parameter></function>, the same with
 * invoke and name="…", or plain elements <NAME>…</NAME>.
 */
static bool
read_elements(Arguments *arguments, Span text)
{
	Span		rest = span_trim(text);
	const char *at = rest.data;
	const char *end = rest.data + rest.length;

	if (rest.length == 0 || *at != '<')
		return false;
	while (at < end && (at = memchr(at, '<', end - at)) != NULL)
	{
		const char *close = memchr(at, '>', end - at);
		Span		tag;
		Span		name;
		int			length;
		const char *stop;
		char		closing[72];

		if (close == NULL)
			break;
		tag = span_make(at + 1, close - at - 1);
		at = close + 1;
		if (tag.length == 0 || tag.data[0] == '/' || tag.data[0] == '!' || tag.data[0] == '?')
			continue;
		if (span_starts(tag, "function=") || span_starts(tag, "function ") || span_starts(tag, "invoke "))
		{
			if (arguments->tool.data == NULL)
				arguments->tool = tag_name(span_from(tag, tag.data[0] == 'f' ? 8 : 6));
			continue;
		}
		if (span_is(tag, "function_calls") || span_is(tag, "function_call") || span_is(tag, "tool_call"))
			continue;
		if (span_starts(tag, "parameter=") || span_starts(tag, "parameter "))
		{
			name = tag_name(span_from(tag, 9));
			strcpy(closing, "</parameter>");
		}
		else
		{
			const char *blank = memchr(tag.data, ' ', tag.length);

			name = tag;
			if (blank != NULL)
				name.length = blank - tag.data;
			if (name.length == 0 || name.length > 64)
				continue;
			closing[0] = '<';
			closing[1] = '/';
			memcpy(closing + 2, name.data, name.length);
			closing[name.length + 2] = '>';
			closing[name.length + 3] = '\0';
		}
		length = span_find(span_make(at, end - at), closing);
		/* Without a closing tag, the value extends to the end. */
		stop = length >= 0 ? at + length : end;
		arguments_add(arguments, name, without_outer_newlines(span_make(at, stop - at)));
		at = length >= 0 ? stop + (int) strlen(closing) : end;
	}
	return arguments->n > 0 || arguments->tool.data != NULL;
}

/* Arguments that are a text: JSON, XML or simply a text. */
void
arguments_read_text(Arguments *arguments, Span text)
{
	if (read_object(arguments, text) || read_elements(arguments, text))
		return;
	arguments->text = text;
}
