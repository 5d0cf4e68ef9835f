# shellcheck shell=bash
# config-check and post-interrupt-check: the host is as wanted.

config_check_step() {
  check_wishes
  verify && return
  if [[ "${INTERRUPT:-}" == true ]]; then
    say "INTERRUPT=true: what does not match yet may do so after the interrupt"
    return
  fi
  fail_verify
}

post_interrupt_check_step() {
  check_wishes
  verify || fail_verify
}

check_wishes() {
  local key
  read_wishes
  settle service_active || fail "the service tuned does not run: systemctl is-active says \"$(systemctl is-active tuned.service)\""
  for key in "${KEYS[@]}"; do
    is_written "${key}" || fail "$(target_of "${key}") is not what the configMap key \"${key#*.}\" says"
  done
  for key in $(owned); do
    is_wish "${key}" || fail "$(target_owned "${key}") is still there, but the configMap has no key \"${key#*.}\""
  done
  ((${#WANTED[@]} == 0)) || settle is_active ||
    fail "the active profile is \"$(active_profiles)\", the key tuned_profile wants \"${WANTED[*]}\""
}

is_active() {
  [[ "$(active_profiles)" == "${WANTED[*]}" ]]
}

# verify: does the host match the profile? Whoever names none has none checked:
# the active one is then not this package's.
verify() {
  if ((${#WANTED[@]} == 0)); then
    say "no tuned_profile: nothing to verify"
    return
  fi
  settle attempt tuned-adm verify
}

fail_verify() {
  local log=/var/log/tuned/tuned.log
  if [[ -r "${log}" ]]; then
    tail -n 20 "${log}"
    LAST=$(sed -n '/ERROR/{s/^[^E]*ERROR *//;h;}; ${x;p;}' "${log}")
  fi
  fail "tuned-adm verify: the host does not match the profile \"${WANTED[*]}\": ${LAST}"
}
