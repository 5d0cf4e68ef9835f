# shellcheck shell=bash
# What this package has to remember to undo its work: everything is written
# down before the change it is about, and complete or not at all.

# The resource is "<skyhook>-<uid>-<generation>_<package>_<version>".
state_folder() {
  local package=${SKYHOOK_RESOURCE_ID:-}
  package=${package#*_}
  package=${package%_*}
  printf '%s/tuned/%s' "${SKYHOOK_ROOT_DIR:-/var/lib/skyhook}" "${package:-tuned}"
}

STATE=$(state_folder)
readonly STATE

# record NAME: keeps standard input under this name.
record() {
  local temporary="${STATE}/.new"
  mkdir -p "${STATE}"
  cat >"${temporary}"
  sync "${temporary}"
  mv -f "${temporary}" "${STATE}/$1"
}

recorded() {
  [[ -e "${STATE}/$1" ]]
}

# fact NAME KEY: the value of a "key=value" line of a record.
fact() {
  recorded "$1" || return 0
  sed -n "s/^$2=//p" "${STATE}/$1"
}

# keep NAME PATH: keeps a copy of a file as it is now, unless there is one.
keep() {
  [[ -e "$2" ]] && ! recorded "$1" || return 0
  mkdir -p "${STATE}"
  rm -rf "${STATE}/.kept"
  cp -a "$2" "${STATE}/.kept"
  mv -fT "${STATE}/.kept" "${STATE}/$1"
}

# drop NAME...: forgets. Renamed first, so that nothing is ever half there.
drop() {
  local name
  for name in "$@"; do
    recorded "${name}" || continue
    rm -rf "${STATE}/.dropped"
    mv -T "${STATE}/${name}" "${STATE}/.dropped"
    rm -rf "${STATE}/.dropped"
  done
}

drop_all() {
  local trash="${STATE%/*}/.${STATE##*/}.dropped"
  rm -rf "${trash}"
  if [[ -d "${STATE}" ]]; then
    mv -T "${STATE}" "${trash}"
    rm -rf "${trash}"
  fi
  # Shared with other packages of the Skyhook.
  rmdir "${STATE%/*}" 2>/dev/null || true
}
