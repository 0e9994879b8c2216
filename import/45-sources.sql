-- What a file is called in ids.  stepadv-import says by a part "." of its path where the
-- name begins that tells it from the others of one call; whoever calls it otherwise the
-- next time, or names other files with it, must not have the same rollouts twice.

-- The schema's sources whose names are longer than one directory and the file's own:
-- their ids have a slash.  Once for every connection.
CREATE FUNCTION stepadv_internal.import_long_sources(schema text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	CREATE TEMP TABLE stepadv_long_sources (source text, marked text);
	EXECUTE format($q$
		INSERT INTO pg_temp.stepadv_long_sources
		SELECT DISTINCT replace(s.source, '/./', '/'), s.source
		FROM (SELECT CASE WHEN r.rollout_id LIKE '%%/%%--%%' THEN r.metadata ->> 'source' END AS source FROM %I.rollouts r) s WHERE s.source LIKE '%%/./%%'
		$q$, import_long_sources.schema);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_long_sources(text) IS 'part of stepadv-import: makes pg_temp.stepadv_long_sources of the files from which the schema''s rollouts have ids of several directories';

CREATE FUNCTION stepadv_internal.import_source(schema text, source text) RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	plain CONSTANT text := replace(import_source.source, '/./', '/');
	marked text;
	is_short boolean;
BEGIN
	IF import_source.source IS NULL OR to_regclass(format('%I.rollouts', import_source.schema)) IS NULL
		OR NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = to_regclass(format('%I.rollouts', import_source.schema)) AND a.attname = 'metadata' AND a.atttypid = 'jsonb'::regtype)
	THEN
		RETURN import_source.source;
	END IF;
	IF import_source.source <> plain THEN
		-- Of these there are few.
		EXECUTE format('SELECT EXISTS (SELECT FROM %I.rollouts r WHERE CASE WHEN starts_with(r.rollout_id, $1) THEN r.metadata ->> ''source'' = $2 END)', import_source.schema)
			INTO is_short USING (SELECT f.rollout FROM stepadv_internal.import_names(plain) f), plain;
		RETURN CASE WHEN is_short THEN plain ELSE import_source.source END;
	END IF;
	IF to_regclass('pg_temp.stepadv_long_sources') IS NULL THEN
		PERFORM stepadv_internal.import_long_sources(import_source.schema);
	END IF;
	SELECT min(l.marked) INTO marked FROM pg_temp.stepadv_long_sources l WHERE l.source = plain;
	RETURN coalesce(marked, import_source.source);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_source(text, text) IS
'part of stepadv-import: a file''s path with the part "." of which its ids are made in the schema''s tables; as it was given where they have nothing of it';

-- Whether the tables have the rollouts of a file's name from another file.
CREATE FUNCTION stepadv_internal.import_is_of_other(schema text, source text) RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	is_other boolean;
BEGIN
	EXECUTE format($q$
		SELECT bool_and(replace(r.metadata ->> 'source', '/./', '/') <> $2) FROM %I.rollouts r
		WHERE CASE WHEN starts_with(r.rollout_id, $1) THEN r.metadata ->> 'source' IS NOT NULL END
		$q$, import_is_of_other.schema) INTO is_other USING (SELECT f.rollout FROM stepadv_internal.import_names(import_is_of_other.source) f), replace(import_is_of_other.source, '/./', '/');
	RETURN coalesce(is_other, false);
END
$$;
COMMENT ON FUNCTION stepadv_internal.import_is_of_other(text, text) IS 'part of stepadv-import: whether the schema''s rollouts with the ids of a file''s name are all from other files';
