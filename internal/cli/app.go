package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/skyhook-operator/skyhook"
	"github.com/skyhook-operator/skyhook/internal/kit"
	"github.com/skyhook-operator/skyhook/internal/settings"
)

// defaultNamespace is where the operator runs unless --namespace says otherwise.
const defaultNamespace = "skyhook"

// app is what all commands share: the global flags, and who runs them.
type app struct {
	flags   *genericclioptions.ConfigFlags
	output  string
	dryRun  string
	version string
	now     func() time.Time
}

// The values of --output.
const (
	outputTable = "table"
	outputWide  = "wide"
	outputJSON  = "json"
	outputYAML  = "yaml"
	outputName  = "name"
)

// The values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// Root is the program: the commands for administrators, and below package those for authors, too.
func Root(version string, now func() time.Time) *cobra.Command {
	a := &app{flags: genericclioptions.NewConfigFlags(true), version: version, now: now}
	c := &cobra.Command{
		Use:   "skyhook COMMAND",
		Short: "Show and steer Skyhooks; check, try and build packages",
		Long: "Shows and steers Skyhooks: the packages on the hosts of a cluster. Installed as kubectl-skyhook, it is the\n" +
			"plugin `kubectl skyhook`. The commands for package authors are below `skyhook package`.",
		Version: skyhook.With(version, skyhook.Revision()),
		Args:    knownCommand,
		Example: "  kubectl skyhook status                 # the progress of all Skyhooks\n" +
			"  kubectl skyhook why gpu-init           # why one does not progress, and what to do\n" +
			"  kubectl skyhook why node worker-1\n" +
			"  kubectl skyhook plan -f skyhook.yaml   # what would happen; nothing is written\n" +
			"  kubectl skyhook stop --all",
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },

		PersistentPreRunE:     func(c *cobra.Command, _ []string) error { return a.check(c) },
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
	}
	c.SetUsageTemplate(usageTemplate)
	c.SetFlagErrorFunc(flagError)
	c.SetVersionTemplate("Skyhook plugin: {{.Version}}\n")
	*a.flags.Namespace = defaultNamespace
	flags := c.PersistentFlags()
	a.flags.AddFlags(flags)
	flags.Lookup("namespace").Usage = "the operator's namespace; by default where its Deployment is found"
	flags.StringVarP(&a.output, "output", "o", outputTable, "how to print: table, wide, json, yaml or name")
	flags.BoolP("verbose", "v", false, "has no effect; accepted for existing scripts")
	flags.StringVar(&a.dryRun, "dry-run", dryRunNone,
		"change nothing: client prints what would be done, server also has the API server check it")
	flags.Lookup("dry-run").NoOptDefVal = dryRunClient
	completeGlobalFlags(c)
	packages := kit.Command(version)
	packages.Short = "Check, try and build packages; show and rerun them on nodes"
	packages.Args = knownCommand
	packages.AddCommand(a.packageStatusCommand(), a.rerunCommand(), a.logsCommand())
	c.AddCommand(
		a.statusCommand(), a.boardCommand(), a.whyCommand(), a.planCommand(), a.inventoryCommand(), a.historyCommand(), a.skyhookLogsCommand(),
		a.stopCommand(), a.steerCommand(pause), a.resumeCommand(), a.steerCommand(disable), a.steerCommand(enable),
		a.resetCommand(), a.rollbackCommand(), a.uninstallCommand(), a.resumeRolloutCommand(), a.abandonCommand(),
		a.nodeCommand(), a.policyCommand(), packages, a.versionCommand(),
	)
	sayUsage(c)
	return c
}

// moreOutputs is the annotation of a command that has another output format.
const moreOutputs = "skyhook/outputs"

// outputs are the formats that a command has.
func outputs(c *cobra.Command) []string {
	formats := []string{outputTable, outputWide, outputJSON, outputYAML, outputName}
	if more := c.Annotations[moreOutputs]; more != "" {
		formats = append(formats, more)
	}
	return formats
}

