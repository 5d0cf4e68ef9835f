package evict_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/internal/drain"
	"github.com/skyhook-operator/skyhook/internal/drain/evict"
)

// answers is an API server that answers an eviction by the name of its pod, and keeps what was asked.
type answers struct {
	byPod map[string]http.HandlerFunc
	// byDefault answers for all other pods.
	byDefault http.HandlerFunc

	mu    sync.Mutex
	asked []string
	body  policyv1.Eviction
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body policyv1.Eviction
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	a.asked, a.body = append(a.asked, r.Method+" "+r.URL.Path), body
	a.mu.Unlock()
	answer, ok := a.byPod[body.Name]
	switch {
	case ok:
		answer(w, r)
	case a.byDefault != nil:
		a.byDefault(w, r)
	default:
		failure(http.StatusTeapot, "", "no answer for this pod")(w, r)
	}
}

func (a *answers) start(t *testing.T) evict.Evictor {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	e, err := evict.New(&rest.Config{Host: server.URL, QPS: -1}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func reply(code int, s metav1.Status) http.HandlerFunc {
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
			w.Header().Set("Retry-After", "10")
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(s) // the client's error tells of it
	}
}

func accepted() http.HandlerFunc {
	return reply(http.StatusCreated, metav1.Status{Status: metav1.StatusSuccess})
}

func failure(code int32, reason metav1.StatusReason, message string) http.HandlerFunc {
	return reply(int(code), metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message})
}

func budget(message string, retryAfter int32) http.HandlerFunc {
	return reply(http.StatusTooManyRequests, metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests,
		Message: "Cannot evict pod as it would violate the pod's disruption budget.",
		Details: &metav1.StatusDetails{RetryAfterSeconds: retryAfter, Causes: []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: message}}},
	})
}

func pod(name string) drain.Pod {
	return drain.Pod{Namespace: "shop", Name: name, UID: types.UID("uid-" + name)}
}

// TestAnswers has one line per answer of the API server: refused with a sentence, an error, or neither.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  http.HandlerFunc
		refused string
		err     string
	}{
		{name: "accepted", answer: accepted()},
		{name: "gone", answer: failure(404, metav1.StatusReasonNotFound, `pods "web" not found`)},
		{name: "another pod by now", answer: failure(409, metav1.StatusReasonConflict, "the UID in the precondition does not match")},
		{name: "budget used up", answer: budget("The disruption budget web needs 2", 0), refused: "The disruption budget web needs 2"},
		{name: "budget not computed", answer: budget("The disruption budget web is still being processed", 10), refused: "The disruption budget web is still being processed"},
		{name: "webhook that asks for patience", answer: failure(429, metav1.StatusReasonTooManyRequests, "the virtual machine migrates first"), refused: "the virtual machine migrates first"},
		{name: "not allowed", answer: failure(403, metav1.StatusReasonForbidden, `admission webhook "guard" denied the request`), refused: `admission webhook "guard" denied the request`},
		{
			name: "two budgets", answer: reply(201, metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: "This pod has more than one PodDisruptionBudget, which is not supported."}),
			refused: "This pod has more than one PodDisruptionBudget, which is not supported.",
		},
		{name: "server error", answer: failure(500, metav1.StatusReasonInternalError, "etcd is away"), err: "evict pod shop/web: etcd is away"},
		{name: "webhook that answers 400", answer: failure(400, metav1.StatusReasonBadRequest, "ask first"), refused: "ask first"},
		{name: "webhook that answers 405", answer: failure(405, metav1.StatusReasonMethodNotAllowed, "ask first"), refused: "ask first"},
		{name: "not authenticated", answer: failure(401, metav1.StatusReasonUnauthorized, "who?"), err: "evict pod shop/web: who?"},
		{name: "no Kubernetes at all", answer: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "proxy", http.StatusBadGateway) }, err: "evict pod shop/web: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &answers{byPod: map[string]http.HandlerFunc{"web": c.answer}}
			accepted, refused, err := server.start(t).Evict(t.Context(), []drain.Pod{pod("web")}, drain.Options{})
			if got := len(accepted) == 1 && accepted[0] == pod("web"); got != (c.name == "accepted") {
				t.Errorf("accepted %v", accepted)
			}
			want := map[types.UID]string{}
			if c.refused != "" {
				want["uid-web"] = c.refused
			}
			if diff := cmp.Diff(want, refused); diff != "" {
				t.Error(diff)
			}
			if (err == nil) != (c.err == "") || (err != nil && !strings.HasPrefix(err.Error(), c.err)) {
				t.Errorf("got error %v, want %q", err, c.err)
			}
			if diff := cmp.Diff([]string{"POST /api/v1/namespaces/shop/pods/web/eviction"}, server.asked); diff != "" {
				t.Errorf("an answer is final for this pass: %s", diff)
			}
		})
	}
}

