# shellcheck shell=bash
# The files that this package puts below /etc/tuned. Each has a folder in the
# state, files/<key>, with
#   target  where the file is
#   before  the file that was there before, if any
#   folder  if its folder was not there before

# owned: the keys that have a file on the host, or are about to.
owned() {
  local path
  for path in "${STATE}/files"/*; do
    printf '%s\n' "${path##*/}"
  done
}

target_owned() {
  cat "${STATE}/files/$1/target"
}

# follow KEY: a newer tuned that looks for profiles elsewhere takes along those
# that it finds. Such a file is still ours.
follow() {
  local old new
  old=$(target_owned "$1") new=$(target_of "$1")
  if [[ "${old}" != "${new}" && ! -e "${old}" && -e "${new}" ]]; then
    say "${old} has become ${new}"
    printf '%s\n' "${new}" | record "files/$1/target"
  fi
}

# own KEY: from here on its file is ours to write, and to take back. One that
# is not where tuned looks now is given back first.
own() {
  local new="${STATE}/.own" target
  target=$(target_of "$1")
  if recorded "files/$1"; then
    follow "$1"
    [[ "$(target_owned "$1")" != "${target}" ]] || return 0
    give_back "$1"
  fi
  rm -rf "${new}"
  mkdir -p "${new}" "${STATE}/files"
  printf '%s\n' "${target}" >"${new}/target"
  [[ -d "${target%/*}" ]] || : >"${new}/folder"
  if [[ -e "${target}" || -L "${target}" ]]; then
    say "${target} is on this host already: kept, to be put back when the key goes"
    cp -a "${target}" "${new}/before"
  fi
  sync "${new}"/*
  mv -T "${new}" "${STATE}/files/$1"
}

# is_written KEY: the file is just as wanted.
is_written() {
  local target
  target=$(target_of "$1")
  [[ -f "${target}" ]] && cmp -s "$(source_of "$1")" "${target}" && [[ "$(stat -c %a "${target}")" == "$(mode_of "$1")" ]]
}

# write KEY: the dot keeps tuned from taking a half written file for anything.
write() {
  local target temporary
  own "$1"
  is_written "$1" && return
  target=$(target_of "$1")
  mkdir -p "${target%/*}"
  temporary="${target%/*}/.skyhook.new"
  rm -rf "${temporary}"
  cat "$(source_of "$1")" >"${temporary}"
  chmod "$(mode_of "$1")" "${temporary}"
  chown 0:0 "${temporary}"
  mv -fT "${temporary}" "${target}"
  say "wrote ${target}"
}

# give_back KEY: the file is as it was before it was ours.
give_back() {
  local entry="${STATE}/files/$1" target folder
  target=$(target_owned "$1") folder=$(dirname "$(target_owned "$1")")
  if [[ -e "${entry}/before" || -L "${entry}/before" ]]; then
    mkdir -p "${folder}"
    rm -rf "${folder}/.skyhook.new"
    cp -a "${entry}/before" "${folder}/.skyhook.new"
    mv -fT "${folder}/.skyhook.new" "${target}"
    say "put back ${target}"
  else
    rm -f "${target}" "${folder}/.skyhook.new"
    say "removed ${target}"
  fi
  if [[ -e "${entry}/folder" ]]; then
    leave_folder "$1" "${folder}"
  fi
  drop "files/$1"
}

# leave_folder KEY FOLDER: removes a folder that we made, unless something is in
# it. If a file of ours is, its key takes over to remove it some day.
leave_folder() {
  local other
  [[ -d "$2" ]] || return 0
  rmdir "$2" 2>/dev/null && return
  for other in $(owned); do
    if [[ "${other}" != "$1" && "$(target_owned "${other}")" == "$2"/* ]]; then
      : >"${STATE}/files/${other}/folder"
      return
    fi
  done
  say "left ${2}: there are files in it that are not this package's"
}
