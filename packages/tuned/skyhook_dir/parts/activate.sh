# shellcheck shell=bash
# Which profiles are active, asked and told through tuned-adm.

# listed NAME: tuned knows the profile. A line is "- name", and behind it, from
# column 30 on, perhaps "- summary"; a longer name touches the "-".
listed() {
  local line head="- $1"
  lines "${LISTED}"
  for line in "${LIST[@]}"; do
    [[ "${line}" == "${head}" || "${line}" == "${head} "* ]] && return
    ((${#head} >= 30)) && [[ "${line}" == "${head}- "* ]] && return
  done
  return 1
}

read_listed() {
  LISTED=$(tuned-adm list 2>/dev/null) || true
  [[ "${LISTED}" == *"- "* ]] || fail "tuned-adm list shows no profiles; is the service tuned well? See systemctl status tuned"
}

# refuse_unknown: what is wanted must be there, and must stay.
refuse_unknown() {
  local name
  read_listed
  for name in "${WANTED[@]}"; do
    listed "${name}" || fail "the key tuned_profile names \"${name}\", which tuned does not know; the profiles of this host are shown by: tuned-adm list"
    if is_leaving "profile.${name}" && ! stays_without "${name}"; then
      fail "the key tuned_profile names \"${name}\", whose own key is no longer in the configMap; add it again, or name another profile"
    fi
  done
}

# is_leaving KEY: a file of ours that the configMap has no more.
is_leaving() {
  recorded "files/$1" && ! is_wish "$1"
}

# stays_without NAME: there is such a profile also without our file.
stays_without() {
  [[ -e "${STATE}/files/profile.$1/before" || -e "/usr/lib/tuned/$1/tuned.conf" || -e "/usr/lib/tuned/profiles/$1/tuned.conf" ]]
}

# active_profiles: with single blanks between them. tuned adds the
# post-loaded profile, which is not for us to choose.
active_profiles() {
  local shown active post
  shown=$(tuned-adm active 2>/dev/null) || true
  active=$(printf '%s\n' "${shown}" | sed -n 's/^Current active profile: *//p')
  post=$(printf '%s\n' "${shown}" | sed -n 's/^Current post-loaded profile: *//p')
  [[ -z "${post}" ]] || active=${active%"${post}"}
  words "${active}"
  printf '%s' "${LIST[*]}"
}

activate() {
  say "activating: $*"
  attempt tuned-adm profile "$@" || fail "tuned-adm cannot activate \"$*\": ${LAST}"
}

# note_profile: what was active before us. In automatic mode tuned chooses.
note_profile() {
  recorded profile-before && return
  local mode=manual
  [[ "$(tuned-adm profile_mode 2>/dev/null)" == *auto* ]] && mode=auto
  printf 'mode=%s\nprofile=%s\n' "${mode}" "$(active_profiles)" | record profile-before
}

# profile_as_before: or, if that profile is no more, none.
profile_as_before() {
  local mode names
  recorded profile-before || return 0
  mode=$(fact profile-before mode)
  words "$(fact profile-before profile)"
  names=("${LIST[@]}")
  if [[ "${mode}" == auto ]]; then
    say "back to the profile that tuned recommends, as before"
    attempt tuned-adm auto_profile && return
    warn "tuned-adm auto_profile: ${LAST}"
  elif ((${#names[@]} > 0)); then
    say "back to the profile that was active before: ${names[*]}"
    attempt tuned-adm profile "${names[@]}" && return
    warn "tuned-adm profile ${names[*]}: ${LAST}"
  fi
  say "switching tuned off"
  attempt tuned-adm off || fail "tuned-adm cannot switch the profile off: ${LAST}"
}
