#!/bin/sh
echo "from $1 to $2"
