# Progress attribution: the linear fit against what it cannot do without, reading
# the arrays and the multiply-adds of the products; prediction against reading.
# PROGRESS_ROLLOUTS makes it smaller (16 steps each, 256 features).  And, into
# docs/progress.md, contributions against true progress on the simulator, on
# PROGRESS_GROUPS groups of 8 rollouts: no times, so the same on every machine.

rollouts=${PROGRESS_ROLLOUTS:-100000}
dimension=256

psql -qX -v ON_ERROR_STOP=1 -v rollouts="$rollouts" -v dimension="$dimension" >/dev/null <<-'SQL' || exit 2
	SET client_min_messages = warning;
	CREATE UNLOGGED TABLE vectors AS
	SELECT k, ARRAY(SELECT (stepadv.progress_random(i, k) * 2 - 1)::real FROM generate_series(1, :dimension) i) AS x
	FROM generate_series(0, 999) k;
	CREATE UNLOGGED TABLE features AS
	SELECT r AS rollout_id, t AS step_no, (r % 3 = 0)::int::float8 AS outcome, x
	FROM generate_series(1, :rollouts) r, generate_series(1, 16) t
		JOIN LATERAL (SELECT floor(stepadv.progress_random(r, t) * 1000)::int AS k) p ON true JOIN vectors USING (k);
	VACUUM ANALYZE features;
SQL

# The same multiply-adds as a bare loop, compiled as the extension is: sums of
# 16 vectors, and the lower triangle of the products of the sums.
cat >"$work/loop.c" <<-'C'
	#include <stdio.h>
	#include <stdlib.h>
	#include <time.h>
	int main(int argc, char **argv)
	{
		int rollouts = atoi(argv[1]), d = atoi(argv[2]), n = d + 1;
		float *x = malloc(1000 * d * sizeof(float));
		double *z = malloc(n * sizeof(double)), *g = calloc((size_t) n * (n + 1) / 2, sizeof(double));
		struct timespec a, b;
		for (int i = 0; i < 1000 * d; i++)
			x[i] = (i * 7919 % 2001) / 1000.0f - 1;
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int r = 0; r < rollouts; r++)
		{
			for (int i = 0; i < d; i++)
				z[i] = 0;
			for (int t = 0; t < 16; t++)
				for (int i = 0; i < d; i++)
					z[i] += x[(r * 16 + t) % 1000 * d + i];
			z[d] = 16;
			for (int i = 0; i < n; i++)
				for (int j = 0; j <= i; j++)
					g[(size_t) i * (i + 1) / 2 + j] += z[i] * z[j];
		}
		clock_gettime(CLOCK_MONOTONIC, &b);
		fprintf(stderr, "%g\n", g[n]);
		printf("%g\n", (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6);
	}
C
"${CC:-cc}" -O2 -o "$work/loop" "$work/loop.c"
store progress_loop "$(for i in 1 2 3; do "$work/loop" "$rollouts" "$dimension" 2>/dev/null; done | min_median)"

measure progress_scan "$runs" "SELECT sum(x[$dimension]) FROM features" "$one_process"
measure progress_fit "$runs" "SELECT length(stepadv.progress_fit(rollout_id, x, outcome, 0.01)::text) > 0 FROM features" "$one_process"
query "CREATE UNLOGGED TABLE progress_models AS SELECT stepadv.progress_fit(rollout_id, x, outcome, 0.01) AS m FROM features" >/dev/null
measure progress_predict "$runs" "SELECT sum(stepadv.progress_predict(m, x)) FROM features, progress_models" "$one_process"
measure progress_epochs 3 "SELECT length(stepadv.progress_fit_mlp(rollout_id, x, outcome, 16, 1, 0.001, 64, 0, 0)::text) > 0 FROM features WHERE rollout_id <= $rollouts / 10" \
	"$one_process SET client_min_messages = warning;"

say "Linear fit and prediction of progress (SPA), $rollouts rollouts of 16 steps with $dimension features, one process."
row "reading the arrays (\`sum(x[$dimension])\`)" progress_scan
row "the same multiply-adds as a bare C loop, -O2" progress_loop
row "\`progress_fit\`" progress_fit "$(awk -v f="${times_median[progress_fit]}" -v s="${times_median[progress_scan]}" -v l="${times_median[progress_loop]}" \
	'BEGIN { printf "%.2f", f / (s + l) }') times both together $(verdict "$(awk -v f="${times_median[progress_fit]}" -v s="${times_median[progress_scan]}" \
	-v l="${times_median[progress_loop]}" 'BEGIN { print f / (s + l) }')" '<=' 2)"
row "\`progress_predict\` of every step" progress_predict "$(ratio progress_predict progress_scan) times reading"
row "\`progress_fit_mlp\`, width 16, one epoch over a tenth of the rollouts, with reading and the first forward pass" progress_epochs \
	"$(awk -v t="${times_median[progress_epochs]}" -v n="$rollouts" -v d="$dimension" 'BEGIN { printf "%.2f", t / (n / 10 * 16 * d * 16 * 3 / 1e6) }') ms per million multiply-adds"
query "DROP TABLE features, vectors, progress_models" >/dev/null

# In a subshell: a region of another page.
(
	attribution_groups=${PROGRESS_GROUPS:-800}
	region=$work/attribution.md
	report=$top/docs/progress.md
	echo "== attribution"
	(cd "$tree" && psql -qX -v ON_ERROR_STOP=1 -v groups="$attribution_groups" -c 'SET jit = off' -c 'SET client_min_messages = warning' \
		-f test/sim/attribution.sql >/dev/null) || exit 2
	{
		query "SELECT format('%s groups of 8 rollouts, %s steps in the held-out groups:', to_char($attribution_groups, 'FM999,999,999'), to_char(min(steps), 'FM999,999,999')) FROM sim.attribution"
		printf '\n| contribution | correlation | R2 of the sum |\n| --- | ---: | ---: |\n'
		query "SELECT format('| %s | %s | %s |', label, to_char(correlation, 'FM90.00'), to_char(r2, 'FM90.00')) FROM sim.attribution ORDER BY n"
	} >"$region"
	write_region attribution
) || exit 2
