package steplog_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skyhook-operator/skyhook/internal/agent/steplog"
)

const prefix = "[out]2026-11-20T11:00:00.000000Z "

func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.FixedZone("", 3600)) }

func write(t *testing.T, w io.Writer, chunks ...string) {
	t.Helper()
	for _, chunk := range chunks {
		if n, err := io.WriteString(w, chunk); err != nil || n != len(chunk) {
			t.Fatalf("wrote %d of %d bytes, %v", n, len(chunk), err)
		}
	}
}

func TestStream(t *testing.T) {
	long := strings.Repeat("x", 100)
	tests := map[string]struct {
		chunks []string
		want   string
	}{
		"lines":                 {[]string{"a\nb\n"}, prefix + "a\n" + prefix + "b\n"},
		"line in pieces":        {[]string{"a", "b", "\nc", "\n"}, prefix + "ab\n" + prefix + "c\n"},
		"empty lines":           {[]string{"\n\n"}, prefix + "\n" + prefix + "\n"},
		"no end":                {[]string{"a"}, prefix + "a\n"},
		"nothing":               {nil, ""},
		"character in pieces":   {[]string{"h\xc3", "\xa9llo\n"}, prefix + "héllo\n"},
		"not UTF-8":             {[]string{"a\xff\xfeb\n"}, prefix + "a\uFFFDb\n"},
		"cut character at end":  {[]string{"a\xc3"}, prefix + "a\uFFFD\n"},
		"long line":             {[]string{long, long, "\nb\n"}, prefix + long + long + "\n" + prefix + "b\n"},
		"long line at once":     {[]string{long + long + "\nb\n"}, prefix + long + long + "\n" + prefix + "b\n"},
		"long line without end": {[]string{long, "y"}, prefix + long + "y\n"},
		"long line ends later":  {[]string{long, "\n", "b\n"}, prefix + long + "\n" + prefix + "b\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var first, second bytes.Buffer
			s := steplog.NewStream("[out]", 64, noon, &first, broken{}, &second)
			write(t, s, test.chunks...)
			for range 2 {
				must(t, s.Close())
			}
			if first.String() != test.want || second.String() != test.want {
				t.Errorf("got  %q\nand  %q\nwant %q", first.String(), second.String(), test.want)
			}
		})
	}
}

// TestStream_LongLinesAreCutBetweenCharacters feeds a long line byte by byte
// with every limit, so that each cut falls on each part of a character.
func TestStream_LongLinesAreCutBetweenCharacters(t *testing.T) {
	line := strings.Repeat("aé日😀", 20) + "\n"
	for limit := range 40 {
		var got bytes.Buffer
		s := steplog.NewStream("[out]", limit, noon, &got)
		for i := range len(line) {
			write(t, s, line[i:i+1])
		}
		if got.String() != prefix+line {
			t.Fatalf("limit %d: %q", limit, got.String())
		}
	}
}

// TestStream_DealsWithLargeLines: three lines far above the limit stay three.
func TestStream_DealsWithLargeLines(t *testing.T) {
	var got bytes.Buffer
	s := steplog.NewStream("[out]", 8192, noon, &got)
	for range 3 {
		write(t, s, strings.Repeat("x", 1<<20)+"\n")
	}
	if lines := strings.Count(got.String(), "\n"); lines != 3 || strings.Count(got.String(), prefix) != 3 {
		t.Errorf("%d lines", lines)
	}
}

