-- Identity: src/hash.c

CREATE FUNCTION stepadv.signature_hash(value text) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1
AS 'MODULE_PATHNAME', 'stepadv_signature_hash_text';

CREATE FUNCTION stepadv.signature_hash(value bytea) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1
AS 'MODULE_PATHNAME', 'stepadv_signature_hash_bytea';

CREATE FUNCTION stepadv.signature_hash(value jsonb) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10
AS 'MODULE_PATHNAME', 'stepadv_signature_hash_jsonb';

CREATE FUNCTION stepadv.signature_hash(value uuid) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1
AS 'MODULE_PATHNAME', 'stepadv_signature_hash_uuid';

CREATE FUNCTION stepadv.signature_hash(a bigint, b bigint) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1
AS 'MODULE_PATHNAME', 'stepadv_signature_hash_pair';

COMMENT ON FUNCTION stepadv.signature_hash(text) IS
'64-bit identity (XXH3-64, seed 0) of a text''s bytes in UTF-8; NULL for NULL; the same on every '
'machine and in every version, so it can be stored';
COMMENT ON FUNCTION stepadv.signature_hash(bytea) IS
'64-bit identity (XXH3-64, seed 0) of the bytes; equals signature_hash of a text with the same '
'bytes in UTF-8; NULL for NULL';
COMMENT ON FUNCTION stepadv.signature_hash(jsonb) IS
'64-bit identity of a jsonb by content: key order, duplicate keys, white space and the scale of '
'numbers (1.0 and 1) make no difference; NULL for NULL';
COMMENT ON FUNCTION stepadv.signature_hash(bigint, bigint) IS
'64-bit identity (XXH3-64, seed 0) of two integers, as of a rollout and a step''s number: of the bytes of '
'int8send(a) || int8send(b); NULL if one is NULL';
COMMENT ON FUNCTION stepadv.signature_hash(uuid) IS
'64-bit identity (XXH3-64, seed 0) of the 16 bytes of a uuid; NULL for NULL';

