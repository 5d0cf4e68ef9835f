//go:build faults

package hostfs

import (
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
)

// faultAt is the number of the boundary at which this process dies; 0 never.
var faultAt, _ = strconv.ParseInt(os.Getenv("SKYHOOK_FAULT_AT"), 10, 64)

var passed atomic.Int64

func boundary() {
	if passed.Add(1) == faultAt {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}
