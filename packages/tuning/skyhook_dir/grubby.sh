# shellcheck shell=bash
# Kernel arguments where there is no update-grub. grubby changes the boot
# entries in place, so what to take back is remembered for each name:
#   console 2 console=tty0 console=ttyS0 console=ttyS1
# of which two were set by this package, and the rest was there before.

# grubby_cannot: an argument has signs that grubby does not pass on.
grubby_cannot() {
  local arg
  for arg in "${GRUB_ARGS[@]}"; do
    [[ "${arg}" != *[\ \$]* ]] || return 0
  done
  return 1
}

# grubby_entries ENTRIES: the arguments of ALL or of the DEFAULT entry, a line
# each entry.
grubby_entries() {
  grubby --info="$1" 2>/dev/null | sed -n 's/^args="\(.*\)"$/\1/p'
}

# grubby_name ARG: REPLY is its name. The sizes of huge pages count as pages, as
# they must come back between their numbers.
grubby_name() {
  REPLY=${1%%=*}
  [[ "${REPLY}" != hugepagesz ]] || REPLY=hugepages
}

# grubby_named NAME TEXT: REPLY has the arguments of that name in the entries of
# TEXT.
grubby_named() {
  local arg found=""
  lines "$(printf '%s\n' "$2" | grub_words 0)"
  for arg in "${LIST[@]}"; do
    grubby_name "${arg}"
    [[ "${REPLY}" != "$1" ]] || found+="${found:+ }${arg}"
  done
  REPLY=${found}
}

