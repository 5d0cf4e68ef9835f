# Sourced by the steps, so it needs neither #! nor executable bits.
say() { echo "greeting: $*"; }