func TestStream_TimeIsThatOfTheLinesStart(t *testing.T) {
	clock := noon()
	var got bytes.Buffer
	s := steplog.NewStream("", 64, func() time.Time { return clock }, &got)
	write(t, s, "slow ")
	clock = clock.Add(time.Minute)
	write(t, s, "line\nnext\n")
	if want := "2026-11-20T11:00:00.000000Z slow line\n2026-11-20T11:01:00.000000Z next\n"; got.String() != want {
		t.Errorf("got %q", got.String())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestTail(t *testing.T) {
	tests := map[string]struct {
		limit  int
		chunks []string
		want   string
	}{
		"short":          {100, []string{"a\nb\n"}, "a\nb"},
		"no end":         {100, []string{"a\nb"}, "a\nb"},
		"last lines":     {5, []string{"one\ntwo\nthree\n"}, "three"},
		"part of a line": {3, []string{"abcdef\n"}, "def"},
		"cut character":  {3, []string{"éé\n"}, "é"},
		"not UTF-8":      {100, []string{"a\xffb\n"}, "a\uFFFDb"},
		"long line":      {4096, []string{strings.Repeat("x", 5000) + "\nb\n"}, strings.Repeat("x", 1024) + " [...]\nb"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tail := steplog.NewTail(test.limit)
			w := tail.Writer()
			write(t, w, test.chunks...)
			must(t, w.Close())
			if got := tail.String(); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestTail_OneStreamDoesNotPushOutTheOther(t *testing.T) {
	tail := steplog.NewTail(64)
	stdout, stderr := tail.Writer(), tail.Writer()
	write(t, stderr, strings.Repeat("old\n", 100))
	write(t, stdout, "before\n")
	write(t, stderr, "the reason\n")
	write(t, stdout, strings.Repeat("progress\n", 100))
	got := tail.String()
	if len(got) > 64 || !strings.Contains(got, "the reason\nprogress") || !strings.HasSuffix(got, "progress\nprogress") {
		t.Errorf("got %q", got)
	}
}

func TestTail_TwoStreamsAndBoundedMemory(t *testing.T) {
	tail := steplog.NewTail(64)
	a, b := tail.Writer(), tail.Writer()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			_, _ = io.WriteString(a, "from a\n")
		}
	}()
	for range 1000 {
		write(t, b, "from b\n")
	}
	<-done
	got := tail.String()
	if len(got) > 64 {
		t.Errorf("%d bytes", len(got))
	}
	_, whole, _ := strings.Cut(got, "\n")
	for line := range strings.SplitSeq(whole, "\n") {
		if line != "from a" && line != "from b" {
			t.Errorf("broken line %q", line)
		}
	}
}

func TestCreate_NamesAreUnique(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		files, err := steplog.Create(dir, "sub/run.sh", noon())
		must(t, err)
		write(t, files.Out, "o")
		write(t, files.Err, "e")
		must(t, files.Close())
	}
	want := []string{
		"run.sh-2026-11-20-110000-1.err", "run.sh-2026-11-20-110000-1.log",
		"run.sh-2026-11-20-110000-2.err", "run.sh-2026-11-20-110000-2.log",
		"run.sh-2026-11-20-110000.err", "run.sh-2026-11-20-110000.log",
	}
	if got := names(t, filepath.Join(dir, "sub")); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestCreate_Failure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	touch(t, file, noon())
	if _, err := steplog.Create(file, "run.sh", noon()); err == nil {
		t.Error("no error below a file")
	}
	if _, err := steplog.Create(t.TempDir(), strings.Repeat("x", 250), noon()); err == nil {
		t.Error("no error for too long a name")
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var result []string
	for _, entry := range entries {
		result = append(result, entry.Name())
	}
	return result
}

func touch(t *testing.T, name string, modified time.Time) {
	t.Helper()
	must(t, os.WriteFile(name, nil, 0o644))
	must(t, os.Chtimes(name, modified, modified))
}

func TestReap(t *testing.T) {
	dir := t.TempDir()
	others := []string{
		"run.sh-fast-2026-11-20-110000.log", "run.sh-2026-11-20-110000.txt", "run.sh-notes.log",
		"other.sh-2026-11-20-110000.log", "run.sh.log",
	}
	for _, name := range others {
		touch(t, filepath.Join(dir, name), noon().Add(-time.Hour))
	}
	// The error log of a run that has lost its log.
	touch(t, filepath.Join(dir, "run.sh-2020-01-01-000000.err"), noon())
	var want []string
	for i, stamp := range []string{"100000", "100001", "100002", "100002-1", "100003", "100004", "100005"} {
		for _, suffix := range []string{".log", ".err"} {
			name := "run.sh-2026-11-20-" + stamp + suffix
			touch(t, filepath.Join(dir, name), noon().Add(time.Duration(i)*time.Second))
			if i >= 2 {
				want = append(want, name)
			}
		}
	}
	present, err := steplog.Create(dir, "run.sh", noon().Add(time.Hour))
	must(t, err)
	must(t, errors.Join(present.Close(), present.Reap(steplog.Keep)))
	want = append(want[2:], filepath.Base(present.Out.Name()), filepath.Base(present.Err.Name()))
	want = append(want, others...)
	slices.Sort(want)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	must(t, errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755), present.Reap(5), os.Remove(dir)))
	if err := present.Reap(5); err == nil {
		t.Error("no error for a missing directory")
	}
}

// TestReap_ClockThatJumped: the present run stays, and those after it count as
// newer than those before, whatever the clock said.
func TestReap_ClockThatJumped(t *testing.T) {
	dir := t.TempDir()
	clock := noon().Add(24 * 365 * time.Hour)
	var made []string
	for i := range 9 {
		if i == 5 {
			clock = noon()
		}
		clock = clock.Add(time.Second)
		files, err := steplog.Create(dir, "run.sh", clock)
		must(t, err)
		for _, file := range []*os.File{files.Out, files.Err} {
			must(t, os.Chtimes(file.Name(), clock, clock))
		}
		must(t, errors.Join(files.Close(), files.Reap(steplog.Keep)))
		made = append(made, filepath.Base(files.Err.Name()), filepath.Base(files.Out.Name()))
		want := slices.Sorted(slices.Values(made[max(0, len(made)-2*steplog.Keep):]))
		if got := names(t, dir); !slices.Equal(got, want) {
			t.Fatalf("run %d: left %q, want %q", i, got, want)
		}
	}
}
