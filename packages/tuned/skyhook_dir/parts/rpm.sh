# shellcheck shell=bash
# Packages of RHEL, SUSE and what is like them. What is installed, and what
# needs what, rpm itself knows; the host's own tool installs and removes.

rpm_installed() {
  rpm -qa --qf '%{NAME}\n' | sort -u
}

rpm_present() {
  rpm_installed
}

rpm_install() {
  case "${MANAGER}" in
    dnf) attempt dnf -y --setopt=install_weak_deps=False install tuned ;;
    yum) attempt yum -y install tuned ;;
    zypper) ZYPP_LOCK_TIMEOUT=60 attempt zypper --non-interactive install --no-recommends tuned ;;
  esac
}

# rpm_mend: an installation that was cut off goes on by itself.
rpm_mend() {
  :
}

# rpm_brought: all packages of the file .new.
rpm_brought() {
  cp "${STATE}/.new" "${STATE}/.brought"
}

# rpm_wanted: packages that somebody asked for by name, where that is known.
rpm_wanted() {
  [[ "${MANAGER}" == dnf ]] || return 0
  dnf -q repoquery --userinstalled --qf '%{name}\n' 2>/dev/null | sort -u || true
}

# rpm_can_remove PACKAGE...: would rpm remove just these? A failure to tell must
# not look like a no.
rpm_can_remove() {
  local answer
  answer=$(rpm -e --test "$@" 2>&1) && return
  [[ "${answer}" == *"needed by"* ]] || fail "rpm cannot tell what needs $*: ${answer##*$'\n'}"
  return 1
}

rpm_remove() {
  case "${MANAGER}" in
    zypper) ZYPP_LOCK_TIMEOUT=60 attempt zypper --non-interactive remove --no-clean-deps "$@" ;;
    *) attempt "${MANAGER}" -y --setopt=clean_requirements_on_remove=False remove "$@" ;;
  esac
}
