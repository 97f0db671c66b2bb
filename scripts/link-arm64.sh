#!/usr/bin/env bash
# Builds and links the programs that go into containers for arm64, and says what came out. They are not run: that needs
# an arm64 machine. Where rustup has the target, its compiler is used; else Debian's, in a root that is made once. Exit
# status 77: neither can be had.
set -euo pipefail
cd "$(dirname "$0")/.."

target=aarch64-unknown-linux-gnu
linker=aarch64-linux-gnu-gcc
packages=(gpusweep-checker gpusweep-native)
# The first suite whose compiler is new enough for this workspace. Not released, so its index may be a cached, old one.
suite=forky
image=localhost/gpusweep/cross-arm64:1

build() { # COMMAND...: cargo, with the environment that both ways share
  export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$linker CARGO_PROFILE_RELEASE_PANIC=abort
  RUSTFLAGS='-C target-feature=+crt-static' "$@" -p gpusweep-checker
  RUSTFLAGS='' "$@" -p gpusweep-native
}

if [ "${1:-}" = --inside ]; then
  build cargo build --quiet --release --offline --locked --target "$target" --target-dir "$2"
  exit
fi

out=$PWD/target/arm64
mkdir -p "$out"
if rustup target list --installed 2> /dev/null | grep -qx "$target" && command -v "$linker" > /dev/null; then
  build cargo build --quiet --release --locked --target "$target" --target-dir "$out"
else
  if ! docker image inspect "$image" > /dev/null 2>&1; then
    root=$(mktemp)
    trap 'rm -f "$root"' EXIT
    mmdebstrap --quiet --variant=apt --format=tar --architectures=amd64,arm64 \
      --include=cargo,rustc,gcc,libc6-dev,gcc-aarch64-linux-gnu,libc6-dev-arm64-cross,libstd-rust-dev:arm64 \
      --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt=force-unsafe-io \
      "$suite" "$root" ${GPUSWEEP_DEBIAN_MIRROR:+"$GPUSWEEP_DEBIAN_MIRROR"} || {
      echo "skipped: there is neither rustup's compiler for $target nor a Debian $suite to take one from" >&2
      exit 77
    }
    docker import "$root" "$image" > /dev/null
  fi
  # The crates are fetched out here, where the registry's settings are.
  cargo fetch --quiet --locked
  docker run --rm --network none --volume "$PWD:/source:ro" --volume "$out:/out" \
    --volume "${CARGO_HOME:-$HOME/.cargo}:/cargo" --env CARGO_HOME=/cargo --env RUSTC_BOOTSTRAP=0 --workdir /source \
    --entrypoint /source/scripts/link-arm64.sh "$image" --inside /out
fi

for package in "${packages[@]}"; do
  file=$out/$target/release/$package
  # ELF's machine number of AArch64 is 183.
  machine=$(od -An -tu2 -j18 -N2 "$file" | tr -d ' ')
  [ "$machine" = 183 ] || { echo "error: $file is for machine $machine, not AArch64" >&2; exit 1; }
  echo "$package for $target: $(stat -c %s "$file") bytes"
done
