//go:build linux

package testbed

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProduce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "thing")
	// An earlier call was killed half-way.
	if err := writeBelow(dir+".tmp", "half", nil); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := produce(dir, func(string) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a failed build is in the cache")
	}
	fill := func(tmp string) error { return writeBelow(tmp, "whole", []byte("x")) }
	if err := produce(dir, fill); err != nil {
		t.Fatal(err)
	}
	if got := mustGlob(t, dir+"*/*"); len(got) != 1 || filepath.Base(got[0]) != "whole" {
		t.Errorf("made %v", got)
	}
	if err := produce(dir, func(string) error { t.Error("built again"); return nil }); err != nil {
		t.Error(err)
	}
}

func TestLinkerFlags(t *testing.T) {
	got := linkerFlags("v1.35.4")
	for _, want := range []string{
		"-s -w ", "version.gitVersion=v1.35.4", "version.gitMajor=1", "version.gitMinor=35",
		"k8s.io/client-go/pkg/version.gitVersion=v1.35.4", "k8s.io/component-base/version.gitTreeState=clean",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

// TestKubernetesVersions: whatever a folder builds, its go.mod says which version that is, and has all programs.
func TestKubernetesVersions(t *testing.T) {
	folders := must(filepath.Glob("k8s*"))(t)
	if len(folders) < 2 {
		t.Errorf("only %s", folders)
	}
	for _, folder := range folders {
		gomod := must(os.ReadFile(filepath.Join(folder, "go.mod")))(t)
		version := kubernetesVersion.FindSubmatch(gomod)
		_, minor, older := strings.Cut(folder, "-")
		if len(version) != 2 || older && !strings.HasPrefix(string(version[1]), "v"+minor+".") {
			t.Errorf("%s builds version %s", folder, version)
		}
		for _, tool := range []string{"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubectl", "kubelet"} {
			if !strings.Contains(string(gomod), "k8s.io/kubernetes/cmd/"+tool+"\n") {
				t.Errorf("%s/go.mod has no tool %s", folder, tool)
			}
		}
	}
}

// TestUnknownKubernetes: the error names what is missing.
func TestUnknownKubernetes(t *testing.T) {
	_, err := BuildPrograms(t.Context(), Options{Kubernetes: "1.2", Cache: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "cannot build Kubernetes 1.2") || !strings.Contains(err.Error(), "TESTBED_KUBERNETES") {
		t.Errorf("got %v", err)
	}
}

func TestModuleDir(t *testing.T) {
	dir := must(moduleDir(t.Context()))(t)
	for _, f := range []string{"k8s/go.mod", "cmd/pause/main.go"} {
		if _, err := os.Stat(filepath.Join(dir, "test", "testbed", f)); err != nil {
			t.Error(err)
		}
	}
	t.Chdir(t.TempDir())
	if _, err := moduleDir(t.Context()); err == nil || !strings.Contains(err.Error(), "inside its repository") {
		t.Errorf("outside: %v", err)
	}
}

func TestShortHash(t *testing.T) {
	a, b := shortHash([]byte("x")), shortHash([]byte("y"))
	if a == b || len(a) != 12 || a != shortHash([]byte("x")) {
		t.Errorf("%s, %s", a, b)
	}
}

func TestTail(t *testing.T) {
	for in, want := range map[string]string{"": "", "a\nb\nc\n": "b\nc", "one": "one"} {
		if got := tail([]byte(in), 2); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestProgress(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b, start: time.Now()}
	for _, fails := range []error{nil, errors.New("no")} {
		done := p.step("build %s", "etcd")
		done(&fails)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[0], "build etcd ...") || !strings.Contains(lines[1], "build etcd: done in 0.") {
		t.Errorf("lines %q", lines)
	}
}

func TestLongStepsSayThatTheyGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		done := newProgress(&b).step("build")
		<-time.After(2*breath + time.Second)
		done(new(error))
		var told []string
		for line := range strings.Lines(b.String()) {
			_, what, _ := strings.Cut(line, " s  ")
			told = append(told, what)
		}
		if want := []string{"build ...\n", "build: 15 s so far\n", "build: 30 s so far\n", "build: done in 31.0 s\n"}; !slices.Equal(told, want) {
			t.Errorf("got %q, want %q", told, want)
		}
	})
}

func TestFailedCommandShowsItsOutput(t *testing.T) {
	err := outputInError(exec.Command("/bin/sh", "-c", "for i in 1 2 3 4 5 6 7; do echo line $i; done; exit 3"))
	if err == nil || !strings.Contains(err.Error(), "line 7") || strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v", err)
	}
	if err := runCommand(exec.Command("true")); err != nil {
		t.Error(err)
	}
}
