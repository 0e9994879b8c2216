-- signature_hash: fixed vectors. The values for '', 'stepadv' and the 300-byte
-- text come from the xxHash library's own command line tool (xxh64sum -H3).
SELECT stepadv.signature_hash(''::text);
