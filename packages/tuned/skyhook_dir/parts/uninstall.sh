# shellcheck shell=bash
# uninstall: all that the record tells of is undone, in an order in which every
# part may be done again. What the check needs to know stays until it has run.

uninstall_step() {
  if recorded removed; then
    say "everything was reversed before; nothing to do"
    return
  fi
  if ! recorded before && ! recorded profile-before && [[ -z "$(owned)" ]]; then
    say "this package has changed nothing on this host"
    drop_all
    return
  fi
  note_gone
  if recorded shared || other_package; then
    recorded shared || leave_to_other
    finish_uninstall
    return
  fi
  leave_profiles
  give_back_all
  if ours; then
    remove_tuned
  elif recorded before && tuned_present; then
    service_as_before
    spelling_as_before
  fi
  # Whoever removed tuned by hand could not remove its folder with our files in it.
  tuned_present || rmdir /etc/tuned 2>/dev/null || true
  rivals_as_before
  variables_as_before
  grub_as_before
  finish_uninstall
}

# note_gone: what the check will look for, written before it is gone.
note_gone() {
  local key
  for key in $(owned); do
    follow "${key}"
  done
  for key in $(owned); do
    recorded "files/${key}/before" || printf '%s\n' "$(target_owned "${key}")"
  done | if recorded gone; then sort -u - "${STATE}/gone"; else cat; fi | record gone
}

# leave_profiles: only a tuned that runs can undo all of a profile; what it does
# by itself when it is stopped leaves the parameters of the kernel. One that
# stays must succeed, of one that goes the rest is cleared afterwards.
leave_profiles() {
  tuned_present && recorded profile-before || return 0
  if ours; then
    (start_service && profile_as_before) ||
      warn "could not leave the profile: stopping tuned undoes it, but for parameters of the kernel in the boot menu; make that again with the host's own tool"
  else
    start_service
    profile_as_before
  fi
}

give_back_all() {
  local key
  for key in $(owned); do
    give_back "${key}"
  done
}

remove_tuned() {
  choose_packager
  stop_service
  disable_service
  read_removable
  if ((${#REMOVE[@]} > 0)); then
    say "removing with ${MANAGER}: ${REMOVE[*]}"
    packager remove "${REMOVE[@]}" || fail "${MANAGER} cannot remove ${REMOVE[*]}: ${LAST}"
  fi
  if tuned_present; then
    say "tuned stays: other packages of this host need it"
    record stays </dev/null
  else
    remove_remains
  fi
}

# read_removable: sets REMOVE to tuned and what came with it, without what
# somebody has asked for since, and what other packages need. Where nobody can
# tell what was asked for, it is tuned alone.
read_removable() {
  local found
  packager mend
  recorded packages-ours || note_packages
  packager present >"${STATE}/.present"
  if packager wanted >"${STATE}/.wanted"; then
    sed -i '/^tuned$/d' "${STATE}/.wanted"
  else
    warn "${MANAGER} cannot tell which packages somebody asked for, so what came with tuned stays"
    sed '/^tuned$/d' "${STATE}/packages-ours" >"${STATE}/.wanted"
  fi
  found=$(comm -12 "${STATE}/packages-ours" "${STATE}/.present" | comm -23 - "${STATE}/.wanted")
  REMOVE=()
  [[ -n "${found}" ]] || return 0
  lines "${found}"
  removable "${LIST[@]}"
}

# remove_remains: package managers leave logs, and on RPM hosts changed
# settings under another name.
remove_remains() {
  remove_folder /var/log/tuned
  remove_folder /run/tuned
  remove_folder /var/lib/tuned
  [[ -n "$(fact before folder)" && -d /etc/tuned ]] || return 0
  rm -f /etc/tuned/*.rpmsave /etc/modprobe.d/tuned.conf.rpmsave /etc/grub.d/00_tuned.rpmsave
  local path
  for path in "${OWN_FILES[@]}"; do
    rm -f "${path}"
  done
  find /etc/tuned -depth -type d -empty -delete
  [[ ! -d /etc/tuned ]] || say "left /etc/tuned: there are files in it that are not this package's"
}

# remove_folder PATH: but nothing across a mount, as the agent does it: what is
# mounted there is somebody else's, and so is its content.
remove_folder() {
  local point
  [[ -e "$1" || -L "$1" ]] || return 0
  point=$(mounted_at "$1")
  if [[ -n "${point}" ]]; then
    warn "left ${1}: something is mounted at ${point}"
  else
    rm -rf "$1"
  fi
}

# mounted_at PATH: the first mount point that is it, or below it. The kernel
# tells them without the links on the way.
mounted_at() {
  local path point
  path="$(cd -P "${1%/*}" && pwd)/${1##*/}"
  while read -r _ _ _ _ point _; do
    if [[ "${point}" == "${path}" || "${point}" == "${path}"/* ]]; then
      printf '%s\n' "${point}"
      return
    fi
  done </proc/self/mountinfo
}

# finish_uninstall: "removed" is the word that all is done.
finish_uninstall() {
  {
    if ! recorded shared; then
      ours && ! recorded stays && printf 'tuned=gone\n'
      recorded before && [[ -z "$(fact before active)" ]] && printf 'service=stopped\n'
      recorded before && [[ "$(fact before enablement)" != enabled ]] && printf 'service=disabled\n'
    fi
    printf 'done=yes\n'
  } | record removed
  drop before packages-before packages-ours profile-before stays shared files \
    kept.grub kept.grubenv kept.active_profile kept.profile_mode kept.post_loaded_profile kept.bootcmdline kept.tuned.conf
  say "everything is reversed"
}

uninstall_check_step() {
  local path tool
  if ! recorded removed; then
    [[ ! -d "${STATE}" ]] || fail "the uninstall has not run to its end: ${STATE} still lists changes to reverse"
    drop_all
    say "nothing of this package is on this host"
    return
  fi
  while IFS= read -r path; do
    [[ ! -e "${path}" ]] || fail "${path} is still there"
  done <"${STATE}/gone"
  if [[ "$(fact removed tuned)" == gone ]]; then
    for tool in tuned tuned-adm; do
      ! type -P "${tool}" >/dev/null || fail "$(type -P "${tool}") is still there"
    done
  fi
  if [[ "$(fact removed service)" == *stopped* ]]; then
    ! service_active || fail "the service tuned still runs"
  fi
  if [[ "$(fact removed service)" == *disabled* ]]; then
    [[ "$(service_enablement)" != enabled ]] || fail "the service tuned is still enabled"
  fi
  drop_all
  say "nothing of this package is on this host"
}
