#!/usr/bin/env bash
# make reference: the pages of docs/reference, from the comments of the objects.

. "$(dirname "$0")/cluster.sh"
prepare plain
start_cluster
psql -X -q -c 'CREATE EXTENSION stepadv'
rm -f "$top"/docs/reference/*.md
perl "$top/test/harness/reference.pl" "host=$PGHOST dbname=$PGDATABASE user=$PGUSER" "$top/docs/reference"
