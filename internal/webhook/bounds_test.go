package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
)

// mebibyte, and what the worst review may allocate: garbage counts, so what is held at one time is less. maxTime is
// that of processors: how long it takes depends on who else uses them.
const (
	mebibyte     = 1 << 20
	maxAllocated = 100 * mebibyte
	maxAnswer    = 32 << 10
	maxTime      = time.Second
)

// asked is a server that has the webhooks, for one that is not the API server.
func asked(cached, live client.Reader) http.Handler {
	mux := http.NewServeMux()
	Register(webhook.NewServer(webhook.Options{WebhookMux: mux}), kinds(), cached, live, admission.ImageRules{}, "")
	return mux
}

// review is what the API server sends. An operation without object or old object has an empty text for it.
func review(operation, object, old string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":%q`, operation)
	for _, part := range []struct{ key, text string }{{"object", object}, {"oldObject", old}} {
		if part.text != "" {
			fmt.Fprintf(&b, `,%q:%s`, part.key, part.text)
		}
	}
	b.WriteString("}}")
	return b.Bytes()
}

// object is a Skyhook with a spec.
func object(spec string) string {
	return `{"apiVersion":"skyhook.nvidia.com/v1alpha1","kind":"Skyhook","metadata":{"name":"demo","uid":"guess","resourceVersion":"1"},"spec":{` + spec + `}}`
}

func many(n int, separator string, text func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(text(i))
	}
	return b.String()
}

// packages are n of them, each of which depends on others.
func packages(n int, more func(i int) string) string {
	return `"packages":{` + many(n, ",", func(i int) string {
		return fmt.Sprintf(`"p%d":{"version":"1.0.0","image":"x"%s}`, i, more(i))
	}) + `}`
}

// dense makes every package depend on all before it, and the first on the last if they are to be a circle.
func dense(n int, circle bool) string {
	return packages(n, func(i int) string {
		if i == 0 && circle {
			return fmt.Sprintf(`,"dependsOn":{"p%d":"1.0.0"}`, n-1)
		}
		return `,"dependsOn":{` + many(i, ",", func(k int) string { return fmt.Sprintf(`"p%d":"1.0.0"`, k) }) + `}`
	})
}

// worst are reviews that are dear to answer, with what the answer has to contain.
func worst() map[string]struct {
	body []byte
	want string
} {
	const rest = 7*mebibyte - 1024
	fill := func(before, text, after string) []byte {
		return review("CREATE", object(before+many((rest-len(before)-len(after))/(len(text)+1), ",", func(int) string { return text })+after), "")
	}
	circle := object(dense(128, true))
	configured := object(packages(128, func(int) string {
		return `,"configMap":{` + many(30, ",", func(k int) string { return fmt.Sprintf(`"k%d":%q`, k, strings.Repeat("v", 560)) }) + `}`
	}))
	return map[string]struct {
		body []byte
		want string
	}{
		"6,000 packages in a chain": {review("CREATE", object(packages(6000, func(i int) string {
			return fmt.Sprintf(`,"dependsOn":{"p%d":"1.0.0"}`, (i+1)%6000)
		})), ""), "at most 128"},
		"128 packages that all depend on each other":     {review("CREATE", circle, ""), "part of a cycle"},
		"the largest that is right, made up as a change": {review("UPDATE", configured, strings.ReplaceAll(configured, "1.0.0", "1.0.1")), "stored object is another one"},
		"the largest that is right":                      {review("CREATE", configured, ""), `"allowed":true`},
		"a megabyte of version":                          {review("CREATE", object(strings.ReplaceAll(dense(128, true), `"p0":{"version":"1.0.0"`, `"p0":{"version":"`+strings.Repeat("1", mebibyte)+`"`)), ""), "longer than 63"},
		"a name of megabytes":                            {review("CREATE", object(`"packages":{"`+strings.Repeat("p", 6*mebibyte)+`":{"version":"x","image":""}}`), ""), "longer than 43"},
		"empty packages":                                 {review("CREATE", object(`"packages":{`+many(600_000, ",", func(i int) string { return fmt.Sprintf(`"%x":{}`, i) })+`}`), ""), "values"},
		"as many empty packages as are read":             {review("CREATE", object(`"packages":{`+many(maxValues/2-20, ",", func(i int) string { return fmt.Sprintf(`"%x":{}`, i) })+`}`), ""), "at most 128"},
		"as many empty variables as are read":            {review("CREATE", object(`"packages":{"a":{"version":"1.0.0","image":"x","env":[`+many(maxValues/2-20, ",", func(int) string { return `{}` })+`]}}`), ""), `"allowed":true`},
		"empty variables":                                {fill(`"packages":{"a":{"version":"1.0.0","image":"x","env":[`, `{}`, `]}}`), "values"},
		"empty tolerations":                              {fill(`"additionalTolerations":[`, `{}`, `]`), "values"},
		"empty expressions":                              {fill(`"nodeSelectors":{"matchExpressions":[`, `{}`, `]}`), "values"},
		"values that are no label":                       {fill(`"nodeSelectors":{"matchExpressions":[{"key":"a","operator":"In","values":[`, `"a b c d e f g h i j k l m n o p q r s t u v w x y z"`, `]}]}`), "use at most 10000"},
		"fewer values that are no label":                 {review("CREATE", object(`"nodeSelectors":{"matchExpressions":[{"key":"a","operator":"In","values":[`+many(10_000, ",", func(int) string { return `"a b"` })+`]}]}`), ""), "is not a label selector"},
		"many expressions, and all nodes are looked at": {review("CREATE", object(`"nodeSelectors":{"matchExpressions":[`+many(40_000, ",", func(i int) string {
			return fmt.Sprintf(`{"key":"k%d","operator":"DoesNotExist"}`, i)
		})+`]},"packages":{"a":{"version":"1.0.0","image":"x","uninstall":{"enabled":true,"apply":true}}}`), ""), "requirements"},
		"more than two objects hold": {review("CREATE", object(`"deploymentPolicy":"`+strings.Repeat("x", 8*mebibyte)+`"`), ""), "too large"},
	}
}

