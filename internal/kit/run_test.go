//go:build integration

package kit_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// prepare puts files into the root for scripts to work on.
func (r *trial) prepare() {
	r.T.Helper()
	r.Write("/etc/old", "old\n")
	r.Write("/etc/conf.d/a", "a\n")
	r.Write("/etc/conf.d/b", "b\n")
	r.Write("/srv/other", "owned\n")
	r.Must(os.Chown(r.Path("/srv/other"), 7, 8))
	r.Must(os.Symlink("old", r.Path("/etc/link")))
}

// TestRunReportsChanges: the same script against a root and against an overlay
// on it. Only an overlay's files are read, so only there is it known that a
// file which was written again is what it was.
func TestRunReportsChanges(t *testing.T) {
	for name, c := range map[string]struct {
		script  string
		want    []string
		overlay []string
	}{
		"nothing":                      {script: "true"},
		"the agent's own":              {script: "touch $SKYHOOK_DIR/x $SKYHOOK_ROOT_DIR/y"},
		"created":                      {script: "echo 1 > /etc/new", want: []string{"created /etc/new"}},
		"a folder":                     {script: "mkdir /opt; echo 1 > /opt/a", want: []string{"created /opt", "created /opt/a"}},
		"longer":                       {script: "echo new >> /etc/old", want: []string{"changed /etc/old content"}},
		"other content of the size":    {script: "echo new > /etc/old", want: []string{"changed /etc/old written"}, overlay: []string{"changed /etc/old content"}},
		"written with what it was":     {script: "echo old > /etc/old", want: []string{"changed /etc/old written"}, overlay: []string{}},
		"touched":                      {script: "touch /etc/old", want: []string{"changed /etc/old written"}, overlay: []string{}},
		"the mode it has":              {script: "chmod 644 /etc/old", want: []string{"changed /etc/old touched"}, overlay: []string{}},
		"mode":                         {script: "chmod 600 /etc/old", want: []string{"changed /etc/old mode"}},
		"mode of a folder":             {script: "chmod 700 /etc/conf.d", want: []string{"changed /etc/conf.d mode"}},
		"mode of the root":             {script: "chmod 711 /", want: []string{"changed / mode"}},
		"owner":                        {script: "cp -p /srv/other /etc/x; cat /etc/x > /tmp/y; cp -p /etc/old /srv/other", want: []string{"created /etc/x", "changed /srv/other owner content", "created /tmp/y"}},
		"a new link":                   {script: "cp -P /etc/link /etc/link2", want: []string{"created /etc/link2"}},
		"another link":                 {script: "rm /etc/link; cp -s /etc/conf.d/a /etc/link", want: []string{"changed /etc/link link"}},
		"the same link":                {script: "cp -P /etc/link /tmp/l; rm /etc/link; mv /tmp/l /etc/link"},
		"removed":                      {script: "rm /etc/old", want: []string{"removed /etc/old"}},
		"a removed folder":             {script: "rm -r /etc/conf.d", want: []string{"removed /etc/conf.d +2"}},
		"an empty folder in its place": {script: "rm -r /etc/conf.d; mkdir /etc/conf.d", want: []string{"removed /etc/conf.d/a", "removed /etc/conf.d/b"}},
		"a moved folder":               {script: "mv /etc/conf.d /etc/d", want: []string{"removed /etc/conf.d +2", "created /etc/d", "created /etc/d/a", "created /etc/d/b"}},
		"a file for a folder":          {script: "rm -r /etc/conf.d; echo 1 > /etc/conf.d", want: []string{"changed /etc/conf.d type", "removed /etc/conf.d/a", "removed /etc/conf.d/b"}},
		"a folder for a file":          {script: "rm /etc/old; mkdir /etc/old; touch /etc/old/x", want: []string{"changed /etc/old type", "created /etc/old/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []*trial{newTrial(t), newOverlayTrial(t)} {
				r.prepare()
				r.stage("apply", c.script)
				before, want := r.snapshot(), c.want
				report := r.pass("apply")
				if r.overlay != "" {
					r.expectUntouched(before)
					if c.overlay != nil {
						want = c.overlay
					}
					r.expectChanges("in all on the overlay", report.Total, want...)
				}
				r.expectChanges(strings.TrimSpace("changes "+r.overlay), report.Changes, want...)
			}
		})
	}
}

