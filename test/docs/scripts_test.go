package docs

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// stages are those of the package shellscript, in the order of a node's life, each with its check.
var stages = []string{"apply", "config", "post_interrupt", "uninstall"}

// commands stand in for what a test must not call on the machine. Each keeps what it changes in $ROOT.
var commands = map[string]string{
	"sleep":     "exit 0",
	"systemctl": "echo 5",
	"ps":        "echo '  5'",
	// iptables, in the host's network: -C finds a rule, -I adds it, also twice, -D removes it once.
	"nsenter": `while [ "$1" != iptables ]; do shift; done
verb=$2 rule="${*:3}" rules=$ROOT/rules
case $verb in
-C) grep -qsxF -- "$rule" "$rules" ;;
-I) echo "$rule" >> "$rules" ;;
-D) grep -vxF -- "$rule" "$rules" > "$rules.new"; mv "$rules.new" "$rules" ;;
esac`,
}

// TestScriptsRunTwice: what people copy may run again at any time, as the operator retries stages. The second run of
// each stage succeeds as the first, and changes nothing.
func TestScriptsRunTwice(t *testing.T) {
	blocks, err := allYAML(root)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, b := range blocks {
		if b.place == chart || b.place == prometheus || b.place == ofStatus {
			continue
		}
		objects, err := b.objects()
		if err != nil {
			t.Fatalf("%s: %v", b.at, err)
		}
		for _, object := range objects {
			var s v1alpha1.Skyhook
			raw, err := yaml.Marshal(object)
			if err != nil || object["kind"] != "Skyhook" || yaml.Unmarshal(raw, &s) != nil {
				continue // TestManifests tells of wrong ones
			}
			h := newHost(t)
			for _, name := range order(s.Spec.Packages) {
				h.at = b.at + ": " + s.Name + " " + name
				ran += h.live(s.Spec.Packages[name])
			}
		}
	}
	if ran < 20 {
		t.Errorf("only %d scripts ran", ran)
	}
}

// TestScriptThatAddsALine: a script that is not safe to run again is noticed.
func TestScriptThatAddsALine(t *testing.T) {
	h := newHost(t)
	files := map[string]string{"apply.sh": "echo line >> /etc/motd"}
	if code, out := h.run(v1alpha1.Package{ConfigMap: files}, "apply.sh"); code != 0 {
		t.Fatal(out)
	}
	before := h.files()
	h.run(v1alpha1.Package{ConfigMap: files}, "apply.sh")
	if cmp.Equal(before, h.files()) {
		t.Error("nothing was noticed")
	}
}

// order is that of dependsOn, then of names.
func order(packages map[string]v1alpha1.Package) []string {
	var done []string
	for len(done) < len(packages) {
		for _, name := range slices.Sorted(maps.Keys(packages)) {
			missing := func(other string) bool { return !slices.Contains(done, other) }
			needed := slices.Collect(maps.Keys(packages[name].DependsOn))
			if missing(name) && !slices.ContainsFunc(needed, missing) {
				done = append(done, name)
			}
		}
	}
	return done
}

// host is a folder that scripts take for the root of a host.
type host struct {
	*testing.T
	at, root, bin string
}

func newHost(t *testing.T) *host {
	t.Helper()
	h := &host{T: t, root: t.TempDir(), bin: t.TempDir()}
	for name, script := range commands {
		h.write(filepath.Join(h.bin, name), "#!/bin/bash\n"+script+"\n")
	}
	for _, dir := range []string{"etc", "opt"} {
		if err := os.Mkdir(filepath.Join(h.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h *host) write(path, content string) {
	h.Helper()
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		h.Fatal(err)
	}
}

// live takes a package through the stages for which it has scripts, each twice, and returns how many scripts ran.
func (h *host) live(pkg v1alpha1.Package) (ran int) {
	for i, stage := range stages {
		h.write(filepath.Join(h.root, "boot_id"), string(rune('a'+i))) // as if the host rebooted in between
		script := stage + ".sh"
		if pkg.ConfigMap[script] == "" {
			continue
		}
		h.succeeds(pkg, script, stage+"_check.sh")
		once := h.files()
		h.succeeds(pkg, script, stage+"_check.sh")
		if diff := cmp.Diff(once, h.files()); diff != "" {
			h.Errorf("%s: the second run of %s changes the host:\n%s", h.at, script, diff)
		}
		ran++
	}
	return ran
}

func (h *host) succeeds(pkg v1alpha1.Package, scripts ...string) {
	for _, script := range scripts {
		if code, out := h.run(pkg, script); code != 0 {
			h.Errorf("%s: %s exits with %d: %s", h.at, script, code, out)
		}
	}
}

// absolute paths of a host, in a script.
var absolute = regexp.MustCompile(`(^|[\s"'=])/(skyhook-|etc/|opt/|proc/sys/kernel/random/)`)

// run runs one script, which may be none, as the package shellscript does.
func (h *host) run(pkg v1alpha1.Package, script string) (code int, output string) {
	dir := h.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "configmaps"), 0o755); err != nil {
		h.Fatal(err)
	}
	for key, value := range pkg.ConfigMap {
		h.write(filepath.Join(dir, "configmaps", key), value)
	}
	text := absolute.ReplaceAllString(pkg.ConfigMap[script], "${1}"+h.root+"/$2")
	cmd := exec.Command("bash", "-c", strings.ReplaceAll(text, "proc/sys/kernel/random/", ""))
	path := "PATH=" + h.bin + ":" + os.Getenv("PATH")
	cmd.Env = []string{path, "ROOT=" + h.root, "SKYHOOK_DIR=" + dir, "SKYHOOK_NODE_ORDER=3"}
	for _, variable := range pkg.Env {
		cmd.Env = append(cmd.Env, variable.Name+"="+variable.Value)
	}
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed { //nolint:errorlint // exec returns it as it is
		h.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(bytes.TrimSpace(out))
}

// files are what is on the host.
func (h *host) files() map[string]string {
	found := map[string]string{}
	err := filepath.WalkDir(h.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, h.root)] = string(raw)
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
	return found
}
