#!/usr/bin/env bash
# Starts container engines of several versions beside the machine's own, for tests that must hold on each of them.
# Each has its root from a suite of Debian, and mounts, network, processes, sockets and state of its own: the machine's
# engine and its bridge stay as they are, and when an engine ends, nothing of it is left.
set -euo pipefail
export LC_ALL=C

usage() {
  cat <<'EOF'
usage: scripts/engines.sh start DIR [NAME...]   start these engines (all, unless some are named), state in DIR
       scripts/engines.sh stop DIR              stop every engine of DIR, and remove what they left there
       scripts/engines.sh list                  print the names
DIR/NAME.engine holds in one line what came of it: `unix://SOCKET`, `missing: WHY` (it cannot be had on this machine) or
`failed: WHY` (it should work here, and does not). The roots are made once, in the cache that images/build.sh uses.
Each gets the images that the tests need from the machine's own engine, where they are made.
environment: GPUSWEEP_DEBIAN_MIRROR, the Debian mirror to use
exit status of start: 0 all answer, 1 one failed, 4 none failed and one is missing
EOF
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/apt-options.sh
. "$here/apt-options.sh"
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/gpusweep/roots
packages=bash,mount,ca-certificates,docker.io,podman,crun
namespaces=(--mount --net --pid --ipc --uts --fork --kill-child=KILL --propagation private)

# Name, suite of Debian, program, and the pattern of its version.
engines() {
  cat <<'EOF'
docker-20.10 bookworm dockerd 20.10.*
docker-26 trixie dockerd 26.*
docker-28 forky dockerd (2[89]|[3-9][0-9]).*
podman-4.3 bookworm podman 4.3.*
podman-5 trixie podman 5.*
EOF
}

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 2; }

# --- roots -------------------------------------------------------------------------------------------------------

# Unpacked, not installed: an engine needs its files alone, and that takes a third of the time. `/bin` and its like are
# links in every suite named here, which the packages leave to the installer.
make_root() { # SUITE ROOT
  local options=() line
  while read -r line; do options+=("--aptopt=$line"); done < <(host_apt_options)
  # shellcheck disable=SC2016 # $1 is for the shell of the hook
  mmdebstrap --variant=extract --include="$packages" \
    --setup-hook='for d in bin sbin lib lib64; do mkdir -p "$1/usr/$d"; ln -s "usr/$d" "$1/$d"; done' \
    "${options[@]}" --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' \
    "$1" "$2" ${GPUSWEEP_DEBIAN_MIRROR:+"$GPUSWEEP_DEBIAN_MIRROR"} || return
  mkdir -p "$2"/etc/{cdi,docker,containers}
  echo root:x:0:0::/root:/bin/bash > "$2/etc/passwd"
  echo root:x:0: > "$2/etc/group"
}

# Prints the root of a suite, made where it is not there. Named by what decides on its content. No two make the same.
root_of() { # SUITE LOG
  local key root lock
  key=$({ echo "$1 $packages ${GPUSWEEP_DEBIAN_MIRROR:-}"; declare -f make_root; } | sha256sum | cut -c1-12)
  root=$cache/$1-$key
  mkdir -p "$cache"
  exec {lock}> "$cache/$1.lock"
  flock "$lock"
  if [ ! -d "$root" ]; then
    say "making the root of Debian $1"
    rm -rf "$root.new"
    make_root "$1" "$root.new" > "$2" 2>&1 || { rm -rf "$root.new"; return 1; }
    # The packages have set a time of their own.
    touch "$root.new"
    mv "$root.new" "$root"
  fi
  # One that nobody started for two weeks is of an older recipe, or not wanted any more.
  touch "$root"
  find "$cache" -mindepth 1 -maxdepth 1 -type d ! -name '*.new' -mtime +14 -exec rm -rf {} +
  exec {lock}>&-
  echo "$root"
}

# --- inside ------------------------------------------------------------------------------------------------------

