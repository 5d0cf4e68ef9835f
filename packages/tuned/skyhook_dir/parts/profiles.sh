# shellcheck shell=bash
# What the configMap wants: profiles, scripts, and which profiles are active.

readonly CONFIGMAPS="${SKYHOOK_DIR:-}/configmaps"
readonly SCRIPTS=/etc/tuned/scripts

# Settings of packages that are built on this one.
readonly FOREIGN=(accelerator intent service)

# profiles_folder: newer versions of tuned look one folder further down.
profiles_folder() {
  if [[ -d /usr/lib/tuned/profiles ]]; then
    printf /etc/tuned/profiles
  else
    printf /etc/tuned
  fi
}

# read_wishes: fills KEYS (what to write), WANTED (what to activate), and
# refuses what cannot be meant.
read_wishes() {
  [[ -n "${SKYHOOK_DIR:-}" ]] || fail "SKYHOOK_DIR is not set; the agent sets it"
  KEYS=() WANTED=()
  local path key
  for path in "${CONFIGMAPS}"/* "${CONFIGMAPS}"/.[!.]*; do
    key=${path##*/}
    case "${key}" in
      tuned_profile) read -r -a WANTED <<<"$(tr -s '[:space:]' ' ' <"${path}")" ;;
      *_script) good_name "${key}" && KEYS+=("script.${key}") ;;
      *) is_foreign "${key}" || { good_profile "${key}" "${path}" && KEYS+=("profile.${key}"); } ;;
    esac
  done
  local name
  for name in "${WANTED[@]}"; do
    [[ "${name}" =~ ^[A-Za-z0-9_.-]+$ && "${name}" != -* ]] ||
      fail "the key tuned_profile names \"${name}\", which cannot be a profile; give names of profiles with blanks between them"
  done
}

is_foreign() {
  [[ " ${FOREIGN[*]} " == *" $1 "* ]]
}

good_name() {
  [[ "$1" =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]*$ ]] ||
    fail "the configMap key \"$1\" cannot name a profile or a script; begin it with a letter, a digit or \"_\""
}

# good_profile KEY PATH
good_profile() {
  good_name "$1"
  case "$1" in
    profiles | scripts | recommend.d) fail "the configMap key \"$1\" cannot be a profile: tuned has a folder of that name for other things; rename it" ;;
  esac
  grep -qE '^[[:space:]]*\[[^]]+\]' "$2" ||
    fail "the configMap key \"$1\" is no profile: it has no [section]; give it one, such as [main], or end its name in _script if it is a script, or remove it"
  local folder
  folder=$(profiles_folder)/$1
  [[ ! -e "${folder}" || -d "${folder}" ]] ||
    fail "the configMap key \"$1\" cannot be a profile: ${folder} is a file on this host; rename the key"
}

# target_of KEY: where "profile.x" or "script.x" belongs.
target_of() {
  case "$1" in
    profile.*) printf '%s/%s/tuned.conf' "$(profiles_folder)" "${1#*.}" ;;
    script.*) printf '%s/%s' "${SCRIPTS}" "${1#*.}" ;;
  esac
}

source_of() {
  printf '%s/%s' "${CONFIGMAPS}" "${1#*.}"
}

mode_of() {
  [[ "$1" == script.* ]] && printf 755 || printf 644
}

is_wish() {
  [[ " ${KEYS[*]} " == *" $1 "* ]]
}
