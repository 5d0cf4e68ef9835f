# shellcheck shell=bash
# What tuned itself changes on the host and does not put back by itself: its
# bootloader plugin adds lines to /etc/default/grub and variables to the
# environment of GRUB that stay, and rewrites files of /etc/tuned in its own
# spelling.

readonly GRUB=/etc/default/grub
readonly GRUB_LINES='\(GRUB_CMDLINE_LINUX_DEFAULT\|GRUB_INITRD_OVERLAY\)="${[A-Z_]*:+$[A-Z_]* }\\$tuned_\(params\|initrd\)"'

# Files that tuned writes while it works.
readonly OWN_FILES=(/etc/tuned/active_profile /etc/tuned/profile_mode /etc/tuned/post_loaded_profile
  /etc/tuned/bootcmdline /etc/modprobe.d/tuned.conf)

keep_files() {
  local path
  keep kept.grub "${GRUB}"
  recorded kept.grubenv || boot_variables | record kept.grubenv
  for path in "${OWN_FILES[@]}"; do
    keep "kept.${path##*/}" "${path}"
  done
}

# grub_as_before: removes the lines of tuned, unless they were there before us,
# and nothing else that has been changed since.
grub_as_before() {
  [[ -e "${GRUB}" ]] && recorded kept.grub || return 0
  ! grep -q "^${GRUB_LINES}\$" "${STATE}/kept.grub" || return 0
  grep -q "^${GRUB_LINES}\$" "${GRUB}" || recorded grub-changed || return 0
  record grub-changed </dev/null
  cp -a "${GRUB}" "${STATE}/.grub"
  sed -i "/^${GRUB_LINES}\$/d" "${STATE}/.grub"
  # tuned ends an unended last line.
  if [[ "$(cat "${STATE}/.grub")" == "$(cat "${STATE}/kept.grub")" ]]; then
    cp -a "${STATE}/kept.grub" "${STATE}/.grub"
  fi
  cp -a "${STATE}/.grub" "${GRUB}.skyhook"
  mv -fT "${GRUB}.skyhook" "${GRUB}"
  say "removed the lines of tuned from ${GRUB}"
  update_grub
  drop grub-changed
}

update_grub() {
  if type -P update-grub >/dev/null; then
    attempt update-grub || fail "update-grub failed after the lines of tuned were removed from ${GRUB}: ${LAST}"
  else
    say "no update-grub on this host: make the boot menu again with its own tool"
  fi
}

# boot_variables: those of tuned, where boot entries refer to such (RHEL, SUSE).
boot_variables() {
  type -P grub2-editenv >/dev/null || return 0
  grub2-editenv - list 2>/dev/null | sed -n '/^tuned_\(params\|initrd\)=/p' || true
}

# variables_as_before: an entry that still refers to them then gets nothing.
variables_as_before() {
  recorded kept.grubenv && [[ ! -s "${STATE}/kept.grubenv" && -n "$(boot_variables)" ]] || return 0
  attempt grub2-editenv - unset tuned_params tuned_initrd ||
    fail "grub2-editenv cannot remove the variables tuned_params and tuned_initrd: ${LAST}"
  say "removed the variables of tuned from the environment of GRUB"
}

# spelling_as_before: files of a tuned that stays. Where only the spelling
# differs, or tuned no longer runs, they are put back as they were.
spelling_as_before() {
  local path kept
  for path in "${OWN_FILES[@]}"; do
    kept="${STATE}/kept.${path##*/}"
    [[ -e "${kept}" && -d "${path%/*}" ]] || continue
    cmp -s "${kept}" "${path}" && continue
    if ! service_active || [[ "$(meaning "${kept}")" == "$(meaning "${path}")" ]]; then
      cp -a "${kept}" "${path}.skyhook"
      mv -fT "${path}.skyhook" "${path}"
    fi
  done
}

meaning() {
  [[ ! -e "$1" ]] || sed '/^[[:space:]]*\(#.*\)\?$/d; s/"//g' "$1"
}
