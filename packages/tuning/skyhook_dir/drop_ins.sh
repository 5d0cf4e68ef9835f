# shellcheck shell=bash
# Drop-ins: files of this package in folders of the host, and those folders.

# What a drop-in is called that somebody has changed since. The tools of the
# host read names that end in .conf or .cfg.
readonly KEPT=".kept"

# put_drop_in FILE CONTENT: and remembers whether its folder was there before.
put_drop_in() {
  local dir=${1%/*} was=made
  [[ ! -e "$1${UNFINISHED}" ]] || rm -f -- "$1${UNFINISHED}"
  holds "$1" "$2" && return
  if ! state_get folders "${dir}"; then
    # A drop-in that nobody remembers is one of an earlier version of this
    # package, which made the folders it needed. What another package of this
    # kind has made is removed by the last of them.
    if state_elsewhere folders "${dir}"; then
      was=${REPLY}
    elif [[ -d "${dir}" && ! -e "$1" ]]; then
      was=kept
    fi
    state_set folders "${dir}" "${was}"
  fi
  mkdir -p -- "${dir}" || fail "cannot make ${dir}"
  drop_in_claim "$1" "$2"
  put_file "$1" "$2"
}

# drop_in_sum FILE: REPLY tells its content from others.
drop_in_sum() {
  REPLY=$(sha256sum 2>/dev/null <"$1")
  REPLY=${REPLY%% *}
}

# drop_in_claim FILE CONTENT: before FILE gets it. What is there now counts as
# well if it is this package's: a crash leaves the one or the other.
drop_in_claim() {
  local old="" new
  if [[ -e "$1" ]] && drop_in_is_ours "$1"; then
    drop_in_sum "$1"
    old=" ${REPLY}"
  fi
  new=$(printf '%s' "$2" | sha256sum)
  state_set written "$1" "${new%% *}${old}"
}

# drop_in_is_ours FILE: it is as this package has written it. Earlier versions
# did not remember that.
drop_in_is_ours() {
  local sums
  state_get written "$1" || return 0
  sums=${REPLY}
  drop_in_sum "$1"
  [[ -n "${REPLY}" && " ${sums} " == *" ${REPLY} "* ]]
}

# drop_in_keep FILE: out of the way of what it is for. Says so first, for a
# crash behind it would leave a riddle.
drop_in_keep() {
  say "$1 was changed since this package wrote it; it is kept as $1${KEPT}, which nothing reads"
  mv -f --backup=numbered -- "$1" "$1${KEPT}" || fail "cannot move $1 to $1${KEPT}"
}

# remove_drop_in FILE: and its folder, if this package made it and nothing else
# is in it.
remove_drop_in() {
  local dir=${1%/*} was=kept
  # As above; other folders than those of units are always there.
  [[ -e "$1" && "${dir}" == /etc/systemd/* ]] && was=made
  state_get folders "${dir}" && was=${REPLY}
  if [[ -e "$1" ]] && ! drop_in_is_ours "$1"; then
    drop_in_keep "$1"
  fi
  rm -f -- "$1" "$1${UNFINISHED}" || fail "cannot remove $1"
  [[ "${was}" == kept ]] || rmdir -- "${dir}" 2>/dev/null
  state_unset folders "${dir}"
  state_unset written "$1"
}
