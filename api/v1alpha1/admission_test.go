//go:build integration

package v1alpha1_test

import (
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
			case !strings.Contains(err.Error(), m.expect):
				t.Errorf("got  %v\nwant %s", err, m.expect)
			}
		})
	}
}
