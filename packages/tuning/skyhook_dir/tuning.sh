#!/usr/bin/env bash
# Makes the host equal to the configMap: kernel settings, limits of logins,
# drop-ins of units and kernel arguments. Usage: tuning.sh MODE
#
# Everything is validated before anything is changed, and every change can be
# cut off at any moment: the next run ends what this one began.

set -o pipefail
shopt -s nullglob
umask 022
export LC_ALL=C
[[ "${SET_X:-}" == 1 ]] && set -x

readonly MODES="config, config-check, post-interrupt-check, uninstall, uninstall-check"
readonly KEYS="sysctl.conf, ulimit.conf, service_<unit>.conf, grub.conf"
readonly TOOLS="awk cat cp date grep mkdir mv readlink rm rmdir sed sha256sum sort sync"
readonly HERE=${BASH_SOURCE[0]%/*}

PROBLEMS=0

say() {
  printf 'tuning: %s\n' "$*"
}

# problem WORDS...: says what is wrong, and goes on to find what else is.
problem() {
  printf 'tuning: %s\n' "$*" >&2
  PROBLEMS=$((PROBLEMS + 1))
}

fail() {
  problem "$@"
  exit 1
}

stop_on_problems() {
  ((PROBLEMS == 0)) || exit 1
}

# skyhook_name: the Skyhook's, which has a folder of that name on the host; empty
# where nothing tells.
skyhook_name() {
  local dir=${SKYHOOK_ROOT_DIR:-}
  dir=${dir%/} dir=${dir##*/}
  [[ ! "${dir}" =~ ^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$ ]] || printf '%s' "${dir}"
}

# package_name: the name that the user gave to the package. Its files carry both
# names, so that several packages of this kind can tune one host.
package_name() {
  if [[ "${SKYHOOK_RESOURCE_ID:-}" =~ ^[^_]*_([A-Za-z0-9][A-Za-z0-9.-]*)_[^_]*$ ]]; then
    printf '%s' "${BASH_REMATCH[1]}"
  else
    printf 'tuning'
  fi
}

# need_tools: what is missing would otherwise look like empty output.
need_tools() {
  local tool
  for tool in ${TOOLS}; do
    type -P "${tool}" >/dev/null || problem "${tool} is missing on this host"
  done
  stop_on_problems
}

# The kernel shows a process the settings of its own IPC and UTS namespaces.
# The pod shares the host's network and processes, but not those two.
enter_host_namespaces() {
  local kind own host
  [[ -z "${TUNING_ENTERED:-}" ]] || return 0
  for kind in ipc uts net; do
    own=$(readlink "/proc/self/ns/${kind}") && host=$(readlink "/proc/1/ns/${kind}") || return 0
    [[ "${own}" != "${host}" ]] || continue
    type -P nsenter >/dev/null || fail "nsenter is missing on this host; install util-linux"
    # shellcheck disable=SC2093
    TUNING_ENTERED=1 exec nsenter --target 1 --ipc --uts --net -- "${BASH}" "${BASH_SOURCE[0]}" "$@"
  done
}

# wait_for_others: packages of this kind share files and values of a host, and
# may run at the same time. What a killed run has left running is waited for,
# too. The lock goes with the process.
wait_for_others() {
  type -P flock >/dev/null || return 0
  exec 9>/run/skyhook-tuning.lock || fail "cannot write /run/skyhook-tuning.lock"
  flock -w 300 9 || fail "another package of this kind has been running on this host for 5 minutes; fuser -v /run/skyhook-tuning.lock names its process"
}

# refuse_unknown_keys: a key that is meant for this package and that nothing
# reads would silently do nothing. Packages made from this one have keys of
# their own, without the ending.
refuse_unknown_keys() {
  local path key
  for path in "${CONFIGMAPS}"/*; do
    is_key "${path}" || continue
    key=${path##*/}
    case "${key}" in
      sysctl.conf | ulimit.conf | grub.conf | service_?*.conf) ;;
      *.conf)
        problem "unknown configMap key \"${key}\"; known keys: ${KEYS}"
        continue
        ;;
      *)
        say "the configMap key \"${key}\" does nothing; known keys: ${KEYS}"
        continue
        ;;
    esac
    read_file "${path}"
    [[ -z "${NUL}" ]] || problem "${key} has a NUL character, which no text has; save it as plain text"
    if [[ "${CONTENT}"$'\n' == *$'\r\n'* ]]; then
      say "${key} has Windows line ends, which are left out; save it with Unix ones"
    fi
  done
}

validate() {
  refuse_unknown_keys
  sysctl_validate
  limits_validate
  units_validate
  grub_validate
  stop_on_problems
}

config() {
  validate
  state_begin
  take_over
  sysctl_reconcile
  limits_reconcile
  units_reconcile
  grub_reconcile
}

config_check() {
  validate
  sysctl_check
  limits_check
  units_check
  grub_check
  stop_on_problems
}

post_interrupt_check() {
  validate
  sysctl_live_check
  units_running_check
  grub_running_check
  stop_on_problems
}

# uninstall goes by what is on the host alone: a mistake in the configMap must
# not keep a package from being removed.
uninstall() {
  state_begin
  take_over
  limits_remove
  sysctl_remove
  units_remove
  grub_remove
  stop_on_problems
  state_end
}

uninstall_check() {
  sysctl_gone
  limits_gone
  units_gone
  grub_gone
  state_gone
  stop_on_problems
}

SKYHOOK=$(skyhook_name)
PACKAGE=$(package_name)
readonly SKYHOOK PACKAGE
# As people read it, and in the names of files; up to version 1.2 the last.
readonly NAME="${SKYHOOK:+${SKYHOOK}/}${PACKAGE}"
readonly BASE="999-${SKYHOOK:+${SKYHOOK}_}${PACKAGE}-tuning"
readonly EARLIER="999-${PACKAGE}-tuning"

for part in state drop_ins sysctl sysctl_live sysctl_before sysctl_ours limits units running grub grubby earlier; do
  # shellcheck source=/dev/null
  . "${HERE}/${part}.sh" || exit 1
done

[[ $# -eq 1 ]] || fail "wants one mode: ${MODES}"
[[ -n "${SKYHOOK_DIR:-}" ]] || fail "SKYHOOK_DIR is not set; the agent sets it"
readonly CONFIGMAPS="${SKYHOOK_DIR}/configmaps"

readonly MODE=$1
need_tools
enter_host_namespaces "$@"
wait_for_others
case "${MODE}" in
  config) config ;;
  config-check) config_check ;;
  post-interrupt-check) post_interrupt_check ;;
  uninstall) uninstall ;;
  uninstall-check) uninstall_check ;;
  *) fail "unknown mode \"${MODE}\"; known modes: ${MODES}" ;;
esac
