// Package settings says how the operator is set up: options from the environment, API types, what its caches hold. It is
// apart from the operator so that the CLI can be set up the same way without carrying servers.
package settings

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/situation"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// LeaseName is the lease of the replica that leads. The existing operator of this API has the same, so that the two never
// run at the same time.
const LeaseName = "3c22c1ae.nvidia.com"

// Ways to write the log.
const (
	EncoderJSON    = "json"
	EncoderConsole = "console"
)

// Options are the operator's settings. Each comes from one environment variable; see Flags for those that are flags
// too.
type Options struct {
	Workload     workload.Options
	Metrics      MetricsOptions
	ProbeAddress string
	// PprofAddress to serve profiles on; "0" for nowhere.
	PprofAddress   string
	LeaderElection bool
	// PodName is the operator's own pod; empty outside of a cluster.
	PodName string
	// Reapply says after what all packages of a node are applied again.
	Reapply lifecycle.Reapply
	// Limits are those of packages that set none.
	Limits situation.Limits
	// DrainForce is what spec.drain.force is where a Skyhook leaves it unset.
	DrainForce bool
	// DiscoverUninstall asks the images of packages whether they can be uninstalled, where the spec does not say so.
	DiscoverUninstall bool
	LogLevel          slog.Level
	// LogEncoder is EncoderJSON or EncoderConsole.
	LogEncoder string
	// Version of this build.
	Version string
	// ClusterDomain is how the names of Services end after ".svc.", such as cluster.local.
	ClusterDomain string
	Webhook       WebhookOptions
	// Images are the rules that packages have to keep.
	Images admission.ImageRules
}

// FromEnvironment reads the options; get is os.LookupEnv or a test's stand-in. The error names every bad variable.
func FromEnvironment(get func(string) (string, bool), version string) (Options, error) {
	e := &environment{get: get}
	o := Options{
		Workload: workload.Options{
			Namespace:       e.text("NAMESPACE", "skyhook"),
			AgentImage:      e.image("AGENT_IMAGE", "ghcr.io/skyhook-operator/skyhook/agent:"+version),
			CopyDirRoot:     e.path("COPY_DIR_ROOT", "/var/lib/skyhook"),
			AgentLogRoot:    e.path("AGENT_LOG_ROOT", "/var/log/skyhook"),
			ImagePullSecret: e.optional("IMAGE_PULL_SECRET"),
			PriorityClass:   e.optionalOr("PACKAGE_PRIORITY_CLASS", workload.PriorityClass),
			InterruptMemory: e.memory("INTERRUPT_MEMORY", "256Mi"),
			PinImages:       e.flag("PIN_IMAGES", true),
			PullPolicy:      e.pullPolicy("PACKAGE_PULL_POLICY"),
			Mirror:          e.mirror("PACKAGE_REGISTRY"),
			Tolerations:     e.tolerations("DEFAULT_TOLERATIONS"),
			RuntimeTaint:    e.taint("RUNTIME_REQUIRED_TAINT", v1alpha1.DefaultRuntimeRequiredTaint),
		},
		Metrics:           e.metrics(),
		ProbeAddress:      e.text("PROBE_PORT", ":8081"),
		PprofAddress:      e.text("PPROF_PORT", "0"),
		LeaderElection:    e.flag("LEADER_ELECTION", false),
		PodName:           e.optional("POD_NAME"),
		Reapply:           lifecycle.Reapply{Reboots: e.flag("REAPPLY_ON_REBOOT", false), Hosts: e.flag("DETECT_REPLACED_HOSTS", true)},
		Limits:            situation.Limits{StageTimeout: e.limit("DEFAULT_STAGE_TIMEOUT"), MaxRetries: e.count("DEFAULT_MAX_RETRIES")},
		DrainForce:        e.flag("DRAIN_FORCE", false),
		DiscoverUninstall: e.flag("DISCOVER_UNINSTALL", false),
		LogLevel:          e.level("LOG_LEVEL", "info"),
		LogEncoder:        e.encoder("LOG_ENCODER", EncoderJSON),
		Version:           version,
		ClusterDomain:     e.text("KUBERNETES_CLUSTER_DOMAIN", "cluster.local"),
		Webhook:           e.webhook(),
		Images: admission.ImageRules{
			RequireDigest: e.flag("REQUIRE_DIGEST", false), Registries: e.registries("ALLOWED_REGISTRIES"),
			ForbidAgentOverride: e.flag("FORBID_AGENT_IMAGE_OVERRIDE", false),
		},
	}
	o.Images.Mirror = o.Workload.Mirror
	return o, errors.Join(e.errs...)
}

// Environment is the process's own.
func Environment(name string) (string, bool) { return os.LookupEnv(name) }

type environment struct {
	get  func(string) (string, bool)
	errs []error
}

func (e *environment) bad(name, value, fix string) {
	e.errs = append(e.errs, fmt.Errorf("environment variable %s is %q; %s", name, value, fix))
}

func (e *environment) optional(name string) string { return e.optionalOr(name, "") }

// optionalOr returns the variable, which may be set to nothing, or the default.
func (e *environment) optionalOr(name, def string) string {
	if v, ok := e.get(name); ok {
		return v
	}
	return def
}