func TestOneDoesNotStopTheOthers(t *testing.T) {
	server := &answers{byPod: map[string]http.HandlerFunc{
		"a": failure(500, metav1.StatusReasonInternalError, "etcd is away"), "b": budget("used up", 0),
		"c": failure(404, metav1.StatusReasonNotFound, "gone"), "d": failure(500, metav1.StatusReasonInternalError, "still away"), "e": accepted(),
	}}
	accepted, refused, err := server.start(t).Evict(t.Context(), []drain.Pod{pod("a"), pod("b"), pod("c"), pod("d"), pod("e")}, drain.Options{})
	if diff := cmp.Diff([]drain.Pod{pod("e")}, accepted); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[types.UID]string{"uid-b": "used up"}, refused); diff != "" {
		t.Error(diff)
	}
	if want := "evict pod shop/a: etcd is away\nevict pod shop/d: still away"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
	if len(server.asked) != 5 {
		t.Errorf("asked %v", server.asked)
	}
}

func TestRequest(t *testing.T) {
	for name, grace := range map[string]*int64{"pod's own grace": nil, "grace": new(int64(7)), "no grace": new(int64(0))} {
		t.Run(name, func(t *testing.T) {
			server := &answers{byPod: map[string]http.HandlerFunc{"web": accepted()}}
			if _, _, err := server.start(t).Evict(t.Context(), []drain.Pod{pod("web")}, drain.Options{GracePeriodSeconds: grace}); err != nil {
				t.Fatal(err)
			}
			want := &metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: new(types.UID("uid-web"))}}
			if diff := cmp.Diff(want, server.body.DeleteOptions); diff != "" {
				t.Error(diff)
			}
			if got := server.body.APIVersion + " " + server.body.Kind; got != "policy/v1 Eviction" {
				t.Errorf("sent a %s", got)
			}
		})
	}
}