# The first process of an engine's namespaces. It takes a root of its own: the suite's files, which cannot be written to,
# and its state, at the path that it has outside. It starts the engine, and reaps what containers leave; with it every
# process of the engine ends.
inside() { # ROOT STATE COMMAND...
  local suite=$1 state=$2 root=$2/root stat node engine=
  shift 2
  # Before /proc is that of the new process space: the number that the machine knows this process by.
  read -r -a stat < /proc/self/stat
  echo "${stat[0]} ${stat[21]}" > "$state/process"
  mkdir "$root"
  mount -t tmpfs -o mode=755 tmpfs "$root"
  for node in usr etc; do
    mkdir "$root/$node"
    mount --bind "$suite/$node" "$root/$node"
    mount -o remount,bind,ro "$root/$node"
  done
  cp -a "$suite"/{bin,sbin,lib,lib64} "$root"
  mkdir -p "$root"/{proc,sys,dev,run,tmp,root,old} "$root"/var/{tmp,lib} "$root$state"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --bind "$state" "$root$state"
  for node in cdi docker containers; do mount --bind "$state/$node" "$root/etc/$node"; done
  devices "$root/dev"
  cd "$root"
  pivot_root . old
  umount -l /old
  trap 'kill -TERM "$engine"' TERM
  "$@" < /dev/null &
  engine=$!
  while kill -0 "$engine" 2> /dev/null; do wait "$engine" || true; done
}