// text returns the variable or the default; a variable that is set must not be empty.
func (e *environment) text(name, def string) string {
	v, ok := e.get(name)
	if !ok {
		return def
	}
	if strings.TrimSpace(v) == "" {
		e.bad(name, v, "give it a value or leave it unset for "+def)
	}
	return v
}

func (e *environment) path(name, def string) string {
	v := e.text(name, def)
	if !strings.HasPrefix(v, "/") {
		e.bad(name, v, "it must be an absolute path")
	}
	return v
}

func (e *environment) image(name, def string) string {
	v := e.text(name, def)
	if !strings.Contains(v, ":") {
		e.bad(name, v, "it must have a tag or a digest")
	}
	return v
}

func (e *environment) flag(name string, def bool) bool {
	v, ok := e.get(name)
	if !ok || v == "" {
		return def
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		e.bad(name, v, "it must be true or false")
	}
	return b
}

func (e *environment) registries(name string) []string {
	v := e.optional(name)
	list, err := admission.ParseRegistries(v)
	if err != nil {
		e.bad(name, v, err.Error()+"; name registries, with or without the beginning of a path, separated by commas, like "+
			"ghcr.io/org,registry.example.com:5000")
	}
	return list
}

// pullAuto leaves the policy to the kind of reference.
const pullAuto = "Auto"

func (e *environment) pullPolicy(name string) corev1.PullPolicy {
	switch v := e.text(name, pullAuto); v {
	case pullAuto:
	case string(corev1.PullAlways), string(corev1.PullIfNotPresent):
		return corev1.PullPolicy(v)
	default:
		e.bad(name, v, "it must be Auto, Always or IfNotPresent")
	}
	return ""
}

// taint reads key[=value]:effect, as kubectl taint writes it.
func (e *environment) taint(name, def string) corev1.Taint {
	v := e.text(name, def)
	left, effect, ok := strings.Cut(v, ":")
	key, value, _ := strings.Cut(left, "=")
	switch corev1.TaintEffect(effect) {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule:
	default:
		ok = false
	}
	if wrong := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); !ok || key == "" {
		e.bad(name, v, "write it as key=value:effect with effect NoSchedule, PreferNoSchedule or NoExecute")
	} else if len(wrong) > 0 {
		e.bad(name, v, "the API server refuses such a taint: "+wrong[0])
	}
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
}

func (e *environment) level(name, def string) slog.Level {
	v := e.text(name, def)
	var level slog.Level
	if err := level.UnmarshalText([]byte(v)); err != nil {
		e.bad(name, v, "it must be debug, info, warn or error")
	}
	return level
}

func (e *environment) encoder(name, def string) string {
	v := e.text(name, def)
	if v != EncoderJSON && v != EncoderConsole {
		e.bad(name, v, "it must be "+EncoderJSON+" or "+EncoderConsole)
	}
	return v
}

// Flags adds the options that may be given as flags as well. What the environment says is their default.
func (o *Options) Flags(flags *flag.FlagSet) {
	flags.BoolVar(&o.DiscoverUninstall, "discover-uninstall", o.DiscoverUninstall,
		"ask the images of packages whether they can be uninstalled, where uninstall.enabled is unset (DISCOVER_UNINSTALL)")
}

// MetricsOptions say how metrics are served.
type MetricsOptions struct {
	// Address to listen on; "0" for nowhere.
	Address string
	// Secure serves them over TLS, and only to those whose token the API server knows and who may get /metrics there.
	Secure bool
	// Service is what others call, in the operator's namespace.
	Service string
}

func (e *environment) metrics() MetricsOptions {
	return MetricsOptions{
		Address: e.text("METRICS_PORT", ":8080"),
		Secure:  e.flag("METRICS_SECURE", true),
		Service: e.text("METRICS_SERVICE_NAME", "skyhook-operator-controller-manager-metrics-service"),
	}
}

// WebhookOptions say how webhooks are served.
type WebhookOptions struct {
	// Enabled turns them on. Without, what is wrong is told by conditions only.
	Enabled bool
	// Managed says that the operator makes and renews the certificate and has the API server trust it. Otherwise somebody
	// else does both, such as cert-manager, and the operator only serves it.
	Managed bool
	// Secret has the certificate, and Service is what the API server calls. Both are in the operator's namespace.
	Secret, Service string
	// Address to listen on.
	Address string
}

func (e *environment) webhook() WebhookOptions {
	return WebhookOptions{
		Enabled: e.flag("ENABLE_WEBHOOKS", true),
		Managed: e.flag("WEBHOOK_MANAGE_CERTIFICATE", true),
		Secret:  e.text("WEBHOOK_SECRET_NAME", "webhook-cert"),
		Service: e.text("WEBHOOK_SERVICE_NAME", "skyhook-operator-webhook-service"),
		Address: e.listen("WEBHOOK_PORT", ":9443"),
	}
}

// listen reads an address with a port of its own; the API server could not find one that the system chooses.
func (e *environment) listen(name, def string) string {
	v := e.text(name, def)
	if _, port, err := net.SplitHostPort(v); err != nil || !isPort(port) {
		e.bad(name, v, "write it like "+def)
	}
	return v
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}
