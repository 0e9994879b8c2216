-- The page of stepadv-report: text, numbers, outcomes and names of files, and nothing of a database.

-- What XML does not allow, and what turns the direction of the text around it,
-- becomes U+FFFD.
CREATE FUNCTION stepadv_internal.report_clean(words text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT regexp_replace(words, '[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]', chr(65533), 'g');
END;
COMMENT ON FUNCTION stepadv_internal.report_clean(text) IS 'part of stepadv-report: text without what XML does not allow and what turns the direction of the text around it';

-- Text for HTML and for attributes.
CREATE FUNCTION stepadv_internal.report_html(words text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT replace(replace(replace(replace(replace(stepadv_internal.report_clean(words), '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;');
END;
COMMENT ON FUNCTION stepadv_internal.report_html(text) IS 'part of stepadv-report: text for HTML and for attributes';

-- One line of at most so many characters.  In PL/pgSQL, which keeps its plans: a page has
-- thousands.
CREATE FUNCTION stepadv_internal.report_short(words text, length integer) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	line text := translate(left(report_short.words, 4 * report_short.length), E'\t\n\x0b\f\r', '     ');
BEGIN
	-- Most lines are such already, and to look is cheaper than to write anew.
	IF line ~ '  |[[:cntrl:]]|[\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]' THEN
		line := regexp_replace(line, '[[:space:][:cntrl:]]+', ' ', 'g');
	END IF;
	line := btrim(line);
	RETURN CASE WHEN pg_catalog.length(line) > report_short.length THEN left(line, report_short.length - 1) || '…' ELSE line END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_short(text, integer) IS 'part of stepadv-report: one line of at most so many characters';

-- Names of versions and the like differ at their end.
CREATE FUNCTION stepadv_internal.report_end(words text, length integer) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN pg_catalog.length(s.line) > report_end.length THEN '…' || right(s.line, report_end.length - 1) ELSE s.line END FROM stepadv_internal.report_short(words, 1000) s(line);
END;
COMMENT ON FUNCTION stepadv_internal.report_end(text, integer) IS 'part of stepadv-report: one line of at most so many characters, the last ones';

-- Numbers for people: so many digits behind the point unless that hides them.  In PL/pgSQL, which
-- keeps its plans: a page has thousands.
CREATE FUNCTION stepadv_internal.report_number(x float8, digits integer, signed boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	size CONSTANT float8 := abs(report_number.x);
BEGIN
	RETURN CASE WHEN size IS NULL THEN '·' ELSE CASE WHEN report_number.x < 0 THEN '−' WHEN report_number.signed AND size > 0 THEN '+' ELSE '' END || replace(CASE
		WHEN size = 0 THEN '0'
		WHEN size < 0.5 * 10.0 ^ -report_number.digits OR size >= 1e7 THEN btrim(to_char(size, '9.9EEEE'))
		ELSE trim_scale(round(size::numeric, report_number.digits))::text END, '-', '−') END;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_number(float8, integer, boolean) IS 'part of stepadv-report: a number for people';

CREATE FUNCTION stepadv_internal.report_percent(x float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT coalesce(round(100 * x::numeric) || ' %', '·');
END;
COMMENT ON FUNCTION stepadv_internal.report_percent(float8) IS 'part of stepadv-report: a share for people';

-- The class of a cell: sign and fifths of the largest.
CREATE FUNCTION stepadv_internal.report_shade(advantage float8, largest float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN advantage IS NULL THEN 'u' WHEN advantage = 0 OR largest <= 1e-9 THEN 'z'
		-- (As text: of other types || is not immutable, and this would be called instead of written out.)
		ELSE CASE WHEN advantage > 0 THEN 'p' ELSE 'n' END || greatest(1, least(5, ceil(5 * abs(advantage) / largest)))::integer::text END;
END;
COMMENT ON FUNCTION stepadv_internal.report_shade(float8, float8) IS 'part of stepadv-report: the class of a cell: sign and fifths of the largest';

CREATE FUNCTION stepadv_internal.report_verdict(success boolean, OUT class text, OUT mark text, OUT word text) 
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN success THEN 'ok' WHEN NOT success THEN 'bad' ELSE 'open' END,
		CASE WHEN success THEN '✓' WHEN NOT success THEN '✗' ELSE '?' END,
		CASE WHEN success THEN 'success' WHEN NOT success THEN 'failure' ELSE 'not judged' END;
END;
COMMENT ON FUNCTION stepadv_internal.report_verdict(boolean) IS 'part of stepadv-report: an outcome as a class, a mark and a word';

CREATE FUNCTION stepadv_internal.report_tile(figure text, of text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format('<div class="tile"><b>%s</b><span>%s</span></div>', figure, of);
END;
COMMENT ON FUNCTION stepadv_internal.report_tile(text, text) IS 'part of stepadv-report: a figure and what it is of';

-- An outcome and a name, the latter with a direction of its own.
CREATE FUNCTION stepadv_internal.report_rollout_name(rollout_id text, success boolean) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format('<span class="%s" title="%s">%s</span> <bdi>%s</bdi>', v.class, v.word, v.mark, stepadv_internal.report_html(stepadv_internal.report_short(rollout_id, 60))) FROM stepadv_internal.report_verdict(success) v;
END;
COMMENT ON FUNCTION stepadv_internal.report_rollout_name(text, boolean) IS 'part of stepadv-report: an outcome and a name';

-- The file of a group: what can be read of its name, and what tells it from others;
-- as long as the group is there, its page keeps its address.
CREATE FUNCTION stepadv_internal.report_file(g stepadv_internal.report_group) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT 'group-' || coalesce(nullif(btrim(left(regexp_replace(lower(g.name), '[^a-z0-9]+', '-', 'g'), 40), '-'), '') || '-', '') || left(md5(g.key::text), 10) || '.html';
END;
COMMENT ON FUNCTION stepadv_internal.report_file(stepadv_internal.report_group) IS 'part of stepadv-report: the name of the file of a group: letters, digits and hyphens';

-- Where a step is: on the page of its group, or on the page of all.
CREATE FUNCTION stepadv_internal.report_anchor(r stepadv_internal.report, s stepadv_internal.report_step) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN r.in_files THEN format('r%s-s%s', s.rollout_no, s.step_no) ELSE format('g%sr%ss%s', s.group_no, s.rollout_no, s.step_rank) END;
END;
COMMENT ON FUNCTION stepadv_internal.report_anchor(stepadv_internal.report, stepadv_internal.report_step) IS 'part of stepadv-report: the address of a step on its page';
