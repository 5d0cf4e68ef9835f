# shellcheck shell=bash
# service_<unit>.conf: drop-ins of systemd units.

readonly UNIT_DIR=/etc/systemd/system
readonly UNIT_TYPES="service socket device mount automount swap target path timer slice scope"

# The units of the configMap, and the key of each.
UNITS=()
declare -A UNIT_KEYS=()

# unit_of KEY: REPLY is the unit. Without a type it is a service.
unit_of() {
  REPLY=${1#service_}
  REPLY=${REPLY%.conf}
  [[ "${REPLY}" == ?*.* && " ${UNIT_TYPES} " == *" ${REPLY##*.} "* ]] || REPLY+=.service
}

unit_drop_in() {
  REPLY="${UNIT_DIR}/$1.d/${BASE}.conf"
}

# unit_property UNIT NAME: REPLY is what systemd says, empty if it says nothing.
unit_property() {
  local line
  line=$(systemctl show --property "$2" -- "$1" 2>/dev/null)
  REPLY=${line#"$2="}
  [[ "${line}" == "$2="* ]] || REPLY=""
}

unit_is_template() {
  [[ "$1" == *@.* ]]
}

# unit_exists UNIT: systemd has a file of it, or runs it.
unit_exists() {
  if unit_is_template "$1"; then
    systemctl cat -- "$1" >/dev/null 2>&1
    return
  fi
  unit_property "$1" LoadState
  [[ -n "${REPLY}" && "${REPLY}" != not-found ]]
}

# unit_file_validate KEY: each line is a section, a setting or a comment, or
# continues the one before it.
unit_file_validate() {
  local line number=0 section="" continued=""
  while IFS= read -r line || [[ -n "${line}" ]]; do
    number=$((number + 1))
    trim "${line}"
    if [[ -n "${continued}" ]]; then
      [[ "${REPLY}" == [#\;]* || "${REPLY}" == *\\ ]] || continued=""
      continue
    fi
    case "${REPLY}" in
      "" | [#\;]*) ;;
      "["?*"]") section=${REPLY} ;;
      [A-Za-z]*=*)
        [[ -n "${section}" ]] || problem "$1 line ${number}: \"${REPLY}\" is in no section; begin with one, such as [Service]"
        [[ "${REPLY}" == *\\ ]] && continued=1
        ;;
      *) problem "$1 line ${number}: \"${REPLY}\" is neither a [section] nor a setting" ;;
    esac
  done <"${CONFIGMAPS}/$1"
}

units_validate() {
  local path key unit
  for path in "${CONFIGMAPS}"/service_?*.conf; do
    is_key "${path}" || continue
    key=${path##*/}
    unit_of "${key}"
    unit=${REPLY}
    if [[ ! "${unit}" =~ ^[A-Za-z0-9:_.\\@-]+$ ]]; then
      problem "${key}: \"${unit}\" cannot be the name of a unit"
    elif [[ -n "${UNIT_KEYS[${unit}]:-}" ]]; then
      problem "${key} and ${UNIT_KEYS[${unit}]} are both for ${unit}; join them"
    else
      UNITS+=("${unit}") UNIT_KEYS[${unit}]=${key}
      # One configMap serves hosts that differ: containerd here, cri-o there.
      unit_exists "${unit}" || say "${key}: this host has no unit ${unit} yet; the drop-in waits for it"
      unit_file_validate "${key}"
    fi
  done
}

# unit_moment UNIT: REPLY changes whenever the unit is started, also by a boot.
# Only compared with itself, so that no clock can mislead it.
unit_moment() {
  unit_property "$1" ActiveEnterTimestampMonotonic
  REPLY="$(cat /proc/sys/kernel/random/boot_id 2>/dev/null) ${REPLY}"
}

# units_present: the drop-ins of this package that are there, and those that
# were being written; FOUND has them.
units_present() {
  local file dir line
  local -A seen=()
  FOUND=()
  for file in "${UNIT_DIR}"/*.d/"${BASE}.conf" "${UNIT_DIR}"/*.d/"${BASE}.conf${UNFINISHED}"; do
    file=${file%"${UNFINISHED}"}
    [[ -n "${seen[${file}]:-}" ]] || FOUND+=("${file}")
    seen[${file}]=1
  done
  # A crash may have left a folder without its drop-in.
  state_read folders
  lines "${CONTENT}"
  for line in "${LIST[@]}"; do
    dir=${line%% *} file="${line%% *}/${BASE}.conf"
    [[ "${dir}" == "${UNIT_DIR}"/* && -z "${seen[${file}]:-}" ]] && FOUND+=("${file}")
  done
}

units_remove_unwanted() {
  local file unit
  units_present
  for file in "${FOUND[@]}"; do
    unit=${file%/*} unit=${unit##*/} unit=${unit%.d}
    [[ -n "${UNIT_KEYS[${unit}]:-}" ]] && continue
    owe daemon-reload
    remove_drop_in "${file}"
    state_unset units "${unit}"
  done
}

# unit_is_known UNIT FILE: systemd has read it as it is on disk, which others
# may have changed as well.
unit_is_known() {
  unit_is_template "$1" || ! unit_exists "$1" && return
  unit_property "$1" LoadState
  [[ "${REPLY}" != masked ]] || return 0
  unit_property "$1" NeedDaemonReload
  [[ "${REPLY}" != yes ]] || return 1
  unit_property "$1" DropInPaths
  [[ " ${REPLY} " == *" $2 "* ]]
}

# units_reconcile: the moment of each changed unit is taken when systemd knows
# the change, so that a later start is one with it.
units_reconcile() {
  local unit file content
  units_remove_unwanted
  for unit in "${UNITS[@]}"; do
    unit_drop_in "${unit}"
    file=${REPLY}
    read_key "${UNIT_KEYS[${unit}]}"
    content=${CONTENT}
    if holds "${file}" "${content}"; then
      unit_is_known "${unit}" "${file}" || owe daemon-reload
      continue
    fi
    owe daemon-reload
    state_set units "${unit}" changing
    put_drop_in "${file}" "${content}"
  done
  units_reload
}

# units_reload: also ends what a crash has cut off.
units_reload() {
  local line changed=()
  owed daemon-reload || return 0
  if type -P systemctl >/dev/null; then
    systemctl daemon-reload || fail "systemctl daemon-reload failed"
  fi
  state_read units
  lines "${CONTENT}"
  changed=("${LIST[@]}")
  for line in "${changed[@]}"; do
    [[ "${line#* }" == changing ]] || continue
    unit_moment "${line%% *}"
    state_set units "${line%% *}" "${REPLY}"
  done
  settle daemon-reload
}

unit_check() {
  local unit=$1 file
  unit_drop_in "${unit}"
  file=${REPLY}
  read_key "${UNIT_KEYS[${unit}]}"
  if ! holds "${file}" "${CONTENT}"; then
    problem "${file} is not what ${UNIT_KEYS[${unit}]} wants"
    return
  fi
  unit_is_template "${unit}" && return
  unit_exists "${unit}" || return
  unit_property "${unit}" LoadState
  case "${REPLY}" in
    loaded) ;;
    masked) return ;; # nothing starts it, and systemd may not look at its drop-ins
    *) problem "${UNIT_KEYS[${unit}]}: systemd cannot load ${unit} (${REPLY}); see systemctl status ${unit}" ;;
  esac
  unit_property "${unit}" NeedDaemonReload
  [[ "${REPLY}" != yes ]] || problem "${unit} has changed on disk since systemd read it; run systemctl daemon-reload"
  unit_property "${unit}" DropInPaths
  [[ " ${REPLY} " == *" ${file} "* ]] || problem "systemd does not use ${file} for ${unit}"
}

# units_check: no drop-in but the wanted ones, and systemd knows those.
units_check() {
  local file unit
  for unit in "${UNITS[@]}"; do
    unit_check "${unit}"
  done
  for file in "${UNIT_DIR}"/*.d/"${BASE}.conf"; do
    unit=${file%/*} unit=${unit##*/} unit=${unit%.d}
    [[ -n "${UNIT_KEYS[${unit}]:-}" ]] || problem "${file} is left, though the configMap has no key for ${unit}"
  done
}

units_remove() {
  UNITS=() UNIT_KEYS=()
  units_remove_unwanted
  units_reload
}

units_gone() {
  local file
  for file in "${UNIT_DIR}"/*.d/"${BASE}.conf"; do
    problem "${file} is left"
  done
}
