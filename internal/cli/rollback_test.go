//go:build integration

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/cli"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// retain puts in place what the operator retains of a package, and returns its revision.
func (c *cluster) retain(s *v1alpha1.Skyhook, pkg string, generation int64) string {
	c.t.Helper()
	return c.retainDefinition(s, workload.DefinitionOf(s, pkg), generation)
}

func (c *cluster) retainDefinition(s *v1alpha1.Skyhook, d workload.Definition, generation int64) string {
	c.t.Helper()
	rev, err := workload.Options{Namespace: "default"}.Revision(s, d)
	if err != nil {
		c.t.Fatal(err)
	}
	rev.Revision = generation
	c.put(rev)
	return d.Hash()
}

// upgraded is a Skyhook whose package tuning came from version 2.0.0 with another configuration, after driver did.
func (c *cluster) upgraded() (before *v1alpha1.Skyhook, revision string) {
	c.t.Helper()
	c.put(gpu())
	s := c.stored("gpu")
	before = s.DeepCopy()
	p := before.Spec.Packages["tuning"]
	p.Version, p.ConfigMap = "2.0.0", map[string]string{"apply.sh": "true"}
	before.Spec.Packages["tuning"] = p
	old := s.DeepCopy()
	d := old.Spec.Packages["driver"]
	d.Version = "0.9.0"
	old.Spec.Packages["driver"] = d
	c.retain(old, "driver", 1)
	c.retain(s, "driver", 2)
	revision = c.retain(before, "tuning", 1)
	c.retain(s, "tuning", 3)
	return before, revision
}

// TestHistoryOfDefinitions lists what the operator retains, with what changed.
func TestHistoryOfDefinitions(t *testing.T) {
	c := newCluster(t)
	before, _ := c.upgraded()
	tuning := func(s *v1alpha1.Skyhook, more string) string {
		p := s.Spec.Packages["tuning"]
		return fmt.Sprintf(`"tuning|%s":{"name":"tuning","version":%q,"image":%q,"stage":"config","state":"complete","definition":%q%s}`,
			p.Version, p.Version, p.Image, workload.DefinitionOf(s, "tuning").Hash(), more)
	}
	c.put(newNode("worker-1", states("{"+tuning(before, `,"superseded":true`)+","+tuning(c.stored("gpu"), "")+"}")))
	out, _, err := c.run("", "history", "gpu", "--namespace", "default")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`driver   0\.9\.0 `, `tuning   2\.0\.0 .*  0      false `,
		`tuning   2\.1\.0 .*  1      true     package tuning goes from 2\.0\.0 to 2\.1\.0; package tuning: configMap changes: apply\.sh`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("does not have %q:\n%s", want, out)
		}
	}
	if out, _, err = c.run("", "inventory"); err != nil || !strings.Contains(out, "2.0.0    config  superseded") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestRollback shows what follows, and puts the definition from before the last change back: all of it, and nothing else.
