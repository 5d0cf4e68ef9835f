# shellcheck shell=bash
# config: files and active profiles are as the configMap wants them.

config_step() {
  local key
  read_wishes
  tuned_present || fail "the host has no tuned; this package installs it in apply"
  start_service
  note_profile
  for key in "${KEYS[@]}"; do
    write "${key}"
  done
  switch_profile
}

# switch_profile: to what is wanted before anything is removed that is still
# in use, and once more after it, so that a profile which includes one that
# has gone fails now and not at the next boot.
switch_profile() {
  local again=""
  if ((${#WANTED[@]} > 0)); then
    refuse_unknown
    activate "${WANTED[@]}"
  else
    warn "the configMap has no tuned_profile: the active profile stays \"$(active_profiles)\""
    leave_profile
  fi
  remove_leaving
  if [[ -n "${again}" && ${#WANTED[@]} -gt 0 ]]; then
    activate "${WANTED[@]}"
  fi
}

# leave_profile: nothing is wanted, but the active profile is about to go.
leave_profile() {
  local name
  for name in $(active_profiles); do
    if is_leaving "profile.${name}"; then
      profile_as_before
      return
    fi
  done
}

# remove_leaving: sets "again" of its caller if a profile went.
remove_leaving() {
  local key
  for key in $(owned); do
    is_leaving "${key}" || continue
    follow "${key}"
    give_back "${key}"
    [[ "${key}" != profile.* ]] || again=yes
  done
}
