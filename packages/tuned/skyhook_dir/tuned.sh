#!/usr/bin/env bash
# Runs one step of the package. Usage: tuned.sh STEP
# The last line on standard error is the reason of a failure: it becomes the
# Skyhook's status.

# Not -u: bash before 4.4 takes an empty array for one that is not set.
set -Eeo pipefail
export LC_ALL=C
shopt -s nullglob

PARTS=$(dirname "${BASH_SOURCE[0]}")/parts
readonly PARTS
for part in say state distribution apt rpm service profiles files activate boot \
  install config check others uninstall; do
  # shellcheck source=/dev/null
  . "${PARTS}/${part}.sh"
done

case "${1-}" in
  install) install_step ;;
  install-check) install_check_step ;;
  config) config_step ;;
  config-check) config_check_step ;;
  post-interrupt-check) post_interrupt_check_step ;;
  uninstall) uninstall_step ;;
  uninstall-check) uninstall_check_step ;;
  *) fail "unknown step \"${1-}\"; known steps: install, config, uninstall, each with -check, and post-interrupt-check" ;;
esac
