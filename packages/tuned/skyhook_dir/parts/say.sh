# shellcheck shell=bash
# What the log says, and how a step ends.

say() {
  printf 'tuned: %s\n' "$*"
}

warn() {
  printf 'tuned: warning: %s\n' "$*"
}

fail() {
  trap - ERR
  printf 'tuned: %s\n' "$*" >&2
  exit 1
}

# A command that nobody expected to fail.
trap 'fail "\"${BASH_COMMAND}\" failed with $? (${BASH_SOURCE[0]##*/}, line ${LINENO})"' ERR

# words TEXT, lines TEXT: LIST has its words, or its lines. Nothing here reads
# from a here-string: bash before 5.1 needs a temporary file for one, and where a
# full disk refuses that, the text would be taken for empty.
words() {
  set -f
  # shellcheck disable=SC2206
  LIST=($1)
  set +f
}

lines() {
  local IFS=$'\n'
  words "$1"
}

# attempt COMMAND...: runs it and shows its output. The last line, which is
# where tools say why, is left in LAST. A file and not a pipe: a daemon that
# the command starts would hold the pipe open.
attempt() {
  local status=0 output
  output=$(mktemp)
  "$@" >"${output}" 2>&1 </dev/null || status=$?
  cat "${output}"
  LAST=$(sed -n '/[^[:space:]]/h; ${x;p;}' "${output}")
  rm -f "${output}"
  return "${status}"
}

# settle COMMAND...: tries for TUNED_SETTLE_SECONDS until it succeeds. Services
# and devices need a moment, and a failed check costs a restart of the pod.
settle() {
  local left=${TUNED_SETTLE_SECONDS:-10}
  [[ "${left}" =~ ^[0-9]+$ ]] || fail "TUNED_SETTLE_SECONDS is \"${left}\"; give a number of seconds"
  until "$@"; do
    ((left > 0)) || return 1
    left=$((left - 1))
    sleep 1
  done
}
