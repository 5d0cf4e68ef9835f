# shellcheck shell=bash
# What a running unit has of its drop-in: limits are compared with those of its
# main process. For all else it is only said whether it was started since, as
# some settings need no start, and others may wait for the next one.

# Settings of systemd.exec(5), and their names in /proc/<pid>/limits.
declare -A PROCESS_LIMITS=(
  [LimitCPU]="Max cpu time" [LimitFSIZE]="Max file size" [LimitDATA]="Max data size"
  [LimitSTACK]="Max stack size" [LimitCORE]="Max core file size" [LimitRSS]="Max resident set"
  [LimitNOFILE]="Max open files" [LimitAS]="Max address space" [LimitNPROC]="Max processes"
  [LimitMEMLOCK]="Max locked memory" [LimitLOCKS]="Max file locks" [LimitSIGPENDING]="Max pending signals"
  [LimitMSGQUEUE]="Max msgqueue size" [LimitNICE]="Max nice priority" [LimitRTPRIO]="Max realtime priority"
  [LimitRTTIME]="Max realtime timeout")

readonly RESTART_IT="restart it: add it to interrupt.services"

# size_value TEXT: REPLY is "64K" as a number, systemd's suffixes are powers of 1024.
size_value() {
  [[ "$1" =~ ^([0-9]{1,18})([KMGTPE]?)B?$ ]] || return 1
  local units=KMGTPE power=0
  if [[ -n "${BASH_REMATCH[2]}" ]]; then
    units=${units%%"${BASH_REMATCH[2]}"*}
    power=$((${#units} + 1))
  fi
  REPLY=$((10#${BASH_REMATCH[1]} << (10 * power)))
}

# time_value TEXT DEFAULT: REPLY is "1min 30s" in microseconds; a number alone
# counts DEFAULT of them.
time_value() {
  local rest=${1//[[:space:]]/} total=0 factor
  [[ -n "${rest}" ]] || return 1
  while [[ -n "${rest}" ]]; do
    [[ "${rest}" =~ ^([0-9]{1,12})([a-z]*) ]] || return 1
    case "${BASH_REMATCH[2]}" in
      "") factor=$2 ;;
      us | usec) factor=1 ;;
      ms | msec) factor=1000 ;;
      s | sec | second | seconds) factor=1000000 ;;
      m | min | minute | minutes) factor=60000000 ;;
      h | hr | hour | hours) factor=3600000000 ;;
      d | day | days) factor=86400000000 ;;
      w | week | weeks) factor=604800000000 ;;
      *) return 1 ;;
    esac
    total=$((total + 10#${BASH_REMATCH[1]} * factor))
    rest=${rest#"${BASH_REMATCH[0]}"}
  done
  REPLY=${total}
}

# limit_value NAME TEXT: REPLY is one half of a limit as /proc shows it. Fails
# for what this cannot read; systemd has read it.
limit_value() {
  local text=$2
  if [[ "${text}" == infinity ]]; then
    REPLY=unlimited
    return
  fi
  case "$1" in
    LimitCPU) time_value "${text}" 1000000 && REPLY=$(((REPLY + 999999) / 1000000)) ;;
    LimitRTTIME) time_value "${text}" 1 ;;
    LimitNICE)
      case "${text}" in
        [+-]*) [[ "${text}" =~ ^[+-][0-9]{1,2}$ ]] && REPLY=$((20 - ${text%%[0-9]*}10#${text#[+-]})) ;;
        *) size_value "${text}" ;;
      esac
      ;;
    *) size_value "${text}" ;;
  esac
}

# limit_at_least A B: A is no less than B.
limit_at_least() {
  [[ "$1" == unlimited ]] && return 0
  [[ "$2" != unlimited ]] && (($1 >= $2))
}

# limit_of_process NAME PID: REPLY is "SOFT:HARD", empty without one.
limit_of_process() {
  REPLY=$(sed -n "s/^${PROCESS_LIMITS[$1]}  *\([^ ]*\)  *\([^ ]*\).*/\1:\2/p" "/proc/$2/limits" 2>/dev/null)
}

