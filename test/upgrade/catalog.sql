-- Describes objects by names instead of OIDs, a line per object: identity, tab, JSON.
-- If :'owner' is empty, the members of the extensions, else the objects of that role.
\set QUIET on
SET search_path = pg_catalog;

CREATE FUNCTION pg_temp.sorted(acl aclitem[]) RETURNS text[] LANGUAGE sql AS $$
	SELECT array_agg(a::text ORDER BY a::text) FROM unnest(acl) a
$$;

-- Gaps that dropped attributes leave in the numbers are not a difference.
CREATE FUNCTION pg_temp.columns(relation oid) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_agg(jsonb_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod), 'not null', a.attnotnull,
		'default', pg_get_expr(d.adbin, d.adrelid), 'generated', a.attgenerated, 'identity', a.attidentity, 'collation', a.attcollation::regcollation,
		'storage', a.attstorage, 'acl', pg_temp.sorted(a.attacl), 'comment', col_description(a.attrelid, a.attnum)) ORDER BY a.attnum)
	FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped
$$;

CREATE FUNCTION pg_temp.of_function(function oid) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('owner', p.proowner::regrole, 'acl', pg_temp.sorted(coalesce(p.proacl, acldefault('f', p.proowner))),
		'definition', CASE WHEN p.prokind <> 'a' THEN string_to_array(pg_get_functiondef(p.oid), E'\n') END,
		'aggregate', (SELECT to_jsonb(a) - '{aggtranstype,aggmtranstype,aggsortop}'::text[] || jsonb_build_object('result', pg_get_function_result(p.oid),
				'arguments', pg_get_function_arguments(p.oid), 'parallel', p.proparallel, 'volatile', p.provolatile, 'strict', p.proisstrict, 'cost', p.procost,
				'transtype', a.aggtranstype::regtype, 'mtranstype', a.aggmtranstype::regtype, 'sortop', a.aggsortop::regoperator)
			FROM pg_aggregate a WHERE a.aggfnoid = p.oid))
	FROM pg_proc p WHERE p.oid = function
$$;

CREATE FUNCTION pg_temp.of_type(type oid) RETURNS jsonb LANGUAGE sql AS $$
	SELECT to_jsonb(t) - '{oid,typnamespace,typrelid,typarray,typdefaultbin}'::text[] || jsonb_build_object('typowner', t.typowner::regrole, 'typelem', t.typelem::regtype,
		'typbasetype', t.typbasetype::regtype, 'typcollation', t.typcollation::regcollation, 'typacl', pg_temp.sorted(coalesce(t.typacl, acldefault('T', t.typowner))),
		'columns', pg_temp.columns(t.typrelid),
		'labels', (SELECT jsonb_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid),
		'constraints', (SELECT jsonb_object_agg(c.conname, pg_get_constraintdef(c.oid)) FROM pg_constraint c WHERE c.contypid = t.oid))
	FROM pg_type t WHERE t.oid = type
$$;

CREATE FUNCTION pg_temp.of_relation(relation oid) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('kind', c.relkind, 'owner', c.relowner::regrole, 'persistence', c.relpersistence, 'options', c.reloptions, 'of type', c.reloftype::regtype,
		'acl', pg_temp.sorted(coalesce(c.relacl, acldefault((CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END)::"char", c.relowner))),
		'row security', c.relrowsecurity, 'forced', c.relforcerowsecurity, 'columns', pg_temp.columns(c.oid),
		'partition key', CASE c.relkind WHEN 'p' THEN pg_get_partkeydef(c.oid) END, 'partition', pg_get_expr(c.relpartbound, c.oid),
		'query', CASE WHEN c.relkind IN ('v', 'm') THEN string_to_array(pg_get_viewdef(c.oid), E'\n') END,
		'constraints', (SELECT jsonb_object_agg(o.conname, pg_get_constraintdef(o.oid)) FROM pg_constraint o WHERE o.conrelid = c.oid),
		'indexes', (SELECT jsonb_agg(pg_get_indexdef(i.indexrelid) ORDER BY pg_get_indexdef(i.indexrelid)) FROM pg_index i WHERE i.indrelid = c.oid),
		'triggers', (SELECT jsonb_agg(t.tgenabled::text || ' ' || pg_get_triggerdef(t.oid) ORDER BY t.tgname) FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal),
		'rules', (SELECT jsonb_agg(pg_get_ruledef(r.oid) ORDER BY r.rulename) FROM pg_rewrite r WHERE r.ev_class = c.oid AND c.relkind <> 'v'),
		'policies', (SELECT jsonb_agg(to_jsonb(p) ORDER BY p.policyname) FROM pg_policies p WHERE p.schemaname = c.relnamespace::regnamespace::text AND p.tablename = c.relname))
	FROM pg_class c WHERE c.oid = relation
$$;

-- Rows in the order of their texts.  Leaves out the last columns of attachments: when groups were refreshed, and from
-- which OIDs they were folded.
CREATE FUNCTION pg_temp.rows_of(relation regclass) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	rows jsonb;
BEGIN
	EXECUTE format('SELECT jsonb_agg(r ORDER BY r COLLATE "C") FROM %s t, regexp_replace(t::text, '',("[0-9]{4}-[0-9]{2}-[0-9]{2} [^",]*")?(,"\[\{""here"".*)?\)$'', '',)'') r', relation) INTO rows;
	RETURN rows;
END
$$;

