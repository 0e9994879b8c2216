# Progress attribution: the linear fit relative to what it needs at least, reading the
# arrays and the multiply-adds of the products; prediction relative to reading.
# PROGRESS_ROLLOUTS rollouts of 16 steps with 256 features.  Then sparse features: 12 words
# a step, in 1,024 places and in many more; the former also in scikit-learn, if installed.
# docs/results/progress.md gets contributions compared with true progress in the simulator,
# of PROGRESS_GROUPS groups of 8 rollouts: no times, so the same on every machine.

rollouts=${PROGRESS_ROLLOUTS:-100000}
dimension=256

psql -qX -v ON_ERROR_STOP=1 -v rollouts="$rollouts" -v dimension="$dimension" >/dev/null <<-'SQL' || exit 2
	SET client_min_messages = warning;
	CREATE FUNCTION pg_temp.uniform(bigint, bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended($1, $2) >> 11 & 4503599627370495) / 4503599627370496.0 $$;
	CREATE UNLOGGED TABLE vectors AS
	SELECT k, ARRAY(SELECT (pg_temp.uniform(i, k) * 2 - 1)::real FROM generate_series(1, :dimension) i) AS x
	FROM generate_series(0, 999) k;
	CREATE UNLOGGED TABLE features AS
	SELECT r AS rollout_id, t AS step_no, (r % 3 = 0)::int::float8 AS outcome, x
	FROM generate_series(1, :rollouts) r, generate_series(1, 16) t
		JOIN LATERAL (SELECT floor(pg_temp.uniform(r, t) * 1000)::int AS k) p ON true JOIN vectors USING (k);
	VACUUM ANALYZE features;
	CREATE UNLOGGED TABLE words AS
	SELECT k, ARRAY(SELECT 'w' || floor(pg_temp.uniform(i, k) ^ 2 * 3000)::int FROM generate_series(1, 12) i) AS atoms FROM generate_series(0, 999) k;
	CREATE UNLOGGED TABLE sparse AS
	SELECT f.rollout_id, f.step_no, f.outcome, n.indices AS places, n.weights, m.indices AS many_places, m.weights AS many_weights
	FROM (SELECT r AS rollout_id, t AS step_no, (r % 3 = 0)::int::float8 AS outcome, floor(pg_temp.uniform(r, t) * 1000)::int AS k
		FROM generate_series(1, :rollouts) r, generate_series(1, 16) t) f
		JOIN (SELECT k, h.* FROM words, stepadv.hash_features_sparse(atoms, 1024) h) n USING (k)
		JOIN (SELECT k, h.* FROM words, stepadv.hash_features_sparse(atoms, ngrams => 2) h) m USING (k);
	VACUUM ANALYZE sparse;
	CREATE UNLOGGED TABLE dense (rollout_id bigint, outcome float8, x real[]);
	ALTER TABLE dense ALTER x SET STORAGE EXTERNAL;
	INSERT INTO dense SELECT r, (r % 3 = 0)::int, stepadv.hash_features(atoms, 1024) FROM generate_series(1, :rollouts / 10) r CROSS JOIN generate_series(1, 16) t
		JOIN words ON k = floor(pg_temp.uniform(r, t) * 1000)::int;
	VACUUM ANALYZE dense;
SQL

# The same multiply-adds as a bare loop: sums of 16 vectors, and the lower triangle
# of the products of the sums.
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

