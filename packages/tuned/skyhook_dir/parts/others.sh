# shellcheck shell=bash
# Other packages of this kind on the host, of any Skyhook: tuned stays for as
# long as there are any, and the last that goes removes it.

# other_package: OTHER is the state of one that has yet to be uninstalled.
other_package() {
  local dir
  for dir in "${STATE%/*/*/*}"/*/tuned/*; do
    [[ "${dir}" != "${STATE}" && -e "${dir}/before" && ! -e "${dir}/removed" ]] || continue
    OTHER=${dir}
    return 0
  done
  return 1
}

# leave_to_other: our files go, and what there is to reverse of tuned itself is
# the other one's from here on.
leave_to_other() {
  local path name
  name=${OTHER#"${STATE%/*/*/*}"/}
  say "tuned stays: package ${name##*/} of Skyhook ${name%%/*} needs it"
  tuned_present && start_service && leave_own_profile
  give_back_all
  # What the host was like is known by whoever came first.
  if ours || [[ "${STATE}/before" -ot "${OTHER}/before" ]]; then
    for path in "${STATE}"/kept.* "${STATE}"/packages-* "${STATE}"/profile-before "${STATE}/before"; do
      [[ -e "${path}" ]] || continue
      rm -rf "${OTHER}/.handed"
      cp -a "${path}" "${OTHER}/.handed"
      sync "${OTHER}/.handed"
      mv -fT "${OTHER}/.handed" "${OTHER}/${path##*/}"
    done
  fi
  record shared </dev/null
}

# leave_own_profile: if what is active goes with this package.
leave_own_profile() {
  local name
  for name in $(active_profiles); do
    if recorded "files/profile.${name}"; then
      profile_as_before
      return
    fi
  done
}
