# shellcheck shell=bash
# What the configMap wants: profiles, scripts, and which profiles are active.

readonly CONFIGMAPS="${SKYHOOK_DIR:-}/configmaps"
readonly SCRIPTS=/etc/tuned/scripts

# Settings of packages that are built on this one, unless they are profiles.
readonly FOREIGN=(accelerator intent service)

# profiles_folder: newer versions of tuned look one folder further down.
profiles_folder() {
  if [[ -d /usr/lib/tuned/profiles ]]; then
    printf /etc/tuned/profiles
  else
    printf /etc/tuned
  fi
}

# read_wishes: fills KEYS (what to write) and WANTED (what to activate), and
# refuses what cannot be activated.
read_wishes() {
  [[ -n "${SKYHOOK_DIR:-}" ]] || fail "SKYHOOK_DIR is not set; the agent sets it"
  KEYS=() WANTED=()
  local path key
  for path in "${CONFIGMAPS}"/* "${CONFIGMAPS}"/.[!.]*; do
    key=${path##*/}
    case "${key}" in
      tuned_profile)
        words "$(tr -s '[:space:]' ' ' <"${path}")"
        WANTED=("${LIST[@]}")
        ;;
      *_script) KEYS+=("script.${key}") ;;
      *) is_ignored "${key}" "${path}" || KEYS+=("profile.${key}") ;;
    esac
  done
  local name
  for name in "${WANTED[@]}"; do
    [[ "${name}" =~ ^[A-Za-z0-9_.-]+$ && "${name}" != -* ]] ||
      fail "the key tuned_profile names \"${name}\", which cannot be a profile; give names of profiles with blanks between them"
  done
}

# is_ignored KEY PATH: it cannot be a profile, or nobody means it to be one. It
# is no failure, as long as tuned_profile does not name it.
is_ignored() {
  local folder
  folder=$(profiles_folder)/$1
  if [[ "${folder}" == /etc/tuned/recommend.d ]]; then
    warn "the configMap key \"$1\" is ignored: tuned has a folder of that name for other things; rename it"
  elif [[ -e "${folder}" && ! -d "${folder}" ]]; then
    warn "the configMap key \"$1\" is ignored: ${folder} is a file on this host; rename it"
  elif has_section "$2"; then
    return 1
  elif [[ " ${FOREIGN[*]} " != *" $1 "* ]]; then
    warn "the configMap key \"$1\" becomes a profile without settings: it has no [section]; if it is a script, end its name in _script, else remove it"
    return 1
  fi
}

has_section() {
  grep -qE '^[[:space:]]*\[[^]]+\]' "$1"
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
