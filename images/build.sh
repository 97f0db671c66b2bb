#!/usr/bin/env bash
# Makes the images of this folder on the local Docker Engine; what is made already is not made again.
# images/README.md says what each one is and what it costs.
set -euo pipefail
export LC_ALL=C

usage() {
  cat <<'EOF'
usage: images/build.sh [--quickstart] [--small] [--large] [--all] [--list] [NAME...]
  --quickstart   bare, python, torch-cpu (the default)
  --small        every image that is not large
  --large        those whose image.toml says large: over 1 GB to fetch and unpack
  --all          every image
  --list         print the names and do nothing
environment:
  GPUSWEEP_BASE            an image to use in place of debian:bookworm-slim
  GPUSWEEP_DEBIAN_MIRROR   the Debian mirror to use where no image registry answers
exit status: 0 all there, 1 a build failed, 2 usage, 3 no Docker Engine answers
EOF
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/apt-options.sh
. "$here/../scripts/apt-options.sh"
repository=localhost/gpusweep
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/gpusweep
quickstart=(bare python torch-cpu)

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }
all_names() { (cd "$here" && printf '%s\n' */image.toml | cut -d/ -f1); }
names_with() { (cd "$here" && grep -l "^large = $1" -- */image.toml | cut -d/ -f1); }
image_field() { docker image inspect -f "$2" "$repository/$1:1" 2> /dev/null || true; }

# --- what an image is made of: all of it is read from its Dockerfile ---------------------------------------------

# The image of this folder that NAME stands on; nothing where it stands on Debian or on scratch.
parent_of() { sed -n "s,^ARG BASE=$repository/\([^:]*\):1\$,\1,p" "$here/$1/Dockerfile"; }
# The suite of Debian that NAME stands on; nothing where it stands on another image or on scratch.
suite_of() { sed -n 's,^ARG BASE=debian:\([a-z]*\)-slim$,\1,p' "$here/$1/Dockerfile"; }
stands_on_debian() { [ -n "$(suite_of "$1")" ]; }
packages_of() { sed -n 's/^ARG PACKAGES="\(.*\)"$/\1/p' "$here/$1/Dockerfile"; }
# The parts of Debian that its packages come from; nothing where that is main alone.
components_of() { sed -n 's/^ARG COMPONENTS="\(.*\)"$/\1/p' "$here/$1/Dockerfile"; }
wheel_lists_of() { find "$here/$1" -name 'wheels-*.txt' | sort; }

# The digest of everything that decides what is in the image. image.toml is left out: another expectation makes no other
# image. Functions go in as bash prints them, without comments, so that only a change of what they do counts.
recipe_of() {
  local parent
  parent=$(parent_of "$1")
  {
    find "$here/$1" -type f ! -name image.toml | sort | while read -r file; do
      echo "${file##*/}"
      cat "$file"
    done
    if [ -n "$parent" ]; then recipe_of "$parent"; fi
    if stands_on_debian "$1"; then declare -f make_root; fi
    if [ -n "$(wheel_lists_of "$1")" ]; then declare -f unpack_wheels; fi
  } | sha256sum | cut -d' ' -f1
}

# --- leaving nothing behind --------------------------------------------------------------------------------------

work='' child=''
# What each suite of Debian is built on; empty where a root has to be made.
declare -A bases=()

# Docker's older builder keeps an image of every step that it finished: remove those of a failed build, newest first,
# and only those that were not there before and that nobody has tagged.
remove_failed_steps() {
  [ -e "$work/images-before" ] || return 0
  sed -n 's/^ ---> \([0-9a-f]\{12\}\)$/\1/p' "$work/log" | tac | while read -r id; do
    grep -q "^sha256:$id" "$work/images-before" && continue
    [ "$(docker image inspect -f '{{len .RepoTags}}' "$id" 2> /dev/null)" = 0 ] || continue
    docker rmi "$id" > /dev/null 2>&1 || true
  done
}

