#!/bin/sh
# $1 is the file on the host.
cmp "$SKYHOOK_DIR/configmaps/greeting.txt" "$1"
