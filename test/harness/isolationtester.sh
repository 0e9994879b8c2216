#!/usr/bin/env bash
# pg_isolation_regress runs this instead of isolationtester.  Leaves out footers and empty lines, as psql.sh does.
set -euo pipefail
"$@" 2>&1 | sed -E '/^$/d; /^\([0-9]+ rows?\)$/d'
