# shellcheck shell=bash
# grub.conf: arguments of the kernel, from the next boot on. Where there is
# update-grub they go into a drop-in; else grubby (grubby.sh) sets them.

readonly GRUB_DROP_IN="/etc/default/grub.d/${BASE}.cfg"
readonly GRUB_CONFIGS=(/boot/grub/grub.cfg /boot/grub2/grub.cfg)

# The arguments of grub.conf, as the kernel will show them, and those of them
# whose order counts: of one name, as in console=tty0 console=ttyS0, and sizes
# of huge pages, which say what the number behind them means.
GRUB_ARGS=() GRUB_ORDERED=()

# grub_words BACKSLASH: the words of standard input, a line each and without
# their quotes. With 1, a backslash takes the next character as it is, and there
# are single quotes, too: that is GRUB's own language and not the kernel's.
grub_words() {
  awk -v grub="$1" '{
    word = ""; began = 0; quote = ""
    n = length($0)
    for (i = 1; i <= n; i++) {
      c = substr($0, i, 1)
      if (grub && c == "\\" && quote != "\047" && i < n) { word = word substr($0, ++i, 1); began = 1 }
      else if (c == quote) quote = ""
      else if (quote == "" && (c == "\"" || (grub && c == "\047"))) { quote = c; began = 1 }
      else if (quote == "" && c ~ /[ \t]/) { if (began) print word; word = ""; began = 0 }
      else { word = word c; began = 1 }
    }
    if (began) print word
  }'
}

# Arguments that the kernel, or who reads them from it, takes each time they
# come. Of all others the last one counts.
readonly GRUB_ADDING="acpi_osi blacklist cgroup_disable console dyndbg earlycon initcall_blacklist intel_iommu iommu ip memmap \
modprobe.blacklist module_blacklist pci systemd.mask systemd.wants video"

