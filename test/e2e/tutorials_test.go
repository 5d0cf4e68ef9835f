//go:build e2e && nightly

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/test/install"
	"github.com/skyhook-operator/skyhook/test/tutorial"
)

// TestTutorialOfACluster installs the operator by tag, as a reader does, and leaves the installation of the suite.
func TestTutorialOfACluster(t *testing.T) {
	ownCluster(t)
	t.Cleanup(func() {
		cleanUp(t, "demo", []string{"/skyhook-hello-world"})
		if err := here(t).installChart(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	followTutorial(t, "cluster.md")
}

func TestTutorialOfAReboot(t *testing.T) {
	before := map[string]string{}
	for _, node := range ownCluster(t) {
		before[node] = bootID(t, node)
	}
	t.Cleanup(func() {
		mustKubectl(t, "", "delete", "pod", "training", "--ignore-not-found", "--grace-period=1")
		cleanUp(t, "reboot", []string{"/skyhook-boot-before", "/skyhook-boot-after"})
	})
	followTutorial(t, "reboot.md")
	for _, node := range here(t).Nodes() {
		if bootID(t, node) == before[node] {
			t.Errorf("node %s did not reboot", node)
		}
	}
}

// followTutorial does what a tutorial tells its readers to do, except for what makes a cluster of their own.
func followTutorial(t *testing.T, name string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "tutorials", name))
	if err != nil {
		t.Fatal(err)
	}
	helm, err := exec.CommandContext(t.Context(), filepath.Join(root, "tools", "tool"), "helm").Output()
	if err != nil {
		t.Fatalf("build helm: %v", err)
	}
	// An earlier test may have killed or drained the operator, and with it the webhooks.
	if err := install.Available(t.Context(), here(t).client, patience); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	path := []string{pluginPath(t), here(t).Bin(), filepath.Dir(strings.TrimSpace(string(helm))), os.Getenv("PATH")}
	err = tutorial.Follow(ctx, tutorial.Blocks(string(page)), root,
		"KUBECONFIG="+here(t).Kubeconfig(), "PATH="+strings.Join(path, string(os.PathListSeparator)))
	if err != nil {
		pods, _ := kubectl(t, "", "get", "pods,nodes,skyhooks", "-A", "-o", "wide")
		t.Fatalf("%s: %v\n%s", name, err, pods)
	}
}
