# shellcheck shell=bash
# Which package manager this host has, by what its os-release says it is like.

# os_release KEY: a value, without quotes.
os_release() {
  local file value
  for file in /etc/os-release /usr/lib/os-release; do
    [[ -r "${file}" ]] || continue
    value=$(sed -n "s/^$1=//p" "${file}" | tail -n 1)
    value=${value//[\"\']/}
    printf '%s' "${value,,}"
    return
  done
}

# choose_packager: sets PACKAGER (the functions to use) and MANAGER (the tool).
choose_packager() {
  local id like word tools=()
  id=$(os_release ID) like=$(os_release ID_LIKE)
  # SLE Micro and MicroOS, which also say that they are like SUSE.
  [[ "${id}" != *micro* ]] ||
    fail "cannot install tuned on \"${id}\", whose root is read-only: bring it onto the host with: transactional-update pkg install tuned, and reboot; this package then uses it"
  for word in ${id} ${like}; do
    case "${word}" in
      debian* | ubuntu*) PACKAGER=apt tools=(apt-get) ;;
      rhel | redhat* | centos* | rocky | almalinux | amzn* | ol | fedora*) PACKAGER=rpm tools=(dnf yum) ;;
      suse | sles | sle_hpc | opensuse | opensuse-*) PACKAGER=rpm tools=(zypper) ;;
      *) continue ;;
    esac
    choose_manager "${tools[@]}"
    return
  done
  fail "cannot install tuned on this host: ID=\"${id}\" and ID_LIKE=\"${like}\" of its os-release name none of the supported" \
    "families Debian and Ubuntu (apt-get), RHEL, CentOS, Rocky, AlmaLinux, Amazon, Oracle and Fedora (dnf, yum), SUSE (zypper)"
}

choose_manager() {
  local tool
  for tool in "$@"; do
    if type -P "${tool}" >/dev/null; then
      MANAGER=${tool}
      return
    fi
  done
  fail "os-release says that this host has ${1}, but it does not; looked for: $*"
}

# packager ACTION ...: apt_ACTION or rpm_ACTION.
packager() {
  local action=$1
  shift
  "${PACKAGER}_${action}" "$@"
}

# removable PACKAGE...: sets REMOVE to what can go without taking along a package
# that is not among these: all, or else tuned alone, or nothing.
removable() {
  REMOVE=("$@")
  packager can_remove "$@" && return
  REMOVE=()
  if [[ " $* " == *" tuned "* ]] && packager can_remove tuned; then
    say "other packages of this host need some of what came with tuned, so it stays: $*"
    REMOVE=(tuned)
  fi
}