clean_up() {
  local status=$?
  trap '' INT TERM
  if [ -n "$child" ]; then
    kill "$child" 2> /dev/null || true
    wait "$child" || true
  fi
  if [ -n "$work" ]; then
    remove_failed_steps
    rm -rf "$work"
  fi
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Runs a program so that a signal to this script is answered at once, not after the program has ended. What it prints is
# shown only if it fails.
step() {
  local status=0
  "$@" >> "$work/log" 2>&1 < /dev/null &
  child=$!
  wait "$child" || status=$?
  child=''
  [ "$status" = 0 ] && return
  say "$(tail -n 20 "$work/log")"
  fail "$1 ended with status $status while making $name"
}

# --- making one --------------------------------------------------------------------------------------------------

# Where no registry gives Debian's image, a Debian root with the same packages is made and imported as one layer.
find_debian() {
  local suite=$1 image=debian:$1-slim
  [ -z "${bases[$suite]+known}" ] || return 0
  bases[$suite]=''
  if [ "$suite" = bookworm ] && [ -n "${GPUSWEEP_BASE:-}" ]; then
    bases[$suite]=$GPUSWEEP_BASE
  elif docker image inspect "$image" > /dev/null 2>&1 || timeout 120 docker pull -q "$image" > /dev/null 2>&1; then
    bases[$suite]=$image
  else
    command -v mmdebstrap > /dev/null || fail "no registry gives $image, and mmdebstrap is not installed: run scripts/install-deps.sh"
  fi
}

# How this machine reaches its mirrors counts inside too; it is not left in the image.
make_root() {
  local options=() line components
  components=$(components_of "$name")
  if [ -n "$components" ]; then options+=("--components=${components// /,}"); fi
  while read -r line; do options+=("--aptopt=$line"); done < <(host_apt_options)
  # The documentation goes: 20 MB that no check reads. Excluding it before the first packages are unpacked is slow in
  # mmdebstrap, so that those are emptied at the end.
  # shellcheck disable=SC2016 # $1 is for the shell of the hook
  step mmdebstrap --variant=apt --format=tar --include="$(packages_of "$name" | tr ' ' ,)" \
    "${options[@]}" --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
    --extract-hook='printf "path-exclude=/usr/share/%s/*\n" doc man locale > "$1/etc/dpkg/dpkg.cfg.d/slim"' \
    --customize-hook='rm -rf "$1"/etc/apt/apt.conf.d/99mmdebstrap "$1"/usr/share/doc/* "$1"/usr/share/man/* "$1"/usr/share/locale/*' \
    "$(suite_of "$name")" "$work/root.tar" ${GPUSWEEP_DEBIAN_MIRROR:+"$GPUSWEEP_DEBIAN_MIRROR"}
  step docker import --change "$(grep '^CMD ' "$here/$name/Dockerfile")" --change "LABEL gpusweep.recipe=$recipe" \
    "$work/root.tar" "$repository/$name:1"
  rm "$work/root.tar"
}

# Unpacks each wheels-X.txt into X/ of the build context, for the image's Python and not for this machine's.
unpack_wheels() {
  local version=0.13.9 list target index
  local uv=$cache/uv-$version
  if [ ! -x "$uv" ]; then
    step python3 -m venv "$work/venv"
    step "$work/venv/bin/pip" install -q "uv==$version"
    mv "$work/venv/bin/uv" "$uv"
    rm -rf "$work/venv"
  fi
  # uv does not read pip's settings: a machine that has an index of its own has told pip.
  index=${PIP_INDEX_URL:-$(python3 -m pip config get global.index-url 2> /dev/null || true)}
  if [ -n "$index" ]; then export UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-$index}; fi
  for list in "$@"; do
    target=$(basename "$list" .txt)
    target=$work/context/${target#wheels-}
    step "$uv" pip install --no-deps --cache-dir "$work/uv" --target "$target" --python-version 3.11 \
      --python-platform "$(uname -m)-manylinux_2_28" -r "$list"
    rm -rf "${target:?}/bin" "$target/.lock" "$work/uv"
  done
}

build_dockerfile() {
  local lists options=(--label "gpusweep.recipe=$recipe") variable
  mkdir "$work/context"
  cp "$here/$name/Dockerfile" "$work/context/"
  mapfile -t lists < <(wheel_lists_of "$name")
  if [ ${#lists[@]} -gt 0 ]; then unpack_wheels "${lists[@]}"; fi
  if stands_on_debian "$name"; then
    # apt-get in it uses the network as this machine does, on an engine without a bridge too.
    options+=(--network host --build-arg "BASE=${bases[$(suite_of "$name")]}")
    for variable in http_proxy https_proxy; do
      if [ -n "${!variable:-}" ]; then options+=(--build-arg "$variable"); fi
    done
  else
    options+=(--network none)
  fi
  docker images -aq --no-trunc > "$work/images-before"
  step docker build --force-rm "${options[@]}" -t "$repository/$name:1" "$work/context"
  rm -rf "$work/context" "$work/images-before"
}

report() {
  printf '%-13s %-6s %7.1f s %8s\n' "$1" "$2" "$3" "$(image_field "$1" '{{.Size}}' | numfmt --to=si --suffix=B)" >&2
}
is_made() { [ "$(image_field "$name" '{{index .Config.Labels "gpusweep.recipe"}}')" = "$recipe" ]; }

# Two at a time would make the same image twice: the second waits here, and finds it made.
take_turn() {
  [ -z "$work" ] || return 0
  mkdir -p "$cache"
  exec 9> "$cache/build.lock"
  flock -n 9 || { say "waiting for another build.sh to end"; flock 9; }
  # Whoever held the lock before is gone: what a killed one left is garbage.
  rm -rf "$cache"/build.??????
  work=$(mktemp -d "$cache/build.XXXXXX")
}

# Makes NAME, and first the image it stands on, unless it is there.
ensure() {
  local name=$1 recipe parent before start suite
  recipe=$(recipe_of "$name")
  is_made || take_turn
  if is_made; then report "$name" cached 0; return; fi
  parent=$(parent_of "$name")
  if [ -n "$parent" ]; then ensure "$parent"; fi
  before=$(image_field "$name" '{{.Id}}')
  start=$EPOCHREALTIME
  say "$name: building"
  : > "$work/log"
  suite=$(suite_of "$name")
  if [ -n "$suite" ]; then find_debian "$suite"; fi
  if [ -n "$suite" ] && [ -z "${bases[$suite]}" ]; then make_root; else build_dockerfile; fi
  # The image that it replaces has lost its name; it stays only where something still uses it.
  if [ -n "$before" ] && [ "$before" != "$(image_field "$name" '{{.Id}}')" ]; then
    docker rmi "$before" > /dev/null 2>&1 || true
  fi
  report "$name" built "$(awk "BEGIN { print $EPOCHREALTIME - $start }")"
}

main() {
  local chosen=() argument name
  for argument in "$@"; do
    case $argument in
      --quickstart) chosen+=("${quickstart[@]}") ;;
      --small) mapfile -t -O "${#chosen[@]}" chosen < <(names_with false) ;;
      --large) mapfile -t -O "${#chosen[@]}" chosen < <(names_with true) ;;
      --all) mapfile -t -O "${#chosen[@]}" chosen < <(all_names) ;;
      --list) all_names; return ;;
      -h | --help) usage; return ;;
      -*) say "error: unknown option '$argument' (see --help)"; exit 2 ;;
      *)
        if ! all_names | grep -qxF -e "$argument"; then
          say "error: no image '$argument'; there are: $(all_names | paste -sd' ')"
          exit 2
        fi
        chosen+=("$argument")
        ;;
    esac
  done
  [ ${#chosen[@]} -gt 0 ] || chosen=("${quickstart[@]}")
  if ! docker version -f '{{.Server.Version}}' > /dev/null 2>&1; then
    say "error: no Docker Engine answers (docker version fails): run scripts/install-deps.sh as root, or set DOCKER_HOST"
    exit 3
  fi
  for name in $(printf '%s\n' "${chosen[@]}" | awk '!seen[$0]++'); do ensure "$name"; done
}
main "$@"
