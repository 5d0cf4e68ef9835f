package purity

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// notOnHosts is what only people's machines and the operator need. A path stands for everything below it as well.
var notOnHosts = []string{
	"crypto/tls", "crypto/x509", "net/http",
	"github.com/docker", "github.com/google/go-containerregistry", "github.com/santhosh-tekuri/jsonschema", "github.com/spf13",
	"k8s.io", "sigs.k8s.io",
	module + "internal/kit", module + "build",
}

// TestAgentHasWhatHostsNeed, and nothing that reads registries, checks schemas or talks to a cluster.
func TestAgentHasWhatHostsNeed(t *testing.T) {
	dependencies := func(program string) []string {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", module+"cmd/"+program).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	agent, skyhook := dependencies("skyhook-agent"), dependencies("skyhook")
	for _, path := range notOnHosts {
		below := func(dependency string) bool { return dependency == path || strings.HasPrefix(dependency, path+"/") }
		if slices.ContainsFunc(agent, below) {
			t.Errorf("skyhook-agent has %s", path)
		}
	}
	// Names that nothing has would prove nothing.
	if !slices.Contains(skyhook, "crypto/tls") || !slices.Contains(skyhook, module+"internal/kit") {
		t.Error("skyhook reads no registries, so nothing was proved of the agent")
	}
}
