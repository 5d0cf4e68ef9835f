#!/bin/sh
test "$2" = "$CURRENT_VERSION"
