package v1alpha1_test

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

func deleteAfter(t *testing.T, c client.Client, object client.Object) {
	t.Helper()
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if err := c.Delete(context.WithoutCancel(t.Context()), object); err != nil {
			t.Errorf("delete %s: %v", object.GetName(), err)
		}
	})
}
