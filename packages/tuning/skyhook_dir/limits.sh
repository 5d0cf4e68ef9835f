# shellcheck shell=bash
# ulimit.conf: limits of new logins, which pam_limits sets.

readonly LIMITS_DROP_IN="/etc/security/limits.d/${BASE}.conf"
readonly LIMIT_NAMES="as core cpu data fsize locks memlock msgqueue nice nofile nproc rss rtprio sigpending stack"
readonly MOST_SOFT_FILES=1048576
declare -A LIMIT_RANGES=([nice]=" from -20 to 19")
# Debian and its like include these in every service; others have pam_limits
# where it belongs from the start.
readonly PAM_FILES=(/etc/pam.d/common-session /etc/pam.d/common-session-noninteractive)
readonly PAM_LINE="session required pam_limits.so # for the Skyhook package \"${NAME}\""
readonly PAM_EARLIER="session required pam_limits.so # for the Skyhook package \"${PACKAGE}\""
readonly PAM_MARK="# for the Skyhook package \"${NAME}\""
# A line of ours or of another package of this kind.
readonly PAM_OURS='^session required pam_limits.so # for the Skyhook package "[^"]*"$'

LIMITS_TEXT=""

# limits_most_files: REPLY is the highest number of open files that the kernel
# will allow once sysctl.conf is in place. A login with more would fail.
limits_most_files() {
  REPLY=${WANTED[fs/nr_open]:-}
  [[ "${REPLY}" =~ ^[1-9][0-9]{0,17}$ ]] || sysctl_live fs/nr_open || REPLY=1048576
}

