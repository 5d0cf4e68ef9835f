#!/bin/sh
# $1 is the file on the host.
test ! -e "$1"
