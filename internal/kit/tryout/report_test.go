package tryout

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

func sample() Report {
	is := &File{Mode: "-rw-r--r--", Owner: "0:0", Size: 12}
	return Report{
		Package: "motd", Version: "1.0.0", Name: "greeting", Root: "/srv/root", Logs: "/var/log/skyhook/tryout/motd/1.0.0", State: "/var/lib/skyhook/tryout",
		Runs: []Run{
			{Mode: "apply", Seconds: 1.2345},
			{Mode: "apply-check", ExitCode: 1, Seconds: 0.01, Message: "step check.sh exited 1\nno such file\n"},
		},
		Changes: []Change{
			{Path: "/etc/motd", Kind: created, Is: is},
			{
				Path: "/etc/all", Kind: changed, Is: &File{Mode: "lrwxrwxrwx", Owner: "0:5", Link: "b"}, Was: &File{Mode: "-rw-------", Owner: "0:0", Link: "a"},
				Aspects: []string{aspectType, aspectMode, aspectOwner, aspectLink, aspectDevice},
			},
			{Path: "/etc/link", Kind: created, Is: &File{Mode: "lrwxrwxrwx", Link: "motd"}},
			{Path: "/etc/size", Kind: changed, Is: is, Was: &File{Size: 3}, Aspects: []string{aspectContent}},
			{Path: "/etc/same", Kind: changed, Is: is, Was: is, Aspects: []string{aspectContent}},
			{Path: "/etc/w", Kind: changed, Is: is, Was: is, Aspects: []string{aspectWritten}},
			{Path: "/etc/t", Kind: changed, Is: is, Was: is, Aspects: []string{aspectTouched}},
			{Path: "/opt/empty", Kind: removed, Was: &File{Mode: "drwxr-xr-x"}},
			{Path: "/opt/file", Kind: removed, Was: &File{Mode: "drwxr-xr-x"}, Below: 1},
			{Path: "/opt/old", Kind: removed, Was: &File{Mode: "drwxr-xr-x"}, Below: 3},
		},
	}
}

const text = `
motd 1.0.0, in a Skyhook greeting
  apply succeeded after 1.235s
  apply-check FAILED with exit code 1 after 10ms
    step check.sh exited 1
    no such file
changed by this run:
  created  -rw-r--r--  12  /etc/motd
  changed  lrwxrwxrwx      /etc/all (type was -rw-------, mode was -rw-------, owner 0:5 was 0:0, to b, was to a, device)
  created  lrwxrwxrwx      /etc/link (to motd)
  changed  -rw-r--r--  12  /etc/size (size was 3)
  changed  -rw-r--r--  12  /etc/same (other content)
  changed  -rw-r--r--  12  /etc/w (written again)
  changed  -rw-r--r--  12  /etc/t (touched)
  removed  drwxr-xr-x      /opt/empty
  removed  drwxr-xr-x      /opt/file (with the file in it)
  removed  drwxr-xr-x      /opt/old (with the 3 files in it)
not listed: logs in /var/log/skyhook/tryout/motd/1.0.0, the agent's state in /var/lib/skyhook/tryout
`

func render(r Report) string {
	var out strings.Builder
	r.WriteText(&out)
	return out.String()
}

func TestReportText(t *testing.T) {
	if got := render(sample()); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
}

func TestReportTextOfAnOverlay(t *testing.T) {
	first := sample()
	first.Kept, first.Total = "/tmp/try/changes", first.Changes
	later := first
	later.Changes = []Change{}
	undone := later
	undone.Total = []Change{}
	for name, c := range map[string]struct {
		report         Report
		words, without []string
	}{
		"the first run": {first, []string{"/srv/root itself is as it was; the changes are in /tmp/try/changes\n"}, []string{"all runs"}},
		"a later run":   {later, []string{"changed by this run: nothing\nchanged by all runs so far:\n  created  -rw-r--r--  12  /etc/motd\n"}, nil},
		"all is undone": {undone, []string{"changed by this run: nothing\n"}, []string{"all runs"}},
	} {
		got := render(c.report)
		for _, word := range c.words {
			if !strings.Contains(got, word) {
				t.Errorf("%s: no %q in\n%s", name, word, got)
			}
		}
		for _, word := range c.without {
			if strings.Contains(got, word) {
				t.Errorf("%s: %q in\n%s", name, word, got)
			}
		}
	}
}

func TestReportConcludes(t *testing.T) {
	both := []packagefile.Mode{packagefile.Apply, packagefile.ApplyCheck}
	for name, c := range map[string]struct {
		runs      []Run
		succeeded bool
		notRun    string
	}{
		"both succeeded":          {[]Run{{}, {}}, true, ""},
		"the check failed":        {[]Run{{}, {ExitCode: 1}}, false, ""},
		"the stage failed":        {[]Run{{ExitCode: 1}}, false, "apply-check"},
		"stopped between the two": {[]Run{{}}, false, "apply-check"},
	} {
		r := Report{Runs: c.runs}
		r.conclude(both)
		if r.Succeeded != c.succeeded || strings.Join(r.NotRun, " ") != c.notRun {
			t.Errorf("%s: %+v", name, r)
		}
		if want := "apply-check was not run"; strings.Contains(render(r), want) != (c.notRun != "") {
			t.Errorf("%s: %s", name, render(r))
		}
	}
}

// TestReportJSON: a program sees whether there was an overlay, and that all is
// undone.
func TestReportJSON(t *testing.T) {
	for name, c := range map[string]struct {
		total []Change
		want  string
	}{
		"no overlay": {nil, ""},
		"undone":     {[]Change{}, "[]"},
		"changes":    {[]Change{{Path: "/a&b", Kind: removed}}, `[{"path":"/a&b","change":"removed"}]`},
	} {
		var out strings.Builder
		if err := (Report{Total: c.total}).WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
			t.Fatal(err)
		}
		if strings.Join(strings.Fields(string(got["total"])), "") != c.want {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}
