# shellcheck shell=bash
# Up to version 1.2 files were named by the package alone, so that packages of
# one name of two Skyhooks took each other's away. What is left of that by this
# package is renamed, wherever a crash has cut that off.

# take_over: before anything else is looked at.
take_over() {
  local file line claims
  [[ "${BASE}" != "${EARLIER}" ]] || return 0
  for file in /etc/sysctl.d/"${EARLIER}.conf" /etc/security/limits.d/"${EARLIER}.conf" \
    "${UNIT_DIR}"/*.d/"${EARLIER}.conf" /etc/default/grub.d/"${EARLIER}.cfg"; do
    take_over_file "${file}"
  done
  state_read written
  lines "${CONTENT}"
  claims=("${LIST[@]%% *}")
  for line in "${claims[@]}"; do
    [[ "${line##*/}" != "${EARLIER}".* ]] || state_unset written "${line}"
  done
  [[ ! -e "${LIMITS_DROP_IN}" ]] || take_over_pam
}

# take_over_file FILE: unless another package has written it last, or may have.
# What both have written alike, the other one keeps.
take_over_file() {
  local new="${1%/*}/${BASE}.${1##*.}" shared=""
  [[ -e "$1" ]] || return 0
  ! state_elsewhere written "$1" || shared=1
  if state_get written "$1"; then
    local sums=${REPLY}
    [[ -z "${shared}" ]] || drop_in_is_ours "$1" || return 0
    state_set written "${new}" "${sums}"
  elif [[ -n "${shared}" || -e "${STATE}/written" ]]; then
    return 0
  fi
  case "$1" in
    "${UNIT_DIR}"/*) owe daemon-reload ;;
    *.cfg) owe update-grub ;;
  esac
  if [[ -n "${shared}" ]]; then
    cp -a -- "$1" "${new}${UNFINISHED}" && mv -f -- "${new}${UNFINISHED}" "${new}" || fail "cannot copy $1"
  else
    mv -f -- "$1" "${new}" || fail "cannot rename $1"
  fi
}

# take_over_pam: the line has the name of this package's Skyhook from now on.
take_over_pam() {
  local file text
  for file in "${PAM_FILES[@]}"; do
    [[ -f "${file}" ]] || continue
    file=$(readlink -f -- "${file}")
    pam_split "${file}"
    text=${CONTENT}$'\n'
    [[ "${text}" == *$'\n'"${PAM_EARLIER}"$'\n'* ]] || continue
    text=${text//$'\n'"${PAM_EARLIER}"$'\n'/$'\n'"${PAM_LINE}"$'\n'}
    text=${text%$'\n'}
    put_file "${file}" "${text#$'\n'}"
  done
}
