//go:build integration

package operator_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

const metricsService = "skyhook-operator-controller-manager-metrics-service"

// token returns one of a new ServiceAccount, which may get /metrics if reads says so.
func (f *cluster) token(name string, reads bool) string {
	f.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
	f.must(f.client.Create(f.t.Context(), account))
	if reads {
		meta := metav1.ObjectMeta{Name: f.namespace + "-" + name}
		role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: f.namespace, Name: name}},
		}
		for _, object := range []client.Object{role, binding} {
			f.must(f.client.Create(f.t.Context(), object))
			f.t.Cleanup(func() { f.must(f.client.Delete(context.WithoutCancel(f.t.Context()), object)) })
		}
	}
	request := &authenticationv1.TokenRequest{}
	f.must(f.client.SubResource("token").Create(f.t.Context(), account, request))
	return request.Status.Token
}

// ask asks for an address until the answer is as wanted, and returns it.
func (f *cluster) ask(settings *tls.Config, url, token string, want int) string {
	f.t.Helper()
	transport := &http.Transport{TLSClientConfig: settings}
	defer transport.CloseIdleConnections()
	var last, body string
	if !f.within(func() bool {
		request, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, url, http.NoBody)
		f.must(err)
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			last = err.Error()
			return false
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		last, body = response.Status, string(text)
		return response.StatusCode == want && err == nil
	}) {
		f.t.Fatalf("%s answers %s, want %d", url, last, want)
	}
	return body
}

// TestMetricsAreForThoseWhoMayReadThem: by default they are served over TLS, with the certificate of the webhooks, to
// clients that the API server knows and allows to get them.
func TestMetricsAreForThoseWhoMayReadThem(t *testing.T) {
	f := newCluster(t, 1)
	f.stop()
	port, metrics, probe := freePort(t), freePort(t), freePort(t)
	f.variables = map[string]string{
		"ENABLE_WEBHOOKS": "true", "WEBHOOK_PORT": "localhost:" + port, "METRICS_PORT": "127.0.0.1:" + metrics, "PROBE_PORT": "127.0.0.1:" + probe,
	}
	f.startOperator()
	stop := f.trust(port)
	f.ready(probe, http.StatusOK)
	defer stop()

	var secret corev1.Secret
	f.must(f.client.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: "webhook-cert"}, &secret))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data["ca.crt"])
	settings := &tls.Config{RootCAs: roots, ServerName: metricsService + "." + f.namespace + ".svc", MinVersion: tls.VersionTLS12}
	url := "https://127.0.0.1:" + metrics + "/metrics"
	f.ask(settings, url, "", http.StatusUnauthorized)
	f.ask(settings, url, "made up", http.StatusInternalServerError) // the filter's word for a token that nobody made
	f.ask(settings, url, f.token("nobody", false), http.StatusForbidden)
	if text := f.ask(settings, url, f.token("prometheus", true), http.StatusOK); !strings.Contains(text, "controller_runtime_reconcile_total") {
		t.Errorf("metrics are %.200s", text)
	}
	f.ask(nil, "http://127.0.0.1:"+metrics+"/metrics", "", http.StatusBadRequest)
}

// TestMetricsWithoutWebhooks: the certificate then signs itself; and who wants to can have them in the open.
func TestMetricsWithoutWebhooks(t *testing.T) {
	f := newCluster(t, 0)
	f.stop()
	metrics := freePort(t)
	f.variables = map[string]string{"METRICS_PORT": "127.0.0.1:" + metrics}
	f.startOperator()
	anybody := &tls.Config{InsecureSkipVerify: true} // there is nothing to verify it with
	f.ask(anybody, "https://127.0.0.1:"+metrics+"/metrics", "", http.StatusUnauthorized)
	f.stop()
	f.variables["METRICS_SECURE"] = "false"
	f.startOperator()
	f.ask(nil, "http://127.0.0.1:"+metrics+"/metrics", "", http.StatusOK)
}

// TestSeriesOfASkyhook: they are served with the values of its status, and go with it.
func TestSeriesOfASkyhook(t *testing.T) {
	f := newOnlyCluster(t, 2)
	f.stop()
	port := freePort(t)
	f.variables = map[string]string{"METRICS_PORT": "127.0.0.1:" + port, "METRICS_SECURE": "false"}
	f.startOperator()
	s := f.createComplete(f.skyhook("served", map[string]v1alpha1.Package{"a": pkg("1.0.0", nil)}))
	serve := func() string { return f.ask(nil, "http://127.0.0.1:"+port+"/metrics", "", http.StatusOK) }
	scrape := func() map[string]string {
		all := map[string]string{}
		for line := range strings.Lines(serve()) {
			if at := strings.LastIndex(line, " "); at > 0 && !strings.HasPrefix(line, "#") {
				all[strings.ReplaceAll(line[:at], `skyhook_name="`+s.Name+`"`, "")] = strings.TrimSpace(line[at:])
			}
		}
		return all
	}
	var all map[string]string
	f.becomes("the series of what is complete", func() bool {
		all = scrape()
		return all[`skyhook_status{,status="complete"}`] == "1"
	})
	for series, want := range map[string]string{
		`skyhook_status{,status="in_progress"}`:                                                            "0",
		`skyhook_node_target_count{}`:                                                                      "2",
		`skyhook_node_status_count{,status="complete"}`:                                                    "2",
		`skyhook_package_state_count{package_name="a",package_version="1.0.0",,state="complete"}`:          "2",
		`skyhook_package_stage_count{package_name="a",package_version="1.0.0",,stage="config"}`:            "2",
		`skyhook_package_restarts_count{package_name="a",package_version="1.0.0",}`:                        "0",
		`skyhook_rollout_completed{compartment_name="__default__",policy_name="legacy",,strategy="fixed"}`: "2",
		`skyhook_rollout_progress_ratio{}`:                                                                 "1",
		`skyhook_permits{}`:                                                                                "0",
		`skyhook_cordoned_node_seconds_total{}`:                                                            "0",
		`skyhook_permit_to_complete_seconds_count{}`:                                                       "2",
		`skyhook_build_info{version="v0.0.1-test"}`:                                                        "1",
	} {
		if all[series] != want {
			t.Errorf("%s is %q, want %s", series, all[series], want)
		}
	}
	for _, series := range []string{
		`skyhook_api_writes_total{code="201",resource="pods",subresource="",verb="create"}`,
		`skyhook_api_writes_total{code="200",resource="skyhooks",subresource="status",verb="patch"}`,
		`skyhook_api_writes_total{code="200",resource="nodes",subresource="status",verb="patch"}`,
		`skyhook_api_writes_total{code="201",resource="events",subresource="",verb="create"}`,
	} {
		if all[series] == "" {
			t.Errorf("%s is not counted", series)
		}
	}
	f.must(f.client.Delete(t.Context(), s))
	f.gone(s)
	f.becomes("nothing of what is gone", func() bool { return !strings.Contains(serve(), s.Name) })
}
