//go:build integration

package v1alpha1_test

import (
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestValidManifestsAreAccepted(t *testing.T) {
	c := strictClient(t)
	for _, m := range readManifests(t, validManifests, 10) {
		t.Run(m.name, func(t *testing.T) {
			if _, err := create(t, c, m); err != nil {
				t.Error(err)
			}
		})
	}
}

// withoutValue is a message of the API server without the wrong value, of which Kubernetes 1.31 says only the type.
func withoutValue(message string) string {
	return regexp.MustCompile(`Invalid value: "[^"]*": `).ReplaceAllString(message, "Invalid value: ")
}

func TestInvalidManifestsAreRefused(t *testing.T) {
	c := strictClient(t)
	for _, m := range readManifests(t, invalidManifests, 10) {
		t.Run(m.name, func(t *testing.T) {
			if m.expect == "" {
				t.Fatal("the first line must be `# expect: ` and a part of the message")
			}
			_, err := create(t, c, m)
			switch {
			case err == nil:
				t.Fatalf("accepted, want %q", m.expect)
			case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
				t.Fatalf("failed otherwise than by validation: %v", err)
			case !strings.Contains(withoutValue(err.Error()), withoutValue(m.expect)):
				t.Errorf("got  %v\nwant %s", err, m.expect)
			}
		})
	}
}
