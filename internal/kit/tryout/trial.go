package tryout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// Trial is one stage to try.
type Trial struct {
	// Root is the folder to take for the host's root.
	Root string
	// Overlay is a folder that keeps what changes, instead of Root; empty for
	// none.
	Overlay string
	// Package is the package's folder, or its config.json.
	Package string
	// Name is what a Skyhook would call the package; empty for the one that is
	// most like its own, see [SkyhookName].
	Name string
	// Mode is the stage, followed by its check, or a check alone.
	Mode packagefile.Mode
	// ConfigMap has the content of the package's configMap by key.
	ConfigMap map[string][]byte
	// Env is the package's env, as "NAME=value".
	Env []string
	// Version is the agent's own.
	Version string
}

// What an operator would get from the cluster.
const (
	skyhook   = "tryout"
	uid       = "00000000-0000-4000-8000-000000000000"
	stateRoot = "/var/lib/skyhook"
	logRoot   = "/var/log/skyhook"
)

// identity is the package as the Skyhook has it.
type identity struct {
	name    string
	version string
	// generation of the Skyhook, from 1.
	generation int
}

// maxName is how long the name of a package in a Skyhook may be, as its CRD
// has it.
const maxName = 43

// SkyhookName is a name that a Skyhook can have for a package: that in its
// config.json is freer, as in my_package.
func SkyhookName(packageName string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(packageName))
	name = strings.TrimLeft(name, "-0123456789")
	name = strings.TrimRight(name[:min(len(name), maxName)], "-")
	return cmp.Or(name, "package")
}

func (i identity) stateDir() string { return path.Join(stateRoot, skyhook) }
func (i identity) logDir() string   { return path.Join(logRoot, skyhook) }

func (i identity) copyDir() string {
	return path.Join(i.stateDir(), fmt.Sprintf("%s-%s-%s-%d", i.name, i.version, uid, i.generation))
}

func (i identity) resourceID() string {
	return fmt.Sprintf("%s-%s-%d_%s_%s", skyhook, uid, i.generation, i.name, i.version)
}

// namespacesVariable asks for the mount namespace of the host. Here, that is the
// one which the agent and its steps are in anyway.
const namespacesVariable = "SKYHOOK_HOST_NAMESPACES="

// standardPath is what a container runtime sets.
const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environ is that of a pod's container: what a container runtime sets, the
// package's own variables, then the operator's, which win.
// contained is what it has for a trial, with another PATH.
func (t Trial) environ(i identity, contained ...string) []string {
	env := append([]string{"HOME=/"}, contained...)
	if len(contained) == 0 {
		env = append(env, "PATH="+standardPath)
	}
	for _, variable := range t.Env {
		if !strings.HasPrefix(variable, namespacesVariable) {
			env = append(env, variable)
		}
	}
	return append(env,
		"SKYHOOK_LOG_DIR="+i.logDir(),
		"SKYHOOK_ROOT_DIR="+i.stateDir(),
		"COPY_RESOLV=false",
		"SKYHOOK_RESOURCE_ID="+i.resourceID(),
		"SKYHOOK_NODE_ORDER=0",
	)
}

// modes are the stage and its check, unless the check was asked for alone.
func (t Trial) modes() []packagefile.Mode {
	if t.Mode.IsCheck() {
		return []packagefile.Mode{t.Mode}
	}
	return []packagefile.Mode{t.Mode, t.Mode + "-check"}
}

type packageInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Image   string `json:"image"`
}

// nodeMetadata is a sample of what the operator tells steps about a node.
func (t Trial) nodeMetadata(i identity) (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, content := range map[string]any{
		"labels.json":      map[string]string{"kubernetes.io/hostname": skyhook, "kubernetes.io/os": "linux"},
		"annotations.json": map[string]string{},
		"packages.json": map[string]any{
			"agentVersion": t.Version,
			"packages":     map[string]packageInfo{i.name: {i.name, i.version, "registry.example/" + i.name}},
		},
	} {
		raw, err := json.Marshal(content)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		files[name] = raw
	}
	return files, nil
}
