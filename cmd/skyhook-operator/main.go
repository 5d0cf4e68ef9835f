// Command skyhook-operator runs the operator. Settings come from the environment, a few from flags: see
// docs/operator.md.
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
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
	handler := logHandler(options)
	ctrl.SetLogger(logr.FromSlogHandler(handler))
	// The garbage collector works harder before the container's limit is reached, where the kernel would kill the process.
	if _, err := memlimit.Set(memlimit.WithProvider(memoryForData)); err != nil {
		ctrl.Log.Info("No memory limit of the container found", "error", err.Error())
	}
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

func logHandler(o settings.Options) slog.Handler {
	handler := &slog.HandlerOptions{Level: o.LogLevel}
	if o.LogEncoder == settings.EncoderConsole {
		return slog.NewTextHandler(os.Stderr, handler)
	}
	return slog.NewJSONHandler(os.Stderr, handler)
}
