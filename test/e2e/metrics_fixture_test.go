//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/test/install"
)

// scraper reads metrics as Prometheus does: with the token of an account that may, from every replica.
type scraper struct {
	token string
	// skyhook whose series are wanted.
	skyhook string
}

// newScraper makes an account that may read metrics.
func newScraper(t *testing.T, skyhook string) *scraper {
	t.Helper()
	const account = "e2e-prometheus"
	mustKubectl(t, fmt.Sprintf(`apiVersion: v1
kind: ServiceAccount
metadata: {name: %[1]s, namespace: %[2]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: skyhook-operator-metrics-reader}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: %[2]s}]
`, account, install.Namespace), "apply", "-f", "-")
	t.Cleanup(func() {
		mustKubectl(t, "", "delete", "clusterrolebinding", account, "--ignore-not-found")
		mustKubectl(t, "", "delete", "serviceaccount", account, "-n", install.Namespace, "--ignore-not-found")
	})
	return &scraper{mustKubectl(t, "", "create", "token", account, "-n", install.Namespace), skyhook}
}

// scrape returns the series of the Skyhook, without its label, and from how many replicas they came.
func (s *scraper) scrape(t *testing.T) (all map[string]string, leaders int, err error) {
	t.Helper()
	pods, err := operators(t)
	if err != nil {
		return nil, 0, err
	}
	all = map[string]string{}
	for _, pod := range pods {
		text, err := s.read(t, pod)
		if err != nil {
			return nil, 0, err
		}
		found := seriesOf(s.skyhook, text)
		if len(found) > 0 {
			leaders++
		}
		maps.Copy(all, found)
	}
	return all, leaders, nil
}

// operators are the pods of all replicas that run.
func operators(t *testing.T) (names []string, err error) {
	t.Helper()
	var pods corev1.PodList
	if err := here(t).client.List(t.Context(), &pods, client.InNamespace(install.Namespace),
		client.MatchingLabels{"control-plane": "controller-manager"}); err != nil {
		return nil, err
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil && pods.Items[i].Status.Phase == corev1.PodRunning {
			names = append(names, pods.Items[i].Name)
		}
	}
	return names, nil
}

// seriesOf are the values of the series of a Skyhook, without its label.
func seriesOf(skyhook, text string) map[string]string {
	label, found := fmt.Sprintf("skyhook_name=%q", skyhook), map[string]string{}
	for line := range strings.Lines(text) {
		at := strings.LastIndex(line, " ")
		if at < 0 || !strings.Contains(line, label) {
			continue
		}
		series := strings.NewReplacer(label+",", "", ","+label, "", "{"+label+"}", "").Replace(line[:at])
		found[series] = strings.TrimSpace(line[at:])
	}
	return found
}

var forwarded = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// read gets the metrics of one replica.
func (s *scraper) read(t *testing.T, pod string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	forward := here(t).kubectl(ctx, "port-forward", "--address=127.0.0.1", "-n", install.Namespace, "pod/"+pod, ":metrics")
	out, err := forward.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := forward.Start(); err != nil {
		return "", err
	}
	defer func() {
		cancel()
		_ = forward.Wait() // it was ended
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	address := forwarded.FindString(line)
	if address == "" {
		return "", fmt.Errorf("port-forward to pod %s says %q: %w", pod, line, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", http.NoBody)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	// The certificate names the Service, which nobody can reach from here.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("pod %s answers %s: %s", pod, response.Status, text)
	}
	return string(text), err
}

// until waits until the leader, and nobody else, has series with these values; "" wants a series not to be there.
func (s *scraper) until(t *testing.T, want map[string]string) map[string]string {
	t.Helper()
	var all map[string]string
	within(t, patience, s.skyhook, func() (missing []string) {
		now, leaders, err := s.scrape(t)
		if err != nil {
			return []string{err.Error()}
		}
		if leaders != 1 {
			missing = append(missing, fmt.Sprintf("%d replicas have series of it", leaders))
		}
		for _, series := range slices.Sorted(maps.Keys(want)) {
			if now[series] != want[series] {
				missing = append(missing, fmt.Sprintf("%s is %q, want %q", series, now[series], want[series]))
			}
		}
		all = now
		return missing
	})
	return all
}
