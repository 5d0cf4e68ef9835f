# Sourced by bash before the package's script: kills it, without a chance to
# tidy up, right before the command that changes something for the n-th time.
unset BASH_ENV # not for the commands that the script runs
set -T
count_changes() {
  case "$1" in
    mv\ * | rm\ -rf* | rm\ -f\ --\ \"\$1\" | rmdir\ * | mkdir\ * | sysctl\ * | systemctl\ daemon-reload | update-grub* | grubby\ --update*) ;;
    *) return 0 ;;
  esac
  local number
  read -r number </run/changes
  echo $((number + 1)) >/run/changes
  ((number + 1 != CRASH_AT)) || kill -9 $$ "${BASHPID}"
}
trap 'count_changes "${BASH_COMMAND}"' DEBUG
