//go:build integration

package operator_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// TestObjectOfALargeFleetStaysSmall: as many permits as there can be, names and messages of a usual length. Of more nodes
// the object has no more than their number.
func TestObjectOfALargeFleetStaysSmall(t *testing.T) {
	const nodes, limit = 1100, 128 << 10
	f := newCluster(t, 0)
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			for i := worker; i < nodes; i += 16 {
				f.addNode(f.node(i))
			}
		})
	}
	wg.Wait()
	for i := range 20 { // so that there is something to tell of single nodes
		f.changeNode(f.node(i), func(n *corev1.Node) { n.Labels["skyhook.nvidia.com/ignore"] = "true" })
	}
	s := f.skyhook("large", map[string]v1alpha1.Package{"tuning": pkg("1.1.0", nil), "kernel": pkg("2.0.0", nil)})
	f.must(f.client.Create(t.Context(), s))
	t.Cleanup(func() { f.drop(s) })
	s = f.until(s, "every permit is out", func(x *v1alpha1.Skyhook) bool {
		return len(x.Status.Permits) == 1000 && x.Status.Nodes.Total == nodes && len(x.Status.Attention) == 10
	})
	if len(s.Status.NodeState) != 0 {
		t.Errorf("status has %d nodes in detail", len(s.Status.NodeState))
	}
	get := exec.CommandContext(t.Context(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"),
		"--kubeconfig", f.kubeconfig(), "get", "skyhook", s.Name, "-o", "json")
	raw, err := get.Output()
	f.must(err)
	t.Logf("%d bytes with %d nodes, %d permits, %d erroring", len(raw), nodes, len(s.Status.Permits), s.Status.Nodes.Erroring)
	if len(raw) > limit {
		t.Errorf("the object has %d bytes, more than %d", len(raw), limit)
	}
}

// drop removes a Skyhook without its finalizer: nobody waits until a thousand nodes are clean.
func (f *cluster) drop(s *v1alpha1.Skyhook) {
	f.t.Helper()
	ctx := context.WithoutCancel(f.t.Context())
	f.stop()
	f.stop = func() {}
	f.edit(s, func(s *v1alpha1.Skyhook) { s.Finalizers = nil })
	f.must(client.IgnoreNotFound(f.client.Delete(ctx, s)))
}

// kubeconfig writes a file for kubectl.
func (f *cluster) kubeconfig() string {
	f.t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["test"] = &clientcmdapi.Cluster{Server: f.config.Host, CertificateAuthorityData: f.config.CAData}
	c.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: f.config.CertData, ClientKeyData: f.config.KeyData}
	c.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	c.CurrentContext = "test"
	path := filepath.Join(f.t.TempDir(), "kubeconfig")
	f.must(clientcmd.WriteToFile(*c, path))
	return path
}

// TestWritesOfARollout counts all that is written for a rollout of two packages: events are written, too. They tell of
// every stage all the same, on each node and on the Skyhook. What is written about the Skyhook itself is bounded by time,
// not by nodes: a status a second, and an event for each stage of each package.
func TestWritesOfARollout(t *testing.T) {
	const nodes, limit, stages = 50, 17, 4
	f := newOnlyCluster(t, nodes)
	began := time.Now()
	s := f.skyhook("counted", map[string]v1alpha1.Package{"tuning": pkg("1.1.0", nil), "kernel": pkg("2.0.0", nil)})
	f.must(f.client.Create(t.Context(), s))
	t.Cleanup(func() { f.drop(s) })
	f.until(s, "it is complete", func(x *v1alpha1.Skyhook) bool { return x.Status.Status == v1alpha1.StatusComplete })
	f.becomes("every stage is told", func() bool { return len(f.untold(s, nodes)) == 0 })
	seconds := int(time.Since(began)/time.Second) + 1
	kinds := map[string]int{}
	for _, kind := range []string{"/events", "/pods", "/nodes", "/configmaps", "/skyhooks", "/leases", "/controllerrevisions"} {
		kinds[kind] = f.writes.total(func(key string) bool { return strings.Contains(key, kind) })
	}
	all := f.writes.total(func(string) bool { return true })
	own := kinds["/skyhooks"] + f.eventsOf(s)
	t.Logf("%.1f writes per node, %d of them about the Skyhook in %d s: %v", float64(all)/nodes, own, seconds, kinds)
	if all-own > limit*nodes {
		t.Errorf("%d writes for %d nodes, more than %d each", all-own, nodes, limit)
	}
	if most := 10 + seconds*(1+stages); own > most {
		t.Errorf("%d writes about the Skyhook in %d s, more than %d", own, seconds, most)
	}
}

// eventsOf counts the events of a Skyhook.
func (f *cluster) eventsOf(s *v1alpha1.Skyhook) int {
	f.t.Helper()
	var list eventsv1.EventList
	f.must(f.client.List(f.t.Context(), &list, client.MatchingFields{"regarding.uid": string(s.UID)}))
	return len(list.Items)
}

// untold are the stages of TestWritesOfARollout of which no event tells: on a node its begin and its end, on the Skyhook
// on how many nodes it began.
func (f *cluster) untold(s *v1alpha1.Skyhook, nodes int) []string {
	f.t.Helper()
	var list eventsv1.EventList
	f.must(f.client.List(f.t.Context(), &list))
	notes := map[string]string{}
	for _, e := range list.Items {
		notes[e.Regarding.Name] += e.Note + "\n"
	}
	var missing []string
	for _, pkg := range []string{"tuning:1.1.0", "kernel:2.0.0"} {
		for _, stage := range []string{"apply", "config"} {
			what := "stage " + stage + " of package [" + pkg + "]"
			for i := range nodes {
				for _, told := range []string{what + " begins", what + " is complete"} {
					if strings.Count(notes[f.node(i)], told) != 1 {
						missing = append(missing, f.node(i)+": "+told)
					}
				}
			}
			began := 0
			for _, count := range regexp.MustCompile(regexp.QuoteMeta(what)+` begins on (\d+ )?node`).FindAllStringSubmatch(notes[s.Name], -1) {
				many, err := strconv.Atoi(strings.TrimSpace(cmp.Or(count[1], "1")))
				f.must(err)
				began += many
			}
			if began != nodes {
				missing = append(missing, fmt.Sprintf("%s on %d nodes", what, nodes-began))
			}
		}
	}
	return missing
}
