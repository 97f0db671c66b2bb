#!/usr/bin/env bash
# Passes all tests: installs what is missing, makes the images, starts container engines of other versions, and runs every
# test of the workspace against the real engines. Arguments go to `cargo nextest run`.
#
# The sweep over the large images (several GB) runs where they can be made within LARGE_TIMEOUT seconds, and the contract
# of engines on each that can be had. What cannot is named as skipped, with the reason, and the runner counts it as
# skipped. An engine that should work here and does not is a failure; where GPUSWEEP_REQUIRE_ENGINES is yes, so is one that
# this machine cannot start, but not one whose suite the mirror does not have. Where GPUSWEEP_TEST_ENGINES names a folder of
# `scripts/engines.sh start`, those engines are used, and left.
set -euo pipefail
cd "$(dirname "$0")/.."

LARGE_TIMEOUT=${LARGE_TIMEOUT:-900}

scripts/install-deps.sh --for tests --require-docker
cargo nextest --version > /dev/null 2>&1 || cargo install --locked cargo-nextest

images/build.sh --small

skipped=() skip=()
leave_out() { # PATTERN WHY
  skipped+=("skipped: $1: $2")
  skip+=(--skip "$1")
}
leave_out_large() { # WHY
  leave_out images::the_large_images_yield_what_they_promise "$1"
  leave_out libtorch::both_probes_agree_on_the_newest_torch "$1"
}
tell_skipped() {
  if [ ${#skipped[@]} -gt 0 ]; then printf '%s\n' "${skipped[@]}" >&2; fi
}

if [ "${LARGE_TIMEOUT}" -eq 0 ]; then
  leave_out_large "LARGE_TIMEOUT is 0"
elif ! timeout --kill-after=30 "$LARGE_TIMEOUT" images/build.sh --large; then
  leave_out_large "they could not be made within $LARGE_TIMEOUT s"
fi

engines=${GPUSWEEP_TEST_ENGINES:-}
if [ -z "$engines" ]; then
  engines=$(mktemp -d)
  trap 'scripts/engines.sh stop "$engines"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  # What came of each is read below: one that failed fails its tests.
  scripts/engines.sh start "$engines" || true
fi
for name in $(scripts/engines.sh list); do
  outcome=$(cat "$engines/$name.engine" 2> /dev/null || echo "failed: it was not started")
  case $outcome in
    "missing: "*Debian*) leave_out "engines::${name//[-.]/_}::" "${outcome#missing: }" ;;
    # What this machine lacks can be given to it: where engines are required, their tests fail instead.
    missing:*) [ "${GPUSWEEP_REQUIRE_ENGINES:-no}" = yes ] || leave_out "engines::${name//[-.]/_}::" "${outcome#missing: }" ;;
  esac
done
tell_skipped

cargo test --workspace --doc --quiet
status=0
GPUSWEEP_TEST_ENGINES=$engines \
  cargo nextest run --workspace --no-fail-fast --run-ignored all "$@" -- "${skip[@]}" || status=$?
exit "$status"