# limits_value NAME VALUE: REPLY is VALUE as limits.conf(5) has it. Fails with 1
# for what is no value, and with 2 for more open files than there can be.
limits_value() {
  local name=$1 value=$2
  if [[ "${name}" == nice ]]; then
    REPLY=${value}
    [[ "${value}" =~ ^(-?[0-9]|-?1[0-9]|-20)$ ]]
    return
  fi
  case "${value}" in
    unlimited | infinity | -1) value=unlimited ;;
    *)
      [[ "${value}" =~ ^[0-9]{1,18}$ ]] || return 1
      value=$((10#${value}))
      ;;
  esac
  if [[ "${name}" == nofile ]]; then
    limits_most_files
    [[ "${value}" == unlimited ]] && value=${REPLY}
    ((value <= REPLY)) || return 2
  fi
  REPLY=${value}
}

# limits_line NUMBER LINE: REPLY is "NAME VALUE", empty without one.
limits_line() {
  local where="ulimit.conf line $1" name value
  trim "$2"
  local line=${REPLY}
  REPLY=""
  [[ -z "${line}" || "${line}" == [#\;]* ]] && return
  if [[ "${line}" != *=* ]]; then
    problem "${where}: \"${line}\" is not of the form name=value"
    return
  fi
  trim "${line%%=*}"
  name=${REPLY}
  trim "${line#*=}"
  value=${REPLY}
  REPLY=""
  if [[ " ${LIMIT_NAMES} " != *" ${name} "* || -z "${name}" ]]; then
    problem "${where}: unknown limit \"${name}\"; known limits: ${LIMIT_NAMES// /, }"
    return
  fi
  limits_value "${name}" "${value}"
  case $? in
    0)
      REPLY="${name} ${REPLY}"
      return
      ;;
    2) problem "${where}: nofile cannot be ${value}: nobody could log in with more than fs.nr_open, which is ${REPLY}; raise that in sysctl.conf" ;;
    *) problem "${where}: ${name} cannot be \"${value}\"; give a number${LIMIT_RANGES[${name}]:-, or unlimited}" ;;
  esac
  REPLY=""
}

# limits_add NAME VALUE: "*" means everybody but root, and "-" the soft and the
# hard limit. Programs that close, or make room for, as many files as they may
# have hang with a soft limit of a thousand million, which is what unlimited
# means where systemd has raised fs.nr_open.
limits_add() {
  local who
  for who in "*" root; do
    if [[ "$1" == nofile ]] && (($2 > MOST_SOFT_FILES)); then
      LIMITS_TEXT+="${who} soft nofile ${MOST_SOFT_FILES}"$'\n'"${who} hard nofile $2"$'\n'
    else
      LIMITS_TEXT+="${who} - $1 $2"$'\n'
    fi
  done
}

# limits_validate: reads ulimit.conf. Of two lines with one name the last wins,
# as it does for pam_limits.
limits_validate() {
  local file="${CONFIGMAPS}/ulimit.conf" line number=0 name
  local -A values=()
  [[ -f "${file}" ]] || return 0
  while IFS= read -r line || [[ -n "${line}" ]]; do
    number=$((number + 1))
    limits_line "${number}" "${line}"
    [[ -n "${REPLY}" ]] && values[${REPLY%% *}]=${REPLY#* }
  done <"${file}"
  for name in ${LIMIT_NAMES}; do
    [[ -n "${values[${name}]:-}" ]] || continue
    limits_add "${name}" "${values[${name}]}"
  done
  [[ -z "${LIMITS_TEXT}" ]] || LIMITS_TEXT="# Written by the Skyhook package \"${NAME}\"; changes are lost."$'\n'"${LIMITS_TEXT}"
}

# pam_sources_limits FILE: somebody other than packages of this kind has
# pam_limits in it. Each of those brings a line of its own, so that each can
# be removed by itself. A line that was changed is somebody's own.
pam_sources_limits() {
  grep -v '^[[:space:]]*#' -- "$1" | grep -v -- "${PAM_OURS}" | grep -qF pam_limits.so
}

# pam_split FILE: CONTENT is its text behind a newline, so that every line has
# one before it, and a last line without an end stays that way.
pam_split() {
  [[ ! -e "$1${UNFINISHED}" ]] || rm -f -- "$1${UNFINISHED}"
  read_file "$1"
  CONTENT=$'\n'${CONTENT}
}

pam_has_line() {
  [[ "${CONTENT}"$'\n' == *$'\n'"${PAM_LINE}"$'\n'* ]]
}

pam_add() {
  local file
  for file in "${PAM_FILES[@]}"; do
    [[ -f "${file}" ]] || continue
    file=$(readlink -f -- "${file}")
    pam_split "${file}"
    pam_has_line && continue
    pam_sources_limits "${file}" && continue
    CONTENT=${CONTENT#$'\n'}
    if [[ -z "${CONTENT}" || "${CONTENT}" == *$'\n' ]]; then
      put_file "${file}" "${CONTENT}${PAM_LINE}"$'\n'
    else
      put_file "${file}" "${CONTENT}"$'\n'"${PAM_LINE}"
    fi
  done
}

# pam_remove: the line, and not a byte more or less than was added.
pam_remove() {
  local file text
  for file in "${PAM_FILES[@]}"; do
    [[ -f "${file}" ]] || continue
    file=$(readlink -f -- "${file}")
    pam_split "${file}"
    if pam_has_line; then
      text=${CONTENT}$'\n'
      while [[ "${text}" == *$'\n'"${PAM_LINE}"$'\n'* ]]; do
        text=${text%%$'\n'"${PAM_LINE}"$'\n'*}$'\n'${text#*$'\n'"${PAM_LINE}"$'\n'}
      done
      text=${text%$'\n'}
      put_file "${file}" "${text#$'\n'}"
    fi
    # Also a line that was commented out.
    grep -F -- "${PAM_MARK}" "${file}" | grep -qvxF -- "${PAM_LINE}" || continue
    say "${file} has the line of this package, but changed: it is left as it is"
  done
}

limits_reconcile() {
  if [[ -z "${LIMITS_TEXT}" ]]; then
    limits_remove
    return
  fi
  put_drop_in "${LIMITS_DROP_IN}" "${LIMITS_TEXT}"
  pam_add
}

limits_check() {
  if [[ -z "${LIMITS_TEXT}" ]]; then
    limits_gone
    return
  fi
  holds "${LIMITS_DROP_IN}" "${LIMITS_TEXT}" || problem "${LIMITS_DROP_IN} is not what ulimit.conf wants"
  local files=() file
  for file in "${PAM_FILES[@]}"; do
    [[ -f "${file}" ]] && files+=("${file}")
  done
  # Where there are no such files, any service that uses pam_limits will do.
  if ((${#files[@]} == 0)); then
    grep -rqs '^[^#]*pam_limits\.so' /etc/pam.d /usr/lib/pam.d /usr/etc/pam.d ||
      problem "nothing in /etc/pam.d uses pam_limits.so, so that ulimit.conf has no effect; add \"session required pam_limits.so\" to the services that log in"
    return
  fi
  for file in "${files[@]}"; do
    grep -q '^[^#]*pam_limits\.so' -- "${file}" || problem "${file} does not use pam_limits.so, so that ulimit.conf has no effect"
  done
}

limits_remove() {
  remove_drop_in "${LIMITS_DROP_IN}"
  pam_remove
}

limits_gone() {
  local file
  [[ ! -e "${LIMITS_DROP_IN}" ]] || problem "${LIMITS_DROP_IN} is left"
  for file in "${PAM_FILES[@]}"; do
    [[ -f "${file}" ]] || continue
    pam_split "${file}"
    ! pam_has_line || problem "${file} still has the line of this package"
  done
}
