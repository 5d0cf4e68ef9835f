# shellcheck shell=bash
# config-check and post-interrupt-check: the host is as wanted.

config_check_step() {
  check_wishes
  if [[ "${INTERRUPT:-}" == true ]]; then
    verify_once || say "INTERRUPT=true: what the host does not match yet it may match after the interrupt: $(verify_error)"
    return
  fi
  settle verify_once || fail_verify
}

post_interrupt_check_step() {
  check_wishes
  settle verify_once || fail_verify
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

# verify_once: does the host match the profile? Whoever names none has none
# checked: the active one is then not this package's. What tuned-adm prints is
# advice for people; its findings are in the log.
verify_once() {
  if ((${#WANTED[@]} == 0)); then
    say "no tuned_profile: nothing to verify"
    return
  fi
  VERIFIED=$(tuned-adm verify 2>&1)
}

# verify_log: what tuned has found the last time.
verify_log() {
  local log=/var/log/tuned/tuned.log
  [[ ! -r "${log}" ]] || sed -n '/verifying profile/{h;d;}; H; ${x;p;}' "${log}"
}

verify_error() {
  verify_log | sed -n '/ERROR/{s/^.*ERROR *//;h;}; ${x;p;}'
}

fail_verify() {
  printf '%s\n' "${VERIFIED}"
  verify_log | tail -n 20
  fail "tuned-adm verify: the host does not match \"${WANTED[*]}\": $(verify_error)"
}