// TestRunGoesOn: what a stage leaves is there for the next, whether in the root
// or in an overlay: files, the flags of steps that are done, the history.
func TestRunGoesOn(t *testing.T) {
	for _, r := range []*trial{newTrial(t), newOverlayTrial(t)} {
		before := r.snapshot()
		r.stage("apply", "echo once >> /etc/motd")
		r.stage("config", "echo config >> /etc/motd")
		r.stage("upgrade", "echo from $PREVIOUS_VERSION to $CURRENT_VERSION >> /etc/motd")
		r.stage("uninstall", "rm /etc/motd")
		r.stage("uninstall-check", "[ ! -e /etc/motd ]")
		r.expectChanges("apply", r.pass("apply").Changes, "created /etc/motd")
		r.expectChanges("apply again", r.pass("apply").Changes)
		r.expectChanges("config", r.pass("config").Changes, "changed /etc/motd content")
		r.Config["package_version"] = "1.1.0"
		report := r.pass("upgrade")
		r.expectChanges("upgrade", report.Changes, "changed /etc/motd content")
		if r.overlay != "" {
			r.expectChanges("in all", report.Total, "created /etc/motd")
		}
		kept := filepath.Join(r.Root, "etc/motd")
		if r.overlay != "" {
			kept = filepath.Join(report.Kept, "etc/motd")
		}
		raw, err := os.ReadFile(kept)
		r.Must(err)
		if got := string(raw); got != "once\nconfig\nfrom 1.0.0 to 1.1.0\n" {
			t.Errorf("got %q", got)
		}
		report = r.pass("uninstall")
		r.expectChanges("uninstall", report.Changes, "removed /etc/motd")
		r.expectChanges("in all", report.Total)
		if r.overlay != "" {
			r.expectUntouched(before)
		}
	}
}

func TestRunOfAFailingStage(t *testing.T) {
	r := newOverlayTrial(t)
	r.stage("apply", "echo 1 > /etc/half; echo no disk >&2; exit 3")
	report, ran := r.try("apply")
	if ran.Code != 1 || report.Succeeded || len(report.Runs) != 1 || !slices.Equal(report.NotRun, []string{"apply-check"}) {
		t.Fatalf("exit %d, %+v", ran.Code, report)
	}
	run := report.Runs[0]
	if run.ExitCode != 1 || run.Message != "step apply.sh exited 3\nno disk\n" && run.Message != "step apply.sh exited 3\nno disk" {
		t.Errorf("%+v", run)
	}
	r.expectChanges("what it did", report.Changes, "created /etc/half")
}

func TestRunOfAFailingCheck(t *testing.T) {
	r := newTrial(t)
	r.stage("apply", "echo 1 > /etc/half")
	r.stage("apply-check", "exit 1")
	for _, mode := range []string{"apply", "apply-check"} {
		report, ran := r.try(mode)
		if last := report.Runs[len(report.Runs)-1]; ran.Code != 1 || report.Succeeded || last.Mode != "apply-check" || last.ExitCode != 1 {
			t.Errorf("%s: exit %d, %+v", mode, ran.Code, report)
		}
	}
}

// TestRunOfACheckAlone: the check of a stage sees what was done before.
func TestRunOfACheckAlone(t *testing.T) {
	r := newOverlayTrial(t)
	r.stage("apply", "echo 1 > /etc/done")
	r.stage("apply-check", "[ -e /etc/done ]")
	if report, ran := r.try("apply-check"); ran.Code != 1 || len(report.Runs) != 1 {
		t.Errorf("before: exit %d, %+v", ran.Code, report)
	}
	r.pass("apply")
	if report := r.pass("apply-check"); len(report.Runs) != 1 || len(report.Changes) != 0 {
		t.Errorf("after: %+v", report)
	}
}