func TestSlowAnswerIsAWait(t *testing.T) {
	server := &answers{byPod: map[string]http.HandlerFunc{
		"slow": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "web": accepted(),
	}}
	e := server.start(t)
	e.Patience = 50 * time.Millisecond
	_, refused, err := e.Evict(t.Context(), []drain.Pod{pod("slow")}, drain.Options{})
	if diff := cmp.Diff(map[types.UID]string{"uid-slow": "the API server did not decide about the eviction in time"}, refused); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestEndOfContextEndsEvictions: requests that are on their way come back, and no others are sent.
func TestEndOfContextEndsEvictions(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var begun atomic.Int32
	server := &answers{byDefault: func(_ http.ResponseWriter, r *http.Request) {
		if begun.Add(1) == 10 {
			cancel()
		}
		<-r.Context().Done()
	}}
	accepted, refused, err := server.start(t).Evict(ctx, pods(30), drain.Options{})
	if len(accepted)+len(refused) > 0 || err == nil || err.Error() != "evict pods: context canceled" {
		t.Errorf("got %v, %v, %v", accepted, refused, err)
	}
	if len(server.asked) != 10 {
		t.Errorf("asked %v after the end", server.asked)
	}
}

func pods(n int) []drain.Pod {
	all := make([]drain.Pod, n)
	for i := range all {
		all[i] = pod(fmt.Sprintf("web-%02d", i))
	}
	return all
}

// TestEvictionsAreParallelAndBounded: the API server gets ten requests at a time, never more, and 50 in a pass.
func TestEvictionsAreParallelAndBounded(t *testing.T) {
	for _, c := range []struct{ pods, asked, atOnce int }{{0, 0, 0}, {1, 1, 1}, {9, 9, 9}, {30, 30, 10}, {50, 50, 10}, {200, 50, 10}} {
		t.Run(fmt.Sprint(c.pods), func(t *testing.T) {
			var mu sync.Mutex
			var now, most, met int
			together := make(chan struct{})
			arrive := func() {
				mu.Lock()
				defer mu.Unlock()
				now, met = now+1, met+1
				if most = max(most, now); met == c.atOnce {
					close(together)
				}
			}
			leave := func() {
				mu.Lock()
				defer mu.Unlock()
				now--
			}
			server := &answers{byDefault: func(w http.ResponseWriter, r *http.Request) {
				arrive()
				<-together // the first ones are answered only when as many as may be have come
				leave()
				accepted()(w, r)
			}}
			list := pods(c.pods)
			accepted, refused, err := server.start(t).Evict(t.Context(), list, drain.Options{})
			if err != nil || len(refused) > 0 || len(accepted) != c.asked || len(server.asked) != c.asked || most != c.atOnce {
				t.Errorf("asked %d, accepted %d, refused %v, %d at once, error %v", len(server.asked), len(accepted), refused, most, err)
			}
			if !slices.Equal(list, pods(c.pods)) {
				t.Error("the list given was changed")
			}
			seen := map[types.UID]bool{}
			for _, p := range accepted {
				seen[p.UID] = true
			}
			if len(seen) != c.asked {
				t.Errorf("%d pods for %d requests", len(seen), c.asked)
			}
		})
	}
}

// TestRefusedPodsKeepNoneFromItsTurn: 60 pods are refused every time, and stand first in the list.
func TestRefusedPodsKeepNoneFromItsTurn(t *testing.T) {
	server := &answers{byDefault: failure(429, metav1.StatusReasonTooManyRequests, "no"), byPod: map[string]http.HandlerFunc{"zz": accepted()}}
	e := server.start(t)
	for range 100 {
		if done, _, _ := e.Evict(t.Context(), append(pods(60), pod("zz")), drain.Options{}); len(done) == 1 {
			return
		}
	}
	t.Error("the last pod is never evicted")
}

func TestNewRefusesBadConfig(t *testing.T) {
	if _, err := evict.New(&rest.Config{Host: "http://[::1"}, http.DefaultClient); err == nil || !strings.HasPrefix(err.Error(), "make a client for evictions: ") {
		t.Errorf("got %v", err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	e, err := evict.New(&rest.Config{Host: server.URL, QPS: -1}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	accepted, refused, err := e.Evict(t.Context(), []drain.Pod{pod("a"), pod("b")}, drain.Options{})
	if len(accepted)+len(refused) > 0 || err == nil || !strings.Contains(err.Error(), "evict pod shop/a: ") || !strings.Contains(err.Error(), "evict pod shop/b: ") {
		t.Errorf("got %v, %v", refused, err)
	}
}

// TestListNodeAsksTheCacheAndConfirmNodeDoesNot: what a drain polls comes from the API server's cache, what proves that a node is clear does not.
func TestListNodeAsksTheCacheAndConfirmNodeDoesNot(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body := `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true}]}`
		switch r.URL.Path {
		case "/api":
			body = `{"kind":"APIVersions","versions":["v1"]}`
		case "/apis":
			body = `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`
		case "/api/v1/pods":
			q := r.URL.Query()
			asked = append(asked, q.Get("fieldSelector")+" at "+strconv.Quote(q.Get("resourceVersion")))
			body = `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"web"}}]}`
		}
		_, _ = io.WriteString(w, body) // the client's error tells of it
	}))
	t.Cleanup(server.Close)
	c, err := client.New(&rest.Config{Host: server.URL}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []func(context.Context, client.Reader, string) ([]corev1.Pod, error){evict.ListNode, evict.ConfirmNode} {
		if pods, err := list(t.Context(), c, "n"); err != nil || len(pods) != 1 {
			t.Errorf("got %v, %v", pods, err)
		}
	}
	if diff := cmp.Diff([]string{`spec.nodeName=n at "0"`, `spec.nodeName=n at ""`}, asked); diff != "" {
		t.Error(diff)
	}
}
