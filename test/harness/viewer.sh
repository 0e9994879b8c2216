#!/bin/sh
# Builds the viewer of the report, unless it is newer than its sources.
# Its libraries come from npm, into build/viewer.
set -eu
cd "$(dirname "$0")/../.."
built=client/stepadv/report/static/viewer.js
if [ -e "$built" ] && [ -z "$(find client/report -newer "$built")" ]; then
	exit 0
fi
command -v npm >/dev/null || { echo "stepadv: no viewer for reports: npm is missing" >&2; exit 1; }
# Ubuntu 22.04 has an older Node.js, which esbuild refuses.
node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' ||
	{ echo "stepadv: no viewer for reports: Node.js $(node --version) is older than 18" >&2; exit 1; }
mkdir -p build/viewer
rm -rf build/viewer/src
cp -R client/report/. build/viewer/
cd build/viewer
# Without a network, npm would retry for minutes.
npm install --silent --no-audit --no-fund --no-package-lock --fetch-retries=1 --fetch-retry-mintimeout=2000 ||
	{ echo "stepadv: no viewer for reports: its libraries cannot be fetched" >&2; exit 1; }
node build.mjs ../../client/stepadv/report/static
