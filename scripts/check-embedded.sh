#!/usr/bin/env bash
# Holds what the checker carries for other machines against the tools of those: NVIDIA's assembler for the PTX kernels, from
# compute capability 5.0 to the newest, and vermin for the Python workers, which have to run on every Python from 3.6 on.
# The HIP kernels are compiled by the tests, in an image that has AMD's compiler.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=target/embedded-tools
assemblers=(nvidia-cuda-nvcc-cu12==12.9.86 nvidia-cuda-nvcc==13.5.37)
vermin=vermin==1.9.2

if [ ! -x "$tools/venv/bin/pip" ]; then python3 -m venv "$tools/venv"; fi
"$tools/venv/bin/pip" install --quiet --disable-pip-version-check "$vermin"
"$tools/venv/bin/vermin" --no-tips --violations --target=3.6- crates/checker/src/probes/*.py

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for package in "${assemblers[@]}"; do
  if [ ! -d "$tools/$package" ]; then
    "$tools/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$tools/$package" "$package"
  fi
  ptxas=$(find "$tools/$package" -name ptxas -type f)
  # pip keeps no permissions of what it unpacks.
  chmod +x "$ptxas"
  mapfile -t architectures < <("$ptxas" --help | grep -oE "'sm_[0-9]+'" | tr -d "'" | sort -uV)
  [ ${#architectures[@]} -gt 5 ] || { echo "error: $package names only ${#architectures[@]} architectures" >&2; exit 1; }
  for architecture in "${architectures[@]}"; do
    "$ptxas" --gpu-name "$architecture" --output-file "$work/kernels.cubin" crates/native/src/driver/kernels.ptx
    [ -s "$work/kernels.cubin" ]
  done
  echo "$package assembles the kernels for ${architectures[*]}"
done
