// Command skyhook-operator runs the operator. Settings come from the environment, a few from flags: see
// docs/operator.md.
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/skyhook-operator/skyhook/internal/operator"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

// version is set by the linker.
var version = "dev"

func main() {
	if len(os.Args) > 1 && (os.Args[1] == "version" || os.Args[1] == "--version") {
		fmt.Println("skyhook-operator", version)
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "skyhook-operator:", err)
		os.Exit(1)
	}
}

func run() error {
	options, err := settings.FromEnvironment(settings.Environment, version)
	if err != nil {
		return err
	}
	options.Flags(flag.CommandLine)
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("argument %q is not known; most settings are environment variables, -h lists the flags",
			flag.Arg(0))
	}
	ctrl.SetLogger(logger(options))
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

func logger(o settings.Options) logr.Logger {
	handler := &slog.HandlerOptions{Level: o.LogLevel}
	if o.LogEncoder == settings.EncoderConsole {
		return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, handler))
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, handler))
}
