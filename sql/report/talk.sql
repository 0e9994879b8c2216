-- The page of stepadv-report: rollouts side by side, each step as what was seen, thought, done
-- and answered, with what methods say of it.

-- Whether a text is JSON with something in it to unfold.
CREATE FUNCTION stepadv_internal.report_unfolded(words text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF report_unfolded.words !~ '^\s*[[{]' OR length(report_unfolded.words) > 20000 THEN
		RETURN NULL;
	END IF;
	RETURN jsonb_pretty(report_unfolded.words::jsonb);
EXCEPTION WHEN data_exception OR program_limit_exceeded OR statement_too_complex THEN
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_unfolded(text) IS 'part of stepadv-report: JSON in lines, NULL of what is none or too long';

-- A text as it is shown: JSON in lines, and not more of it than anybody reads.
CREATE FUNCTION stepadv_internal.report_shown(words text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN length(words) <= 160 THEN words ELSE coalesce(stepadv_internal.report_unfolded(words), left(words, 20000)) END;
END;
COMMENT ON FUNCTION stepadv_internal.report_shown(text) IS 'part of stepadv-report: a text as it is shown';

-- Lines that were not there before are marked, unless nearly all are new; first_new: the first of them.
CREATE FUNCTION stepadv_internal.report_marked(shown text, before text, OUT marked text, OUT first_new text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	some_known boolean;
BEGIN
	IF report_marked.before IS NOT NULL THEN
		SELECT coalesce(count(*) FILTER (WHERE w.known) * 3 >= count(*) FILTER (WHERE NOT w.blank) AND bool_or(NOT w.known AND NOT w.blank), false), (array_agg(w.line ORDER BY w.i) FILTER (WHERE NOT w.known AND NOT w.blank))[1],
			string_agg(CASE WHEN w.known OR w.blank THEN stepadv_internal.report_html(w.line) ELSE '<mark>' || stepadv_internal.report_html(w.line) || '</mark>' END, E'\n' ORDER BY w.i)
		INTO some_known, first_new, marked
		FROM (SELECT l.line, l.i, btrim(l.line) = '' AS blank, btrim(l.line) <> '' AND l.line IN (SELECT k FROM unnest(string_to_array(report_marked.before, E'\n')) k) AS known
			FROM unnest(string_to_array(report_marked.shown, E'\n')) WITH ORDINALITY l(line, i)) w;
	END IF;
	IF some_known IS NOT TRUE THEN
		first_new := NULL;
		marked := stepadv_internal.report_html(report_marked.shown);
	END IF;
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_marked(text, text) IS 'part of stepadv-report: HTML of a text in which lines that were not there before are marked';

-- A text of a step.  Of long ones a line, the rest on demand.  In PL/pgSQL, which keeps its
-- plans: it is called for every text of every step.
CREATE FUNCTION stepadv_internal.report_text(words text, before text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	shown CONSTANT text := stepadv_internal.report_shown(report_text.words);
	n_lines CONSTANT integer := 1 + length(shown) - length(replace(shown, E'\n', ''));
	m record;
BEGIN
	-- One line is new or is not: there is nothing to mark.
	m := stepadv_internal.report_marked(shown, CASE WHEN n_lines > 1 THEN stepadv_internal.report_shown(report_text.before) END);
	IF n_lines <= 8 AND length(shown) <= 600 THEN
		RETURN '<pre>' || m.marked || '</pre>';
	END IF;
	RETURN format('<details><summary><bdi>%s</bdi> <span class="dim">%s</span></summary><pre>%s</pre>%s</details>', stepadv_internal.report_html(stepadv_internal.report_short(coalesce(m.first_new, shown), 160)),
		CASE WHEN n_lines > 1 THEN n_lines || ' lines' ELSE length(report_text.words) || ' characters' END, m.marked,
		CASE WHEN length(report_text.words) > 20000 THEN format('<p class="note">And %s more characters.</p>', length(report_text.words) - 20000) ELSE '' END);
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_text(text, text) IS 'part of stepadv-report: a text of a step, folded where it is long, with what is new in it marked';

CREATE FUNCTION stepadv_internal.report_words(kind text, words text, before text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF report_words.words = '' OR report_words.words IS NULL THEN
		RETURN NULL;
	END IF;
	RETURN format('<div class="%s"><span class="kind">%1$s</span>%s</div>', report_words.kind, stepadv_internal.report_text(report_words.words, report_words.before));
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_words(text, text, text) IS 'part of stepadv-report: a text of a step; kind: saw, thought, did or got';

-- A call: a line if it is short, else its arguments one below the other.
CREATE FUNCTION stepadv_internal.report_call(call stepadv_internal.report_call) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN length(l.line) <= 120 AND strpos(coalesce(array_to_string(call.given, ''), ''), E'\n') = 0 THEN format('<pre><b>%s</b>%s</pre>', l.name, stepadv_internal.report_html(substr(l.line, length(call.name) + 1)))
		ELSE format('<pre><b>%s</b></pre><dl>%s</dl>', l.name, (SELECT string_agg(concat('<dt>' || stepadv_internal.report_html(a.key) || ':</dt>', CASE WHEN length(a.given) > 40 OR strpos(a.given, E'\n') > 0 THEN '<dd class="long">' ELSE '<dd>' END, stepadv_internal.report_text(coalesce(a.given, 'null'), NULL::text), '</dd>'), '' ORDER BY a.i)
			FROM unnest(call.keys, call.given) WITH ORDINALITY a(key, given, i))) END
	FROM (SELECT stepadv_internal.report_call_line(call) AS line, stepadv_internal.report_html(call.name) AS name) l;
END;
COMMENT ON FUNCTION stepadv_internal.report_call(stepadv_internal.report_call) IS 'part of stepadv-report: a call as people read it';

-- What a step did: calls as people read them, one below the other, and the JSON on demand.
CREATE FUNCTION stepadv_internal.report_did(words text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	calls CONSTANT stepadv_internal.report_call[] := stepadv_internal.report_calls(report_did.words);
	call stepadv_internal.report_call;
	items text := '';
BEGIN
	IF calls IS NULL THEN
		RETURN stepadv_internal.report_words('did', report_did.words, NULL::text);
	END IF;
	FOREACH call IN ARRAY calls LOOP
		items := items || '<li>' || stepadv_internal.report_call(call) || '</li>';
	END LOOP;
	RETURN format('<div class="did"><span class="kind">did</span><ul class="calls">%s</ul><details class="raw"><summary>JSON</summary><pre>%s</pre></details></div>', items,
		stepadv_internal.report_html(left(report_did.words, 20000)));
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_did(text) IS 'part of stepadv-report: what a step did: calls as people read them, any other text as it is';

-- Why a step is judged as it is, in words: who else came here, what they did, what became of them.
CREATE FUNCTION stepadv_internal.report_reason(n_visits bigint, n_alike bigint, n_others_judged bigint, n_others_succeeded bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT CASE WHEN n_visits IS NULL THEN '' WHEN n_visits = 1 THEN 'nobody else came here' WHEN n_alike = n_visits THEN format('all %s visits took this', n_visits)
		ELSE format('taken in %s of %s visits', n_alike, n_visits) || CASE WHEN n_others_judged = 0 THEN ''
			WHEN n_others_succeeded = n_others_judged THEN '; the others succeeded' WHEN n_others_succeeded = 0 THEN '; the others failed'
			ELSE format('; of the others %s of %s succeeded', n_others_succeeded, n_others_judged) END END;
END;
COMMENT ON FUNCTION stepadv_internal.report_reason(bigint, bigint, bigint, bigint) IS 'part of stepadv-report: who else came to a state, what they did there and what became of them, in words';

-- What methods say of a step: a bar each, as long as its share of the largest in the group.
CREATE FUNCTION stepadv_internal.report_advantage_bars(scales stepadv_internal.report_scale[], drawn integer[], advantages float8[]) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	bars text := '';
	scale stepadv_internal.report_scale;
	advantage float8;
BEGIN
	FOREACH scale IN ARRAY report_advantage_bars.scales LOOP
		advantage := report_advantage_bars.advantages[scale.method_no];
		CONTINUE WHEN advantage IS NULL OR scale.method_no <> ALL (report_advantage_bars.drawn);
		bars := bars || format('<li><span>%s</span><b class="%s" style="--v:%s"></b><span>%s</span></li>', scale.method, CASE WHEN advantage < 0 THEN 'neg' ELSE 'pos' END,
			CASE WHEN scale.largest > 1e-9 THEN round((abs(advantage) / scale.largest)::numeric, 3) ELSE 0 END, stepadv_internal.report_number(advantage, 2, true));
	END LOOP;
	RETURN '<ul class="bars">' || nullif(bars, '') || '</ul>';
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_advantage_bars(stepadv_internal.report_scale[], integer[], float8[]) IS 'part of stepadv-report: what methods say of a step, as bars; scales: those of its group';

-- A step of a rollout; before: what it saw a step ago, following: what it saw next, which a
-- result need not say again.
CREATE FUNCTION stepadv_internal.report_turn(r stepadv_internal.report, s stepadv_internal.report_step, state bigint, seen text, before text, following text, thought text, done text, result text, reason text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT concat(format('<article id="%1$s" data-step="%2$s"%3$s><h4><a href="#%1$s">step %2$s</a> <span class="dim">%4$s%5$s</span></h4>', stepadv_internal.report_anchor(r, s), s.step_no, ' data-state="' || state || '"', reason,
			CASE WHEN s.is_told AND s.q IS NOT NULL THEN format('%sq %s, v %s%s', CASE WHEN reason <> '' THEN '; ' ELSE '' END, stepadv_internal.report_number(s.q, 2, false), stepadv_internal.report_number(s.v, 2, false),
				CASE WHEN s.stderr > 0 THEN ' ± ' || stepadv_internal.report_number(s.stderr, 2, false) ELSE '' END) ELSE '' END),
		stepadv_internal.report_words('saw', seen, before), stepadv_internal.report_words('thought', thought, NULL::text), stepadv_internal.report_did(done),
		CASE WHEN result IS DISTINCT FROM following THEN stepadv_internal.report_words('got', result, seen) END,
		stepadv_internal.report_advantage_bars(r.scales, r.drawn, s.advantages), '</article>');
END;
COMMENT ON FUNCTION stepadv_internal.report_turn(stepadv_internal.report, stepadv_internal.report_step, bigint, text, text, text, text, text, text, text) IS 'part of stepadv-report: a step of a rollout, with what methods say of it';

CREATE FUNCTION stepadv_internal.report_talk_head(o stepadv_internal.report_rollout) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT format(E'<section class="talk %s" id="r%s"><h4>%s <span class="dim">%s%s</span></h4>', v.class, o.rollout_no, stepadv_internal.report_rollout_name(o.rollout_id, o.success),
		v.word || coalesce(' · return ' || stepadv_internal.report_number(o.return, 3, false), '') || format(' · %s steps', o.n_steps), coalesce(' · ' || stepadv_internal.report_html(stepadv_internal.report_short(o.more, 80)), ''))
	FROM stepadv_internal.report_verdict(o.success) v;
END;
COMMENT ON FUNCTION stepadv_internal.report_talk_head(stepadv_internal.report_rollout) IS 'part of stepadv-report: how a rollout begins';

-- The rollouts of a group, side by side; nothing but the text of a step is in memory at a time.
CREATE FUNCTION stepadv_internal.report_talks(a stepadv_internal.attached, r stepadv_internal.report, of_group stepadv_internal.report_group, observed text, done text) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET max_parallel_workers_per_gather = 0
AS $$
DECLARE
	shown CONSTANT regclass := (a).shown;
	rows CONSTANT regclass := (a).rows;
	texts record;
BEGIN
	SELECT * INTO texts FROM stepadv_internal.report_texts(a, shown, report_talks.observed, report_talks.done);
	RETURN NEXT '<h3 id="talks">Rollouts, step by step</h3><p class="note">Side by side: more to the right. Lines that were not there the step before are marked. A bar is a method''s advantage, as long as its share of the largest in the group.</p><div class="talks">';
	RETURN QUERY EXECUTE format('SELECT concat(CASE WHEN t.n_before = 0 THEN stepadv_internal.report_talk_head(t.o) END,
			CASE WHEN t.s IS NULL THEN ''<p class="dim">no steps</p>'' ELSE stepadv_internal.report_turn($1, t.s, t.state, t.seen, t.before, t.following, t.thought, t.done, t.result,
				stepadv_internal.report_reason(t.n_visits, t.n_alike, t.n_others_judged, t.n_others_succeeded)) END, CASE WHEN t.is_last THEN ''</section>'' END)
		FROM (SELECT o, s, y.state, x.seen, x.thought, x.done, x.result, lag(x.seen) OVER talk AS before, lead(x.seen) OVER talk AS following, row_number() OVER talk - 1 AS n_before, lead(o.rollout_no) OVER talk IS NULL AS is_last,
				CASE WHEN y.state IS NOT NULL THEN count(*) OVER here END AS n_visits, count(*) OVER alike AS n_alike, count(o.success) OVER here - count(o.success) OVER alike AS n_others_judged,
				count(*) FILTER (WHERE o.success) OVER here - count(*) FILTER (WHERE o.success) OVER alike AS n_others_succeeded
			FROM unnest(($1).rollouts) o LEFT JOIN unnest(($1).steps) s ON s.rollout_no = o.rollout_no
			LEFT JOIN (SELECT x.stepadv_step, (%1$s)::text AS seen, (%2$s)::text AS thought, (coalesce(%3$s))::text AS done, (%4$s)::text AS result FROM %5$s x WHERE %6$s) x ON x.stepadv_step = s.step_key
			LEFT JOIN (SELECT x.step_id, x.state, x.action FROM %7$s x WHERE %8$s) y ON y.step_id = s.step_key
			WINDOW talk AS (PARTITION BY o.rollout_no ORDER BY s.step_rank), here AS (PARTITION BY y.state), alike AS (PARTITION BY y.state, y.action)) t
		ORDER BY (t.o).rollout_no, (t.s).step_rank',
		texts.observed, coalesce(stepadv_internal.report_base_column(shown, 'thought'::text, NULL::text[]), stepadv_internal.report_base_column(shown, 'reasoning'::text, NULL::text[]), 'NULL'), texts.done,
		coalesce(stepadv_internal.report_base_column(shown, 'next_observation'::text, NULL::text[]), 'NULL'), shown, stepadv_internal.report_key_filter(shown, (of_group).key),
		rows, stepadv_internal.report_key_filter(rows, (of_group).key)) USING r;
	RETURN NEXT '</div>';
END
$$;
COMMENT ON FUNCTION stepadv_internal.report_talks(stepadv_internal.attached, stepadv_internal.report, stepadv_internal.report_group, text, text) IS 'part of stepadv-report: the rollouts of a group side by side';
