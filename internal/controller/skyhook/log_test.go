package skyhook

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// TestPlanIsLogged: permits, the status and conditions are one line each when they change, and none has a value of env
// or configMap, not even when the API server quotes it.
func TestPlanIsLogged(t *testing.T) {
	const secret = "hunter2"
	s := newSkyhook("demo")
	pkg := s.Spec.Packages["a"]
	pkg.Env = []corev1.EnvVar{{Name: "TOKEN", Value: secret}}
	pkg.ConfigMap = map[string]string{"apply.sh": "echo " + secret}
	s.Spec.Packages["a"] = pkg
	n := newNode("node-1", "gpu")
	n.Annotations["theirs"] = "x" // one without any comes back as nil
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w := newWorld(t, s, n)
	var all []string
	ctx := logr.NewContext(t.Context(), funcr.NewJSON(func(line string) { all = append(all, line) }, funcr.Options{Verbosity: 10}))
	pass := func() string {
		all = nil
		w.clock.SetTime(w.clock.Now().Add(2 * passInterval))
		if _, err := w.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: "demo"}}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Join(all, "\n")
		if strings.Contains(lines, secret) {
			t.Errorf("the log has the secret:\n%s", lines)
		}
		return lines
	}
	expect := func(lines string, want ...string) {
		t.Helper()
		for _, line := range want {
			if !strings.Contains(lines, line) {
				t.Errorf("no line has %s:\n%s", line, lines)
			}
		}
	}
	w.refuse = func(request string, o client.Object) error {
		if strings.HasPrefix(request, "create ConfigMap") {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), o.GetName(), errors.New("no "+secret+" here"))
		}
		return nil
	}
	expect(pass(), `"msg":"Skyhook not prepared for its nodes","skyhook":"demo","reason":"ConfigMapRefused"`)
	w.refuse = nil
	expect(pass(),
		`"level":0,"msg":"permit granted","skyhook":"demo","node":"node-1","permit":"1/0","generation":1`,
		`"level":0,"msg":"status changed","skyhook":"demo","from":"blocked","to":"in_progress"`,
		`"level":1,"msg":"condition changed","skyhook":"demo","condition":"Reconciling","to":"True","reason":"Progressing"`)
	if quiet := pass(); quiet != "" {
		t.Errorf("a pass that changes nothing says\n%s", quiet)
	}
	done := &corev1.Node{}
	w.must(w.Client.Get(ctx, client.ObjectKeyFromObject(n), done))
	remember(t, done, "demo", record.Node{Status: v1alpha1.StatusInProgress, FinishedPermit: "1/0"})
	w.must(w.Client.Update(ctx, done))
	expect(pass(), `"msg":"permit granted","skyhook":"demo","node":"node-1","permit":"1/0/1"`)
}