# grubby_lacks: an entry does not have all that is wanted, or there are none;
# MISSING has what to set.
grubby_lacks() {
  local entry arg entries all="" LACKING OVERRIDDEN BY
  lines "$(grubby_entries ALL)"
  entries=("${LIST[@]}") MISSING=()
  for entry in "${entries[@]:-}"; do
    grub_lacks "$(printf '%s\n' "${entry}" | grub_words 0)" && all+=$(printf '\n%s' "${LACKING[@]}" "${OVERRIDDEN[@]}")
  done
  for arg in "${GRUB_ARGS[@]}"; do
    if grub_is_ordered "${arg}"; then
      ! has_line "${all}" "${GRUB_ORDERED[*]} in this order" && ! has_line "${all}" "${arg}" || MISSING+=("${arg}")
    else
      ! has_line "${all}" "${arg}" || MISSING+=("${arg}")
    fi
  done
  ((${#MISSING[@]}))
}

# grubby_run WORDS...: changes all entries, and those of later kernels.
grubby_run() {
  local output
  output=$(grubby --update-kernel=ALL "$@" 2>&1) || fail "grubby $* failed: ${output}"
}

# grubby_split VALUE: OURS and WAS of what is remembered.
grubby_split() {
  lines "${1// /$'\n'}"
  OURS=("${LIST[@]:1:${LIST[0]}}") WAS=("${LIST[@]:1+LIST[0]}")
}

# grubby_remember NAME: before anything of that name is set. What another
# package of this kind has set is not the host's own.
grubby_remember() {
  local name=$1 arg text OURS=() WAS=()
  if state_get grubby "${name}"; then
    grubby_split "${REPLY}"
  elif state_elsewhere grubby "${name}"; then
    grubby_split "${REPLY}"
    OURS=()
  else
    grubby_named "${name}" "$(grubby_entries DEFAULT)"
    [[ -n "${REPLY}" ]] || grubby_named "${name}" "$(grubby_entries ALL)"
    grubby_split "0 ${REPLY}"
  fi
  for arg in "${GRUB_ARGS[@]}"; do
    grubby_name "${arg}"
    [[ "${REPLY}" != "${name}" || " ${OURS[*]} " == *" ${arg} "* ]] || OURS+=("${arg}")
  done
  text="${#OURS[*]} ${OURS[*]}${WAS[*]:+ ${WAS[*]}}"
  state_get grubby "${name}" && [[ "${REPLY}" == "${text}" ]] || state_set grubby "${name}" "${text}"
}

# grubby_is_changed NAME ENTRIES: somebody has set another argument of that name
# since: one that is neither ours nor was there before.
grubby_is_changed() {
  local arg
  grubby_named "$1" "$2"
  for arg in ${REPLY}; do
    [[ " ${OURS[*]} ${WAS[*]} " == *" ${arg} "* ]] || return 0
  done
  return 1
}

# grubby_undo NAME ENTRIES: GONE has what to take out of ENTRIES. Fails if there
# is nothing to undo. Where an entry has none of that name, a crash may have cut
# off a change; else somebody has taken it out.
grubby_undo() {
  local arg entry undo=1
  GONE=""
  grubby_named "$1" "$2"
  for arg in "${OURS[@]}"; do
    [[ " ${REPLY} " == *" ${arg} "* ]] || continue
    if [[ " ${WAS[*]} " != *" ${arg} "* ]]; then
      GONE+="${GONE:+ }${arg}" undo=0
    elif [[ " ${WAS[*]}" != *" ${REPLY##* }" ]]; then
      undo=0 # it was there, but did not count
    fi
  done
  owed grubby || return "${undo}"
  lines "$2"
  for entry in "${LIST[@]}"; do
    grubby_named "$1" "${entry}"
    [[ -n "${REPLY}" || ${#WAS[@]} -eq 0 ]] || undo=0
  done
  return "${undo}"
}

# grubby_take_back NAME: in one run, so that a crash leaves the one or the
# other. To set what was there before would drive out what somebody has set
# since, and to take only ours out would give that another meaning.
grubby_take_back() {
  local name=$1 entries GONE OURS=() WAS=()
  state_get grubby "${name}"
  grubby_split "${REPLY}"
  entries=$(grubby_entries ALL)
  if ! state_elsewhere grubby "${name}" && grubby_undo "${name}" "${entries}"; then
    if grubby_is_changed "${name}" "${entries}"; then
      grubby_named "${name}" "$(grubby_entries DEFAULT)"
      say "the boot entries have \"${REPLY}\", which somebody has changed since this package set \"${OURS[*]}\"; they are left as they are"
    else
      grubby_run ${GONE:+"--remove-args=${GONE}"} ${WAS:+"--args=${WAS[*]}"}
      grubby_named "${name}" "$(grubby_entries DEFAULT)"
      [[ "${REPLY}" == "${WAS[*]}" ]] ||
        say "grubby could not set back \"${WAS[*]}\"; the boot entries have \"${REPLY}\""
    fi
  fi
  state_unset grubby "${name}"
}

# grubby_set: old versions of grubby keep one argument of a name only, and half
# of what is wanted may be worse than nothing.
grubby_set() {
  local arg stale="" names="" MISSING
  if ! grubby_lacks; then
    settle grubby
    return
  fi
  for arg in "${GRUB_ORDERED[@]}"; do
    grubby_name "${arg}"
    [[ " ${MISSING[*]} " != *" ${arg} "* || " ${names} " == *" ${REPLY} "* ]] && continue
    names+=" ${REPLY}"
    grubby_named "${REPLY}" "$(grubby_entries ALL)"
    stale+="${REPLY:+${stale:+ }}${REPLY}"
  done
  # What is there would keep its place. Until the next run has ended, entries
  # may have none of those names.
  if [[ -n "${stale}" ]]; then
    owe grubby
    grubby_run "--remove-args=${stale}"
  fi
  grubby_run "--args=${MISSING[*]}"
  if ! grubby_lacks; then
    settle grubby
    return
  fi
  for arg in ${names}; do
    grubby_take_back "${arg}"
  done
  settle grubby
  fail "grub.conf: grubby of this host did not set ${MISSING[*]}: it may keep one argument of a name only; see grubby --info=ALL"
}

grubby_reconcile() {
  local arg names=()
  state_read grubby
  lines "${CONTENT}"
  names=("${LIST[@]%% *}")
  ((${#names[@]} + ${#GRUB_ARGS[@]})) && type -P grubby >/dev/null || return 0
  for arg in "${names[@]}"; do
    grubby_wants "${arg}" || grubby_take_back "${arg}"
  done
  if ((${#GRUB_ARGS[@]} == 0)) || type -P update-grub >/dev/null; then
    settle grubby
    return
  fi
  for arg in "${GRUB_ARGS[@]}"; do
    grubby_name "${arg}"
    grubby_remember "${REPLY}"
  done
  grubby_set
}

grubby_wants() {
  local arg
  type -P update-grub >/dev/null && return 1
  for arg in "${GRUB_ARGS[@]}"; do
    grubby_name "${arg}"
    [[ "${REPLY}" == "$1" ]] && return 0
  done
  return 1
}

grubby_check() {
  local MISSING
  ! grubby_lacks || problem "not every boot entry has ${MISSING[*]}; see grubby --info=ALL"
}

grubby_gone() {
  local line list OURS=() WAS=()
  state_read grubby
  lines "${CONTENT}"
  list=("${LIST[@]}")
  for line in "${list[@]}"; do
    grubby_split "${line#* }"
    problem "the boot entries still have ${OURS[*]} of this package"
  done
}
