#!/bin/sh
# $1 is the file on the host.
. "$STEP_ROOT/parts/say.sh"
say "writing $1"
cp "$SKYHOOK_DIR/configmaps/greeting.txt" "$1"
