# shellcheck shell=bash
# What the values of the kernel were before, and how they come back: as the
# next boot would have them without this package.

# As sysctl --system reads them: of files of one name, the first of these.
readonly SYSCTL_DIRS=(/etc/sysctl.d /run/sysctl.d /usr/local/lib/sysctl.d /usr/lib/sysctl.d /lib/sysctl.d)

# The kernel sets the one to 0 when the other is set, and takes no 0 for bytes.
declare -A PARTNERS=(
  [vm/dirty_bytes]=vm/dirty_ratio [vm/dirty_ratio]=vm/dirty_bytes
  [vm/dirty_background_bytes]=vm/dirty_background_ratio [vm/dirty_background_ratio]=vm/dirty_background_bytes)

# What was there before this package: "known VALUE", or "unknown".
declare -A BEFORE=()

# What other files say: VALUE by path, paths that patterns are not for, and
# patterns with their values.
declare -A ELSEWHERE=() ELSEWHERE_EXCEPT=()
ELSEWHERE_PATTERNS=() ELSEWHERE_VALUES=()

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
  local path line partner
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
    for partner in "${path}" ${PARTNERS[${path}]:-}; do
      [[ -n "${BEFORE[${partner}]:-}" ]] && continue
      sysctl_original "${partner}"
      BEFORE[${partner}]=${REPLY}
    done
  done
  sysctl_load_ours
  sysctl_save_before
  sysctl_claim
}

# sysctl_note_elsewhere: the line that sysctl_line has read.
sysctl_note_elsewhere() {
  case "${KIND}" in
    except)
      sysctl_is_pattern "${KEY}" && return
      ELSEWHERE_EXCEPT[${KEY}]=1
      unset "ELSEWHERE[${KEY}]"
      ;;
    set)
      if sysctl_is_pattern "${KEY}"; then
        ELSEWHERE_PATTERNS+=("${KEY}") ELSEWHERE_VALUES+=("${VALUE}")
      else
        ELSEWHERE[${KEY}]=${VALUE}
      fi
      ;;
  esac
}

# sysctl_read_lines FILE: notes what it says.
sysctl_read_lines() {
  local line
  while IFS= read -r line || [[ -n "${line}" ]]; do
    sysctl_line "${line}"
    sysctl_note_elsewhere
  done <"$1"
}

sysctl_forget_elsewhere() {
  ELSEWHERE=() ELSEWHERE_EXCEPT=()
  ELSEWHERE_PATTERNS=() ELSEWHERE_VALUES=()
}

# sysctl_read_elsewhere: what all other files want, the later ones winning.
sysctl_read_elsewhere() {
  local dir file name names
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
    [[ ! -f "${file}" ]] || sysctl_read_lines "${file}"
  done
}

# sysctl_elsewhere PATH: REPLY is the value that another file gives it.
sysctl_elsewhere() {
  local i pattern found=1
  if [[ -n "${ELSEWHERE[$1]+set}" ]]; then
    REPLY=${ELSEWHERE[$1]}
    return 0
  fi
  [[ -z "${ELSEWHERE_EXCEPT[$1]:-}" ]] || return 1
  for i in "${!ELSEWHERE_PATTERNS[@]}"; do
    # shellcheck disable=SC2231
    for pattern in /proc/sys/${ELSEWHERE_PATTERNS[i]}; do
      [[ "${pattern}" == "/proc/sys/$1" ]] && REPLY=${ELSEWHERE_VALUES[i]} found=0
    done
  done
  return "${found}"
}

# sysctl_is_gone PATH: nothing wants it any more, nor its partner.
sysctl_is_gone() {
  [[ -z "${WANTED[$1]+set}" ]] || return 1
  [[ -z "${PARTNERS[$1]:-}" || -z "${WANTED[${PARTNERS[$1]}]+set}" ]]
}

# sysctl_yields PATH VALUE: its partner has the say.
sysctl_yields() {
  local partner=${PARTNERS[$1]:-}
  [[ -n "${partner}" ]] || return 1
  [[ "$2" != 0 ]] || return 0
  ! sysctl_elsewhere "$1" && sysctl_elsewhere "${partner}" && [[ "${REPLY}" != 0 ]]
}

# sysctl_restore PATH: if it is still ours, and as far as that can be done; some
# values can only be set once per boot, and that must not keep a package from
# being removed.
sysctl_restore() {
  local name value
  [[ -f "/proc/sys/$1" ]] || return 0
  sysctl_name "$1"
  name=${REPLY}
  if sysctl_elsewhere "$1"; then
    value=${REPLY}
  elif [[ "${BEFORE[$1]}" == "known "* ]]; then
    value=${BEFORE[$1]#known }
  else
    say "the value that ${name} had before is not known; it stays until the next boot"
    return 0
  fi
  ! sysctl_yields "$1" "${value}" || return 0
  sysctl_has "$1" "${value}"
  [[ $? -eq 1 ]] && ! sysctl_is_left "$1" "${value}" || return 0
  sysctl_set "$1" "${value}" ||
    say "${name} stays as it is until the next boot, it cannot be set back to ${value}: ${REPLY}"
}

# sysctl_restore_unwanted: and only then forgets what was there before.
sysctl_restore_unwanted() {
  local path gone=()
  for path in "${!BEFORE[@]}"; do
    ! sysctl_is_gone "${path}" || gone+=("${path}")
  done
  ((${#gone[@]})) || return 0
  sysctl_read_elsewhere
  for path in "${gone[@]}"; do
    sysctl_restore "${path}"
    state_unset rounded "${path}"
  done
  # A pair is looked at as one, so not before all are done.
  for path in "${gone[@]}"; do
    unset "BEFORE[${path}]" "OURS[${path}]"
  done
  sysctl_save_ours
  sysctl_save_before
}
