#!/usr/bin/env bash
# What pg_isolation_regress runs instead of isolationtester: without footers and empty lines, as psql.sh.
set -euo pipefail
"$@" 2>&1 | sed -E '/^$/d; /^\([0-9]+ rows?\)$/d'
