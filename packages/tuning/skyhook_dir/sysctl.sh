# shellcheck shell=bash
# sysctl.conf: values of the kernel, now and at each boot.

readonly SYSCTL_DROP_IN="/etc/sysctl.d/${BASE}.conf"
# As sysctl --system reads them: of files of one name, the first of these.
readonly SYSCTL_DIRS=(/etc/sysctl.d /run/sysctl.d /usr/local/lib/sysctl.d /usr/lib/sysctl.d /lib/sysctl.d)

# What sysctl.conf wants, by path below /proc/sys: the value, where a failure
# does not matter, and where only a pattern names the key.
declare -A WANTED=() LENIENT=() BY_PATTERN=()
WANTED_PATHS=()

# What was there before this package: "known VALUE", or "unknown".
declare -A BEFORE=()

# What other files say: VALUE by path, and patterns with theirs.
declare -A ELSEWHERE=()
ELSEWHERE_PATTERNS=() ELSEWHERE_VALUES=()

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
    VALUE=${REPLY}
    [[ -n "${VALUE}" ]] && KIND="set"
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
      bad) problem "sysctl.conf line ${number}: \"${line}\" is not of the form key = value" ;;
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

# sysctl_live PATH: REPLY is its present value. Some keys can only be written.
sysctl_live() {
  local value
  value=$(cat -- "/proc/sys/$1" 2>/dev/null) || return 1
  words "${value}"
}

# sysctl_ports LIST: REPLY is the list as the kernel writes it: "1-3,7".
sysctl_ports() {
  REPLY=$(awk -v list="$1" 'BEGIN {
    n = split(list, parts, ",")
    for (i = 1; i <= n; i++) {
      m = split(parts[i], ends, "-")
      for (port = ends[1] + 0; port <= ends[m] + 0; port++) has[port] = 1
    }
    for (port = 0; port <= 65535; port++) {
      if (!(port in has)) continue
      for (last = port; (last + 1) in has; last++);
      out = out (out == "" ? "" : ",") port (last > port ? "-" last : "")
      port = last
    }
    print out
  }')
}

# sysctl_plain PATH VALUE: REPLY is VALUE as the kernel gives it back.
sysctl_plain() {
  local word out=()
  if [[ "$1" == net/ipv4/ip_local_reserved_ports && "$2" =~ ^[0-9,-]+$ ]]; then
    sysctl_ports "$2"
    return
  fi
  set -f
  for word in $2; do
    # Hexadecimal and octal numbers are understood, and read back as decimal.
    [[ "${word}" =~ ^-?0([xX][0-9a-fA-F]{1,15}|[0-7]{1,20})$ ]] && word=$((word))
    out+=("${word}")
  done
  set +f
  REPLY="${out[*]}"
}

# sysctl_has PATH VALUE: the kernel has it.
sysctl_has() {
  local wanted
  sysctl_live "$1" || return 2
  [[ "${REPLY}" == "$2" ]] && return 0
  sysctl_plain "$1" "$2"
  wanted=${REPLY}
  sysctl_live "$1"
  sysctl_plain "$1" "${REPLY}"
  [[ "${REPLY}" == "${wanted}" ]]
}

# sysctl_set PATH VALUE: REPLY is the reason if that fails. Old versions of
# sysctl end well even then, so the value is read again.
sysctl_set() {
  local output
  if ! output=$(sysctl -q -w "$1=$2" 2>&1); then
    REPLY=${output:-sysctl failed}
    return 1
  fi
  sysctl_has "$1" "$2"
  [[ $? -ne 1 ]] && return 0
  sysctl_live "$1"
  REPLY="the kernel made it ${REPLY}"
  return 1
}