// completeGlobalFlags offers the values of the flags that all commands have. Errors are for flags that are not there.
func completeGlobalFlags(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("output", func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return outputs(c), cobra.ShellCompDirectiveNoFileComp
	})
	_ = root.RegisterFlagCompletionFunc("dry-run",
		cobra.FixedCompletions([]string{dryRunClient, dryRunServer}, cobra.ShellCompDirectiveNoFileComp))
}

// check validates the global flags.
func (a *app) check(c *cobra.Command) error {
	a.output = strings.ToLower(a.output)
	switch a.dryRun { // it was a boolean once
	case "true":
		a.dryRun = dryRunClient
	case "false":
		a.dryRun = dryRunNone
	}
	formats := outputs(c)
	if !slices.Contains(formats, a.output) {
		return fmt.Errorf("invalid output format %q; use one of %s", a.output, strings.Join(formats, ", "))
	}
	if !slices.Contains([]string{dryRunNone, dryRunClient, dryRunServer}, a.dryRun) {
		return fmt.Errorf("invalid value %q of --dry-run; use client or server", a.dryRun)
	}
	if strings.TrimSpace(*a.flags.Namespace) == "" {
		*a.flags.Namespace = defaultNamespace
	}
	return nil
}

// session is one command's connection to the cluster and to whoever runs it.
type session struct {
	target
	printer
	read    *reader
	write   *writer
	explain explainer
	gauge   gauge
	flags   *genericclioptions.ConfigFlags
	config  *rest.Config
	core    kubernetes.Interface
	now     func() time.Time
	in      io.Reader
	err     io.Writer
	warned  *warnings
}

// home is the namespace of the operator. That is the usual one if it is there, if there are several, or if the user may not
// look into others.
func home(ctx context.Context, cluster client.Reader, usual string) string {
	var found appsv1.DeploymentList
	if cluster.List(ctx, &found, client.MatchingLabels{"control-plane": "controller-manager"}) != nil {
		return usual // what follows says what is wrong
	}
	homes := map[string]bool{}
	for i := range found.Items {
		if isOperator(&found.Items[i]) {
			homes[found.Items[i].Namespace] = true
		}
	}
	if len(homes) != 1 || homes[usual] {
		return usual
	}
	return slices.Collect(maps.Keys(homes))[0]
}

// connect makes the clients, and finds the operator unless a flag says where it is.
func (a *app) connect(c *cobra.Command) (*session, error) {
	config, err := a.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("initializing kubernetes client: %w; "+
			"name a cluster with --kubeconfig or --context", err)
	}
	warned := &warnings{out: c.ErrOrStderr()}
	// The API server's own fairness paces us: with a limit here, 1,000 nodes would take minutes.
	config.QPS = -1
	config.WarningHandler = warned
	if config.UserAgent == "" {
		config.UserAgent = fmt.Sprintf("skyhook-plugin/%s (%s/%s)", a.version, runtime.GOOS, runtime.GOARCH)
	}
	log.SetLogger(logr.Discard()) // else the library warns on the terminal after half a minute, with a stack
	scheme, err := settings.Scheme()
	if err != nil {
		return nil, err
	}
	own, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("initializing kubernetes client: %w", err)
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("initializing kubernetes client: %w", err)
	}
	to := target{*a.flags.Namespace, clusterFlags(a.flags, "")}
	if !c.Flags().Changed("namespace") {
		to.namespace = home(c.Context(), own, to.namespace)
	}
	read := &reader{target: to, client: own, version: a.version, err: c.ErrOrStderr()}
	return &session{
		target: to, printer: printer{c.OutOrStdout(), a.output}, read: read, write: a.writer(c, read), explain: explainer{to}, gauge: gauge{read, a.now},
		flags: a.flags, config: config, core: core, now: a.now, in: c.InOrStdin(), err: c.ErrOrStderr(), warned: warned,
	}, nil
}
