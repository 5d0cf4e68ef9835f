echo hello > /tmp/greeting
