#!/usr/bin/env bash
# Installs what building and testing gpusweep needs and this Debian or Ubuntu machine lacks; starts a Docker Engine
# where none answers. Where nothing is missing it changes nothing. Rust (cargo) has to be there already.
set -euo pipefail

usage() {
  cat <<'EOF'
usage: scripts/install-deps.sh [--for quickstart|tests] [--require-docker]
  --for quickstart   C compiler, Docker Engine, mmdebstrap (the default)
  --for tests        these, shellcheck, a static busybox, Podman, an OpenSSH server, openssl, and Python with venv, which
                     unpacks the wheels of the large images
  --require-docker   fail (exit 3) where no Docker Engine answers in the end
EOF
}

group=quickstart require_docker=no
while [ $# -gt 0 ]; do
  case $1 in
    --for) group=${2:-}; shift $(($# > 1)) ;;
    --require-docker) require_docker=yes ;;
    -h | --help) usage; exit ;;
    *) echo "error: unknown argument '$1' (see --help)" >&2; exit 2 ;;
  esac
  shift
done
case $group in quickstart | tests) ;; *) echo "error: --for takes quickstart or tests" >&2; exit 2 ;; esac

say() { printf '%s\n' "$*" >&2; }
have() { command -v "$1" > /dev/null 2>&1; }
answers() { timeout 10 docker version > /dev/null 2>&1; }

# --- packages ----------------------------------------------------------------------------------------------------

packages=()
have cc || packages+=(gcc libc6-dev)
have mmdebstrap || packages+=(mmdebstrap)
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || packages+=(debian-archive-keyring)
if [ "$group" = tests ]; then
  have shellcheck || packages+=(shellcheck)
  have busybox || packages+=(busybox-static)
  have openssl || packages+=(openssl)
  [ -x /usr/sbin/sshd ] || packages+=(openssh-server)
  have nsenter || packages+=(util-linux)
  have ip || packages+=(iproute2)
  have podman || packages+=(podman)
  python3 -c 'import ensurepip, venv' > /dev/null 2>&1 || packages+=(python3 python3-venv)
fi
docker=answers
if ! have docker || ! answers; then
  docker=silent
  # An engine that the user chose is theirs to start: none is installed or started beside it.
  if [ -n "${DOCKER_HOST:-}" ]; then docker=elsewhere; fi
  have docker || packages+=(docker.io)
  if [ "$docker" = silent ] && ! have dockerd; then packages+=(docker.io); fi
fi

if [ ${#packages[@]} -gt 0 ]; then
  mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
  if ! have apt-get; then
    say "missing, and this machine has no apt-get to install it: ${packages[*]}"
  elif [ "$(id -u)" != 0 ]; then
    say "missing; as root: apt-get update && apt-get install -y --no-install-recommends ${packages[*]}"
  else
    say "installing: ${packages[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2 || true
    # From Debian 13 on the client is a package of its own.
    if [[ " ${packages[*]} " = *" docker.io "* ]] && apt-cache show docker-cli > /dev/null 2>&1; then packages+=(docker-cli); fi
    apt-get install -y -qq --no-install-recommends "${packages[@]}" >&2 || say "apt-get could not install them all; going on without"
  fi
fi

# --- engine ------------------------------------------------------------------------------------------------------

# Waits until the engine answers; gives up when the daemon with the id in $1 has ended.
wait_for_engine() {
  local _
  for _ in $(seq 60); do
    answers && return
    if [ -n "${1:-}" ] && ! kill -0 "$1" 2> /dev/null; then return 1; fi
    sleep 0.5
  done
  return 1
}

# A daemon of its own, for machines without a service manager.
start_daemon() {
  local log=/var/log/gpusweep-dockerd.log
  say "starting dockerd; its log: $log"
  setsid dockerd "$@" > "$log" 2>&1 < /dev/null &
  wait_for_engine $!
}

start_engine() {
  local bridged=no
  [ ! -e /sys/class/net/docker0 ] || bridged=yes
  if have systemctl && [ -d /run/systemd/system ]; then
    systemctl start docker >&2 && wait_for_engine && return
  elif have service && [ -e /etc/init.d/docker ]; then
    service docker start >&2 && wait_for_engine && return
  fi
  # A daemon that runs and does not answer is not ours to replace.
  if grep -qsx dockerd /proc/[0-9]*/comm; then return 1; fi
  start_daemon && return
  # Where the daemon may not set up a network (in a container, say), one without serves: the cells of a sweep have none.
  # Such a daemon deletes docker0: where the bridge was there before, it may be that of another engine.
  [ "$bridged" = no ] && start_daemon --bridge=none --iptables=false --ip6tables=false
}

if [ "$docker" = silent ] && ! answers && [ "$(id -u)" = 0 ] && have dockerd; then
  start_engine || true
fi
if [ "$docker" != answers ] && ! answers; then
  if [ "$docker" = elsewhere ]; then
    say "no Docker Engine answers at DOCKER_HOST=$DOCKER_HOST: start that one, or unset the variable"
  elif [ -S /var/run/docker.sock ] && [ ! -w /var/run/docker.sock ]; then
    say "a Docker Engine is here, but this user may not use it: run as root, or join its group (usermod -aG docker USER)"
  elif [ "$(id -u)" != 0 ]; then
    say "no Docker Engine answers: run this script as root to install and start one"
  else
    say "no Docker Engine could be had here: sweeps will show their cells as blocked (docker version tells why)"
  fi
  [ "$require_docker" = no ] || exit 3
fi
