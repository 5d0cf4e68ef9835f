// Command skyhook-operator runs the operator. Settings come from the environment, a few from flags: see
// docs/operator.md.
package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/skyhook-operator/skyhook"
	"github.com/skyhook-operator/skyhook/internal/operator"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

func main() {
	if len(os.Args) > 1 && (os.Args[1] == "version" || os.Args[1] == "--version") {
		fmt.Println("skyhook-operator", skyhook.Build())
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "skyhook-operator:", err)
		os.Exit(1)
	}
}

func run() error {
	options, err := settings.FromEnvironment(settings.Environment, skyhook.Version())
	if err != nil {
		return err
	}
	options.Flags(flag.CommandLine)
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("argument %q is not known; most settings are environment variables, -h lists the flags",
			flag.Arg(0))
	}
	logTo(os.Stderr, options)
	// The garbage collector works harder before the container's limit is reached, where the kernel would kill the process.
	if _, err := memlimit.Set(memlimit.WithProvider(memoryForData)); err != nil {
		ctrl.Log.Info("No memory limit of the container found", "error", err.Error())
	}
	ctrl.Log.Info("The operator starts", "operator", options.Version,
		"memoryLimit", memoryLimit(), "processors", runtime.GOMAXPROCS(0))
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	mgr, err := operator.NewManager(config, options)
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

// memoryForData is the container's memory limit, as far as data may take it.
func memoryForData() (uint64, error) {
	limit, err := memlimit.FromCgroup()
	return settings.DataMemory(limit), err
}

// memoryLimit is the one that the garbage collector goes by.
func memoryLimit() string {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return "none"
	}
	return fmt.Sprintf("%d MiB", limit>>20)
}

// logTo has everything write its log there; the election of a leader does so by klog.
func logTo(w io.Writer, o settings.Options) {
	var handler slog.Handler
	if level := (&slog.HandlerOptions{Level: o.LogLevel}); o.LogEncoder == settings.EncoderConsole {
		handler = slog.NewTextHandler(w, level)
	} else {
		handler = slog.NewJSONHandler(w, level)
	}
	ctrl.SetLogger(logr.FromSlogHandler(handler))
	klog.SetSlogLogger(slog.New(handler))
}
