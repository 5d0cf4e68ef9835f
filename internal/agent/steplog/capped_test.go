package steplog_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/agent/steplog"
)

// must ends the test at an error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestCapped: a log that grows on keeps its head and its end, and is never
// larger than its limit by more than the notice.
func TestCapped(t *testing.T) {
	file, err := os.OpenFile(filepath.Join(t.TempDir(), "log"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	must(t, err)
	defer func() { _ = file.Close() }()
	const limit, notice = 1000, 100
	capped := steplog.NewCapped(file, limit)
	total := 0
	for i := range 10_000 {
		line := fmt.Sprintf("line %4d\n", i)
		write(t, capped, line)
		total += len(line)
		info, err := file.Stat()
		if err != nil || info.Size() > limit+notice {
			t.Fatalf("%d bytes after line %d, %v", info.Size(), i, err)
		}
	}
	raw, err := os.ReadFile(file.Name())
	must(t, err)
	text := string(raw)
	head, rest, _ := strings.Cut(text, "[... ")
	said, end, _ := strings.Cut(rest, " ...]\n")
	var left int
	if _, err := fmt.Sscanf(said, "%d bytes are left out here", &left); err != nil || len(head)+left+len(end) != total {
		t.Errorf("%d bytes of head, %d left out, %d of the end: %d in all; %q", len(head), left, len(end), total, said)
	}
	if !strings.HasPrefix(head, "line    0\n") || len(head) < limit/3 || !strings.HasPrefix(end, "line ") || !strings.HasSuffix(end, "line 9999\n") || len(end) < limit/5 {
		t.Errorf("head %q\nend %q", head, end)
	}
}

// TestCapped_OneLargeWrite is larger than the limit, and has no line ends.
func TestCapped_OneLargeWrite(t *testing.T) {
	file, err := os.OpenFile(filepath.Join(t.TempDir(), "log"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	must(t, err)
	defer func() { _ = file.Close() }()
	capped := steplog.NewCapped(file, 1000)
	for range 3 {
		write(t, capped, strings.Repeat("x", 5000), "the end\n")
	}
	raw, err := os.ReadFile(file.Name())
	if err != nil || len(raw) > 1100 || !strings.HasSuffix(string(raw), "x\nthe end\n") && !strings.HasSuffix(string(raw), "xthe end\n") {
		t.Errorf("%d bytes, %v: %q", len(raw), err, raw[max(0, len(raw)-50):])
	}
}
