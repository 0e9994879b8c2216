-- normalise_observation: each option alone, then together.
SET search_path = stepadv, public;

SELECT name, got = expected AS ok, CASE WHEN got IS DISTINCT FROM expected THEN got END AS got
FROM (VALUES
	('white space', normalise_observation(E'  a \t\n b\r\n\r\n c  '), 'a b c'),
	('kept', normalise_observation(E' a\n b ', whitespace => false), E' a\n b '),
	('only white space', normalise_observation(E' \n\t '), ''),
	('empty', normalise_observation(''), ''),
	('colours', normalise_observation(E'\x1b[1;31mred\x1b[0m \x1b[Kx\x1b(Bdone'), 'red xdone'),
	('a title', normalise_observation(E'\x1b]0;title\x07prompt'), 'prompt'),
	('a link', normalise_observation(E'\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\'), 'text'),
	('unfinished escapes', normalise_observation(E'a\x1b'), 'a'),
	('an escape of a blank', normalise_observation(E'a\x1b b'), 'ab'),
	('unfinished sequence', normalise_observation(E'a\x1b[12'), 'a'),
	('escapes kept', normalise_observation(E'\x1b[1mx', ansi => false), E'\x1b[1mx'),
	('case', normalise_observation('ABC äÖ', lowercase => true), 'abc äÖ'),
	('digits', normalise_observation('line 12, v3.10', digits => true), 'line 0, v0.0'),
	('address', normalise_observation('<object at 0x7f3a2b1c4d50>'), '<object at <address>>'),
	('a constant', normalise_observation('0x1F 0xdeadbeefg'), '0x1F 0xdeadbeefg'),
	('addresses kept', normalise_observation('0x7f3a2b1c4d50', addresses => false), '0x7f3a2b1c4d50'),
	('time stamp', normalise_observation('2024-05-26T10:11:12.345Z and 2024/05/26 10:11 and 2024-05-26 10:11:12,345 +0200'), '<time> and <time> and <time> +0200'),
	('clock', normalise_observation('at 10:11:12 or 1:2:3'), 'at <time> or 1:2:3'),
	('a date alone', normalise_observation('2024-05-26'), '2024-05-26'),
	('duration', normalise_observation('3 passed in 0.12s, 1.5 seconds, 2.0 ms, 3.5sx, 4s'), '3 passed in <duration>, <duration>, <duration>, 3.5sx, 4s'),
	('times kept', normalise_observation('10:11:12 0.1s', timestamps => false), '10:11:12 0.1s'),
	('no part of a word', normalise_observation('x10:11:12 a0x7f3a2b1c4d50'), 'x10:11:12 a0x7f3a2b1c4d50'),
	('root', normalise_observation('/testbed/src/a.py:3 in /testbed, "/testbed/", /x/testbed/b /testbedx', root => '/testbed'),
		'src/a.py:3 in ., "./", /x/testbed/b /testbedx'),
	('root at the end', normalise_observation('in /testbed', root => '/testbed'), 'in .'),
	('root with a slash', normalise_observation('cd /repo/a', root => '/repo/'), 'cd a'),
	('all', normalise_observation(E'\x1b[32mOK\x1b[0m  /testbed/T.py 7 in 0.01s', lowercase => true, digits => true, root => '/testbed'), 'ok t.py 0 in <duration>'),
	('nothing', normalise_observation(E' \x1b[1m 0x7f3a2b1c4d50 10:11:12', whitespace => false, ansi => false, addresses => false, timestamps => false), E' \x1b[1m 0x7f3a2b1c4d50 10:11:12')
) v(name, got, expected)
WHERE got IS DISTINCT FROM expected OR name IN ('white space', 'all');
SELECT normalise_observation(NULL) IS NULL AS null_for_null;
-- a megabyte, in one pass
SELECT length(normalise_observation(repeat('1', 1000000))), length(normalise_observation(repeat(' ', 1000000))),
       length(normalise_observation(repeat(E'\x1b', 1000000))), length(normalise_observation(repeat('0x', 500000))),
       length(normalise_observation(repeat('/testbed', 100000), root => '/testbed'));
