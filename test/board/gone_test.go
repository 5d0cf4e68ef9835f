//go:build integration

package board

import (
	"testing"

	"github.com/chromedp/chromedp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestGone: a page stays with its Skyhook, and its pane with its node, when that is deleted and made again.
func TestGone(t *testing.T) {
	c := newCluster(t)
	put(t, c, "runs", "cpw")
	f := put(t, c, "fails", "cEw")
	b := open(t, c.board(t), "Failed to load resource")
	b.opensFirst()
	b.sees("#pane .cause", "StepFailed")
	f.delete()
	const gone = "There is no Skyhook fails. Choose one of those that exist."
	b.sees("#empty", gone)
	b.sees("#pane .notice", `There is no Skyhook "fails" any more. What follows was read before.`)
	if chosen := eval[string](b, `document.querySelector("#skyhooks").value`); chosen != "" {
		t.Errorf("Skyhook %s looks chosen, so that it cannot be chosen", chosen)
	}
	b.do(chromedp.Reload())
	b.sees("#empty", gone)
	f.again()
	b.sees("#pane .cause", "StepFailed")
	b.do(chromedp.Click(chromedp.CSS("#pane .close")))
	b.until("the Skyhook is in the address", `location.hash === "#fails"`)

	// Whoever may not read nodes is told so, whatever becomes of the Skyhook.
	c.mayRead(t, "viewer", "skyhooks")
	address := c.board(t, "fails", "--as", "viewer")
	const nodes = "You may not list and watch nodes, so they are not shown"
	b.do(chromedp.Navigate(address))
	b.sees("#lost", nodes)
	b.sees("#name", "fails")
	if eval[bool](b, `document.querySelector("#empty").checkVisibility()`) {
		t.Errorf("nodes that may not be read are none: %s", eval[string](b, `document.querySelector("#empty").innerText`))
	}
	f.delete()
	b.sees("#empty", gone)
	b.sees("#lost", nodes)
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	b.sees("#empty", gone)
}

func (f *fleet) delete() {
	f.t.Helper()
	if err := f.c.Delete(f.t.Context(), f.skyhook); err != nil {
		f.t.Fatal(err)
	}
}

// again makes a Skyhook that was deleted.
func (f *fleet) again() {
	f.t.Helper()
	f.skyhook.ObjectMeta = metav1.ObjectMeta{Name: f.skyhook.Name}
	f.create(f.skyhook)
	f.sync()
}

// mayRead lets a user read some resources, and nothing else.
func (c cluster) mayRead(t *testing.T, user string, resources ...string) {
	t.Helper()
	f := fleet{t: t, c: c}
	f.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"*"}, Resources: resources, Verbs: []string{"get", "list", "watch"},
	}}})
	f.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	})
}