# limit_is ACTUAL SOFT HARD MOST: ACTUAL is that limit, where there is no more
# than MOST.
limit_is() {
  local soft=$2 hard=$3
  limit_at_least "$4" "${hard}" || hard=$4
  limit_at_least "$4" "${soft}" || soft=$4
  [[ "${1#*:}" == "${hard}" ]] && limit_at_least "${1%:*}" "${soft}"
}

# limit_holds NAME VALUE PID: the process has that limit. It may have raised
# its own soft limit, as programs written in Go do. ACTUAL is what it has.
limit_holds() {
  local soft hard most
  limit_value "$1" "${2%%:*}" || return 0
  soft=${REPLY}
  limit_value "$1" "${2##*:}" || return 0
  hard=${REPLY}
  limit_of_process "$1" "$3"
  ACTUAL=${REPLY}
  [[ -n "${ACTUAL}" ]] || return 0
  limit_is "${ACTUAL}" "${soft}" "${hard}" unlimited && return 0
  [[ "$1" == LimitNOFILE ]] || return 1
  # Of more than the kernel allows, systemd gives what itself may have, which
  # differs where fs.nr_open was changed since the boot.
  limits_most_files
  most=${REPLY}
  ! limit_at_least "${most}" "${hard}" || return 1
  limit_is "${ACTUAL}" "${soft}" "${hard}" "${most}" && return 0
  limit_of_process "$1" 1
  [[ -n "${REPLY}" ]] && limit_is "${ACTUAL}" "${soft}" "${hard}" "${REPLY#*:}"
}

# unit_settings FILE: the settings, a line each, of which continued lines are
# one, and section headings.
unit_settings() {
  awk '/^[ \t]*[#;]/ { next }
    { sub(/^[ \t]+/, ""); sub(/[ \t\r]+$/, ""); line = line $0 }
    /\\$/ { sub(/\\$/, " ", line); next }
    { if (line != "") print line; line = "" }
    END { if (line != "") print line }' "$1"
}

# unit_read FILE: LIMITS has the limits of its [Service] section, the last of
# each; OTHERS is not empty if it has anything else.
unit_read() {
  local line section="" name settings
  LIMITS=() OTHERS=""
  settings=$(unit_settings "$1") || fail "cannot read $1"
  lines "${settings}"
  for line in "${LIST[@]}"; do
    if [[ "${line}" == "["* ]]; then
      section=${line}
      continue
    fi
    trim "${line%%=*}"
    name=${REPLY}
    trim "${line#*=}"
    if [[ "${section}" == "[Service]" && -n "${PROCESS_LIMITS[${name}]:-}" ]]; then
      LIMITS[${name}]=${REPLY}
    else
      OTHERS=1
    fi
  done
}

# unit_running_check UNIT: what runs has the drop-in. A unit that does not run
# will have it when it is started.
unit_running_check() {
  local unit=$1 name pid changed
  local -A LIMITS=()
  local OTHERS="" ACTUAL=""
  unit_is_template "${unit}" && return
  unit_property "${unit}" ActiveState
  case "${REPLY}" in
    active | reloading) ;;
    failed)
      problem "${unit} has failed; see systemctl status ${unit}"
      return
      ;;
    *) return ;;
  esac
  unit_read "${CONFIGMAPS}/${UNIT_KEYS[${unit}]}"
  unit_property "${unit}" MainPID
  pid=${REPLY}
  for name in "${!LIMITS[@]}"; do
    [[ -n "${LIMITS[${name}]}" ]] || continue
    if [[ ! "${pid}" =~ ^[1-9][0-9]*$ ]]; then
      OTHERS=1
      continue
    fi
    limit_holds "${name}" "${LIMITS[${name}]}" "${pid}" ||
      problem "${unit} runs with ${name}=${ACTUAL}, not ${LIMITS[${name}]}; ${RESTART_IT}"
  done
  # Slices have no process to start again: systemd applies changes at once.
  [[ -n "${OTHERS}" && "${unit}" != *.slice ]] || return
  state_get units "${unit}" || return
  changed=${REPLY}
  unit_moment "${unit}"
  [[ "${REPLY}" != "${changed}" ]] ||
    say "${unit} was not started since ${UNIT_KEYS[${unit}]} changed; if that has settings of the start, ${RESTART_IT}"
}

units_running_check() {
  local unit
  for unit in "${UNITS[@]}"; do
    unit_running_check "${unit}"
  done
}
