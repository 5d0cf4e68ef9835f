package node

import (
	"context"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/lifecycle"
)

// logged is a context whose log lines, of every level, are kept.
func logged(t *testing.T) (ctx context.Context, lines func() string) {
	t.Helper()
	var all []string
	sink := funcr.NewJSON(func(line string) { all = append(all, line) }, funcr.Options{Verbosity: 10})
	return logr.NewContext(t.Context(), sink), func() string { return strings.Join(all, "\n") }
}

// lineWith returns the line that has all the texts; empty when none has.
func lineWith(lines string, texts ...string) string {
	for line := range strings.SplitSeq(lines, "\n") {
		has := true
		for _, text := range texts {
			has = has && strings.Contains(line, text)
		}
		if has {
			return line
		}
	}
	return ""
}

// TestPassIsLogged: each thing that a pass does is one line with the keys that all lines have, and none has a value of
// env or configMap, or what a step printed.
func TestPassIsLogged(t *testing.T) {
	const secret = "hunter2"
	s := newSkyhook("demo")
	pkg := s.Spec.Packages["a"]
	pkg.Env = []corev1.EnvVar{{Name: "TOKEN", Value: secret}}
	pkg.ConfigMap = map[string]string{"apply.sh": "echo " + secret}
	pkg.Interrupt = &v1alpha1.Interrupt{Type: v1alpha1.InterruptNoop}
	s.Spec.Packages["a"] = pkg
	cm := options.MountedConfigMap(s, "a", pkg)
	w := newWorld(t, s, newNode(), cm)
	w.Evictor = denying{}
	ctx, lines := logged(t)
	for range 4 { // cordon, read it back, drain, start
		if _, err := w.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: nodeName}}); err != nil {
			t.Fatal(err)
		}
		w.clock.SetTime(w.clock.Now().Add(15e9))
	}
	p := w.pass(s)
	failed := decided(p, s, lifecycle.Decision{
		Record: entry(v1alpha1.StageApply, v1alpha1.StateErroring),
		Changes: []lifecycle.Change{{
			Package: "a", Version: "1.0.0", Stage: v1alpha1.StageApply, State: v1alpha1.StateErroring, Message: "printed " + secret,
		}},
	})
	failed.report(ctx)
	failed.reportEvictions(ctx, []drain.Pod{{Namespace: "default", Name: "web"}})
	w.must(failed.deletePod(ctx, lifecycle.Pod{Name: w.pods()[0].Name, UID: w.pods()[0].UID}))
	const common = `"skyhook":"demo","node":"node-1"`
	for _, want := range [][]string{
		{`"msg":"node cordoned"`, `"level":0`, `"node":"node-1"`},
		{`"msg":"stage changed"`, `"level":0`, common, `"package":"a","version":"1.0.0","stage":"apply","state":"in_progress"`},
		{`"msg":"stage changed"`, `"level":0`, common, `"package":"a","version":"1.0.0","stage":"apply","state":"erroring"`},
		{`"msg":"pod created"`, `"level":1`, common, `"pod":"`, `"package":"a","version":"1.0.0","stage":"apply"`},
		{`"msg":"pod deleted"`, `"level":1`, common, `"pod":"`},
		{`"msg":"pod evicted"`, `"level":0`, common, `"pod":"default/web"`},
		{`"msg":"node status changed"`, `"level":1`, common, `"from":"`, `"to":"in_progress"`},
	} {
		if lineWith(lines(), want...) == "" {
			t.Errorf("no line has %q", want)
		}
	}
	if t.Failed() || strings.Contains(lines(), secret) {
		t.Errorf("the log, which must not have %s:\n%s", secret, lines())
	}
}
