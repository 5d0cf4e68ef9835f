# shellcheck shell=bash
# Which values of the kernel are still this package's own. What something else
# has set since is not undone: it may be an administrator's, or what the pods of
# the node live on.

# What this package has set, by path: a line for each value that may be there,
# "=VALUE" as the kernel had it afterwards. While a value is changed there is
# "~VALUE", too, as it was asked for: a crash leaves the one or the other.
declare -A OURS=()

# Without these the pods of a node have no network. They were off only until
# the node had pods.
readonly KEPT_ON=(net/ipv4/ip_forward "net/ipv4/conf/*/forwarding" "net/ipv6/conf/*/forwarding" "net/bridge/bridge-nf-call-*")

# sysctl_name PATH: REPLY is the key, as sysctl.conf has it.
sysctl_name() {
  REPLY=${1//./$'\1'}
  REPLY=${REPLY//\//.}
  REPLY=${REPLY//$'\1'//}
}

# sysctl_load_ours: a drop-in of an earlier version, which kept no such list, says
# what was set. This is before another one takes its place.
sysctl_load_ours() {
  local line path
  OURS=()
  state_read sysctl-ours
  lines "${CONTENT}"
  for line in "${LIST[@]}"; do
    OURS[${line%% *}]+="${line#* }"$'\n'
  done
  [[ ! -e "${STATE}/sysctl-ours" && -f "${SYSCTL_DROP_IN}" ]] || return 0
  sysctl_forget_elsewhere
  sysctl_read_lines "${SYSCTL_DROP_IN}"
  for path in "${!BEFORE[@]}"; do
    ! sysctl_elsewhere "${path}" || OURS[${path}]="~${REPLY}"$'\n'
  done
  sysctl_forget_elsewhere
}

sysctl_save_ours() {
  local path line text=""
  for path in "${!OURS[@]}"; do
    lines "${OURS[${path}]}"
    for line in "${LIST[@]}"; do
      text+="${path} ${line}"$'\n'
    done
  done
  state_write sysctl-ours "${text}"
}

# sysctl_add_ours PATH VALUE: it may be there from now on.
sysctl_add_ours() {
  has_line "${OURS[$1]:-}" "=$2" || has_line "${OURS[$1]:-}" "~$2" || OURS[$1]+="~$2"$'\n'
}

# sysctl_claim: before anything is set. The kernel makes 0 of the partner of a
# value.
sysctl_claim() {
  local path
  for path in "${WANTED_PATHS[@]}"; do
    sysctl_add_ours "${path}" "${WANTED[${path}]}"
    [[ -z "${PARTNERS[${path}]:-}" ]] || sysctl_add_ours "${PARTNERS[${path}]}" 0
  done
  sysctl_save_ours
}

# sysctl_claim_made PATH: it was set, and this is what the kernel made of it.
sysctl_claim_made() {
  local path REPLY
  for path in "$1" ${PARTNERS[$1]:-}; do
    ! sysctl_live "${path}" || OURS[${path}]="=${REPLY}"$'\n'
  done
}

# sysctl_is_ours PATH: the kernel has a value that this package has set.
sysctl_is_ours() {
  local value values
  lines "${OURS[$1]:-}"
  values=("${LIST[@]}")
  for value in "${values[@]}"; do
    if [[ "${value}" == "~"* ]]; then
      sysctl_has "$1" "${value#"~"}" && return 0
    else
      sysctl_live "$1" && [[ "=${REPLY}" == "${value}" ]] && return 0
    fi
  done
  return 1
}

# sysctl_is_kept_on PATH VALUE: VALUE would switch off what pods need.
sysctl_is_kept_on() {
  local pattern
  sysctl_plain "$1" "$2"
  [[ "${REPLY}" == 0 ]] || return 1
  for pattern in "${KEPT_ON[@]}"; do
    # shellcheck disable=SC2053
    [[ "$1" == ${pattern} ]] && return 0
  done
  return 1
}

# sysctl_is_left PATH VALUE: it must not become VALUE again; says why.
sysctl_is_left() {
  local name live made reason
  sysctl_name "$1"
  name=${REPLY}
  sysctl_live "$1"
  live=${REPLY:-empty}
  if sysctl_is_kept_on "$1" "$2"; then
    reason="pods' network needs it"
  elif sysctl_is_ours "$1" && { [[ -z "${PARTNERS[$1]:-}" ]] || sysctl_is_ours "${PARTNERS[$1]}"; }; then
    return 1
  else
    lines "${OURS[$1]:-}"
    made=${LIST[*]: -1}
    reason="something else has changed it since this package made it ${made#[=~]}"
  fi
  say "${name} is left at ${live}: ${reason}; without this package it would be ${2:-empty}"
}