sysctl_load_before() {
  local line
  BEFORE=()
  state_read sysctl
  lines "${CONTENT}"
  for line in "${LIST[@]}"; do
    BEFORE[${line%% *}]=${line#* }
  done
}

sysctl_save_before() {
  local path text=""
  for path in "${!BEFORE[@]}"; do
    text+="${path} ${BEFORE[${path}]}"$'\n'
  done
  state_write sysctl "${text}"
}

# sysctl_original PATH: REPLY is what to remember of it. What another package
# of this kind found before its own change is the host's own value.
sysctl_original() {
  state_elsewhere sysctl "$1" && return
  if sysctl_live "$1"; then
    REPLY="known ${REPLY}"
  else
    REPLY=unknown
  fi
}

# sysctl_remember: before anything is changed, and never twice: a later run
# would find the values that this one sets.
sysctl_remember() {
  local path line
  sysctl_load_before
  if [[ -f "${SYSCTL_DROP_IN}" && ! -e "${STATE}/sysctl" ]]; then
    # An earlier version of this package, which did not remember, has set these.
    while IFS= read -r line || [[ -n "${line}" ]]; do
      sysctl_line "${line}"
      [[ "${KIND}" == set ]] || continue
      # shellcheck disable=SC2231
      for path in /proc/sys/${KEY}; do
        path=${path#/proc/sys/}
        [[ -n "${BEFORE[${path}]:-}" ]] || BEFORE[${path}]=unknown
      done
    done <"${SYSCTL_DROP_IN}"
  fi
  for path in "${WANTED_PATHS[@]}"; do
    [[ -n "${BEFORE[${path}]:-}" ]] && continue
    sysctl_original "${path}"
    BEFORE[${path}]=${REPLY}
  done
  sysctl_save_before
}

# sysctl_read_elsewhere: what all other files want, the later ones winning.
sysctl_read_elsewhere() {
  local dir file name line names
  local -A files=()
  for dir in "${SYSCTL_DIRS[@]}"; do
    for file in "${dir}"/*.conf; do
      name=${file##*/}
      [[ -n "${files[${name}]:-}" ]] || files[${name}]=${file}
    done
  done
  unset "files[${SYSCTL_DROP_IN##*/}]"
  names=$(printf '%s\n' "${!files[@]}" | sort)
  lines "${names}"
  for name in "${LIST[@]}" /etc/sysctl.conf; do
    file=${files[${name}]:-${name}}
    [[ -f "${file}" ]] || continue
    while IFS= read -r line || [[ -n "${line}" ]]; do
      sysctl_line "${line}"
      [[ "${KIND}" == set ]] || continue
      if sysctl_is_pattern "${KEY}"; then
        ELSEWHERE_PATTERNS+=("${KEY}") ELSEWHERE_VALUES+=("${VALUE}")
      else
        ELSEWHERE[${KEY}]=${VALUE}
      fi
    done <"${file}"
  done
}

# sysctl_elsewhere PATH: REPLY is the value that another file gives it.
sysctl_elsewhere() {
  local i pattern found=1
  if [[ -n "${ELSEWHERE[$1]:-}" ]]; then
    REPLY=${ELSEWHERE[$1]}
    return 0
  fi
  for i in "${!ELSEWHERE_PATTERNS[@]}"; do
    # shellcheck disable=SC2231
    for pattern in /proc/sys/${ELSEWHERE_PATTERNS[i]}; do
      [[ "${pattern}" == "/proc/sys/$1" ]] && REPLY=${ELSEWHERE_VALUES[i]} found=0
    done
  done
  return "${found}"
}

# sysctl_restore PATH: as far as that can be done; some values can only be set
# once per boot, and that must not keep a package from being removed.
sysctl_restore() {
  local value
  [[ -f "/proc/sys/$1" ]] || return 0
  if sysctl_elsewhere "$1"; then
    value=${REPLY}
  elif [[ "${BEFORE[$1]}" == "known "* ]]; then
    value=${BEFORE[$1]#known }
  else
    say "the value that ${1//\//.} had before is not known; it stays until the next boot"
    return 0
  fi
  sysctl_has "$1" "${value}"
  [[ $? -ne 1 ]] || sysctl_set "$1" "${value}" ||
    say "${1//\//.} stays as it is until the next boot, it cannot be set back to ${value}: ${REPLY}"
}

# sysctl_restore_unwanted: and only then forgets what was there before.
sysctl_restore_unwanted() {
  local path gone=()
  for path in "${!BEFORE[@]}"; do
    [[ -n "${WANTED[${path}]+set}" ]] || gone+=("${path}")
  done
  ((${#gone[@]})) || return 0
  sysctl_read_elsewhere
  for path in "${gone[@]}"; do
    sysctl_restore "${path}"
    unset "BEFORE[${path}]"
  done
  sysctl_save_before
}

sysctl_apply() {
  local path
  for path in "${WANTED_PATHS[@]}"; do
    sysctl_has "${path}" "${WANTED[${path}]}" && continue
    sysctl_set "${path}" "${WANTED[${path}]}" && continue
    # Network interfaces come and go, and their keys with them.
    [[ -f "/proc/sys/${path}" ]] || continue
    if [[ -n "${LENIENT[${path}]}" ]]; then
      say "sysctl.conf: ${path//\//.} is not ${WANTED[${path}]}: ${REPLY}"
    else
      problem "sysctl.conf: ${path//\//.} cannot be ${WANTED[${path}]}: ${REPLY}"
    fi
  done
}

# sysctl_reconcile: what the kernel refuses does not get into the drop-in.
sysctl_reconcile() {
  sysctl_remember
  sysctl_apply
  stop_on_problems
  if [[ -f "${CONFIGMAPS}/sysctl.conf" ]]; then
    read_file "${CONFIGMAPS}/sysctl.conf"
    put_drop_in "${SYSCTL_DROP_IN}" "${CONTENT}"
  else
    remove_drop_in "${SYSCTL_DROP_IN}"
  fi
  sysctl_restore_unwanted
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
    sysctl_live "${path}"
    problem "sysctl.conf: ${path//\//.} is ${REPLY}, not ${WANTED[${path}]}; something else on this host has changed it"
  done
}

sysctl_check() {
  sysctl_live_check
  if [[ ! -f "${CONFIGMAPS}/sysctl.conf" ]]; then
    sysctl_gone
  elif ! cmp -s -- "${CONFIGMAPS}/sysctl.conf" "${SYSCTL_DROP_IN}"; then
    problem "${SYSCTL_DROP_IN} is not what sysctl.conf wants"
  fi
}

sysctl_remove() {
  sysctl_remember
  remove_drop_in "${SYSCTL_DROP_IN}"
  sysctl_restore_unwanted
}

sysctl_gone() {
  [[ ! -e "${SYSCTL_DROP_IN}" ]] || problem "${SYSCTL_DROP_IN} is left"
}
