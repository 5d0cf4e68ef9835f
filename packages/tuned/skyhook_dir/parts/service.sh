# shellcheck shell=bash
# The service, and what it looked like before.

# Stopped by systemd when tuned starts: its unit conflicts with them.
readonly RIVALS=(cpupower auto-cpufreq tlp power-profiles-daemon)

tuned_present() {
  type -P tuned >/dev/null && type -P tuned-adm >/dev/null
}

service_active() {
  systemctl is-active --quiet "${1:-tuned}.service"
}

# service_enablement: "enabled", "disabled", "masked" and so on.
service_enablement() {
  systemctl is-enabled tuned.service 2>/dev/null || true
}

service_facts() {
  printf 'enablement=%s\n' "$(service_enablement)"
  service_active && printf 'active=yes\n'
  local rival
  for rival in "${RIVALS[@]}"; do
    if service_active "${rival}"; then
      printf 'rival=%s\n' "${rival}"
    fi
  done
}

service_up() {
  if [[ "$(service_enablement)" == masked ]]; then
    fail "the service tuned is masked on this host; if it may run, unmask it with: systemctl unmask tuned"
  fi
  enable_service
  start_service
}

enable_service() {
  [[ "$(service_enablement)" == enabled ]] || attempt systemctl enable tuned.service ||
    fail "cannot enable the service tuned: ${LAST}"
}

start_service() {
  service_active || attempt systemctl start tuned.service || fail "cannot start the service tuned: ${LAST}"
}

stop_service() {
  ! service_active || attempt systemctl stop tuned.service || fail "cannot stop the service tuned: ${LAST}"
}

disable_service() {
  [[ "$(service_enablement)" != enabled ]] || attempt systemctl disable tuned.service ||
    fail "cannot disable the service tuned: ${LAST}"
}

# service_as_before: what the record says.
service_as_before() {
  if [[ "$(fact before active)" == yes ]]; then start_service; else stop_service; fi
  if [[ "$(fact before enablement)" == enabled ]]; then enable_service; else disable_service; fi
}

# rivals_as_before: only now, they cannot run beside tuned.
rivals_as_before() {
  local rival
  for rival in $(fact before rival); do
    attempt systemctl start "${rival}.service" || warn "cannot start ${rival} again, which ran before tuned: ${LAST}"
  done
}
