-- The verifiable rewards of MT-GRPO
CREATE SCHEMA rewards_test;
SET search_path = rewards_test, stepadv;
SET jit = off;
SET extra_float_digits = 0;

-- mt_reward_format, mt_reward_xml_double, and their value without markup
SELECT reward_xml_format(m) AS format, reward_xml_tags(m) AS tags
FROM (VALUES (1, ARRAY[E'<reasoning>\nx\n</reasoning>\n<tool>\n{}\n</tool>', E'<reasoning>\ny\n</reasoning>\n<answer>\nz\n</answer>']),
			 (2, ARRAY['<reasoning>a</reasoning><tool>x</tool><tool>y</tool>']),
			 (3, ARRAY['<tool>x</tool><tool>y</tool><tool>z</tool>']),
			 (4, ARRAY['I do not know']), (5, ARRAY[NULL]), (6, '{}')) v(i, m) ORDER BY i;

-- Parts of the format, one message each: 0.2 x (0.4 fields + 0.2 spacing + 0.2 beginning + 0.2 end)
SELECT m, round((reward_xml_format(ARRAY[m], weight => 1))::numeric, 4) AS format, round(reward_xml_format(ARRAY[m], spacing => 'lines', weight => 1)::numeric, 4) AS lines
FROM (VALUES ('<reasoning>a</reasoning>'), ('<reasoning>a'), ('a</reasoning><tool>b</tool>'), ('</tool>'), ('<answer></answer>'),
			 (E' \n<reasoning>a</reasoning> x <answer>b</answer>\n '), (E'<reasoning>\na\n</reasoning>\n<tool>\nb\n</tool> bye'),
			 (E'<reasoning>\r\n a \r\n\t</reasoning>'), ('<tool>x</tool><reasoning>a</reasoning>'), ('<REASONING>a</REASONING>'),
			 ('<reasoning>a<reasoning>b</reasoning>'), ('<reasoning >a</reasoning>'), ('')) v(m);
-- Other fields
SELECT round(reward_xml_format(ARRAY['<think>a</think><code>b</code>'], fields => '{think,code|search|answer}')::numeric, 4) AS two,
	   round(reward_xml_format(ARRAY['<think>a</think>'], fields => '{think}')::numeric, 4) AS one,
	   round(reward_xml_tags(ARRAY['<think>a</think><think>'], fields => '{think,code}', weight => 1)::numeric, 4) AS twice_opened;
-- The average of tags may be negative for a message, not for the rollout
SELECT reward_xml_tags(ARRAY[three], weight => 1), reward_xml_tags(ARRAY[three, once], weight => 1), reward_xml_tags(ARRAY[three, once, once, once], weight => 1)
FROM (VALUES ('<tool></tool><tool></tool><tool></tool><tool></tool>', '<tool></tool>')) v(three, once);

-- By the paper's words: 0.4 for one field, 0.2 if no field has white space at its ends, 0.2, 0.2; the share of used tags that open and close once
SELECT m, round(reward_xml_format(ARRAY[m], weight => 1, convention => 'paper')::numeric, 4) AS format,
	   round(reward_xml_tags(ARRAY[m], weight => 1, convention => 'paper')::numeric, 4) AS tags, round(reward_xml_tags(ARRAY[m], weight => 1)::numeric, 4) AS tags_of_code
FROM (VALUES ('<reasoning>a</reasoning><tool>b</tool>'), ('<reasoning>a</reasoning>'), ('<reasoning> a</reasoning><tool>b</tool>'), (E'<reasoning>a</reasoning><tool>b\n</tool>'),
			 ('<reasoning>a</reasoning> <tool>b</tool>'), ('<reasoning>a</reasoning><tool>b</tool><tool> c</tool>'), ('<reasoning>a'), ('a</reasoning><tool>b</tool>'), ('</tool>'),
			 (' <answer></answer> '), ('<tool>x</tool><tool>y</tool><tool>z</tool>'), ('<reasoning>a</reasoning><answer>b<answer>'), ('I do not know'), (U&'<answer>\00A0a</answer>'), ('')) v(m);
-- spacing is the code's; a rollout of no message; the mean over messages
SELECT reward_xml_format(ARRAY['<tool> x </tool>'], spacing => 'always', convention => 'paper') = reward_xml_format(ARRAY['<tool> x </tool>'], spacing => 'lines', convention => 'paper') AS spacing,
	   reward_xml_format('{}', convention => 'paper') + reward_xml_tags('{}', convention => 'paper') AS nobody,
	   round(reward_xml_tags(ARRAY['<tool>x</tool>', '<tool>'], convention => 'paper')::numeric, 4) AS mean;
