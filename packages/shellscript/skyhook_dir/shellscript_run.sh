#!/usr/bin/env bash
# Runs one hook of the package: the script that the user gave in the configMap
# under the key "<hook>.sh". Usage: shellscript_run.sh HOOK
#
# A key that was meant as a hook but is not named like one would silently do
# nothing, so keys that look like a misspelt hook are refused.

set -o pipefail

readonly HOOKS=(apply apply_check upgrade upgrade_check config config_check
  post_interrupt post_interrupt_check uninstall uninstall_check)

fail() {
  printf 'shellscript: %s\n' "$*" >&2
  exit 1
}

say() {
  printf 'shellscript: %s\n' "$*"
}

has_key() {
  [[ -e "${CONFIGMAPS}/$1" ]]
}

is_hook() {
  local hook
  for hook in "${HOOKS[@]}"; do
    [[ "${hook}" == "$1" ]] && return 0
  done
  return 1
}

# one_edit A B: B is A with one character more, less, changed, or swapped with
# its neighbour, or the same.
one_edit() {
  local a=$1 b=$2
  while [[ -n "${a}" && "${a:0:1}" == "${b:0:1}" ]]; do
    a=${a:1} b=${b:1}
  done
  while [[ -n "${a}" && -n "${b}" && "${a: -1}" == "${b: -1}" ]]; do
    a=${a:0:${#a}-1} b=${b:0:${#b}-1}
  done
  ((${#a} <= 1 && ${#b} <= 1)) && return 0
  [[ ${#a} -eq 2 && "${a:1:1}${a:0:1}" == "${b}" ]]
}

# plain NAME: lower case, without what people put between words.
plain() {
  local name=${1,,}
  printf '%s' "${name//[-_. ]/}"
}

# resembles KEY HOOK: someone who wrote KEY may well have meant HOOK.sh.
resembles() {
  local key=$1 hook=$2 extension="" stem
  stem=${key}
  if [[ "${key}" == *.* ]]; then
    stem=${key%.*} extension=${key##*.}
  fi
  local written wanted
  written=$(plain "${stem}") wanted=$(plain "${hook}")
  case "${extension,,}" in
    sh | bash) one_edit "${written}" "${wanted}" ;;
    yaml | yml) [[ "${written}" == "${wanted}" ]] ;;
    # A file just named "config" is as good as any other name for data.
    "") [[ "${written}" == "${wanted}" && "${written}" != config ]] ;;
    *) return 1 ;;
  esac
}

# refuse_misspelt HOOK...: fails if a key resembles one of these hooks, the hook
# itself is not there, and nothing else has a use for the key.
refuse_misspelt() {
  local path key hook problems=0
  for path in "${CONFIGMAPS}"/*; do
    key=${path##*/}
    has_key "${key}" || continue
    [[ "${key}" == *.sh ]] && is_hook "${key%.sh}" && continue
    for hook in "$@"; do
      if ! has_key "${hook}.sh" && resembles "${key}" "${hook}" && ! is_used "${key}"; then
        printf 'shellscript: the configMap key "%s" does nothing; if it is meant as the %s script, name it "%s.sh", else give it another name\n' \
          "${key}" "${hook}" "${hook}" >&2
        problems=1
        break
      fi
    done
  done
  ((problems == 0)) || exit 1
}

# judge_check_alone: a check without the script whose work it checks may be a
# mistake, or all that is wanted. After an interrupt it is nothing special.
judge_check_alone() {
  local hook=$1 problem
  [[ "${hook}" == *_check || "${hook}" == post_interrupt ]] && return
  has_key "${hook}_check.sh" || return 0
  problem="the configMap has \"${hook}_check.sh\" but no \"${hook}.sh\""
  [[ "${SHELLSCRIPT_STRICT:-}" != true ]] || fail "${problem}; add \"${hook}.sh\", or remove the check"
  say "warning: ${problem}: the check is all that this stage does"
}

# is_mentioned KEY: another key's text has its name in it.
is_mentioned() {
  local path
  for path in "${CONFIGMAPS}"/*; do
    [[ "${path##*/}" == "$1" ]] || ! grep -qsF -- "$1" "${path}" || return 0
  done
  return 1
}

# A script that takes all of the folder, or makes up names in it.
readonly WHOLE_FOLDER="configmaps(/?[\"']?([[:space:];|&)]|\$)|/[^[:space:]]*[*?\$[{])"

# is_used KEY: another key's text has its name in it, or a script may find it.
is_used() {
  local script
  is_mentioned "$1" && return
  for script in "${CONFIGMAPS}"/*.sh; do
    [[ "${script##*/}" == "$1" ]] || ! grep -qsE "${WHOLE_FOLDER}" "${script}" || return 0
  done
  return 1
}

# note_unused: a script that is no hook is there to be run by one.
note_unused() {
  local path key
  for path in "${CONFIGMAPS}"/*.sh; do
    key=${path##*/}
    has_key "${key}" && ! is_hook "${key%.sh}" && ! is_mentioned "${key}" || continue
    say "warning: nothing runs it: the configMap key \"${key}\" is not named like a stage, and no other key mentions it"
  done
}

note_missing() {
  local hook=$1 known
  say "the configMap has no \"${hook}.sh\", nothing to do for ${hook}"
  [[ "${hook}" == apply ]] || return 0
  for known in "${HOOKS[@]}"; do
    has_key "${known}.sh" && return 0
  done
  say "warning: the configMap has none of the scripts this package runs: ${HOOKS[*]/%/.sh}"
}

# read_shebang SCRIPT: sets INTERPRETER and ARGUMENT as the kernel does, the
# first word and all the rest as one, and looks through env for a shell.
read_shebang() {
  local line=""
  INTERPRETER="" ARGUMENT=""
  IFS= read -r line <"$1" || true
  line=${line%$'\r'}
  [[ "${line}" == '#!'* ]] || return 0
  # No here-string: bash before 5.1 needs a temporary file for one. A full disk
  # refuses that, and the script would run with the wrong interpreter.
  [[ "${line:2}" =~ ^[[:blank:]]*([^[:blank:]]*)[[:blank:]]*(.*[^[:blank:]])?[[:blank:]]*$ ]] || return 0
  INTERPRETER=${BASH_REMATCH[1]} ARGUMENT=${BASH_REMATCH[2]}
  if [[ "${INTERPRETER##*/}" == env && "${ARGUMENT##*/}" =~ ^(-S +)?([^ ]*/)?(bash|sh|dash|ash)( +(.*))?$ ]]; then
    INTERPRETER=${BASH_REMATCH[3]} ARGUMENT=${BASH_REMATCH[5]}
  fi
}

# run_hook HOOK: replaces this process, so that the exit code and all signals
# are the script's own. A key of a configMap is not executable, hence the
# detour through its interpreter.
run_hook() {
  local hook=$1 script="${CONFIGMAPS}/$1.sh"
  read_shebang "${script}"
  case "${INTERPRETER##*/}" in
    # Scripts for sh have always been run by bash, and may rely on it.
    "" | bash | sh | dash | ash) run_bash "${script}" "${hook}" ;;
  esac
  type -P "${INTERPRETER}" >/dev/null || fail "\"${hook}.sh\" wants ${INTERPRETER}, which this host does not have"
  exec "${INTERPRETER}" ${ARGUMENT:+"${ARGUMENT}"} "${script}" "${hook}"
}

