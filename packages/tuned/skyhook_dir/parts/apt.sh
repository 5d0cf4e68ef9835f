# shellcheck shell=bash
# Packages of Debian and what is like it.

# apt ...: without needrestart, which would restart the services of the host
# that use a library anybody has upgraded, containerd and the kubelet included.
apt() {
  DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 NEEDRESTART_MODE=l attempt apt-get -y -q -o DPkg::Lock::Timeout=60 -o Dpkg::Use-Pty=0 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"
}

# apt_installed: all that is on the host in any state of being installed.
apt_installed() {
  apt_in_states '.[^nc].'
}

# apt_present: with packages that were removed, but have left their settings.
apt_present() {
  apt_in_states '.[^n].'
}

# apt_in_states PATTERN: of the three letters that dpkg shows. Names of the
# host's own architecture are plain, as apt-get prints them.
apt_in_states() {
  local architecture
  architecture=$(dpkg --print-architecture)
  dpkg-query -W -f '${db:Status-Abbrev} ${binary:Package}\n' |
    sed -n "s/^$1 *\([^ ]*\).*/\1/p" | sed "s/:${architecture}\$//" | sort -u
}

# apt_install: nothing but tuned and what it depends on. The lists are only
# fetched if it does not work without, and an earlier run of dpkg that was cut
# off is brought to its end.
apt_install() {
  apt install --no-install-recommends tuned && return
  say "once more, with new package lists"
  apt_mend
  apt update || warn "apt-get update: ${LAST}"
  apt install --no-install-recommends tuned
}

# apt_mend: what a dpkg that was cut off has left behind. It goes on by itself
# where it was, but not with packages of ours that are half unpacked.
apt_mend() {
  local half
  [[ -n "$(dpkg --audit)" ]] || return 0
  # apt-get refuses to work before this, whatever comes of it.
  attempt dpkg --configure -a || true
  half=$(apt_in_states '..R' | comm -23 - "${STATE}/packages-before")
  # shellcheck disable=SC2086
  [[ -z "${half}" ]] || apt_unpack_again ${half}
  attempt dpkg --configure -a || warn "dpkg --configure -a: ${LAST}"
}

# apt_unpack_again PACKAGE...: which do not become ones that somebody asked for.
apt_unpack_again() {
  apt install --reinstall --no-install-recommends "$@" || warn "apt-get install --reinstall: ${LAST}"
  attempt apt-mark auto "$@" || true
}

# apt_brought: of the packages in the file .new, those that tuned needs; others
# may have come since, if an installation was cut off. apt-get notes last which
# packages nobody asked for, so that it may not have done so.
apt_brought() {
  apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances tuned |
    sed -n 's/^\([a-z0-9].*\)/\1/p' | sort -u >"${STATE}/.needed" || true
  comm -12 "${STATE}/.new" "${STATE}/.needed" >"${STATE}/.brought"
  local names
  names=$(sed '/^tuned$/d' "${STATE}/.brought")
  # shellcheck disable=SC2086
  [[ -z "${names}" ]] || attempt apt-mark auto ${names} || warn "apt-mark auto: ${LAST}"
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
  lines "${plan}"
  for package in "${LIST[@]}"; do
    [[ "${package}" != "Inst "* ]] || return 1
    [[ "${package}" == "Remv "* || "${package}" == "Purg "* ]] || continue
    package=${package#* }
    [[ " $* " == *" ${package%% *} "* ]] || return 1
  done
}

apt_remove() {
  apt purge "$@"
}