// TestRunLooksLikeAPod: a step finds what it would on a host of a cluster.
func TestRunLooksLikeAPod(t *testing.T) {
	r := newTrial(t)
	r.put("maps/greeting", "hello")
	r.put("maps/deep/ignored", "x")
	r.put("tuning.conf", "a=1")
	r.put("motd/configmaps/greeting", "of the image")
	r.put("motd/configmaps/default", "of the image")
	r.stage("apply", `exec > /etc/seen
cat configmaps/greeting configmaps/sysctl; echo
cat configmaps/default; echo
cd configmaps; ls -A; readlink greeting; cd ..
ls node-metadata
grep -o '"name":"[^"]*"' node-metadata/packages.json
echo "$TOKEN"; echo "$SKYHOOK_RESOURCE_ID"; echo "$SKYHOOK_DIR"; echo "$SKYHOOK_NODE_ORDER$SECRET"
[ -c /dev/null ] && [ -e /proc/self/status ] && [ -d /sys/kernel ] && echo mounted`)
	r.Env["SECRET"] = "of the author's shell"
	r.pass("apply", "--configmap", r.file("maps"), "--configmap", "sysctl="+r.file("tuning.conf"), "--env", "TOKEN=a=b", "--name", "greeting")
	id := "1.0.0-00000000-0000-4000-8000-000000000000-1"
	r.ExpectLines("/etc/seen",
		"helloa=1", "of the image",
		"..2026_01_01_00_00_00.000000001", "..data", "default", "greeting", "sysctl", "..data/greeting",
		"annotations.json", "labels.json", "packages.json", `"name":"greeting"`,
		"a=b", "tryout-00000000-0000-4000-8000-000000000000-1_greeting_1.0.0",
		"/var/lib/skyhook/tryout/greeting-"+id, "0", "mounted")
	for _, dir := range []string{"/dev/null", "/proc/self", "/sys/kernel"} {
		if r.Has(dir) {
			t.Errorf("%s is still in the root", dir)
		}
	}
}

// TestRunTakesTheConfigMapAnew, as a pod of another generation would.
func TestRunTakesTheConfigMapAnew(t *testing.T) {
	r := newTrial(t)
	r.put("one", "1")
	r.put("two", "2")
	r.Config["expected_config_files"] = []any{"key"}
	r.stage("config", "cat configmaps/key >> /etc/seen; cat configmaps/other >> /etc/seen || true")
	r.pass("config", "--configmap", "key="+r.file("one"), "--configmap", "other="+r.file("two"))
	r.pass("config", "--configmap", "key="+r.file("two"))
	r.ExpectLines("/etc/seen", "122")
	if _, ran := r.try("config"); ran.Code != 1 || !strings.Contains(ran.Stderr, "configMap lacks key") {
		t.Errorf("without one: exit %d\n%s", ran.Code, ran.Stderr)
	}
}

func TestRunText(t *testing.T) {
	r := newOverlayTrial(t)
	r.stage("apply", "echo working; echo 1 > /etc/new")
	r.save()
	ran := r.run(r.arguments("apply")...)
	for _, word := range []string{
		"working\n", "\nmotd 1.0.0\n  apply succeeded after ", "\nchanged by this run:\n  created  -rw-r--r--  2  /etc/new\n",
		r.Root + " itself is as it was; the changes are in " + r.overlay + "/changes\n",
		"not listed: logs in /var/log/skyhook/tryout/motd/1.0.0, the agent's state in /var/lib/skyhook/tryout\n",
	} {
		if ran.Code != 0 || !strings.Contains(ran.Stdout, word) {
			t.Errorf("exit %d, no %q in\n%s%s", ran.Code, word, ran.Stdout, ran.Stderr)
		}
	}
}

// TestRunKeepsMountsForTheCheck: as in the host's own mount namespace, where
// the package may ask to be.
func TestRunKeepsMountsForTheCheck(t *testing.T) {
	r := newOverlayTrial(t)
	r.Root = "/"
	r.stage("apply", "mkdir /opt/skyhook-tryout-probe; mount -t tmpfs probe /opt/skyhook-tryout-probe; touch /opt/skyhook-tryout-probe/x")
	r.stage("apply-check", "[ -e /opt/skyhook-tryout-probe/x ]")
	report := r.pass("apply", "--env", "SKYHOOK_HOST_NAMESPACES=mount")
	r.expectChanges("in the overlay", report.Changes, "created /opt/skyhook-tryout-probe")
}

// TestRunLeadsNowhereElse: a host's absolute link is that of the host, also
// while the package is copied.
func TestRunLeadsNowhereElse(t *testing.T) {
	r := newTrial(t)
	r.Must(os.Rename(r.Path("/var/lib"), r.Path("/elsewhere")))
	r.Must(os.Symlink("/elsewhere", r.Path("/var/lib")))
	r.stage("apply", "true")
	r.pass("apply")
	if !r.Has("/elsewhere/skyhook/tryout/flags") {
		t.Error("the state is not where the root's link leads")
	}
	if _, err := os.Stat("/elsewhere"); err == nil {
		t.Error("it is where the machine's is")
	}
}
