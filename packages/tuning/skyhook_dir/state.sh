# shellcheck shell=bash
# Files, and what the package remembers of the host: the values from before,
# the folders it made, and the work that was begun and may have been cut off.

readonly STATE="${SKYHOOK_ROOT_DIR:-/var/lib/skyhook}/tuning/${PACKAGE}"
# What a file is called until it is complete. Nothing reads such names.
readonly UNFINISHED=".skyhook-new"

# trim TEXT: REPLY is TEXT without the blanks around it.
trim() {
  REPLY=${1#"${1%%[![:space:]]*}"}
  REPLY=${REPLY%"${REPLY##*[![:space:]]}"}
}

# words TEXT: REPLY is TEXT with one blank between its words.
words() {
  local -a list
  set -f
  # shellcheck disable=SC2206
  list=($1)
  set +f
  REPLY="${list[*]}"
}

# lines TEXT: LIST has those that are not empty. Unlike a here-document this
# needs no temporary file, which a full disk would silently refuse.
lines() {
  local IFS=$'\n'
  set -f
  # shellcheck disable=SC2206
  LIST=($1)
  set +f
}

# has_line TEXT LINE: LINE is a line of TEXT.
has_line() {
  [[ $'\n'"$1"$'\n' == *$'\n'"$2"$'\n'* ]]
}

# read_file FILE: CONTENT is exactly what is in FILE, empty if it is missing. It
# ends where a NUL character is, then NUL is not empty: bash knows none.
read_file() {
  CONTENT="" NUL=""
  [[ -e "$1" ]] || return 0
  # Up to the end of the file, which is what read calls a failure.
  { ! IFS= read -r -d "" CONTENT || NUL=1; } <"$1" || fail "cannot read $1"
}

# is_key PATH: the configMap has it. What was copied from an earlier mount may
# have left a link that leads nowhere: its key is gone, and not empty.
is_key() {
  [[ -f "$1" ]]
}

# read_key KEY: CONTENT is what the configMap has under KEY, with Unix line ends.
read_key() {
  read_file "${CONFIGMAPS}/$1"
  CONTENT=${CONTENT//$'\r\n'/$'\n'}
  CONTENT=${CONTENT%$'\r'}
}

# holds FILE CONTENT: FILE is there and has exactly that content.
holds() {
  [[ -f "$1" ]] || return 1
  read_file "$1"
  [[ -z "${NUL}" && "${CONTENT}" == "$2" ]]
}

# put_file FILE CONTENT: at once, so that a crash leaves the old file or the
# new one, also one of the host: the new one is on the disk before it takes its
# place, and so is what is remembered. An existing file keeps its owner and mode.
put_file() {
  local file=$1
  [[ -L "${file}" ]] && file=$(readlink -f -- "${file}")
  local new="${file}${UNFINISHED}"
  [[ ! -e "${new}" ]] || rm -f -- "${new}"
  if [[ -e "${file}" ]]; then
    cp -a -- "${file}" "${new}" || fail "cannot write ${new}"
  fi
  # A sync of before coreutils 8.24 writes everything, and complains.
  if ! printf '%s' "$2" >"${new}" || ! sync -- "${new}" "${STATE}" 2>/dev/null || ! mv -f -- "${new}" "${file}"; then
    fail "cannot write ${file}"
  fi
}

state_begin() {
  [[ -d "${STATE}" ]] || mkdir -p -- "${STATE}" || fail "cannot make ${STATE}"
}

# state_read NAME: CONTENT is what is remembered under NAME.
state_read() {
  read_file "${STATE}/$1"
}

state_write() {
  if [[ -n "$2" ]]; then
    holds "${STATE}/$1" "$2" || put_file "${STATE}/$1" "$2"
  elif [[ -e "${STATE}/$1" ]]; then
    rm -f -- "${STATE:?}/$1" || fail "cannot remove ${STATE}/$1"
  fi
}

# What is remembered is a list of "KEY VALUE" lines; keys have no blanks.

# lines_value KEY: REPLY is the value in CONTENT.
lines_value() {
  local line
  lines "${CONTENT}"
  for line in "${LIST[@]}"; do
    [[ "${line%% *}" == "$1" ]] || continue
    REPLY=${line#* }
    return 0
  done
  return 1
}

# state_get NAME KEY: REPLY is the value.
state_get() {
  state_read "$1"
  lines_value "$2"
}

# state_elsewhere NAME KEY: the same of another package of this kind.
state_elsewhere() {
  local file
  for file in "${STATE%/*/*/*}"/*/tuning/*/"$1"; do
    [[ "${file}" == "${STATE}/$1" ]] && continue
    read_file "${file}"
    lines_value "$2" && return 0
  done
  return 1
}

# state_without NAME KEY: REPLY is the list without that key.
state_without() {
  local line
  state_read "$1"
  lines "${CONTENT}"
  REPLY=""
  for line in "${LIST[@]}"; do
    [[ "${line%% *}" == "$2" ]] || REPLY+="${line}"$'\n'
  done
}

state_unset() {
  state_without "$1" "$2"
  [[ "${REPLY}" == "${CONTENT}" ]] || state_write "$1" "${REPLY}"
}

state_set() {
  state_without "$1" "$2"
  state_write "$1" "${REPLY}$2 $3"$'\n'
}

# owe WORK, owed WORK, settle WORK: work that must follow a change, such as
# update-grub. It is owed from before the change, so that a crash between the
# two does not lose it.
owe() {
  state_write "owed-$1" "since $(date -u +%FT%TZ)"$'\n'
}

owed() {
  [[ -e "${STATE}/owed-$1" ]]
}

settle() {
  state_write "owed-$1" ""
}

state_end() {
  rm -rf -- "${STATE:?}" || fail "cannot remove ${STATE}"
  rmdir -- "${STATE%/*}" 2>/dev/null
  return 0
}

state_gone() {
  [[ ! -e "${STATE}" ]] || problem "${STATE} is left"
}
