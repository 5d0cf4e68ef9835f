# shellcheck shell=bash
# Kernel arguments where there is no update-grub. grubby changes the boot
# entries in place, so what to take back is remembered for each argument:
#   added              no entry had it
#   replaced OTHERS    it took the place of these, of the same name

# grubby_lines ENTRIES: the arguments of ALL or of the DEFAULT entry, a line
# each entry.
grubby_lines() {
  grubby --info="$1" 2>/dev/null | sed -n 's/^args="\(.*\)"$/\1/p'
}

# grubby_present ARG: an entry has it.
grubby_present() {
  grub_has "$(grubby_lines ALL | grub_words 0)" "$1"
}

# grubby_everywhere ARG: all entries have it, and there are some.
grubby_everywhere() {
  local line
  lines "$(grubby_lines ALL)"
  for line in "${LIST[@]}"; do
    grub_has "$(printf '%s\n' "${line}" | grub_words 0)" "$1" || return 1
  done
  ((${#LIST[@]}))
}

# grubby_run WORDS...: changes all entries, and those of later kernels.
grubby_run() {
  local output
  output=$(grubby --update-kernel=ALL "$@" 2>&1) || fail "grubby $* failed: ${output}"
}

grubby_wants() {
  local arg
  type -P update-grub >/dev/null && return 1
  for arg in "${GRUB_ARGS[@]}"; do
    [[ "${arg}" == "$1" ]] && return 0
  done
  return 1
}

# grubby_remember ARG: before it is set. What another package of this kind has
# added is not the host's own.
grubby_remember() {
  local arg=$1 word others=""
  state_get grubby "${arg}" && return
  if state_elsewhere grubby "${arg}"; then
    state_set grubby "${arg}" "${REPLY}"
    return
  fi
  grubby_present "${arg}" && return
  lines "$(grubby_lines DEFAULT | grub_words 0)"
  for word in "${LIST[@]}"; do
    [[ "${word%%=*}" != "${arg%%=*}" ]] || grubby_wants "${word}" || others+=" ${word}"
  done
  state_set grubby "${arg}" "${others:+replaced}${others:-added}"
}

# grubby_take_back ARG: in one run, so that a crash leaves the one or the other.
grubby_take_back() {
  state_get grubby "$1"
  local was=${REPLY}
  if ! state_elsewhere grubby "$1" && grubby_present "$1"; then
    case "${was}" in
      "replaced "*) grubby_run "--remove-args=$1" "--args=${was#replaced }" ;;
      *) grubby_run "--remove-args=$1" ;;
    esac
  fi
  state_unset grubby "$1"
}

grubby_reconcile() {
  local arg args=()
  state_read grubby
  lines "${CONTENT}"
  for arg in "${LIST[@]%% *}"; do
    grubby_wants "${arg}" || args+=("${arg}")
  done
  ((${#args[@]} + ${#GRUB_ARGS[@]})) && type -P grubby >/dev/null || return 0
  for arg in "${args[@]}"; do
    grubby_take_back "${arg}"
  done
  for arg in "${GRUB_ARGS[@]}"; do
    grubby_wants "${arg}" || continue
    grubby_remember "${arg}"
    grubby_everywhere "${arg}" || grubby_run "--args=${arg}"
  done
}

grubby_check() {
  local arg
  for arg in "${GRUB_ARGS[@]}"; do
    grubby_everywhere "${arg}" || problem "not every boot entry has ${arg}; see grubby --info=ALL"
  done
}

grubby_gone() {
  local arg
  state_read grubby
  lines "${CONTENT}"
  for arg in "${LIST[@]%% *}"; do
    problem "the boot entries still have ${arg} of this package"
  done
}
