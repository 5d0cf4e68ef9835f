#!/bin/sh
# $1 is the file on the host.
rm -f "$1"
