# shellcheck shell=bash
# Reading and setting the values that the kernel has.

# sysctl_live PATH: REPLY is its present value. Some keys can only be written.
sysctl_live() {
  local value
  value=$(cat -- "/proc/sys/$1" 2>/dev/null) || return 1
  words "${value}"
}

# sysctl_ports LIST: REPLY is the list as the kernel writes it: "1-3,7".
sysctl_ports() {
  REPLY=$(awk -v list="$1" 'BEGIN {
    n = split(list, parts, ",")
    for (i = 1; i <= n; i++) {
      m = split(parts[i], ends, "-")
      for (port = ends[1] + 0; port <= ends[m] + 0; port++) has[port] = 1
    }
    for (port = 0; port <= 65535; port++) {
      if (!(port in has)) continue
      for (last = port; (last + 1) in has; last++);
      out = out (out == "" ? "" : ",") port (last > port ? "-" last : "")
      port = last
    }
    print out
  }')
}

# sysctl_plain PATH VALUE: REPLY is VALUE as the kernel gives it back.
sysctl_plain() {
  local word out=()
  if [[ "$1" == net/ipv4/ip_local_reserved_ports && "$2" =~ ^[0-9,-]+$ ]]; then
    sysctl_ports "$2"
    return
  fi
  set -f
  for word in $2; do
    # Hexadecimal and octal numbers are understood, and read back as decimal.
    [[ "${word}" =~ ^-?0([xX][0-9a-fA-F]{1,15}|[0-7]{1,20})$ ]] && word=$((word))
    out+=("${word}")
  done
  set +f
  REPLY="${out[*]}"
}

# sysctl_has PATH VALUE: the kernel has it.
sysctl_has() {
  local wanted
  sysctl_live "$1" || return 2
  [[ "${REPLY}" == "$2" ]] && return 0
  sysctl_plain "$1" "$2"
  wanted=${REPLY}
  sysctl_live "$1"
  sysctl_plain "$1" "${REPLY}"
  # Of several numbers, as in kernel.printk, the first may be given alone.
  [[ "${REPLY}" == "${wanted}" || ("${REPLY}" == "${wanted:-none} "* && "${REPLY}" != *[!-0-9\ ]*) ]]
}

# sysctl_write PATH VALUE: old versions of sysctl cannot write an empty value.
sysctl_write() {
  if [[ -n "$2" ]]; then
    sysctl -q -w "$1=$2"
  else
    printf '\n' >"/proc/sys/$1"
  fi
}

# sysctl_set PATH VALUE: REPLY is the reason if that fails. Old versions of
# sysctl end well even then, so the value is read again; MADE is what the kernel
# made of it.
sysctl_set() {
  local output
  MADE=""
  if ! output=$(sysctl_write "$1" "$2" 2>&1); then
    REPLY=${output:-sysctl failed}
    return 1
  fi
  sysctl_has "$1" "$2"
  [[ $? -ne 1 ]] && return 0
  sysctl_live "$1"
  MADE=${REPLY}
  REPLY="the kernel made it ${MADE}"
  return 1
}