# grub_lacks TEXT: the lines of TEXT are not all that is wanted; LACKING has
# what is not there, OVERRIDDEN what does not count for an argument behind it,
# and BY that one. Others may be between those whose order counts.
grub_lacks() {
  local arg i=0
  LACKING=() OVERRIDDEN=() BY=()
  for arg in "${GRUB_ARGS[@]}"; do
    grub_is_ordered "${arg}" || has_line "$1" "${arg}" || LACKING+=("${arg}")
  done
  lines "$1"
  for arg in "${LIST[@]}"; do
    [[ "${arg}" != "${GRUB_ORDERED[i]:-}" ]] || i=$((i + 1))
  done
  ((i == ${#GRUB_ORDERED[@]})) || LACKING+=("${GRUB_ORDERED[*]} in this order")
  grub_overridden "$1"
  ((${#LACKING[@]} + ${#OVERRIDDEN[@]}))
}

# grub_overridden TEXT: see grub_lacks.
grub_overridden() {
  local name
  local -A LAST=() wanted=()
  grub_last "$(printf '%s\n' "${GRUB_ARGS[@]}")"
  for name in "${!LAST[@]}"; do
    wanted[${name}]=${LAST[${name}]}
  done
  grub_last "$1"
  for name in "${!wanted[@]}"; do
    [[ "${LAST[${name}]:-${wanted[${name}]}}" != "${wanted[${name}]}" ]] && has_line "$1" "${wanted[${name}]}" || continue
    OVERRIDDEN+=("${wanted[${name}]}") BY+=("${LAST[${name}]}")
  done
}

# grub_last TEXT: LAST has the argument that counts of each name in the lines of
# TEXT. To the kernel - and _ are one in names, and huge pages are of the size
# before them.
grub_last() {
  local arg name size=""
  LAST=()
  lines "$1"
  for arg in "${LIST[@]}"; do
    name=${arg%%=*} name=${name//-/_}
    case "${name}" in
      "" | rd.* | *.dyndbg) continue ;;
      hugepagesz) size=${arg#*=} && continue ;;
      hugepages) name+=" ${size}" ;;
    esac
    [[ " ${GRUB_ADDING} " == *" ${name} "* ]] || LAST[${name}]=${arg}
  done
}

# grub_overriding PLACE OURS THEIRS: a problem, with where THEIRS was set.
grub_overriding() {
  local file found=""
  for file in /etc/default/grub /etc/default/grub.d/*.cfg /etc/kernel/cmdline; do
    [[ "${file}" == "${GRUB_DROP_IN}" || ! -f "${file}" ]] || ! grep -qF -- "$3" "${file}" || found+="${found:+ and }${file}"
  done
  problem "$1 has $3 behind $2, and the last one counts; take it out${found:+ of ${found}}, or $2 out of grub.conf"
}

# grub_is_ordered ARG: see GRUB_ORDERED.
grub_is_ordered() {
  local arg
  for arg in "${GRUB_ORDERED[@]}"; do
    [[ "${arg}" == "$1" ]] && return 0
  done
  return 1
}

grub_find_ordered() {
  local arg other number
  for arg in "${GRUB_ARGS[@]}"; do
    number=0
    for other in "${GRUB_ARGS[@]}"; do
      [[ "${other%%=*}" == "${arg%%=*}" || ("${arg}" == hugepages*=* && "${other}" == hugepages*=*) ]] && number=$((number + 1))
    done
    ((number == 1)) || GRUB_ORDERED+=("${arg}")
  done
}

# grub_line NUMBER LINE: adds its arguments. Up to version 1.1 a line was read
# by a shell and by GRUB, and had backslashes for them.
grub_line() {
  local line=$2 quotes single=${2//[!\']/} grub=0
  if [[ "${line}" == *[\'\\]* ]]; then
    line=$(printf '%s\n' "${line}" | sed 's/\\\([$`"\\]\)/\1/g') grub=1
  fi
  quotes=${line//[!\"]/}
  if [[ "${line}" == *\`* || "${line}" == *[![:print:][:blank:]]* ]]; then
    problem "grub.conf line $1: \"${line}\" has characters that no kernel argument needs; write it as it shall be in /proc/cmdline"
  elif ((${#quotes} % 2 || ${#single} % 2)); then
    problem "grub.conf line $1: \"${line}\" has a quote without its end"
  elif [[ "${line}" == *=[[:space:]]* || "${line}" == *[[:space:]]=* || "${line}" == =* ]]; then
    problem "grub.conf line $1: \"${line}\" has blanks around =, or no name before it"
  else
    lines "$(printf '%s\n' "${line}" | grub_words "${grub}")"
    GRUB_ARGS+=("${LIST[@]}")
    ((grub == 0)) || say "grub.conf line $1: $2 is read as ${LIST[*]}; write it as it shall be in /proc/cmdline"
  fi
}

# grub_validate: reads grub.conf. A line usually has one argument, but
# may have more; double quotes keep blanks in one.
grub_validate() {
  local file="${CONFIGMAPS}/grub.conf" line number=0
  [[ -f "${file}" ]] || return 0
  while IFS= read -r line || [[ -n "${line}" ]]; do
    number=$((number + 1))
    trim "${line}"
    [[ -z "${REPLY}" || "${REPLY}" == "#"* ]] || grub_line "${number}" "${REPLY}"
  done <"${file}"
  ((${#GRUB_ARGS[@]})) || return 0
  grub_find_ordered
  if ! type -P update-grub >/dev/null && ! type -P grubby >/dev/null; then
    problem "grub.conf: this host has neither update-grub nor grubby, which set kernel arguments"
  elif ! type -P update-grub >/dev/null && grubby_cannot; then
    problem "grub.conf: grubby cannot set arguments with blanks or \$ in them"
  fi
}

# grub_drop_in_text: REPLY is the drop-in. It adds to what other files want. It
# is read by a shell, and what that makes of it by GRUB.
grub_drop_in_text() {
  local arg text=""
  for arg in "${GRUB_ARGS[@]}"; do
    [[ "${arg}" != *[\$\;\|\&\<\>{}]* ]] || arg=$(printf '%s' "${arg}" | sed 's/[$;|&<>{}]/\\&/g')
    [[ "${arg}" == *[[:space:]]* ]] && arg="\"${arg}\""
    arg=${arg//\\/\\\\} arg=${arg//\"/\\\"} arg=${arg//\$/\\\$}
    text+=" ${arg}"
  done
  REPLY="# Written by the Skyhook package \"${NAME}\"; changes are lost."$'\n'
  REPLY+="GRUB_CMDLINE_LINUX_DEFAULT=\"\${GRUB_CMDLINE_LINUX_DEFAULT}${text}\""$'\n'
}

# grub_reconcile: update-grub is run only if something has changed.
grub_reconcile() {
  if ((${#GRUB_ARGS[@]})) && type -P update-grub >/dev/null; then
    grub_drop_in_text
    local text=${REPLY}
    if ! holds "${GRUB_DROP_IN}" "${text}"; then
      owe update-grub
      put_drop_in "${GRUB_DROP_IN}" "${text}"
    fi
  else
    grub_remove_drop_in
  fi
  grub_update
  grubby_reconcile
}

grub_remove_drop_in() {
  [[ ! -e "${GRUB_DROP_IN}" ]] || owe update-grub
  remove_drop_in "${GRUB_DROP_IN}"
}

# grub_update: also ends what a crash has cut off.
grub_update() {
  local output
  owed update-grub || return 0
  if type -P update-grub >/dev/null; then
    output=$(update-grub 2>&1) || fail "update-grub failed: ${output}"
    [[ -z "${output}" ]] || say "update-grub: ${output}"
  else
    say "update-grub is missing on this host; ${GRUB_DROP_IN%/*} changed without it"
  fi
  settle update-grub
}

# grub_kernels FILE: LIST has the arguments of each kernel that FILE starts.
grub_kernels() {
  lines "$(sed -n 's/^[[:space:]]*linux\(16\|efi\)\{0,1\}[[:space:]][[:space:]]*//p' "$1")"
  ((${#LIST[@]})) || LIST=("$(tr '\n' ' ' <"$1")")
}

# grub_config_check: one kernel that has them all is enough, as entries to
# recover a host do without.
grub_config_check() {
  local file kernel i LACKING OVERRIDDEN BY kernels missing ours theirs
  for file in "${GRUB_CONFIGS[@]}"; do
    [[ -f "${file}" ]] || continue
    grub_kernels "${file}"
    kernels=("${LIST[@]}") missing=() ours=() theirs=()
    for kernel in "${kernels[@]}"; do
      grub_lacks "$(printf '%s\n' "${kernel}" | grub_words 1)" || continue 2
      ((${#missing[@]} + ${#ours[@]})) || missing=("${LACKING[@]}") ours=("${OVERRIDDEN[@]}") theirs=("${BY[@]}")
    done
    for kernel in "${missing[@]}"; do
      problem "${file} does not start the kernel with ${kernel}; see the output of update-grub"
    done
    for i in "${!ours[@]}"; do
      grub_overriding "${file}" "${ours[i]}" "${theirs[i]}"
    done
  done
}

grub_check() {
  if ((${#GRUB_ARGS[@]} == 0)); then
    grub_gone
  elif type -P update-grub >/dev/null; then
    grub_drop_in_text
    holds "${GRUB_DROP_IN}" "${REPLY}" || problem "${GRUB_DROP_IN} is not what grub.conf wants"
    grub_config_check
  else
    grubby_check
  fi
  ! owed update-grub || problem "update-grub was not run since ${GRUB_DROP_IN} changed"
}

grub_running_check() {
  local arg i LACKING OVERRIDDEN BY
  grub_lacks "$(grub_words 0 </proc/cmdline)" || return 0
  for arg in "${LACKING[@]}"; do
    problem "the kernel runs without ${arg}; reboot the host: interrupt {type: reboot}"
  done
  for i in "${!OVERRIDDEN[@]}"; do
    grub_overriding /proc/cmdline "${OVERRIDDEN[i]}" "${BY[i]}"
  done
}

grub_remove() {
  GRUB_ARGS=() GRUB_ORDERED=()
  grub_remove_drop_in
  grub_update
  grubby_reconcile
}

grub_gone() {
  [[ ! -e "${GRUB_DROP_IN}" ]] || problem "${GRUB_DROP_IN} is left"
  grubby_gone
}
