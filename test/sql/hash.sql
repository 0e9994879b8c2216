-- signature_hash: fixed vectors, since users store the values. Those of raw bytes come from the xxHash library's command line tool (xxhsum -H3).
SET search_path = stepadv, public;

SELECT name, to_hex(signature_hash(value)) = xxh3 AS text_ok,
       signature_hash(convert_to(value, 'UTF8')) = signature_hash(value) AS bytea_ok
FROM (VALUES
	('empty', '', '2d06800538d394c2'),
	('one byte', 'a', 'e6c632b61e964e1f'),
	('7 bytes', 'stepadv', 'a5695c7a9233c307'),
	('300 bytes', repeat('0123456789', 30), '5681ea1b2e3086b'),
	('100,000 bytes', repeat('0123456789', 10000), 'f864ed958daf788a'),
	('UTF-8', U&'na\00EFve \2603 \+01F418', 'bdd96b5123b1b656'),
	('root state', '||', '9773aef8ea574440')) v(name, value, xxh3);

-- all 256 byte values, NUL among them
SELECT to_hex(signature_hash(string_agg(set_byte('\x00', 0, i), '' ORDER BY i))) = '9408a4433b952d71' AS bytes_ok
FROM generate_series(0, 255) i;

SELECT to_hex(signature_hash('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid)) = '55df69482c6d3767' AS uuid_ok;

-- jsonb: the XXH3 of a token stream made by hand: { k1:a #1:1 k1:b [ t n s1:x ] }, with lengths of 4 bytes; a lone scalar between $ and ].
SELECT to_hex(signature_hash('{"a": 1, "b": [true, null, "x"]}'::jsonb)) = '46f9b36c891f7809' AS object_ok,
       to_hex(signature_hash('1'::jsonb)) = '72510c6beccebe18' AS scalar_ok;

-- equal content, equal hash
SELECT signature_hash(a::jsonb) = signature_hash(b::jsonb) AS same, a, b
FROM (VALUES
	('{"a": 1, "b": 2}', '{"b":2,"a":1}'),
	('{"a": 1.0}', '{"a": 1}'),
	('1e2', '100.00'),
	('-0.0', '0'),
	('{"a": 1, "a": 2}', '{"a": 2}'),
	('{"x": {"p": [1, {"q": 2.50}], "r": null}}', '{"x": {"r": null, "p": [1.00, {"q": 2.5}]}}'),
	('"\u00e9"', U&'"\00E9"')) v(a, b);

-- different content, different hash
SELECT count(*) AS values, count(DISTINCT signature_hash(v::jsonb)) AS hashes
FROM unnest(ARRAY['1', '"1"', '[1]', '[[1]]', '{"1": 1}', '[1, 2]', '[2, 1]', '[12]', 'null', '[null]', '{}', '[]', '""', 'true',
	'false', '"true"', '["a", "b"]', '["ab"]', '["a,b"]', '{"a": "b"}', '{"a": null}', '{"a": {}}', '[{"a": 1}, {"b": 1}]',
	'[{"a": 1, "b": 1}]', '0', '-1', '0.1', '0.10000000000000001']) v;

SELECT signature_hash(NULL::text) IS NULL AND signature_hash(NULL::bytea) IS NULL
   AND signature_hash(NULL::jsonb) IS NULL AND signature_hash(NULL::uuid) IS NULL AS null_for_null;