SELECT reward_xml_format('{}', convention => 'verl');
SELECT reward_xml_tags('{}', convention => NULL) IS NULL AS null_is_null;
-- Tool calls: attempts are messages with a tool field that something followed
SELECT what, reward_tool_execution(messages, replies)
FROM (VALUES
	(1, 'all well', ARRAY['<tool>a</tool>', '<tool>b</tool>'], ARRAY['<result>1</result>', '<result>2</result>']),
	(2, 'one error', ARRAY['<tool>a</tool>', '<tool>b</tool>'], ARRAY['<result>  Error: no</result>', '<result>2</result>']),
	(3, 'error elsewhere', ARRAY['<tool>a</tool>'], ARRAY['<result>an Error: no</result>']),
	(4, 'no result', ARRAY['<tool>a</tool>'], ARRAY['Error: Tool command not found']),
	(5, 'result not closed', ARRAY['<tool>a</tool>'], ARRAY['<result>1']),
	(6, 'nothing followed', ARRAY['<tool>a</tool>', '<tool>b</tool>'], ARRAY['<result>1</result>', NULL]),
	(7, 'tool not closed', ARRAY['<tool>a', '<tool>b</tool>'], ARRAY['<result>1</result>', 'nothing']),
	(8, 'no tool', ARRAY['<answer>a</answer>', NULL], ARRAY['<result>1</result>', '<result>1</result>']),
	(9, 'empty fields', ARRAY['<tool></tool>'], ARRAY['<result></result>']),
	(10, 'closed before opened', ARRAY['</tool><tool>a'], ARRAY['<result>1</result>']),
	(11, 'nobody spoke', '{}', '{}')) v(i, what, messages, replies) ORDER BY i;
SELECT reward_tool_execution(m, r, error_prefix => 'exit 1') AS prefix, reward_tool_execution(m, r, error_prefix => '') AS no_prefix,
	   reward_tool_execution(m, r, tool_tag => 'search', result_tag => 'information', weight => 1) AS tags
FROM (VALUES (ARRAY['<tool>a</tool><search>b</search>'], ARRAY['<result>Error: 1</result><information>c</information>'])) v(m, r);

-- Answers: in the first result, in the last answer, exactly
SELECT what, reward_answer_in_results(messages, replies, answers) AS in_results, reward_answer_present(messages, answers) AS present,
	   reward_exact_match(messages, answers) AS exact
FROM (VALUES
	(1, 'all', ARRAY['<tool>a</tool>', '<answer> PARIS </answer>'], ARRAY['<result>It is paris.</result>', NULL], ARRAY['Lyon', 'Paris']),
	(2, 'first result only', ARRAY['<tool>a</tool>', '<tool>b</tool>', '<answer>Rome</answer>'], ARRAY['<result>none</result>', '<result>Paris</result>', NULL], ARRAY['Paris']),
	(3, 'first that gave one', ARRAY['<tool>a</tool>', '<tool>b</tool>', '<answer>in Paris, France</answer>'], ARRAY['Error', '<result>Paris</result>', NULL], ARRAY['Paris']),
	(4, 'last answer', ARRAY['<answer>Paris</answer>', '<answer>Rome</answer>'], ARRAY[NULL, NULL], ARRAY['Paris']),
	(5, 'last with an answer', ARRAY['<answer>Paris</answer>', '<answer>Rome', NULL, 'bye'], ARRAY[NULL, NULL, NULL, NULL], ARRAY['paris']),
	(6, 'answers not stripped', ARRAY['<tool>a</tool>', '<answer>Paris</answer>'], ARRAY['<result>Paris</result>', NULL], ARRAY[' Paris ']),
	(7, 'outside the field', ARRAY['<tool>a</tool> Paris', 'Paris <answer>Rome</answer>'], ARRAY['Paris <result>Rome</result> Paris', NULL], ARRAY['Paris']),
	(8, 'no answers', ARRAY['<tool>a</tool>', '<answer></answer>'], ARRAY['<result>Paris</result>', NULL], '{}'),
	(9, 'null answer', ARRAY['<tool>a</tool>', '<answer></answer>'], ARRAY['<result></result>', NULL], ARRAY[NULL]),
	(10, 'empty answer', ARRAY['<tool>a</tool>', '<answer> </answer>'], ARRAY['<result>x</result>', NULL], ARRAY['']),
	(11, 'first closed', ARRAY['<tool>a</tool>', '<answer>a</answer><answer>Paris</answer>'], ARRAY['<result>a</result><result>Paris</result>', NULL], ARRAY['Paris']))
	v(i, what, messages, replies, answers) ORDER BY i;
