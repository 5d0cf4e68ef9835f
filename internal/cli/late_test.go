//go:build integration

package cli_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestStopEndsWhatComesLate: an operator may be about to create a pod when it is stopped, as webhooks take their time.
func TestStopEndsWhatComesLate(t *testing.T) {
	for name, args := range map[string]string{
		"one": "stop gpu --yes", "all": "stop --all --yes --timeout 1ms", "node": "node exclude worker-1 --yes",
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.put(gpu())
			c.put(newNode("worker-1", nil))
			s := c.stored("gpu")
			early := c.runStage(s, "worker-1")
			late := early.DeepCopy()
			late.Name, late.ResourceVersion, late.UID = "late-"+name, "", ""
			came := make(chan error, 1)
			go func() {
				came <- wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
					if !c.ending(early) {
						return false, nil
					}
					return true, c.Create(t.Context(), late)
				})
			}()
			out, _, err := c.run("", append(strings.Fields(args), "--namespace", "default")...)
			if err != nil || !strings.Contains(out, "nded 2 pods") {
				t.Errorf("error %v, printed\n%s", err, out)
			}
			if err := <-came; err != nil {
				t.Fatal(err)
			}
			if !c.ending(late) {
				t.Error("the pod that came late runs")
			}
			_ = c.Delete(t.Context(), late, client.GracePeriodSeconds(0))
		})
	}
}

// TestStopAllUnconfirmed: who gets no answer in time is not told that everything is stopped.
func TestStopAllUnconfirmed(t *testing.T) {
	c := newCluster(t)
	c.put(gpu())
	var set atomic.Bool
	c.through(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/configmaps") {
			set.Store(true)
		}
		if set.Load() && strings.HasSuffix(r.URL.Path, "/skyhooks") {
			<-r.Context().Done() // it hangs
			return true
		}
		return false
	})
	out, _, err := c.run("", "stop", "--all", "--yes", "--namespace", "default", "--request-timeout", "1s")
	if cm := c.switchedOff(); cm != nil {
		_ = c.Delete(t.Context(), cm)
	}
	if err == nil || strings.Contains(out, "Everything is stopped") {
		t.Errorf("error %v, printed\n%s", err, out)
	}
}
