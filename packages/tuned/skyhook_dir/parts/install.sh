# shellcheck shell=bash
# apply and upgrade: tuned is on the host and runs.

install_step() {
  # Left behind by an uninstall that nobody has checked.
  recorded removed && drop_all
  if tuned_present && ! ours; then
    note_present
  else
    install_tuned
  fi
  service_up
  say "tuned is installed, enabled and running"
}

# ours: this package has installed tuned, or had begun to.
ours() {
  [[ "$(fact before present)" == no ]]
}

# note_present: somebody else has installed tuned, so that it stays for ever.
note_present() {
  recorded before && return
  say "tuned is on this host already"
  keep_files
  {
    printf 'present=yes\n'
    service_facts
  } | record before
}

install_tuned() {
  if tuned_present && recorded packages-ours; then
    say "tuned is installed already"
    return
  fi
  choose_packager
  note_absent
  say "installing tuned with ${MANAGER}"
  packager install || fail "${MANAGER} cannot install tuned: ${LAST}"
  tuned_present || fail "${MANAGER} has installed tuned, but the host has no tuned and tuned-adm"
  note_packages
}

# note_absent: what there is before the installation. If our own tuned has
# been removed by hand, what came with it is still counted as ours.
note_absent() {
  if ! ours; then
    drop packages-ours packages-before
    keep_files
    packager installed | record packages-before
    {
      printf 'present=no\n'
      [[ -d /etc/tuned ]] || printf 'folder=no\n'
      service_facts
    } | record before
  elif recorded packages-ours; then
    packager installed >"${STATE}/.installed"
    comm -23 "${STATE}/.installed" "${STATE}/packages-ours" | record packages-before
    drop packages-ours
  fi
}

# note_packages: tuned and what came with it.
note_packages() {
  packager installed >"${STATE}/.installed"
  comm -13 "${STATE}/packages-before" "${STATE}/.installed" >"${STATE}/.new"
  packager brought
  record packages-ours <"${STATE}/.brought"
}

install_check_step() {
  local tool
  for tool in tuned tuned-adm; do
    type -P "${tool}" >/dev/null || fail "the host has no ${tool}"
  done
  settle service_active || fail "the service tuned does not run: systemctl is-active says \"$(systemctl is-active tuned.service)\""
  [[ "$(service_enablement)" == enabled ]] ||
    fail "the service tuned is not enabled: systemctl is-enabled says \"$(service_enablement)\""
  say "tuned is installed, enabled and running"
}