# run_bash SCRIPT HOOK: whichever bash there is. What bash would not take for
# options, such as a comment, never mattered.
run_bash() {
  local bash=${BASH} options=()
  [[ "${INTERPRETER##*/}" != bash ]] || bash=$(type -P "${INTERPRETER}") || bash=${BASH}
  if [[ "${ARGUMENT}" =~ ^((-[a-zA-Z]*o +[a-z]+|-[a-zA-Z]+|--[a-z]+)( +|$))+$ ]]; then
    # Words without signs that mean something to a shell.
    # shellcheck disable=SC2206
    options=(${ARGUMENT})
  fi
  [[ "${SHELLSCRIPT_STRICT:-}" != true ]] || options+=(-eu -o pipefail)
  # Sourced, so that "return" ends a script as it always did.
  # shellcheck disable=SC2016
  exec "${bash}" "${options[@]}" -c '. "$0"' "$@"
}

[[ $# -eq 1 ]] || fail "wants the name of one hook: ${HOOKS[*]}"
is_hook "$1" || fail "unknown hook \"$1\"; known hooks: ${HOOKS[*]}"
readonly CONFIGMAPS="${SKYHOOK_DIR:?is set by the agent}/configmaps"

case "$1" in
  # Removing a package must not fail for a mistake elsewhere in its configMap.
  uninstall*) refuse_misspelt uninstall uninstall_check ;;
  *) refuse_misspelt "${HOOKS[@]}" ;;
esac
[[ "$1" != apply && "$1" != config ]] || note_unused
if has_key "$1.sh"; then
  run_hook "$1"
fi
judge_check_alone "$1"
note_missing "$1"
