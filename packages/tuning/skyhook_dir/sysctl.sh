# shellcheck shell=bash
# sysctl.conf: values of the kernel, now and at each boot.

readonly SYSCTL_DROP_IN="/etc/sysctl.d/${BASE}.conf"
# What sysctl.conf wants, by path below /proc/sys: the value, where a failure
# does not matter, and where only a pattern names the key.
declare -A WANTED=() LENIENT=() BY_PATTERN=()
WANTED_PATHS=()

# sysctl_path KEY: REPLY is its path below /proc/sys. The first separator tells
# which of "." and "/" separates, sysctl.d(5); the other one belongs to a name.
sysctl_path() {
  REPLY=$1
  [[ "$1" == *.* && "${1%%.*}" != */* ]] || return 0
  REPLY=${REPLY//\//$'\1'}
  REPLY=${REPLY//./\/}
  REPLY=${REPLY//$'\1'/.}
}

# sysctl_line LINE: what it says, as KIND (none, set, except, bad), KEY (its
# path), VALUE and MINUS.
sysctl_line() {
  local line key
  KIND=none KEY="" VALUE="" MINUS=""
  trim "$1"
  line=${REPLY}
  [[ -z "${line}" || "${line}" == [#\;]* ]] && return
  if [[ "${line}" == -* ]]; then
    MINUS=1
    line=${line#-}
  fi
  trim "${line%%=*}"
  key=${REPLY}
  sysctl_path "${key}"
  KEY=${REPLY} KIND=bad
  if [[ -z "${key}" || "${key}" == *[[:space:]]* || "/${KEY}/" == *//* || "/${KEY}/" == */../* ]]; then
    return
  fi
  if [[ "${line}" == *=* ]]; then
    words "${line#*=}"
    VALUE=${REPLY} KIND="set"
  elif [[ -n "${MINUS}" ]]; then
    KIND=except
  fi
}

sysctl_is_pattern() {
  [[ "$1" == *[*?[]* ]]
}

sysctl_want() {
  [[ -n "${WANTED[$1]+set}" ]] || WANTED_PATHS+=("$1")
  WANTED[$1]=$2 LENIENT[$1]=$3
}

# sysctl_missing LINE-NUMBER: this host has no such key.
sysctl_missing() {
  if [[ -n "${MINUS}" ]]; then
    say "sysctl.conf line $1: this host has no ${KEY//\//.}, left out"
  else
    problem "sysctl.conf line $1: this host has no key ${KEY//\//.}"
  fi
}

# sysctl_validate: reads sysctl.conf. A key that is named wins over a pattern,
# whatever their order.
sysctl_validate() {
  local file="${CONFIGMAPS}/sysctl.conf" line number=0 path found
  local -a patterns=()
  local -A named=()
  [[ -f "${file}" ]] || return 0
  type -P sysctl >/dev/null || problem "sysctl.conf: sysctl is missing on this host; install procps"
  while IFS= read -r line || [[ -n "${line}" ]]; do
    number=$((number + 1))
    sysctl_line "${line}"
    case "${KIND}" in
      bad) problem "sysctl.conf line ${number}: \"${line%$'\r'}\" is not of the form key = value" ;;
      except) named[${KEY}]=1 ;;
      set)
        if sysctl_is_pattern "${KEY}"; then
          patterns+=("${number} ${line}")
          continue
        fi
        named[${KEY}]=1
        if [[ -f "/proc/sys/${KEY}" ]]; then
          sysctl_want "${KEY}" "${VALUE}" "${MINUS}"
        else
          sysctl_missing "${number}"
        fi
        ;;
    esac
  done <"${file}"
  for line in "${patterns[@]}"; do
    sysctl_line "${line#* }"
    found=""
    # shellcheck disable=SC2231
    for path in /proc/sys/${KEY}; do
      found=1 path=${path#/proc/sys/}
      [[ -n "${named[${path}]+set}" ]] && continue
      sysctl_want "${path}" "${VALUE}" "${MINUS}"
      BY_PATTERN[${path}]=1
    done
    [[ -n "${found}" ]] || sysctl_missing "${line%% *}"
  done
}

sysctl_apply() {
  local path wanted
  for path in "${WANTED_PATHS[@]}"; do
    wanted=${WANTED[${path}]}
    if sysctl_has "${path}" "${wanted}" || sysctl_set "${path}" "${wanted}"; then
      sysctl_claim_made "${path}"
      state_unset rounded "${path}"
      continue
    fi
    # Network interfaces come and go, and their keys with them.
    [[ -f "/proc/sys/${path}" ]] || continue
    [[ -z "${MADE}" || "${BEFORE[${path}]}" == "known ${MADE}" ]] || sysctl_claim_made "${path}"
    if [[ -n "${LENIENT[${path}]}" ]]; then
      say "sysctl.conf: ${path//\//.} is not ${wanted}: ${REPLY}"
    elif [[ -n "${MADE}" && "${BEFORE[${path}]}" != "known ${MADE}" ]]; then
      say "sysctl.conf: ${path//\//.} is not ${wanted}: ${REPLY}; ask for that, or begin the line with -: post-interrupt-check wants what sysctl.conf says"
      state_set rounded "${path}" "${MADE}"
    else
      problem "sysctl.conf: ${path//\//.} cannot be ${wanted:-empty}: ${REPLY}"
    fi
  done
  sysctl_save_ours
}

# sysctl_reconcile: what the kernel refuses does not get into the drop-in.
sysctl_reconcile() {
  sysctl_remember
  sysctl_apply
  stop_on_problems
  if [[ -f "${CONFIGMAPS}/sysctl.conf" ]]; then
    read_key sysctl.conf
    put_drop_in "${SYSCTL_DROP_IN}" "${CONTENT}"
  else
    remove_drop_in "${SYSCTL_DROP_IN}"
  fi
  sysctl_restore_unwanted
}

# sysctl_is_rounded PATH: the kernel has what it made of the wanted value. That
# is good enough for config-check. After an interrupt it is so for values of
# several words only: single ones were compared since the first version.
sysctl_is_rounded() {
  [[ "${MODE}" == config-check || "${WANTED[$1]}" == *" "* ]] || return 1
  state_get rounded "$1" && sysctl_has "$1" "${REPLY}"
}

# sysctl_live_check: but for the keys of interfaces that came after config, to
# which a pattern does not apply, neither at boot.
sysctl_live_check() {
  local path
  sysctl_load_before
  for path in "${WANTED_PATHS[@]}"; do
    [[ -n "${BY_PATTERN[${path}]:-}" && -z "${BEFORE[${path}]:-}" ]] && continue
    sysctl_has "${path}" "${WANTED[${path}]}"
    [[ $? -eq 1 && -z "${LENIENT[${path}]}" ]] || continue
    ! sysctl_is_rounded "${path}" || continue
    sysctl_live "${path}"
    problem "sysctl.conf: ${path//\//.} is ${REPLY}, not ${WANTED[${path}]:-empty}; something else on this host has changed it, or the kernel has"
  done
}

sysctl_check() {
  sysctl_live_check
  if [[ ! -f "${CONFIGMAPS}/sysctl.conf" ]]; then
    sysctl_gone
    return
  fi
  read_key sysctl.conf
  holds "${SYSCTL_DROP_IN}" "${CONTENT}" || problem "${SYSCTL_DROP_IN} is not what sysctl.conf wants"
}

sysctl_remove() {
  sysctl_remember
  remove_drop_in "${SYSCTL_DROP_IN}"
  sysctl_restore_unwanted
}

sysctl_gone() {
  [[ ! -e "${SYSCTL_DROP_IN}" ]] || problem "${SYSCTL_DROP_IN} is left"
}
