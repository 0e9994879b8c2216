-- detach: drops the views of attach, and the groups that maintain keeps.

-- Drops views in one command, and adapters in another, since they may read each other.
CREATE FUNCTION stepadv_internal.end_attachment(attachment regclass, cascade boolean) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET client_min_messages = warning SET lock_timeout = '10s'
AS $$
DECLARE
	a CONSTANT stepadv_internal.attached := stepadv_internal.known(attachment);
	views CONSTANT regclass[] := array_remove((a).views, NULL);
	adapters CONSTANT regclass[] := array_remove(ARRAY[(a).rows, (a).stated, (a).shown, (a).shown_rollouts,
		(a).began], NULL);
	dropped CONSTANT text := CASE WHEN cascade THEN ' CASCADE' ELSE '' END;
	what text;
BEGIN
	IF views <> '{}' THEN
		EXECUTE format('DROP VIEW %s%s', (SELECT string_agg(stepadv_internal.relation_name(v), ', ')
			FROM unnest(views) v), dropped);
	END IF;
	IF (a).kept IS NOT NULL THEN
		PERFORM stepadv_internal.drop_kept(attachment, false, cascade);
	END IF;
	EXECUTE format('DROP VIEW %s%s', (SELECT string_agg(stepadv_internal.relation_name(v), ', ')
		FROM unnest(adapters) v), dropped);
	EXECUTE format('DROP TABLE %s%s', stepadv_internal.relation_name(attachment), dropped);
	RETURN cardinality(views) + cardinality(adapters);
EXCEPTION WHEN dependent_objects_still_exist OR lock_not_available THEN
	GET STACKED DIAGNOSTICS what = PG_EXCEPTION_DETAIL;
	PERFORM stepadv_internal.refuse_drop('what attach made over ' || stepadv_internal.relation_name((a).source),
		SQLSTATE, what, 'detach'::text,
		views || adapters || attachment || stepadv_internal.kept_relations(a));
END
$$;
COMMENT ON FUNCTION stepadv_internal.end_attachment(regclass, boolean) IS
'part of detach, for the owner of the attachment';

CREATE FUNCTION stepadv_internal.detach(source regclass, prefix text, cascade boolean)
RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
BEGIN
	IF detach.source IS NULL THEN
		RAISE EXCEPTION 'source must be given' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	RETURN (SELECT coalesce(sum(n.views), 0)
		FROM stepadv_internal.own_attachments(detach.source, detach.prefix) k
		CROSS JOIN LATERAL stepadv_internal.run(k.attachment, format('SELECT '
			'stepadv_internal.end_attachment(%L::regclass, %L::boolean)', k.attachment::oid,
			coalesce(detach.cascade, false))) n(views integer)
		-- Only attachments over this very source, not those over views of it.
		WHERE k.source = detach.source);
END
$$;
COMMENT ON FUNCTION stepadv_internal.detach(regclass, text, boolean) IS
'what detach does';

CREATE FUNCTION stepadv.detach(source regclass, prefix text DEFAULT NULL, cascade boolean DEFAULT false)
RETURNS integer
LANGUAGE c AS 'MODULE_PATHNAME', 'stepadv_as_caller';
COMMENT ON FUNCTION stepadv.detach(regclass, text, boolean) IS
'drops the views of attach over the source (with the prefix, if given) for the caller or a role whose privileges '
'they have, and its kept groups; error if other objects depend on them, unless cascade drops these too; returns the '
'number of views; waits at most 10 seconds for other sessions';
