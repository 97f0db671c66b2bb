# shellcheck shell=bash
# How this machine reaches its Debian mirrors, for roots that are made from them. To be sourced.

# Prints the options, one a line.
host_apt_options() {
  command -v apt-config > /dev/null || return 0
  apt-config dump | grep -E '^Acquire::(https?::([^ ]+::)?Proxy|Check-Valid-Until|Check-Date) ' || true
}
