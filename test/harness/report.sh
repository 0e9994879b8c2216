#!/usr/bin/env bash
# make report [ROLLOUTS=file] [GROUP=name] [OPTIONS='of stepadv-report']: what
# each step was worth, as a page, from a server of its own.
# Leaves report.html in build/report.

. "$(dirname "$0")/rollouts.sh" report >&2
rm -f "$out/report.html"
# OPTIONS are several words on purpose.
sh "$top/client/stepadv-report" ${GROUP:+-g "$GROUP"} ${OPTIONS:-} -o "$out/report.html"
printf 'The report: %s\n' "${out#"$top"/}/report.html"
