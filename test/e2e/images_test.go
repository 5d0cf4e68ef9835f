//go:build e2e && nightly

package e2e

import (
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/pkg/image"
)

// movingImage is a package whose tag the test moves.
const movingImage = "ghcr.io/skyhook-testbed/moving"

// moveTag has the tag of the moving package stand for a variant, and returns its digest.
func moveTag(t *testing.T, which string) string {
	t.Helper()
	moved := variant(t, which)
	if err := here(t).Push(t.Context(), moved, movingImage+":1.1.0"); err != nil {
		t.Fatal(err)
	}
	digest, err := moved.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// ranVariant is what the copies of the package on a node say that they are.
func ranVariant(t *testing.T, node, skyhook string) string {
	t.Helper()
	return strings.TrimSpace(onHost(t, node, "sh", "-c", "cat /var/lib/skyhook/"+skyhook+"/scripts-1.1.0-*/skyhook_dir/which | sort -u"))
}

// TestTagMovesMidRollout: the first node has pulled the image when its tag moves. The second one gets what the first
// got, and so does the uninstall on both, until containerSHA says otherwise.
func TestTagMovesMidRollout(t *testing.T) {
	const skyhookName, file = "moving", "/skyhook-moving"
	nodes := ownNodes(t, 2)
	first := moveTag(t, "first")
	manifest := strings.Replace(skyhook(skyhookName, map[string]string{
		"apply.sh": journal(file, "apply"), "config.sh": journal(file, "config"), "uninstall.sh": journal(file, "uninstall"),
	}), "ghcr.io/nvidia/skyhook-packages/shellscript", movingImage, 1)
	manifest = with(manifest, "", "uninstall: {enabled: true, whenRemoved: Uninstall}")
	applyTo(t, nodes[:1], skyhookName, manifest, file)
	waitReady(t, skyhookName)

	second := moveTag(t, "second")
	mustKubectl(t, "", "label", "node", nodes[1], "--overwrite", testLabel+"="+here(t).value)
	until(t, skyhookName, "complete on both nodes", func(s *v1alpha1.Skyhook) bool {
		return s.Status.Nodes.Complete == 2 && s.Status.Nodes.Total == 2
	})
	for _, node := range nodes {
		if got := ranVariant(t, node, skyhookName); got != "first" {
			t.Errorf("node %s ran %q; first was %s, then %s", node, got, first, second)
		}
	}
	pins := mustKubectl(t, "", "get", "controllerrevisions", "-n", "skyhook", "-l", "skyhook.nvidia.com/name="+skyhookName+",skyhook.nvidia.com/pin", "-o", "jsonpath={.items[*].data.digest}")
	if pins != first {
		t.Errorf("pinned are %q, want %s", pins, first)
	}

	t.Run("to take the other", func(t *testing.T) {
		mustKubectl(t, "", "patch", "skyhook", skyhookName, "--type=merge", "-p",
			`{"spec":{"packages":{"scripts":{"containerSHA":"`+second+`","configMap":{"config.sh":"`+journal(file, "again")+`"}}}}}`)
		waitReady(t, skyhookName)
		awaitMark(t, nodes[0], file, "again")
		if got := ranVariant(t, nodes[0], skyhookName); !strings.Contains(got, "second") {
			t.Errorf("node %s ran %q", nodes[0], got)
		}
	})
	mustKubectl(t, "", "patch", "skyhook", skyhookName, "--type=merge", "-p", `{"spec":{"packages":{"scripts":null}}}`)
	for _, node := range nodes {
		untilUninstalled(t, skyhookName, node)
		awaitMark(t, node, file, "uninstall")
	}
}

// TestPodsMountWhatTheirNamesSay: not even who may write in the operator's namespace can change a ConfigMap that pods
// mount.
func TestPodsMountWhatTheirNamesSay(t *testing.T) {
	const skyhookName = "sealed"
	applyTo(t, ownNodes(t, 1), skyhookName, skyhook(skyhookName, map[string]string{"apply.sh": "true"}))
	waitReady(t, skyhookName)
	out := mustKubectl(t, "", "get", "configmaps", "-n", "skyhook", "-l", "skyhook.nvidia.com/name="+skyhookName, "-o", "name")
	names := strings.Fields(out)
	if len(names) != 2 {
		t.Fatalf("ConfigMaps: %v", names)
	}
	for _, cm := range names {
		if out, err := kubectl(t, "", "patch", cm, "-n", "skyhook", "--type=merge", "-p", `{"data":{"apply.sh":"evil"}}`); err == nil {
			t.Errorf("%s can be changed: %s", cm, out)
		}
	}
}

// TestConfigMapOverFilesOfTheImage: a key takes the place of the image's file of its name, and of no other.
func TestConfigMapOverFilesOfTheImage(t *testing.T) {
	const skyhookName, repository, file = "over", "ghcr.io/skyhook-testbed/over", "/skyhook-over"
	node := ownNode(t)
	defaults := withFiles(t, image.Tree{
		"skyhook-package/configmaps/default.txt": image.File([]byte("image\n")),
		"skyhook-package/configmaps/level.txt":   image.File([]byte("image\n")),
	})
	if err := here(t).Push(t.Context(), defaults, repository+":1.1.0"); err != nil {
		t.Fatal(err)
	}
	pkg := scripted(map[string]string{
		"config.sh": "cd $SKYHOOK_DIR/configmaps; echo $(cat default.txt level.txt) >> " + file,
		"level.txt": "key",
	})
	pkg.Image = repository
	w := &wish{name: skyhookName, nodes: []string{node}, packages: map[string]v1alpha1.Package{"scripts": pkg}}
	w.install(t, file)
	reconfigure(t, w, "scripts", map[string]string{"level.txt": "another"})
	reconfigure(t, w, "scripts", map[string]string{"level.txt": ""})
	if got, want := onHost(t, node, "cat", file), "image key\nimage another\nimage image\n"; got != want {
		t.Errorf("config saw %q, want %q", got, want)
	}
}
