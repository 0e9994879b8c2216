#!/usr/bin/env bash
# make report [ROLLOUTS=file] [OPTIONS='of stepadv report']: a report from a server of its own, in build/report.

. "$(dirname "$0")/rollouts.sh" report >&2
sh "$top/test/harness/viewer.sh"
rm -rf "$out/data" "$out"/index.html "$out"/viewer.*
# OPTIONS are several words on purpose.
as_client report rl.steps ${OPTIONS:-} -o "$out" >&2
printf 'The report: %s\n' "${out#"$top"/}/index.html"
