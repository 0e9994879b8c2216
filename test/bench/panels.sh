# The panels of the dashboard over ten million maintained steps, twice the table of
# steps; BENCH_PANEL_GROUPS=8000 for fewer.

say "$(machine_line) One process, jit off."

panel_groups=${BENCH_PANEL_GROUPS:-$((2 * groups))}
# A run of 20 policy versions, half a day each.
query "CREATE UNLOGGED TABLE kept AS
	SELECT s.step_id + (c << 40) AS step_id, s.group_id + c * $groups AS group_id, s.rollout_id, s.step_no, s.state, s.action, s.reward,
		CASE abs(s.action % 16) WHEN 0 THEN 'edit' WHEN 1 THEN 'test' WHEN 2 THEN 'search' ELSE 'bash' END AS tool, s.action % 7 <> 0 AS ok,
		'v' || (s.group_id + c * $groups) * 20 / ($panel_groups + 1) AS version, '2026-01-01'::timestamptz + (s.group_id + c * $groups) * interval '10 days' / $panel_groups AS at
	FROM generate_series(0::bigint, $(((panel_groups - 1) / groups))) c CROSS JOIN LATERAL (SELECT * FROM steps WHERE group_id + c * $groups <= $panel_groups OFFSET 0) s;
	ALTER TABLE kept ADD PRIMARY KEY (step_id), ALTER group_id SET NOT NULL, ALTER rollout_id SET NOT NULL; CREATE INDEX ON kept (group_id, rollout_id, step_no);
	SET client_min_messages = warning;
	SELECT count(*) FROM stepadv.attach('kept', '{group_id}', 'rollout_id', 'step_no', 'state', 'action', 'reward', columns => '{\"tool\": \"tool\", \"ok\": \"ok\", \"category\": \"tool\", \"policy_version\": \"version\", \"started_at\": \"at\"}', views => '{all}')" >/dev/null
query 'VACUUM ANALYZE kept' >/dev/null
kept_steps=$(query 'SELECT count(*) FROM kept')
query "SELECT stepadv.maintain('kept')" 2>/dev/null >/dev/null
query "SELECT format('VACUUM ANALYZE %s', string_agg(relation::text, ', ')) FROM (SELECT c.oid::regclass AS relation FROM pg_class c WHERE relkind = 'r' AND relname ~ '^kept_(folded|digests)') r" | psql -qX -v ON_ERROR_STOP=1

# Every query of the dashboard, with the initial values of its variables.
panel_queries()
{
	perl -MJSON::PP -e '
		local $/;
		open my $file, "<", shift or die;
		my $dashboard = JSON::PP->new->decode(<$file>);
		my %value = (schema => "public", prefix => "kept", method => "\x27rtmc\x27", other_method => "\x27grpo\x27",
			policy_version => join(",", map { "\x27v$_\x27" } 0 .. 19));
		my @queries = map { ["list of $_->{name}", $_->{query}] } @{ $dashboard->{templating}{list} };
		foreach my $panel (@{ $dashboard->{panels} }) {
			my $title = $panel->{title} =~ s/\$other_method/GRPO/r =~ s/\$method/RTMC/r;
			push @queries, [$title, $_->{rawSql}] for @{ $panel->{targets} // [] };
		}
		foreach my $query (@queries) {
			my ($title, $sql) = @$query;
			$sql =~ s/\$\{(\w+)(?::sqlstring)?\}/$title eq "list of prefix" ? "\x27public\x27" : $value{$1}/ge;
			$sql =~ s/\$__timeFrom\(\)/\x272025-12-01T00:00:00Z\x27/g;
			$sql =~ s/\$__timeTo\(\)/\x272026-02-01T00:00:00Z\x27/g;
			$sql =~ s/[\s;]+/ /g;
			print "$title\t$sql\n";
		}' "$tree/docs/grafana/stepadv.json"
}
panel_rows()
{
	local title sql i=0

	while IFS=$'\t' read -r title sql; do
		i=$((i + 1))
		measure $2_$i "$runs" "$sql" "$one_process"
		row "${title//|/\\|}$1" $2_$i "$(verdict "${times_median[$2_$i]}" '<=' "$panel_limit")"
	done < <(panel_queries)
}
# The goal: 300 ms for 10 million steps, proportionally less for fewer, but at least 25 ms.
panel_limit=$(awk -v n="$kept_steps" 'BEGIN { x = n / 3.3e4; printf("%d", x < 25 ? 25 : x > 300 ? 300 : x) }')
heading "**Panels** of the dashboard for Grafana, each over all $kept_steps steps in $panel_groups groups:"
panel_rows '' panel
query "SET client_min_messages = warning; SELECT stepadv.detach('kept')" >/dev/null
query 'DROP TABLE kept' >/dev/null