func TestRollback(t *testing.T) {
	c := newCluster(t)
	c.put(newNode("worker-1", states("{"+driverDone+"}")))
	before, revision := c.upgraded()
	out, _, err := c.run("", "rollback", "gpu", "--namespace", "default", "--dry-run")
	if err != nil || c.stored("gpu").Generation != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	golden(t, "rollback", out)
	for args, want := range map[string]string{
		"--to nonesuch":                     "revision nonesuch is not retained; of Skyhook \"gpu\" are retained: driver 0.9.0 (",
		"--to " + c.current("tuning"):       "of package tuning is in the spec already; of Skyhook",
		"--to " + revision + "," + revision: "two revisions of package tuning are named; of Skyhook",
	} {
		_, _, err := c.run("", append([]string{"rollback", "gpu", "--namespace", "default", "--yes"}, strings.Fields(args)...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	out, _, err = c.run("y\n", "rollback", "gpu", "--namespace", "default")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "rollback-done", out)
	if d := cmp.Diff(before.Spec, c.stored("gpu").Spec); d != "" {
		t.Errorf("the spec (-before +now):\n%s", d)
	}
}

// TestRollbackGoesByWhatWasAskedForLast: what a rollback brought back is what the next one finds, however old it is, and
// not what the spec had in between. What differs only by what its image tells is no earlier definition.
func TestRollbackGoesByWhatWasAskedForLast(t *testing.T) {
	c := newCluster(t)
	_, revision := c.upgraded()
	rollback := func() error { _, _, err := c.run("", "rollback", "gpu", "--namespace", "default", "--yes"); return err }
	tuning := func() string { return c.stored("gpu").Spec.Packages["tuning"].Version }
	if err := rollback(); err != nil || tuning() != "2.0.0" {
		t.Fatalf("%v, tuning %s", err, tuning())
	}
	c.renew(revision, 4) // as the operator does
	s := c.stored("gpu")
	p := s.Spec.Packages["tuning"]
	p.Version = "3.0.0"
	s.Spec.Packages["tuning"] = p
	if err := c.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	c.retain(s, "tuning", 5)
	if err := rollback(); err != nil || tuning() != "2.0.0" {
		t.Fatalf("of an upgrade from what came back: %v, tuning %s", err, tuning())
	}
	c.renew(revision, 6)
	if err := rollback(); err != nil || tuning() != "3.0.0" {
		t.Errorf("of a rollback: %v, tuning %s", err, tuning())
	}
}

func TestRollbackOfTheFirst(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	s := c.stored("gpu")
	c.retain(s, "driver", 1)
	s.Annotations = map[string]string{v1alpha1.AnnotationUninstallCapability: fmt.Sprintf(
		`{"references":{%q:{"digest":"sha256:1"}},"digests":{"sha256:1":"true"}}`, s.Spec.Packages["driver"].Image+":"+s.Spec.Packages["driver"].Version)}
	if before := c.stored("gpu"); workload.DefinitionOf(before, "driver").Hash() == workload.DefinitionOf(s, "driver").Hash() {
		t.Fatal("what the image tells makes no difference")
	}
	if err := c.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	c.retain(s, "driver", 2)
	_, _, err := c.run("", "rollback", "gpu", "--namespace", "default", "--yes")
	if err == nil || !strings.HasPrefix(err.Error(), "no definition from before the last change is retained; name another with --to; of Skyhook \"gpu\" are retained: driver ") {
		t.Error(err)
	}
}

// renew is what the operator does with a definition that came back.
func (c *cluster) renew(revision string, generation int64) {
	c.t.Helper()
	var all appsv1.ControllerRevisionList
	if err := c.List(c.t.Context(), &all, client.MatchingLabels{v1alpha1.LabelDefinition: revision}); err != nil || len(all.Items) != 1 {
		c.t.Fatalf("%v, %d definitions", err, len(all.Items))
	}
	all.Items[0].Revision = generation
	if err := c.Update(c.t.Context(), &all.Items[0]); err != nil {
		c.t.Fatal(err)
	}
}

// TestRollbackOfWhatIsNotRetained: the last change is undone also if the operator has not retained it, as it does not
// with an invalid spec; and not another one, if the last may have removed a package.
func TestRollbackOfWhatIsNotRetained(t *testing.T) {
	for name, step := range map[string]struct {
		edit   func(packages map[string]v1alpha1.Package)
		images bool // that tell that a package can be uninstalled
		// want is the error, and then come the versions of the packages.
		want, driver, tuning string
	}{
		"changed": {func(all map[string]v1alpha1.Package) {
			p := all["tuning"]
			p.Version = "3.0.0"
			all["tuning"] = p
		}, false, "", "1.0.0", "2.1.0"},
		"told by its image": {func(map[string]v1alpha1.Package) {}, true, "", "1.0.0", "2.0.0"},
		"removed":           {func(all map[string]v1alpha1.Package) { delete(all, "tuning") }, false, "the last change may have removed package tuning; name with --to", "1.0.0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.upgraded()
			if d := workload.DefinitionOf(c.stored("gpu"), "tuning"); step.images {
				d.Enabled = true
				c.retainDefinition(c.stored("gpu"), d, 4)
			}
			for range 3 { // past the generations of what is retained
				s := c.stored("gpu")
				changed := s.DeepCopy()
				changed.Spec.Priority++
				if err := c.Patch(t.Context(), changed, client.MergeFrom(s)); err != nil {
					t.Fatal(err)
				}
			}
			s := c.stored("gpu")
			step.edit(s.Spec.Packages)
			if err := c.Update(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			out, _, err := c.run("", "rollback", "gpu", "--namespace", "default", "--yes")
			if (err == nil) != (step.want == "") || err != nil && !strings.HasPrefix(err.Error(), step.want) {
				t.Errorf("%v\n%s", err, out)
			}
			now := c.stored("gpu").Spec.Packages
			if now["driver"].Version != step.driver || now["tuning"].Version != step.tuning {
				t.Errorf("driver is %s, tuning %s", now["driver"].Version, now["tuning"].Version)
			}
		})
	}
}

func (c *cluster) current(pkg string) string {
	return workload.DefinitionOf(c.stored("gpu"), pkg).Hash()
}

// TestRollbackOfWhatChanged: what a person saw is not what would be changed, so nothing is.
func TestRollbackOfWhatChanged(t *testing.T) {
	c := newCluster(t)
	c.upgraded()
	var out bytes.Buffer
	root := cli.Root("1.2.3", func() time.Time { return today })
	root.SetIn(meanwhile{func() {
		s := c.stored("gpu")
		changed := s.DeepCopy()
		changed.Spec.Priority++
		if err := c.Patch(t.Context(), changed, client.MergeFrom(s)); err != nil {
			t.Error(err)
		}
	}, strings.NewReader("y\n")})
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs([]string{"--kubeconfig", c.kubeconfig, "rollback", "gpu", "--namespace", "default"})
	err := root.ExecuteContext(t.Context())
	if err == nil || !strings.Contains(err.Error(), "changed meanwhile, so nothing was done; run the command again") ||
		c.stored("gpu").Spec.Packages["tuning"].Version != "2.1.0" {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// meanwhile does something before the first answer is read.
type meanwhile struct {
	do func()
	io.Reader
}

func (m meanwhile) Read(b []byte) (int, error) {
	n, err := m.Reader.Read(b)
	if n > 0 {
		m.do()
	}
	return n, err
}

// TestSteerOfWhatChanged: resume removes the pause that it saw, and no other; pause waits for nobody; neither minds what
// else changes.
func TestSteerOfWhatChanged(t *testing.T) {
	const key = v1alpha1.AnnotationPause
	c := newCluster(t)
	c.put(gpu())
	for _, tt := range []struct {
		name, command         string
		before, then, becomes any
		err                   string
	}{
		{name: "another pause", command: "resume", before: "true", then: "1", becomes: "1", err: `changed from "true" to "1" meanwhile, so nothing was done`},
		{name: "nothing", command: "resume", before: "true", then: "true"},
		{name: "somebody was faster", command: "resume", before: "true"},
		{name: "paused by another", command: "pause", then: "yes", becomes: "true"},
		{name: "resumed by another", command: "pause", before: "yes", becomes: "true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := func(value any) {
				s := c.stored("gpu")
				body, err := json.Marshal(map[string]any{
					"metadata": map[string]any{"annotations": map[string]any{key: value}},
					"spec":     map[string]any{"priority": s.Spec.Priority + 1},
				})
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Patch(t.Context(), s, client.RawPatch(types.MergePatchType, body)); err != nil {
					t.Fatal(err)
				}
			}
			set(tt.before)
			err := c.runFrom(meanwhile{func() { set(tt.then) }, strings.NewReader("y\n")}, tt.command, "gpu")
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			got, there := c.stored("gpu").Annotations[key]
			if there != (tt.becomes != nil) || there && got != tt.becomes {
				t.Errorf("the annotation is %q, want %v", got, tt.becomes)
			}
		})
	}
}
