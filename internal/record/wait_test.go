package record_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/internal/record"
)

// TestWaitsOfEarlierVersions: they recorded only a reason.
func TestWaitsOfEarlierVersions(t *testing.T) {
	for _, c := range []struct {
		wait    string
		frees   record.Frees
		overdue bool
	}{
		{wait: `{"reason":"DefinitionMissing"}`, frees: record.FreesAuthor},
		{wait: `{"reason":"WaitingForPermit"}`, frees: record.FreesOther},
		{wait: `{"reason":"NodeIgnored"}`, frees: record.FreesAdministrator},
		{wait: `{"reason":"ProtectedPod"}`, frees: record.FreesOther},
		{wait: `{"reason":"DrainTimeout"}`, frees: record.FreesOther, overdue: true},
		{wait: `{"reason":"DrainTimeout","frees":"time"}`, frees: record.FreesTime},
	} {
		n, err := record.Read("demo", map[string]string{waitKey: c.wait})
		if err != nil || n.Wait == nil || n.Wait.Frees != c.frees || n.Wait.Overdue != c.overdue {
			t.Errorf("%s is taken for %+v (%v)", c.wait, n.Wait, err)
		}
	}
}

// TestWriteWait: the wait is written, and nothing else of the record.
func TestWriteWait(t *testing.T) {
	p, err := record.WriteWait("demo", &record.Wait{Reason: "PassFailed", Message: "forbidden"}, nil)
	if err != nil || len(p.Annotations) != 1 || len(p.Labels) > 0 || p.Annotations[waitKey] == nil ||
		*p.Annotations[waitKey] != `{"reason":"PassFailed","message":"forbidden"}` {
		t.Errorf("got %+v, error %v", p, err)
	}
	if p, err = record.WriteWait("demo", nil, map[string]string{waitKey: "x", stateKey: "{}"}); err != nil ||
		len(p.Annotations) != 1 || p.Annotations[waitKey] != nil {
		t.Errorf("no wait any more: %+v, error %v", p, err)
	}
}
