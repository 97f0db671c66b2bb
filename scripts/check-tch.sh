#!/usr/bin/env bash
# Builds the tch worker against the libtorch of the image libtorch-wheel, and holds both bindings against each other in
# that image: every value must be the same, and each must say that it is the one.
set -euo pipefail
cd "$(dirname "$0")/.."

image=localhost/gpusweep/libtorch-wheel:1
work=$(mktemp -d)
container=''
clean_up() {
  if [ -n "$container" ]; then docker rm "$container" > /dev/null; fi
  rm -rf "$work"
}
trap clean_up EXIT

images/build.sh libtorch-wheel
container=$(docker create "$image")
docker cp "$container:/opt/libtorch" "$work/libtorch"
docker cp "$container:/opt/nvidia" "$work/nvidia"

LIBTORCH=$work/libtorch cargo build --quiet --release --locked --manifest-path crates/native-tch/Cargo.toml
cargo build --quiet --locked
programs=$(dirname "$(target/debug/gpusweep checker --dir "$work/programs")")

check() {
  docker run --rm --network none --volume "$programs:/programs:ro" --entrypoint /programs/gpusweep-checker "$image" \
    --probe libtorch --device cpu > "$work/$1.json" || { cat "$work/$1.json"; exit 1; }
}
check ops
cp crates/native-tch/target/release/gpusweep-native-tch "$programs/"
check tch

python3 - "$work" <<'END'
import json, sys
ops, tch = (json.load(open("%s/%s.json" % (sys.argv[1], name))) for name in ("ops", "tch"))
assert [ops["runtime"]["binding"], tch["runtime"]["binding"]] == ["ops", "tch"], (ops["runtime"], tch["runtime"])
for field in ("code", "stage", "pytorch", "execution"):
    assert ops[field] == tch[field], (field, ops[field], tch[field])
print("both bindings agree on libtorch", tch["pytorch"]["version"])
END
