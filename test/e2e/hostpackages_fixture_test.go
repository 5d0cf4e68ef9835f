//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/build/images"
)

// exampleWish is the Skyhook of an example, under another name and on one node.
func exampleWish(t *testing.T, file, name, node string) *wish {
	t.Helper()
	var s v1alpha1.Skyhook
	if err := yaml.UnmarshalStrict([]byte(example(t, file)), &s); err != nil {
		t.Fatalf("examples/%s: %v", file, err)
	}
	return &wish{name: name, nodes: []string{node}, packages: s.Spec.Packages}
}

// upgrade builds the next version of a package of ours, which differs in nothing but that, and applies it.
func upgrade(t *testing.T, w *wish, folder string) {
	t.Helper()
	old := w.packages[folder].Version
	now := nextVersion(t, old)
	copied := filepath.Join(t.TempDir(), "packages", folder)
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(root, "packages", folder))); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(copied, "config.json")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), fmt.Sprintf(`"package_version": %q`, old), fmt.Sprintf(`"package_version": %q`, now), 1)
	if err := os.WriteFile(config, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	built, err := images.Build(t.Context(), images.Options{
		Root: filepath.Dir(filepath.Dir(copied)), Version: now, Only: []string{folder},
		Platforms: []v1.Platform{{OS: "linux", Architecture: runtime.GOARCH}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := here(t).PushIndex(t.Context(), built[0].Index, w.packages[folder].Image+":"+built[0].Version); err != nil {
		t.Fatal(err)
	}
	w.change(t, folder, func(p *v1alpha1.Package) { p.Version = now })
	untilReady(t, w.name)
	if built[0].Version != now || entry(t, w.nodes[0], w.name, folder+"|"+now).State != v1alpha1.StateComplete {
		t.Errorf("%s %s is not complete: built was %s", folder, now, built[0].Version)
	}
}

func nextVersion(t *testing.T, version string) string {
	t.Helper()
	cut := strings.LastIndex(version, ".") + 1
	patch, err := strconv.Atoi(version[cut:])
	if err != nil {
		t.Fatalf("version %s: %v", version, err)
	}
	return version[:cut] + strconv.Itoa(patch+1)
}

// reconfigure changes keys of a package's configMap and waits until that is done; an empty value removes the key.
func reconfigure(t *testing.T, w *wish, pkg string, keys map[string]string) {
	t.Helper()
	w.change(t, pkg, func(p *v1alpha1.Package) {
		for key, value := range keys {
			if p.ConfigMap[key] = value; value == "" {
				delete(p.ConfigMap, key)
			}
		}
	})
	untilReady(t, w.name)
}

// hostState is what must be the same before a package came and after it went: all of /etc, with modes, owners and sums
// of contents, the packages of Debian, and the settings of the kernel that are the node's own.
func hostState(t *testing.T, node string) []string {
	t.Helper()
	etc := onHost(t, node, "sh", "-c", `find /etc -printf '%p %y %m %U:%G %l\n' && find /etc -type f -exec sha256sum {} +`)
	settings := onHost(t, node, "sh", "-c", `sysctl -a --pattern '^(vm|net[.]core|net[.]ipv4[.](ip|tcp|udp))' 2>/dev/null`)
	packages := onHost(t, node, "dpkg-query", "--show", "--showformat", "${Package} ${Version} ${Status}\n")
	return strings.Split(etc+settings+packages, "\n")
}

// sameHost checks that nothing differs from an earlier hostState.
func sameHost(t *testing.T, node string, before []string) {
	t.Helper()
	after := hostState(t, node)
	for _, difference := range []struct {
		what         string
		these, those []string
	}{{"has no more", before, after}, {"has now", after, before}} {
		for _, line := range difference.these {
			if !slices.Contains(difference.those, line) {
				t.Errorf("node %s %s: %s", node, difference.what, line)
			}
		}
	}
}

// setting is a kernel setting of a node, with one blank between words.
func setting(t *testing.T, node, name string) string {
	t.Helper()
	return strings.Join(strings.Fields(onHost(t, node, "sysctl", "-n", name)), " ")
}

// hasSettings checks that a node has what the lines "name = value" of a text say.
func hasSettings(t *testing.T, node, text string) {
	t.Helper()
	checked := 0
	for line := range strings.Lines(text) {
		name, want, is := strings.Cut(strings.TrimSpace(line), "=")
		if !is || strings.HasPrefix(name, "#") {
			continue
		}
		name, want = strings.TrimSpace(name), strings.Join(strings.Fields(want), " ")
		if got := setting(t, node, name); got != want {
			t.Errorf("node %s: %s is %q, want %q", node, name, got, want)
		}
		checked++
	}
	if checked == 0 {
		t.Errorf("no setting in %q", text)
	}
}

// onCleanNode runs a script on a node also after the test's own context has ended.
func onCleanNode(t *testing.T, node, script string) {
	t.Helper()
	if out, err := here(t).Exec(context.WithoutCancel(t.Context()), node, "sh", "-c", "set -e\n"+script); err != nil {
		t.Errorf("clean up node %s: %v\n%s", node, err, out)
	}
}