-- No character is special
SELECT a, reward_answer_in_results(ARRAY['<tool>x</tool>'], ARRAY['<result>say ' || a || '!</result>'], ARRAY[a]) AS itself,
	   reward_answer_present(ARRAY['<answer>some thing a1b2.txt 50 percent</answer>'], ARRAY[a]) AS other, reward_exact_match(ARRAY['<answer>' || a || '</answer>'], ARRAY[a]) AS exact
FROM (VALUES ('50%'), ('a_b'), ('.*'), ('a.b'), ('[a-z]+'), ('\d'), ('C:\temp\'), ('$1'), ('^a|b$'), ('(?i)a'), ('O''Hara "x"'), ('{1,2}'), ('<b>'), ('&lt;')) v(a);
-- Case is Python's lower() in any locale, collation or provider; expected values are from Python 3.11. A capital sigma ends a word if a cased letter is before it and none after,
-- ignoring case-ignorable characters (U+0301, U+00AD, full stop, apostrophe); İ keeps its dot. U+00AD is shown as -, since its width in psql varies.
SELECT replace(said, U&'\00AD', '-') AS said, replace(lower, U&'\00AD', '-') AS lower, reward_exact_match(ARRAY['<answer>' || said || '</answer>'], ARRAY[lower]) AS as_python,
	   reward_exact_match(ARRAY['<answer>' || said || '</answer>'], ARRAY[lower] COLLATE "C") AS in_c,
	   reward_exact_match(ARRAY['<answer>' || said || '</answer>'], ARRAY[other]) AS other
FROM (VALUES ('ΟΔΟΣ', 'οδος', 'οδοσ'), ('Σ', 'σ', 'ς'), ('ΑΣ.', 'ας.', 'ασ.'), ('ΑΣ Β', 'ας β', 'ασ β'), ('ΑΣΒ', 'ασβ', 'αςβ'), ('ΑΣ.Β', 'ασ.β', 'ας.β'),
			 ('Α.Σ', 'α.ς', 'α.σ'), ('.Σ', '.σ', '.ς'), ('1Σ', '1σ', '1ς'), ('Α1Σ', 'α1σ', 'α1ς'), ('ΑΣ1', 'ας1', 'ασ1'), ('aΣ', 'aς', 'aσ'), ('ΣΣΣ', 'σσς', 'σσσ'),
			 ('字Σ', '字σ', '字ς'), (U&'Α\0301Σ\00AD', U&'α\0301ς\00AD', U&'α\0301σ\00AD'), (U&'ΑΣ\0301Β', U&'ασ\0301β', U&'ας\0301β'), ('Α''Σ', 'α''ς', 'α''σ'),
			 ('İ', U&'i\0307', 'i'), ('I', 'i', 'ı'), ('ẞ', 'ß', 'ss'), ('ÀÉ', 'àé', 'ae'), ('Ǆ', 'ǆ', 'dž'), ('Ω', 'ω', 'o'), (U&'\+010400', U&'\+010428', U&'\+010429'), (U&'\1E9B', U&'\1E9B', U&'\1E61')) v(said, lower, other);
-- The end of a word depends on the text around it: in the text, or alone
SELECT reward_answer_present(ARRAY['<answer>η ΟΔΟΣ μου</answer>'], ARRAY['ΟΔΟΣ']) AS word, reward_answer_present(ARRAY['<answer>ΟΔΟΣΑ</answer>'], ARRAY['ΟΔΟΣ']) AS part_of_a_word,
	   reward_answer_in_results(ARRAY['<tool>x</tool>'], ARRAY['<result>ΟΔΟΣ</result>'], ARRAY['δοσ']) AS medial, reward_exact_match(ARRAY['<answer>ΟΔΟΣ </answer>'], ARRAY[' ΟΔΟΣ']) AS stripped;
-- White space is Unicode's; a tag name may be anything
SELECT reward_exact_match(ARRAY[U&'<answer>\00A0\2003 Paris\3000\000A</answer>'], ARRAY['PARIS']) AS unicode,
	   reward_exact_match(ARRAY[U&'<answer>\00E9t\00E9</answer>'], ARRAY[U&'\2028\00E9t\00E9\0085']) AS accents,
	   reward_exact_match(ARRAY['<a.*b>x</a.*b>'], ARRAY['x'], answer_tag => 'a.*b') AS special,
	   reward_exact_match(ARRAY['<aab>x</aab>'], ARRAY['x'], answer_tag => 'a.*b') AS not_special;

-- Against strpos and replace, on random sequences of tags
CREATE FUNCTION pseudorandom(VARIADIC seed text[]) RETURNS float8 LANGUAGE sql IMMUTABLE
RETURN ('x' || substr(md5(array_to_string(seed, ' ')), 1, 8))::bit(32)::bigint / 4294967296.0;
CREATE TABLE message AS
SELECT i / 3 AS rollout, i, string_agg((ARRAY['<reasoning>', '</reasoning>', '<tool>', '</tool>', '<answer>', '</answer>', 'Paris', ' Error:', E'\n', 'x',
				'<tool>x</tool>', '<answer> Paris</answer>', '<reasoning>x</reasoning>'])
	   [1 + floor(13 * pseudorandom('m', i::text, t::text))::int], '' ORDER BY t) AS message
FROM generate_series(0, 1499) i, generate_series(0, i % 9) t GROUP BY i;
CREATE TABLE reply AS
SELECT i, CASE WHEN pseudorandom('none', i::text) > 0.1 THEN string_agg((ARRAY['<result>', '</result>', 'Paris', 'Error:', ' ', 'x', '<result>Paris</result>', '<result> Error:</result>'])
	   [1 + floor(8 * pseudorandom('r', i::text, t::text))::int], '' ORDER BY t) END AS reply
FROM generate_series(0, 1499) i, generate_series(0, 5 + i % 5) t GROUP BY i;
CREATE FUNCTION field(message text, tag text) RETURNS text LANGUAGE sql IMMUTABLE
RETURN CASE WHEN strpos(message, '<' || tag || '>') > 0
				 AND strpos(substr(message, strpos(message, '<' || tag || '>') + length(tag) + 2), '</' || tag || '>') > 0
			THEN btrim(split_part(substr(message, strpos(message, '<' || tag || '>') + length(tag) + 2), '</' || tag || '>', 1), E' \n') END;
CREATE FUNCTION occurrences(message text, what text) RETURNS int LANGUAGE sql IMMUTABLE
RETURN (length(message) - length(replace(message, what, ''))) / length(what);
WITH tag AS (
	SELECT rollout, i, tag, occurrences(message, '<' || tag || '>') AS opened, occurrences(message, '</' || tag || '>') AS closed, field(message, tag) AS content,
		   (SELECT coalesce(bool_and(m[1] = btrim(m[1], E' \n')), true) FROM regexp_matches(message, '<' || tag || '>(.*?)</' || tag || '>', 'g') m) AS tight
	FROM message, unnest(ARRAY['reasoning', 'tool', 'answer']) tag),
scored AS (
	SELECT rollout, i,
		   CASE WHEN count(content) > 0 THEN 0.2 * (bool_or(opened + closed > 0) FILTER (WHERE tag = 'reasoning'))::int
											 + 0.2 * (bool_or(opened + closed > 0) FILTER (WHERE tag <> 'reasoning'))::int ELSE 0 END
		   + 0.2 AS fields,
		   0.4 * (count(content) > 0)::int + 0.2 * (count(content) > 0 AND bool_and(tight))::int AS paper_fields,
		   coalesce(count(*) FILTER (WHERE opened = 1 AND closed = 1)::float8 / nullif(count(*) FILTER (WHERE opened + closed > 0), 0), 0) AS paper_tags,
		   coalesce(sum((1 - abs(opened - 1)) + (1 - abs(closed - 1))) FILTER (WHERE opened + closed > 0)::float8
					/ nullif(2 * count(*) FILTER (WHERE opened + closed > 0), 0), 0) AS tags
	FROM tag GROUP BY rollout, i),
expected AS (
	SELECT rollout, 0.2 * avg(fields + 0.2 * (ltrim(message, E' \n') LIKE '<reasoning>%')::int
							  + 0.2 * (rtrim(message, E' \n') LIKE ANY ('{%</tool>,%</answer>}'))::int) AS format,
		   0.2 * avg(paper_fields + 0.2 * (ltrim(message, E' \n') LIKE '<reasoning>%')::int
							  + 0.2 * (rtrim(message, E' \n') LIKE ANY ('{%</tool>,%</answer>}'))::int) AS paper_format,
		   0.2 * avg(paper_tags) AS paper_tags,
		   0.2 * greatest(avg(tags), 0) AS tags,
		   0.2 * coalesce(avg(CASE WHEN field(reply, 'result') NOT LIKE 'Error:%' THEN 1 ELSE 0 END)
						  FILTER (WHERE field(message, 'tool') IS NOT NULL AND reply IS NOT NULL), 0) AS execution,
		   CASE WHEN (array_agg(field(reply, 'result') ORDER BY i) FILTER (WHERE field(message, 'tool') IS NOT NULL AND field(reply, 'result') IS NOT NULL))[1]
					 LIKE '%Paris%' THEN 0.5 ELSE 0 END AS in_results,
		   (array_agg(field(message, 'answer') ORDER BY i DESC) FILTER (WHERE field(message, 'answer') IS NOT NULL))[1] AS answer
	FROM message JOIN scored USING (rollout, i) JOIN reply USING (i) GROUP BY rollout)
SELECT count(*), bool_and(abs(reward_xml_format(messages) - format) < 1e-12) AS format, bool_and(abs(reward_xml_format(messages, convention => 'paper') - paper_format) < 1e-12) AS paper_format,
	   bool_and(abs(reward_xml_tags(messages, convention => 'paper') - paper_tags) < 1e-12) AS paper_tags, count(*) FILTER (WHERE paper_tags <> tags) > 20 AND count(*) FILTER (WHERE paper_format <> format) > 20 AS paper_differs, bool_and(abs(reward_xml_tags(messages) - tags) < 1e-12) AS tags,
	   bool_and(abs(reward_tool_execution(messages, replies) - execution) < 1e-12) AS execution,
	   bool_and(reward_answer_in_results(messages, replies, '{PARIS}') = in_results) AS in_results,
	   bool_and(reward_answer_present(messages, '{PARIS}') = CASE WHEN answer LIKE '%Paris%' THEN 0.5 ELSE 0 END) AS present,
	   bool_and(reward_exact_match(messages, '{PARIS}') = CASE WHEN answer = 'Paris' THEN 1 ELSE 0 END) AS exact,
	   count(*) FILTER (WHERE execution > 0) > 20 AND count(*) FILTER (WHERE in_results > 0) > 20
	   AND count(*) FILTER (WHERE answer LIKE '%Paris%') > 20 AND count(*) FILTER (WHERE answer = 'Paris') > 5
	   AND count(*) FILTER (WHERE tags > 0) > 20 AS varied
FROM (SELECT rollout, array_agg(message ORDER BY i) AS messages, array_agg(reply ORDER BY i) AS replies
	  FROM message JOIN reply USING (i) GROUP BY rollout) r JOIN expected USING (rollout);

-- Ten million characters, of which many almost match
SELECT reward_tool_execution(ARRAY['<tool>' || x || '</tool>'], ARRAY['<result>' || x || '</result>']) AS execution,
	   reward_answer_in_results(ARRAY['<tool>a</tool>'], ARRAY['<result>' || x || '</result>'], ARRAY['<toox']) AS in_results,
	   reward_answer_present(ARRAY['<answer>' || x || '</answer>'], ARRAY['<toolx']) AS present,
	   reward_exact_match(ARRAY['<answer>' || x || '</answer>'], ARRAY[upper(x)]) AS exact,
	   reward_xml_format(ARRAY['<reasoning>' || x || '</tool>']) > 0.07 AS format, reward_xml_tags(ARRAY[x || '<tool>']) AS tags
FROM (SELECT repeat('<too', 2500000) AS x) t;

-- NULL and bad arguments
SELECT reward_tool_execution(NULL, '{}') IS NULL, reward_answer_present('{}', NULL) IS NULL, reward_xml_tags(NULL) IS NULL;
SELECT reward_tool_execution('{a,b}', '{a}');
SELECT reward_answer_in_results('{{a,b}}', '{a}', '{a}');
SELECT reward_tool_execution('{}', '{}', tool_tag => '');
SELECT reward_xml_format('{a}', fields => '{}');
SELECT reward_xml_format('{a}', fields => '{reasoning,tool||answer}');
SELECT reward_xml_tags('{a}', fields => '{reasoning,NULL}');
SELECT reward_xml_format('{a}', spacing => 'never');
SELECT reward_exact_match('{a}', '{a}', weight => 'NaN');