# A /dev of its own, so that nodes which stand for hardware are nowhere else. They are doubles: number 1:3 is /dev/null,
# which opens as a working node does.
devices() { # FOLDER
  local node
  mount -t tmpfs -o mode=755 tmpfs "$1"
  for node in null zero full random urandom tty; do cp -a "/dev/$node" "$1/$node"; done
  for node in fuse net/tun; do
    if [ -e "/dev/$node" ]; then mkdir -p "$(dirname "$1/$node")"; cp -a "/dev/$node" "$1/$node"; fi
  done
  mkdir "$1/pts" "$1/shm" "$1/mqueue" "$1/dri" "$1/nvidia-caps"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$1/pts"
  mount -t tmpfs tmpfs "$1/shm"
  ln -s pts/ptmx "$1/ptmx"
  ln -s /proc/self/fd "$1/fd"
  ln -s fd/0 "$1/stdin"; ln -s fd/1 "$1/stdout"; ln -s fd/2 "$1/stderr"
  for node in fakegpu0 kfd dri/renderD128; do
    mknod -m 666 "$1/$node" c 1 3
    chown 0:992 "$1/$node"
  done
  # With all of these a report is longer than the piece in which an engine keeps a line.
  for node in $(seq -f "nvidia-caps/nvidia-cap-%053g" 125); do mknod -m 666 "$1/$node" c 1 3; done
  chown 0:4294967294 "$1"/nvidia-caps/*
}

# --- one engine --------------------------------------------------------------------------------------------------

# The engine's command line.
command_of() { # NAME PROGRAM STATE
  case $2 in
    dockerd)
      echo dockerd --host "unix://$3/socket" --data-root "$3/data" --exec-root /run/engine --pidfile /run/engine.pid \
        --bridge=none --iptables=false --cgroup-parent "/gpusweep-$1"
      ;;
    podman) echo podman --root "$3/data" --runroot /run/engine system service --time 0 "unix://$3/socket" ;;
  esac
}

configure() { # STATE
  mkdir -p "$1"/cdi "$1"/docker "$1"/containers
  cp "$here"/../tests/fixtures/cdi/*.json "$1/cdi/"
  cp "$here"/../tests/fixtures/seccomp-no-children.json "$1/"
  # Docker 25 to 28.1 ask for this before they look at CDI specs; others ignore it.
  echo '{"features":{"cdi":true}}' > "$1/docker/daemon.json"
  echo '{"default":[{"type":"insecureAcceptAnything"}]}' > "$1/containers/policy.json"
  cat > "$1/containers/containers.conf" <<'EOF'
[containers]
# Podman asks for more than a machine without the right to raise limits may give.
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
EOF
}

answers() { timeout 5 docker --host "unix://$1/socket" version --format '{{.Server.Version}}' 2> "$1/client.log"; }

# Starts NAME and prints its version; on failure prints why, and returns 1, or 4 where it cannot be had here.
launch() { # NAME SUITE PROGRAM PATTERN STATE IMAGES
  local name=$1 suite=$2 program=$3 pattern=$4 state=$5 root command version='' process
  mkdir -p "$state"
  if ! root=$(root_of "$suite" "$state/root.log"); then
    if grep -qE '/dists/.* 404 |does not have a Release file' "$state/root.log"; then
      echo "the mirror has no Debian $suite"
      return 4
    fi
    echo "the root of Debian $suite cannot be made: $(grep -m1 '^E:' "$state/root.log" || tail -n1 "$state/root.log")"
    return 1
  fi
  configure "$state"
  read -r -a command <<< "$(command_of "$name" "$program" "$state")"
  setsid unshare "${namespaces[@]}" \
    bash -c "set -e; $(declare -f inside devices); inside \"\$@\"" engine "$root" "$state" "${command[@]}" \
    > "$state/log" 2>&1 < /dev/null &
  process=$!
  for _ in $(seq 150); do
    version=$(answers "$state") && break
    kill -0 "$process" 2> /dev/null || break
    sleep 0.2
  done
  if [ -z "$version" ]; then
    echo "it does not answer: $(tail -qn1 "$state/log" "$state/client.log" | paste -sd' ')"
    return 1
  fi
  if ! [[ $version =~ ^$pattern ]]; then
    echo "Debian $suite has version $version now"
    return 4
  fi
  if ! docker --host "unix://$state/socket" load --input "$6" > "$state/load.log" 2>&1; then
    echo "the images cannot be loaded: $(tail -n1 "$state/load.log")"
    return 1
  fi
  echo "$version"
}

# Prints why no engine can be had on this machine, if so.
cannot() {
  if [ "$(id -u)" != 0 ]; then echo "only root can start it"; return; fi
  command -v mmdebstrap > /dev/null || { echo "mmdebstrap is not installed (scripts/install-deps.sh --for tests)"; return; }
  unshare "${namespaces[@]}" true 2> /dev/null || echo "this machine lets nobody have namespaces of their own"
}

# Saves the images of the tests to a file. Those of the contract are on the machine's engine only for as long.
save_images() { # FILE
  local target lock repository=localhost/gpusweep-test/contract
  "$here/../images/build.sh" bare python >&2
  exec {lock}> "$cache/images.lock"
  flock "$lock"
  for target in root user; do
    docker build --quiet --force-rm --network none --target "$target" --tag "$repository:$target" \
      --file "$here/../tests/fixtures/contract/Dockerfile" "$here/../crates/checker/tests/doubles" > /dev/null 2> "$1.log" ||
      { cat "$1.log" >&2; return 1; }
  done
  docker save --output "$1" localhost/gpusweep/{bare,python}:1 "$repository":{root,user}
  docker rmi "$repository":{root,user} > /dev/null
  exec {lock}>&-
}

# Starts one engine, and writes down what came of it.
start_one() { # DIR NAME SUITE PROGRAM PATTERN
  local file=$1/$2.engine why status=0
  halt "$1/$2"
  why=$(cannot)
  if [ -n "$why" ]; then
    status=4
  else
    why=$(launch "$2" "$3" "$4" "$5" "$1/$2" "$1/images.tar") || status=$?
  fi
  case $status in
    0) echo "unix://$1/$2/socket"; say "$2: version $why" ;;
    4) echo "missing: $why" ;;
    *) echo "failed: $why" ;;
  esac > "$file"
  [ "$status" = 0 ] || say "$2: $(cat "$file")"
  return "$status"
}

start() { # DIR NAME...
  local dir=$1 wanted name suite program pattern process processes=() status worst=0
  shift
  wanted=" $* "
  mkdir -p "$dir" "$cache"
  if [ -z "$(cannot)" ]; then save_images "$dir/images.tar"; fi
  while read -r name suite program pattern; do
    [[ "$wanted" = *" $name "* ]] || continue
    start_one "$dir" "$name" "$suite" "$program" "$pattern" < /dev/null &
    processes+=($!)
  done < <(engines)
  for process in "${processes[@]}"; do
    status=0
    wait "$process" || status=$?
    case $status in 0) ;; 4) [ "$worst" != 0 ] || worst=4 ;; *) worst=1 ;; esac
  done
  rm -f "$dir"/images.tar*
  return "$worst"
}

# --- the end -----------------------------------------------------------------------------------------------------

# Whether the process with this number and start time still lives.
lives() { # PID START
  local stat
  { read -r -a stat < "/proc/$1/stat"; } 2> /dev/null && [ "${stat[21]}" = "$2" ]
}

# Asks the engine of this folder to end.
dismiss() { # STATE
  local pid started
  [ -e "$1/process" ] || return 0
  read -r pid started < "$1/process"
  if lives "$pid" "$started"; then kill -TERM "$pid"; fi
}

# Ends the engine of this folder, and with its first process all others; then nothing holds the rest.
halt() { # STATE
  local state=$1 pid=0 started=0
  dismiss "$state"
  if [ -e "$state/process" ]; then read -r pid started < "$state/process"; fi
  for _ in $(seq 100); do lives "$pid" "$started" || break; sleep 0.1; done
  if lives "$pid" "$started"; then kill -KILL "$pid"; fi
  while lives "$pid" "$started"; do sleep 0.1; done
  rm -rf "$state" "$state.engine"
}

# Removes control groups that are left, with those in them. The kernel may take a moment to let go of one.
remove_groups() { # NAME...
  local names=() name groups
  for name in "$@"; do names+=(-o -name "$name"); done
  for _ in $(seq 20); do
    mapfile -t groups < <(find /sys/fs/cgroup -maxdepth 2 -type d \( -false "${names[@]}" \) 2> /dev/null)
    [ ${#groups[@]} -gt 0 ] || return 0
    find "${groups[@]}" -depth -type d -exec rmdir {} \; 2> /dev/null || true
    sleep 0.1
  done
}

stop() { # DIR
  # Podman's group has a name that all of its engines share: what another one uses cannot be removed.
  local name groups=(libpod_parent)
  while read -r name _; do dismiss "$1/$name"; done < <(engines)
  while read -r name _; do
    if [ -e "$1/$name" ] || [ -e "$1/$name.engine" ]; then
      halt "$1/$name"
      groups+=("gpusweep-$name")
    fi
  done < <(engines)
  remove_groups "${groups[@]}"
  if [ -d "$1" ]; then rmdir --ignore-fail-on-non-empty "$1"; fi
}

main() {
  local verb=${1:-} dir known
  case $verb in
    list) engines | cut -d' ' -f1; return ;;
    -h | --help) usage; return ;;
    start | stop) [ $# -ge 2 ] || die "$verb takes a folder (see --help)" ;;
    *) die "unknown command '$verb' (see --help)" ;;
  esac
  dir=$(realpath -m "$2")
  shift 2
  if [ "$verb" = stop ]; then stop "$dir"; return; fi
  mapfile -t known < <(engines | cut -d' ' -f1)
  for name in "$@"; do
    [[ " ${known[*]} " = *" $name "* ]] || die "no engine '$name'; there are: ${known[*]}"
  done
  [ $# -gt 0 ] || set -- "${known[@]}"
  start "$dir" "$@"
}
main "$@"
