#!/usr/bin/env bash
# Passes all tests: installs what is missing, makes the images, runs every test of the workspace against the real
# engine. Arguments go to `cargo nextest run`.
#
# The sweep over the large images (several GB) runs where they can be made within LARGE_TIMEOUT seconds; where they
# cannot, it is named as skipped, with the reason, and the runner counts it as skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

LARGE_TIMEOUT=${LARGE_TIMEOUT:-900}

scripts/install-deps.sh --for tests --require-docker
cargo nextest --version > /dev/null 2>&1 || cargo install --locked cargo-nextest

images/build.sh --small

ignored=(--run-ignored all)
if [ "${LARGE_TIMEOUT}" -eq 0 ]; then
  reason="LARGE_TIMEOUT is 0"
elif timeout --kill-after=30 "$LARGE_TIMEOUT" images/build.sh --large; then
  reason=
else
  reason="the large images could not be made within $LARGE_TIMEOUT s"
fi
if [ -n "$reason" ]; then
  echo "skipped: images::the_large_images_yield_what_they_promise: $reason" >&2
  ignored=()
fi

cargo test --workspace --doc --quiet
exec cargo nextest run --workspace --no-fail-fast "${ignored[@]}" "$@"