CREATE FUNCTION pg_temp.of_object(class regclass, object oid) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	says jsonb;
BEGIN
	CASE class
		WHEN 'pg_proc'::regclass THEN says := pg_temp.of_function(object);
		WHEN 'pg_type'::regclass THEN says := pg_temp.of_type(object);
		WHEN 'pg_class'::regclass THEN says := pg_temp.of_relation(object);
		WHEN 'pg_namespace'::regclass THEN
			SELECT jsonb_build_object('owner', n.nspowner::regrole, 'acl', pg_temp.sorted(coalesce(n.nspacl, acldefault('n', n.nspowner)))) INTO says FROM pg_namespace n WHERE n.oid = object;
		WHEN 'pg_operator'::regclass THEN
			SELECT to_jsonb(o) - '{oid,oprnamespace,oprleft,oprright,oprcom,oprnegate}'::text[] || jsonb_build_object('oprowner', o.oprowner::regrole, 'oprresult', o.oprresult::regtype,
				'oprcom', o.oprcom::regoperator, 'oprnegate', o.oprnegate::regoperator) INTO says FROM pg_operator o WHERE o.oid = object;
		WHEN 'pg_cast'::regclass THEN
			SELECT jsonb_build_object('function', c.castfunc::regprocedure, 'context', c.castcontext, 'method', c.castmethod) INTO says FROM pg_cast c WHERE c.oid = object;
		ELSE says := '{"unknown": true}';
	END CASE;
	RETURN jsonb_strip_nulls(says || jsonb_build_object('comment', obj_description(object, class::text),
		'init privileges', (SELECT jsonb_object_agg(i.objsubid, pg_temp.sorted(i.initprivs)) FROM pg_init_privs i WHERE i.classoid = class AND i.objoid = object)));
END
$$;

\pset format unaligned
\pset tuples_only on
\pset fieldsep '\t'
SELECT :'owner' = '' AS of_extensions \gset
\if :of_extensions
SELECT o.type || ' ' || o.identity, pg_temp.of_object(d.classid, d.objid)
	|| CASE WHEN EXISTS (SELECT FROM pg_class c WHERE d.classid = 'pg_class'::regclass AND c.oid = d.objid AND c.relkind = 'r')
		THEN jsonb_build_object('rows', pg_temp.rows_of(d.objid)) ELSE '{}' END
FROM pg_extension e JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e',
	LATERAL pg_identify_object(d.classid, d.objid, d.objsubid) o
WHERE e.extname LIKE 'stepadv%'
	-- In later servers, row types of tables are members: the table describes them.
	AND NOT EXISTS (SELECT FROM pg_type t JOIN pg_class c ON c.oid = t.typrelid WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid AND c.relkind <> 'c')
UNION ALL
SELECT 'extension ' || e.extname, jsonb_build_object('version', e.extversion, 'relocatable', e.extrelocatable, 'owner', e.extowner::regrole,
	'schema', e.extnamespace::regnamespace, 'schema is', pg_temp.of_object('pg_namespace', e.extnamespace), 'comment', obj_description(e.oid, 'pg_extension'),
	'members', (SELECT count(*) FROM pg_depend d WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'),
	'requires', (SELECT jsonb_agg(r.extname ORDER BY r.extname) FROM pg_depend d JOIN pg_extension r ON d.refclassid = 'pg_extension'::regclass AND r.oid = d.refobjid
		WHERE d.classid = 'pg_extension'::regclass AND d.objid = e.oid),
	'dumped', (SELECT jsonb_object_agg(u.relation::regclass, u.condition) FROM unnest(e.extconfig, e.extcondition) u(relation, condition)))
FROM pg_extension e WHERE e.extname LIKE 'stepadv%'
UNION ALL
-- Objects that an update failed to make members, or to drop.
SELECT 'no member: ' || o.type || ' ' || o.identity, '{}'
FROM (SELECT 'pg_proc'::regclass AS class, oid FROM pg_proc WHERE pronamespace::regnamespace::text LIKE 'stepadv%'
		UNION ALL SELECT 'pg_operator', oid FROM pg_operator WHERE oprnamespace::regnamespace::text LIKE 'stepadv%'
		UNION ALL SELECT 'pg_class', oid FROM pg_class WHERE relnamespace::regnamespace::text LIKE 'stepadv%' AND relkind NOT IN ('i', 'c')
		UNION ALL SELECT 'pg_type', oid FROM pg_type WHERE typnamespace::regnamespace::text LIKE 'stepadv%' AND typrelid = 0 AND typelem = 0) x,
	LATERAL pg_identify_object(x.class, x.oid, 0) o
WHERE NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = x.class AND d.objid = x.oid AND d.deptype = 'e')
ORDER BY 1;
\else
SELECT o.type || ' ' || o.identity, pg_temp.of_object(x.class, x.oid) || x.more
FROM (SELECT 'pg_class'::regclass AS class, c.oid, CASE WHEN c.reloftype <> 0 THEN jsonb_build_object('rows', pg_temp.rows_of(c.oid)) ELSE '{}' END AS more
		FROM pg_class c WHERE c.relowner::regrole::text = :'owner' AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'c')
		UNION ALL SELECT 'pg_proc', p.oid, '{}' FROM pg_proc p WHERE p.proowner::regrole::text = :'owner'
		UNION ALL SELECT 'pg_namespace', n.oid, '{}' FROM pg_namespace n WHERE n.nspowner::regrole::text = :'owner') x,
	LATERAL pg_identify_object(x.class, x.oid, 0) o
ORDER BY 1;
\endif