func answer(h http.Handler, body []byte) *httptest.ResponseRecorder {
	return post(h, SkyhookPath, body)
}

func post(h http.Handler, path string, body []byte) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request)
	return w
}

// TestReviewsOfAnybody: who is not the API server can ask as well, and must not get more of the operator than an
// answer.
func TestReviewsOfAnybody(t *testing.T) {
	h := asked(newCounting(), newCounting())
	for name, c := range worst() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := processorTime(t)
			w := answer(h, c.body)
			took := processorTime(t) - start
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d KiB: %s, %d MiB allocated, answer of %d bytes", len(c.body)>>10, took, allocated>>20, w.Body.Len())
			if allocated > maxAllocated {
				t.Errorf("allocated %d MiB, want at most %d", allocated>>20, maxAllocated>>20)
			}
			if took > maxTime {
				t.Errorf("takes %s, want at most %s", took, maxTime)
			}
			if w.Body.Len() > maxAnswer {
				t.Errorf("answers with %d bytes, want at most %d", w.Body.Len(), maxAnswer)
			}
			if text := w.Body.String(); !strings.Contains(text, c.want) {
				t.Errorf("answers %.2000s, want %q", text, c.want)
			}
		})
	}
}

// processorTime is what this process has used until now.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkReviews measures the table of docs/security.md.
func BenchmarkReviews(b *testing.B) {
	h := asked(newCounting(), newCounting())
	for name, c := range worst() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.body)))
			for b.Loop() {
				answer(h, c.body)
			}
		})
	}
}

// TestReviewsAtATime: more reviews than are answered at a time wait, and more than may wait are turned away.
func TestReviewsAtATime(t *testing.T) {
	const extra = 5
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var running atomic.Int32
		h := gated(clock.RealClock{}, map[string]http.Handler{SkyhookPath: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			running.Add(1)
			<-release
		})})[SkyhookPath]
		codes := make(chan int, maxReviews+maxWaiting+extra)
		for range cap(codes) {
			go func() { codes <- answer(h, nil).Code }()
		}
		synctest.Wait()
		if n := running.Load(); n != maxReviews || len(codes) != extra {
			t.Errorf("%d are answered and %d turned away, want %d and %d", n, len(codes), maxReviews, extra)
		}
		later, cancel := context.WithTimeout(t.Context(), answerTime+time.Second) // by the test's own clock
		defer cancel()
		<-later.Done()
		synctest.Wait()
		if n := running.Load(); n != maxReviews || len(codes) != extra+maxWaiting {
			t.Errorf("when nobody waits for them: %d are answered and %d turned away", n, len(codes))
		}
		close(release)
		synctest.Wait()
		for range extra + maxWaiting {
			if code := <-codes; code != http.StatusTooManyRequests {
				t.Errorf("turned away with %d", code)
			}
		}
		if code := answer(h, nil).Code; code != http.StatusOK {
			t.Errorf("the next is answered with %d", code)
		}
	})
}

// TestSlowReviews: a body that does not come gives its place to others.
func TestSlowReviews(t *testing.T) {
	server := httptest.NewServer(asked(newCounting(), newCounting()))
	defer server.CloseClientConnections()
	for name, length := range map[string]int64{"of a length": 100, "in pieces": -1} {
		t.Run(name, func(t *testing.T) {
			body, sender := io.Pipe()
			defer time.AfterFunc(20*time.Second, func() { _ = sender.CloseWithError(errors.New("no answer came")) }).Stop()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+SkyhookPath, body)
			if err != nil {
				t.Fatal(err)
			}
			request.ContentLength = length
			request.Header.Set("Content-Type", "application/json")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			text, err := io.ReadAll(response.Body)
			if err != nil || !strings.Contains(string(text), "timeout") {
				t.Errorf("answers %s, error %v", text, err)
			}
		})
	}
}

