# shellcheck shell=bash
# Packages of RHEL, SUSE and what is like them. What is installed, and what
# needs what, rpm itself knows; the host's own tool installs and removes.

# rpm_installed: a name may be there twice, in two versions or architectures.
# Keys of repositories are no packages.
rpm_installed() {
  rpm -qa --qf '%{NAME}\n' | sed '/^gpg-pubkey$/d' | sort -u
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

# rpm_brought: tuned, and of the packages in the file .new those that it is
# known to need, itself or by way of another. What others have installed
# meanwhile is not ours.
rpm_brought() {
  local next=tuned
  : >"${STATE}/.brought"
  while [[ -n "${next}" ]]; do
    printf '%s\n' "${next}" | sort -u - "${STATE}/.brought" >"${STATE}/.more"
    mv -f "${STATE}/.more" "${STATE}/.brought"
    # shellcheck disable=SC2086
    next=$(rpm_needed_by ${next} | comm -12 - "${STATE}/.new" | comm -23 - "${STATE}/.brought")
  done
}

# rpm_needed_by PACKAGE...: those that have what these require. rpm fails if a
# requirement is no package's, such as its own features and conditions.
rpm_needed_by() {
  local requirements
  requirements=$(rpm -q --qf '[%{REQUIRENAME}\n]' "$@" | sort -u) || true
  lines "${requirements}"
  rpm -q --whatprovides --qf '%{NAME}\n' "${LIST[@]}" 2>/dev/null | sort -u || true
}

# rpm_wanted: packages that somebody asked for by name, as each tool notes it.
rpm_wanted() {
  case "${MANAGER}" in
    dnf) dnf -q repoquery --userinstalled --qf '%{name}\n' ;;
    yum) yum_wanted ;;
    zypper) rpm_installed | grep -vxFf /var/lib/zypp/AutoInstalled ;;
  esac 2>/dev/null | sort -u
}

# yum_wanted: folders are named ID-NAME-VERSION-RELEASE-ARCHITECTURE.
yum_wanted() {
  grep -lx user /dev/null /var/lib/yum/yumdb/*/*/reason | sed 's|/reason$||; s|.*/[^/-]*-||; s/-[^-]*-[^-]*-[^-]*$//'
}

# rpm_can_remove PACKAGE...: would rpm remove just these? A failure to tell must
# not look like a no.
rpm_can_remove() {
  local answer
  answer=$(rpm -e --test --allmatches "$@" 2>&1) && return
  [[ "${answer}" == *"needed by"* ]] || fail "rpm cannot tell what needs $*: ${answer##*$'\n'}"
  return 1
}

rpm_remove() {
  case "${MANAGER}" in
    zypper) ZYPP_LOCK_TIMEOUT=60 attempt zypper --non-interactive remove --no-clean-deps "$@" ;;
    *) attempt "${MANAGER}" -y --setopt=clean_requirements_on_remove=False remove "$@" ;;
  esac
}
