#!/usr/bin/env bash
# From a fresh clone to tables: installs what is missing, builds gpusweep, makes the three small images, and runs
# matrices/quickstart.yaml. Further arguments go to `gpusweep run`.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh --for quickstart
# Not the release profile: a first look should not wait for the optimizer, and sweeps wait for the engine anyway.
cargo build

# Without an engine the sweep still ends with a table: its cells are blocked, and this machine's own check is shown.
if docker version > /dev/null 2>&1; then
  images/build.sh --quickstart
else
  echo "no Docker Engine answers: the cells will be blocked" >&2
fi

exec cargo run --quiet -- run matrices/quickstart.yaml "$@"