// TestReviewsThatAreMadeUp: what is not stored makes the webhooks read no lists, and tells no names.
func TestReviewsThatAreMadeUp(t *testing.T) {
	const installed = `{"tuning|1.2.0":{"name":"tuning","version":"1.2.0","stage":"config","state":"complete"}}`
	s := parse[*v1alpha1.Skyhook](t, manifest("demo", wanted+"\n  deploymentPolicy: used"))
	s.UID = "u1"
	p := policy(t, "used", "zone")
	p.UID = "u2"
	for _, c := range []struct {
		name, path        string
		operation         string
		uid, version      types.UID
		named             bool
		lists, nodesLists int
	}{
		{"the API server's change", SkyhookPath, "UPDATE", "u1", "999", true, 0, 1},
		{"a change of another uid", SkyhookPath, "UPDATE", "u0", "999", false, 0, 0},
		{"a change of another version", SkyhookPath, "UPDATE", "u1", "998", false, 0, 0},
		{"the API server's deletion", PolicyPath, "DELETE", "u2", "999", true, 1, 0},
		{"a deletion of another uid", PolicyPath, "DELETE", "u0", "999", false, 0, 0},
		{"a deletion of another version", PolicyPath, "DELETE", "u2", "1", false, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cached, live := newCounting(s.DeepCopy(), p.DeepCopy(), node("secret-node", installed)), newCounting(s.DeepCopy(), p.DeepCopy())
			stored, now := client.Object(s.DeepCopy()), client.Object(parse[*v1alpha1.Skyhook](t, manifest("demo", "")))
			if c.path == PolicyPath {
				stored, now = p.DeepCopy(), nil
			}
			stored.SetUID(c.uid)
			stored.SetResourceVersion(string(c.version))
			got := post(asked(cached, live), c.path, review(c.operation, encode(t, now), encode(t, stored))).Body.String()
			if named := strings.Contains(got, "secret-node") || strings.Contains(got, "Skyhook: demo"); named != c.named {
				t.Errorf("answers %s", got)
			}
			if !strings.Contains(got, `"allowed":false`) || live.lists != c.lists || cached.lists != c.nodesLists {
				t.Errorf("%d live lists, %d cached, want %d and %d; answers %s", live.lists, cached.lists, c.lists, c.nodesLists, got)
			}
		})
	}
}

// TestCacheThatIsLate: what was changed a moment ago is looked up where it is stored.
func TestCacheThatIsLate(t *testing.T) {
	const installed = `{"tuning|1.2.0":{"name":"tuning","version":"1.2.0","stage":"config","state":"complete"}}`
	old := parse[*v1alpha1.Skyhook](t, manifest("demo", wanted))
	live := newCounting(old.DeepCopy())
	old.ResourceVersion = "999"
	v := &skyhooks{cached: newCounting(node("n1", installed)), live: live}
	if _, err := v.ValidateUpdate(t.Context(), old, parse[*v1alpha1.Skyhook](t, manifest("demo", ""))); err == nil || !strings.Contains(err.Error(), "n1") {
		t.Errorf("answers %v", err)
	}
}

// TestNewSkyhooksTellNoNodes: anybody may ask about a new Skyhook by the name of one that is there.
func TestNewSkyhooksTellNoNodes(t *testing.T) {
	v := &skyhooks{cached: newCounting(node("secret-node", "{")), live: newCounting()}
	got, err := v.ValidateCreate(t.Context(), parse[*v1alpha1.Skyhook](t, manifest("demo", applied)))
	if text := strings.Join(got, "\n"); err != nil || strings.Contains(text, "secret") || !strings.Contains(text, "what is installed on 1 node is not known") {
		t.Errorf("warns %q, error %v", got, err)
	}
}

// TestNobodyWaitsForTheAnswer: the nodes of a fleet are not looked at for nobody.
func TestNobodyWaitsForTheAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := read(ctx, parse[*v1alpha1.Skyhook](t, manifest("demo", "")), []corev1.Node{*node("n", "{}")}); !apierrors.IsTimeout(err) {
		t.Errorf("got %v", err)
	}
}

// TestBoundsOfTheSchema: the API server refuses by the CRD what is refused here, so what it stores is never out of
// bounds.
func TestBoundsOfTheSchema(t *testing.T) {
	var crd apiextensionsv1.CustomResourceDefinition
	raw, err := os.ReadFile("../../charts/skyhook-operator/files/crds/skyhook.nvidia.com_skyhooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	all := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["packages"]
	if one := all.AdditionalProperties.Schema.Properties["dependsOn"]; *all.MaxProperties != admission.MaxPackages || *one.MaxProperties != admission.MaxDependencies {
		t.Errorf("the CRD allows %d packages and %d dependencies", *all.MaxProperties, *one.MaxProperties)
	}
}

func encode(t *testing.T, o client.Object) string {
	t.Helper()
	if o == nil {
		return ""
	}
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
