#!/bin/sh
grep -q hello /tmp/greeting
