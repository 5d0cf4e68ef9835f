#!sh
echo hello > /tmp/greeting
