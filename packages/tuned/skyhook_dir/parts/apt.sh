# shellcheck shell=bash
# Packages of Debian and what is like it.

apt() {
  DEBIAN_FRONTEND=noninteractive attempt apt-get -y -q -o DPkg::Lock::Timeout=60 -o Dpkg::Use-Pty=0 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"
}

# apt_installed: all that is on the host in any state of being installed.
apt_installed() {
  apt_in_states '[^nc]'
}

# apt_present: with packages that were removed, but have left their settings.
apt_present() {
  apt_in_states '[^n]'
}

# apt_in_states LETTERS: names of the host's own architecture are plain, as
# apt-get prints them.
apt_in_states() {
  local architecture
  architecture=$(dpkg --print-architecture)
  dpkg-query -W -f '${db:Status-Abbrev} ${binary:Package}\n' |
    sed -n "s/^.$1. *\([^ ]*\).*/\1/p" | sed "s/:${architecture}\$//" | sort -u
}

# apt_install: nothing but tuned and what it depends on. The lists are only
# fetched if it does not work without, and an earlier run of dpkg that was cut
# off is brought to its end.
apt_install() {
  apt install --no-install-recommends tuned && return
  say "once more, with new package lists"
  attempt dpkg --configure -a || true
  apt update || warn "apt-get update: ${LAST}"
  apt install --no-install-recommends tuned
}

# apt_wanted: packages that somebody asked for by name.
apt_wanted() {
  apt-mark showmanual | sort -u
}

# apt_can_remove PACKAGE...: would it remove just these? A failure to tell must
# not look like a no.
apt_can_remove() {
  local plan package
  plan=$(apt-get -s -q purge "$@" 2>&1) || fail "apt-get cannot tell what goes with $*: ${plan##*$'\n'}"
  for package in $(sed -n 's/^\(Remv\|Purg\) \([^ ]*\).*/\2/p' <<<"${plan}"); do
    [[ " $* " == *" ${package} "* ]] || return 1
  done
  ! grep -q '^Inst ' <<<"${plan}"
}

apt_remove() {
  apt purge "$@" && return
  attempt dpkg --configure -a || true
  apt purge "$@"
}
