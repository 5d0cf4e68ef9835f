//go:build integration

package board

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// printed is what the stage of tuning printed.
const printed = "setting vm.nr_hugepages\n" + markup + "\n"

// TestPane: a click on a node leads to why it fails, what helps, and what it printed; all of it as text.
func TestPane(t *testing.T) {
	c := newCluster(t)
	f := putWith(t, c, "gpu-init", "ccpewww", markup)
	f.logs(3)
	b := open(t, c.board(t, "gpu-init"))
	name := f.nodes[3].Name

	x, y := b.square(name)
	b.do(chromedp.MouseEvent("mouseMoved", x, y))
	b.sees("#tip", name, "erroring · StepFailed", "1/2 packages complete")
	b.opens(name)
	b.sees("#pane", name, "erroring", "1 of 2 packages complete", "StepFailed", "tuning-apply exited with 2: "+markup,
		"What helps", "Who ends it", "the author of the Skyhook, or the author of the package, or an administrator", "Since")
	b.sees("#pane tbody tr", "tuning\t2.1.0\tapply\terroring\t3", "driver\t1.0.0\tpost-interrupt\tcomplete\t0")
	b.sees("#pane .log", markup, "vm.nr_hugepages")

	const command = "kubectl skyhook package rerun tuning --skyhook gpu-init --node gpu-init-0004 --context production"
	b.copies(".cause", command)
	if why := b.copied(); why != command {
		t.Errorf("copied %q", why)
	}

	b.do(chromedp.Click(chromedp.CSS("#pane .close")))
	b.until("the pane is closed", `document.querySelector("#pane").hidden`)
	b.opens(name)
	b.sees("#pane .log", "read 2 times")
	if got := eval[string](b, `document.title`); strings.Contains(got, "broken") {
		t.Errorf("a message became a script")
	}
	if got := eval[int](b, `document.querySelectorAll("img, b").length`); got != 0 {
		t.Errorf("messages became %d elements", got)
	}
}

// square is the middle of a node's square on the screen.
func (b *tab) square(name string) (x, y float64) {
	b.Helper()
	const find = `(() => {
		for (const grid of document.querySelectorAll(".grid")) {
			grid.focus();
			const press = (key) => grid.dispatchEvent(new KeyboardEvent("keydown", { key }));
			const option = () => grid.querySelector("[role=option]");
			press("Home");
			for (let i = 0; i < Number(option().getAttribute("aria-setsize")); i++) {
				if (option().getAttribute("aria-label").startsWith(%q + ",")) {
					const box = option().getBoundingClientRect();
					grid.blur();
					return [box.x + box.height / 2, box.y + box.height / 2]; // a tile has its square at its left
				}
				press("ArrowRight");
			}
		}
		throw new Error("no such node");
	})()`
	at := eval[[2]float64](b, fmt.Sprintf(find, name))
	return at[0], at[1]
}

// copies presses the Copy button of a command.
func (b *tab) copies(within, command string) {
	b.Helper()
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		_, err := chromedp.CallBrowser(b.ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.sees(within+" .command code", command)
	b.do(chromedp.Click(chromedp.CSS(within + " .command button")))
	b.sees(within+" .command button", "Copied")
}

func (b *tab) copied() string { return eval[string](b, "navigator.clipboard.readText()") }

// logs gives a node a pod of tuning, and a kubelet that has its log.
func (f *fleet) logs(i int) {
	f.t.Helper()
	var times atomic.Int32
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/tuning-apply") {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, "%sread %d times\n", printed, times.Add(1))
	}))
	f.t.Cleanup(kubelet.Close)
	host, port, err := net.SplitHostPort(kubelet.Listener.Addr().String())
	if err != nil {
		f.t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		f.t.Fatal(err)
	}
	n := f.nodes[i]
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	n.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	if err := f.c.Status().Update(f.t.Context(), n); err != nil {
		f.t.Fatal(err)
	}
	f.pod(n)
}

// pod is that of the stage that failed.
func (f *fleet) pod(n *corev1.Node) {
	f.t.Helper()
	identity, err := json.Marshal(map[string]string{
		"name": "tuning", "version": "2.1.0", "skyhook": f.skyhook.Name, "stage": string(v1alpha1.StageApply), "image": "registry.example/tuning",
	})
	if err != nil {
		f.t.Fatal(err)
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "tuning", Namespace: namespace, Labels: map[string]string{v1alpha1.LabelName: f.skyhook.Name},
			Annotations:     map[string]string{v1alpha1.AnnotationPackage: string(identity)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(f.skyhook, v1alpha1.GroupVersion.WithKind("Skyhook"))},
		},
		Spec: corev1.PodSpec{
			NodeName:       n.Name,
			InitContainers: []corev1.Container{{Name: "tuning-init", Image: "i"}, {Name: "tuning-apply", Image: "i"}},
			Containers:     []corev1.Container{{Name: "done", Image: "i"}},
		},
	}
	status := corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{
		{Name: "tuning-init", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
		{Name: "tuning-apply", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2}}},
	}}
	f.create(p)
	p.Status = status
	if err := f.c.Status().Update(f.t.Context(), p); err != nil {
		f.t.Fatal(err)
	}
}