# Ridge regression of the same sparse features in scikit-learn, one thread, in memory.
scikit_rows()
{
	local python candidate name numbers version off_default off_exact

	for candidate in python3 /usr/bin/python3; do
		if "$candidate" -c 'import sklearn' 2>/dev/null; then
			python=$candidate
			break
		fi
	done
	if [ -z "${python:-}" ]; then
		echo "   scikit-learn's rows are left out: no python3 that has it (apt-get install python3-sklearn)"
		say "scikit-learn was not measured: it is not installed."
		return
	fi
	psql -qXAt -c "COPY (SELECT rollout_id, outcome, array_to_string(places, ' '), array_to_string(weights, ' ') FROM sparse) TO STDOUT" >"$work/sparse.tsv"
	query "SELECT to_json(stepadv.progress_fit(rollout_id, places, weights, outcome, 0.01)) FROM sparse" >"$work/sparse.json"
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$python" "$here/scikit.py" "$work/sparse.tsv" "$work/sparse.json" 0.01 3 >"$work/scikit.out" ||
		{ echo "   scikit-learn's rows are left out: the run failed"; say "scikit-learn was not measured: its run failed."; rm -f "$work/sparse.tsv"; return; }
	rm -f "$work/sparse.tsv"
	while read -r name numbers; do
		case $name in
			version) version=$numbers ;;
			off_default) off_default=$numbers ;;
			off_exact) off_exact=$numbers ;;
			*) store "scikit_$name" "$(tr ' ' '\n' <<<"$numbers" | min_median)" ;;
		esac
	done <"$work/scikit.out"
	row "scikit-learn $version, all of it in memory: adding up the steps of each rollout" scikit_sum
	row "scikit-learn: \`Ridge\` on these sums" scikit_default "weights differ by up to $off_default of the largest"
	row "both together" scikit_all "$(ratio scikit_all progress_sparse_fit) times \`progress_fit\` with reading $(verdict "$(ratio scikit_all progress_sparse_fit)" '>=' 1)"
	row "scikit-learn: \`Ridge\` to a tolerance of 1e-10" scikit_exact "weights differ by up to $off_exact of the largest"
}

measure progress_scan "$runs" "SELECT sum(x[$dimension]) FROM features" "$one_process"
measure progress_fit "$runs" "SELECT length(stepadv.progress_fit(rollout_id, x, outcome, 0.01)::text) > 0 FROM features" "$one_process"
query "CREATE UNLOGGED TABLE progress_models AS SELECT stepadv.progress_fit(rollout_id, x, outcome, 0.01) AS m FROM features" >/dev/null
measure progress_predict "$runs" "SELECT sum(stepadv.progress_predict(m, x)) FROM features, progress_models" "$one_process"

say "Linear fit and prediction of progress (SPA), $rollouts rollouts of 16 steps with $dimension features, one process."
row "reading the arrays (\`sum(x[$dimension])\`)" progress_scan
row "the same multiply-adds as a bare C loop, -O2" progress_loop
row "\`progress_fit\`" progress_fit "$(awk -v f="${times_median[progress_fit]}" -v s="${times_median[progress_scan]}" -v l="${times_median[progress_loop]}" \
	'BEGIN { printf "%.2f", f / (s + l) }') times both together $(verdict "$(awk -v f="${times_median[progress_fit]}" -v s="${times_median[progress_scan]}" \
	-v l="${times_median[progress_loop]}" 'BEGIN { print f / (s + l) }')" '<=' 4)"
row "\`progress_predict\` of every step" progress_predict "$(ratio progress_predict progress_scan) times reading"
measure progress_sparse_scan "$runs" "SELECT sum(weights[1]) FROM sparse" "$one_process"
measure progress_sparse_fit 3 "SELECT length(stepadv.progress_fit(rollout_id, places, weights, outcome, 0.01)::text) > 0 FROM sparse" "$one_process"
measure progress_sparse_dense 3 "SELECT length(stepadv.progress_fit(rollout_id, x, outcome, 0.01)::text) > 0 FROM dense" "$one_process"
measure progress_sparse_tenth 3 "SELECT length(stepadv.progress_fit(rollout_id, places, weights, outcome, 0.01)::text) > 0 FROM sparse WHERE rollout_id <= $rollouts / 10" "$one_process"
measure progress_sparse_many 3 "SELECT length(stepadv.progress_fit(rollout_id, many_places, many_weights, outcome, 0.01)::text) > 0 FROM sparse WHERE rollout_id <= $rollouts / 10" "$one_process"
row "reading sparse features, 12 a step (\`sum(weights[1])\`)" progress_sparse_scan
row "\`progress_fit\` of sparse features, 1,024 places" progress_sparse_fit "$(ratio progress_sparse_fit progress_sparse_scan) times reading"
row "the same, a tenth of the rollouts" progress_sparse_tenth
row "that tenth as dense features" progress_sparse_dense "$(ratio progress_sparse_dense progress_sparse_tenth) times sparse"
row "that tenth with pairs and 262,144 places, by conjugate gradients" progress_sparse_many
scikit_rows
query "DROP TABLE features, vectors, progress_models, sparse, words, dense" >/dev/null

# In a subshell, since it writes a region of another page.
(
	attribution_groups=${PROGRESS_GROUPS:-800}
	region=$work/attribution.md
	report=$top/docs/results/progress.md
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
