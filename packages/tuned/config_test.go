//go:build integration

package tuned_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

const (
	web    = "[main]\nsummary=Web servers\n[sysctl]\nnet.core.somaxconn=1024\n"
	script = "#!/bin/bash\nexit 0\n"
)

// ready is a host with tuned installed by this package.
func ready(t testing.TB) *host {
	t.Helper()
	h := newDebian(t)
	h.succeed("install")
	return h
}

func TestEveryKindOfKey(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.configMap(map[string]string{
		"web": web, "x_script": script, "a_script_b_script": script, "tuned_profile": "\n web \n",
		"accelerator": "h100", "intent": "inference", "service": "eks",
	})
	h.succeed("config", "config-check", "post-interrupt-check")
	if h.Read("/etc/tuned/web/tuned.conf") != web || h.active() != "web" {
		t.Errorf("active %q", h.active())
	}
	for _, name := range []string{"x_script", "a_script_b_script"} {
		info, err := os.Stat(h.Path("/etc/tuned/scripts", name))
		if err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	for _, name := range []string{"tuned_profile", "accelerator", "intent", "service"} {
		if h.Has("/etc/tuned/" + name) {
			t.Errorf("%s became a profile", name)
		}
	}
}

func TestWhatIsActivated(t *testing.T) {
	type row struct{ wanted, active string }
	tests := map[string]row{
		"builtin with a summary":     {"throughput", "throughput"},
		"builtin without":            {"plain", "plain"},
		"name that touches":          {longName, longName},
		"28 columns":                 {"twenty-six-characters-name", "twenty-six-characters-name"},
		"several":                    {"balanced web", "balanced web"},
		"on several lines":           {"balanced\r\n\tweb\n", "balanced web"},
		"one of ours that is listed": {"web", "web"},
		"builtin that includes ours": {"with-own-included", "with-own-included"},
	}
	hostroot.Each(t, tests, ready, func(t *testing.T, h *host, test row) {
		h.configMap(map[string]string{"web": web, "tuned_profile": test.wanted})
		h.succeed("config", "config-check")
		if h.active() != test.active {
			t.Errorf("active %q", h.active())
		}
	})
}

func TestConfigRefuses(t *testing.T) {
	type row struct {
		keys  map[string]string
		words []string
	}
	tests := map[string]row{
		"folder of tuned": {map[string]string{"recommend.d": web, "tuned_profile": "recommend.d"}, []string{`"recommend.d"`, "does not know"}},
		"file of tuned":   {map[string]string{"bootcmdline": web, "tuned_profile": "bootcmdline"}, []string{`"bootcmdline"`, "does not know"}},
		"a setting":       {map[string]string{"service": "eks", "tuned_profile": "service"}, []string{`"service"`, "does not know"}},
		"dash":            {map[string]string{"-web": web, "tuned_profile": "-web"}, []string{`"-web"`, "cannot be a profile"}},
		"unknown":         {map[string]string{"tuned_profile": "nope"}, []string{`"nope"`, "does not know", "tuned-adm list"}},
		"prefix of one":   {map[string]string{"tuned_profile": "bal"}, []string{`"bal"`, "does not know"}},
		"prefix that touches": {
			map[string]string{"tuned_profile": strings.TrimSuffix(longName, "Training")}, []string{"does not know"},
		},
		"summary":           {map[string]string{"tuned_profile": "General"}, []string{`"General"`, "does not know"}},
		"one of several":    {map[string]string{"tuned_profile": "balanced nope"}, []string{`"nope"`, "does not know"}},
		"path":              {map[string]string{"tuned_profile": "../x"}, []string{`"../x"`, "cannot be a profile"}},
		"commas":            {map[string]string{"tuned_profile": "balanced,plain"}, []string{"blanks between"}},
		"include of nobody": {map[string]string{"tuned_profile": "needs-missing"}, []string{`cannot activate "needs-missing"`, "Cannot find profile 'missing'"}},
	}
	hostroot.Each(t, tests, ready, func(t *testing.T, h *host, test row) {
		h.configMap(test.keys)
		h.fail("config", test.words...)
		if h.active() != "balanced" {
			t.Errorf("active %q", h.active())
		}
	})
}

// TestStrangeKeysFailNothing: they never did.
func TestStrangeKeysFailNothing(t *testing.T) {
	t.Parallel()
	h := ready(t)
	before := h.Snapshot(watched...)
	h.configMap(map[string]string{
		"notes": "some text", "empty": "", ".web": web, "-web": web, "-x_script": script, "scripts": web, "profiles": web, "service": web,
		"bootcmdline": web, "recommend.d": web, "intent": "inference", "tuned_profile": "balanced empty scripts service",
	})
	r := h.succeed("config")
	for _, words := range []string{
		`key "notes" becomes a profile without settings`, `key "empty" becomes`,
		`key "bootcmdline" is ignored: /etc/tuned/bootcmdline is a file`, `key "recommend.d" is ignored: tuned has a folder`,
	} {
		if !strings.Contains(r.Stdout, words) {
			t.Errorf("nothing says %s:\n%s", words, r.Stdout)
		}
	}
	if strings.Count(r.Stdout, "warning: ") != 4 || h.active() != "balanced empty scripts service" || h.Has("/etc/tuned/recommend.d") {
		t.Errorf("active %q\n%s", h.active(), r.Stdout)
	}
	h.succeed("config-check")
	h.configMap(map[string]string{"tuned_profile": "balanced"})
	h.succeed("config", "config-check")
	for path := range h.Snapshot(watched...) {
		if _, there := before[path]; !there && !strings.HasPrefix(path, stateDir) {
			t.Errorf("%s stays", path)
		}
	}
}

func TestConfigBeforeApply(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configMap(map[string]string{"tuned_profile": "balanced"})
	h.fail("config", "the host has no tuned", "apply")
}

func TestConfigStartsTheService(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.configMap(map[string]string{"tuned_profile": "plain"})
	h.admin("systemctl stop tuned.service")
	h.succeed("config", "config-check")
}

func TestWithoutTunedProfile(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.configMap(map[string]string{"web": web})
	h.Write("/fake/verify-fails", "99")
	r := h.succeed("config")
	if !strings.Contains(r.Stdout, "warning: the configMap has no tuned_profile") || h.active() != "balanced" {
		t.Errorf("active %q\n%s", h.active(), r.Stdout)
	}
	h.succeed("config-check", "post-interrupt-check")
	h.configMap(nil)
	h.succeed("config", "config-check")
}

func TestPostLoadedProfileIsNotOurs(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.Write("/etc/tuned/post_loaded_profile", "plain\n")
	h.configMap(map[string]string{"tuned_profile": "balanced throughput"})
	h.succeed("config", "config-check")
}

// TestNewFolders: newer versions look for profiles in a folder of their own.
func TestNewFolders(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.Write("/fake/files/tuned/usr/lib/tuned/profiles/extra/tuned.conf", web)
	before := h.Snapshot(watched...)
	h.succeed("install")
	h.configMap(map[string]string{"web": web, "tuned_profile": "web"})
	h.succeed("config", "config-check")
	if h.Read("/etc/tuned/profiles/web/tuned.conf") != web {
		t.Error("the profile is not where tuned looks for it")
	}
	h.succeed("uninstall", "uninstall-check")
	h.ExpectSnapshot(before, watched...)
}

// TestTunedChangesItsFolders: an upgrade of TuneD by the host's admin, which
// moves the profiles that it finds, or leaves them.
func TestTunedChangesItsFolders(t *testing.T) {
	type row struct {
		upgrade string
		there   []string
		steps   []string
	}
	tests := map[string]row{
		"moved":                 {"mkdir /etc/tuned/profiles; mv /etc/tuned/web /etc/tuned/profiles/", []string{"profiles/web"}, []string{"config", "config-check"}},
		"left":                  {"true", []string{"profiles/web"}, []string{"config", "config-check"}},
		"moved, no config":      {"mkdir /etc/tuned/profiles; mv /etc/tuned/web /etc/tuned/profiles/", []string{"profiles/web"}, nil},
		"left, no config":       {"true", []string{"web"}, nil},
		"only the folder stays": {"mkdir -p /etc/tuned/profiles/web; mv /etc/tuned/web/tuned.conf /etc/tuned/profiles/web/", []string{"profiles/web", "web"}, nil},
	}
	hostroot.Each(t, tests, newDebian, func(t *testing.T, h *host, test row) {
		before := h.Snapshot(watched...)
		h.succeed("install")
		h.configMap(map[string]string{"web": web, "tuned_profile": "web"})
		h.succeed("config", "config-check")
		h.admin("mkdir -p /usr/lib/tuned/profiles; " + test.upgrade)
		h.succeed(test.steps...)
		for _, dir := range []string{"profiles/web", "web"} {
			if h.Has("/etc/tuned/"+dir) != slices.Contains(test.there, dir) {
				t.Errorf("/etc/tuned/%s: there is %v", dir, h.Has("/etc/tuned/"+dir))
			}
		}
		gone := h.clone()
		h.succeed("uninstall", "uninstall-check")
		h.ExpectSnapshot(before, watched...)
		gone.configMap(map[string]string{"tuned_profile": "plain"})
		gone.succeed("config", "config-check")
		if gone.Has("/etc/tuned/web/tuned.conf") || gone.Has("/etc/tuned/profiles/web/tuned.conf") {
			t.Error("the file stays without its key")
		}
	})
}

// TestTunedTookAlongAFileOfOthers that is kept to be put back.
func TestTunedTookAlongAFileOfOthers(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.admin("apt-get install tuned; mkdir /etc/tuned/web; echo theirs >/etc/tuned/web/tuned.conf")
	h.configMap(map[string]string{"web": web, "tuned_profile": "web"})
	h.succeed("install", "config")
	h.admin("mkdir -p /usr/lib/tuned/profiles /etc/tuned/profiles; mv /etc/tuned/web /etc/tuned/profiles/")
	h.succeed("uninstall", "uninstall-check")
	if got := h.Read("/etc/tuned/profiles/web/tuned.conf"); got != "theirs\n" || h.Has("/etc/tuned/web") {
		t.Errorf("put back: %q", got)
	}
}

func TestReconcile(t *testing.T) {
	first := map[string]string{"web": web, "db": web, "x_script": script, "tuned_profile": "web"}
	type row struct {
		next    map[string]string
		active  string
		present []string
		gone    []string
	}
	tests := map[string]row{
		"changed": {
			map[string]string{"web": "[sysctl]\n", "db": web, "x_script": script + "#", "tuned_profile": "web"},
			"web",
			[]string{"web/tuned.conf", "db/tuned.conf", "scripts/x_script"},
			nil,
		},
		"another one wanted":     {map[string]string{"web": web, "tuned_profile": "plain"}, "plain", []string{"web/tuned.conf"}, []string{"db", "scripts"}},
		"active one removed":     {map[string]string{"db": web, "tuned_profile": "db"}, "db", []string{"db/tuned.conf"}, []string{"web", "scripts"}},
		"active one, no other":   {map[string]string{"db": web}, "balanced", []string{"db/tuned.conf"}, []string{"web", "scripts"}},
		"all removed":            {nil, "balanced", nil, []string{"web", "db", "scripts"}},
		"only its wish":          {map[string]string{"web": web, "db": web}, "web", []string{"web/tuned.conf"}, []string{"scripts"}},
		"script beside another":  {map[string]string{"web": web, "y_script": script, "tuned_profile": "web"}, "web", []string{"scripts/y_script"}, []string{"scripts/x_script"}},
		"profile becomes script": {map[string]string{"web_script": script, "tuned_profile": "plain"}, "plain", []string{"scripts/web_script"}, []string{"web"}},
	}
	hostroot.Each(t, tests, ready, func(t *testing.T, h *host, test row) {
		h.configMap(first)
		h.succeed("config", "config-check")
		h.configMap(test.next)
		h.succeed("config", "config-check")
		if h.active() != test.active {
			t.Errorf("active %q", h.active())
		}
		for _, path := range test.present {
			if !h.Has("/etc/tuned/" + path) {
				t.Errorf("%s is missing", path)
			}
		}
		for _, path := range test.gone {
			if h.Has("/etc/tuned/" + path) {
				t.Errorf("%s is still there", path)
			}
		}
		h.configMap(first)
		h.succeed("config", "config-check")
	})
}

func TestRemovedProfileMustNotBeWanted(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.configMap(map[string]string{"web": web, "tuned_profile": "web"})
	h.succeed("config")
	h.configMap(map[string]string{"tuned_profile": "web"})
	h.fail("config", `"web"`, "no longer in the configMap")
	h.configMap(map[string]string{"tuned_profile": "with-own-included"})
	h.fail("config", "Cannot find profile 'web'")
}

// TestOverriddenBuiltin: without our file of that name there is still one.
func TestOverriddenBuiltin(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.configMap(map[string]string{"plain": web, "tuned_profile": "plain"})
	h.succeed("config", "config-check")
	h.configMap(map[string]string{"tuned_profile": "plain"})
	h.succeed("config", "config-check")
	if h.Has("/etc/tuned/plain") || h.active() != "plain" {
		t.Errorf("active %q", h.active())
	}
}

func TestFilesOfOthersComeBack(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.Write("/etc/tuned/web/tuned.conf", "[theirs]\n")
	h.Write("/etc/tuned/web/more", "theirs\n")
	h.Write("/etc/tuned/scripts/x_script", "theirs\n")
	h.Must(os.Chmod(h.Path("/etc/tuned/web/tuned.conf"), 0o600))
	h.configMap(map[string]string{"web": web, "x_script": script, "tuned_profile": "web"})
	h.succeed("config", "config", "config-check")
	if h.Read("/etc/tuned/web/tuned.conf") != web || h.Read("/etc/tuned/web/more") != "theirs\n" {
		t.Error("not written")
	}
	h.configMap(map[string]string{"tuned_profile": "web"})
	h.succeed("config", "config-check")
	info, err := os.Stat(h.Path("/etc/tuned/web/tuned.conf"))
	if err != nil || info.Mode().Perm() != 0o600 || h.Read("/etc/tuned/web/tuned.conf") != "[theirs]\n" ||
		h.Read("/etc/tuned/scripts/x_script") != "theirs\n" {
		t.Errorf("not put back: %v, %v", info, err)
	}
}

func TestConfigCheckFailures(t *testing.T) {
	type row struct {
		command string
		words   []string
	}
	tests := map[string]row{
		"service":          {"systemctl stop tuned.service", []string{"does not run"}},
		"profile changed":  {"echo >>/etc/tuned/web/tuned.conf", []string{"/etc/tuned/web/tuned.conf", `key "web"`}},
		"profile missing":  {"rm -r /etc/tuned/web", []string{"/etc/tuned/web/tuned.conf"}},
		"script changed":   {"echo >>/etc/tuned/scripts/x_script", []string{`key "x_script"`}},
		"script's mode":    {"chmod 644 /etc/tuned/scripts/x_script", []string{`key "x_script"`}},
		"left behind":      {"rm " + copyDir + "/configmaps/x_script", []string{"still there", `no key "x_script"`}},
		"other profile":    {"tuned-adm profile plain", []string{`the active profile is "plain"`, `wants "web"`}},
		"switched off":     {"tuned-adm off", []string{`the active profile is ""`}},
		"one more":         {"tuned-adm profile web plain", []string{`"web plain"`}},
		"verify":           {"echo 99 >/fake/verify-fails", []string{"tuned-adm verify", `does not match "web"`, "'somaxconn' = '128'"}},
		"wanted not known": {"echo nope,x >" + copyDir + "/configmaps/tuned_profile", []string{"cannot be a profile"}},
	}
	hostroot.Each(t, tests, ready, func(_ *testing.T, h *host, test row) {
		h.configMap(map[string]string{"web": web, "x_script": script, "tuned_profile": "web"})
		h.succeed("config", "config-check", "post-interrupt-check")
		h.admin(test.command)
		h.fail("config-check", test.words...)
		h.fail("post-interrupt-check", test.words...)
	})
}

func TestVerifyBeforeAnInterrupt(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.Env["INTERRUPT"] = "true"
	h.configMap(map[string]string{"tuned_profile": "plain"})
	h.succeed("config")
	h.Write("/fake/verify-fails", "99")
	if r := h.succeed("config-check"); !strings.Contains(r.Stdout, "INTERRUPT=true") || !strings.Contains(r.Stdout, "'somaxconn'") {
		t.Errorf("stdout:\n%s", r.Stdout)
	}
	h.fail("post-interrupt-check", "tuned-adm verify")
	h.Env["INTERRUPT"] = "yes"
	h.fail("config-check", "tuned-adm verify")
}

func TestVerifyMayTakeAMoment(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.configMap(map[string]string{"tuned_profile": "plain"})
	h.succeed("config")
	h.Write("/fake/verify-fails", "1")
	h.Env["TUNED_SETTLE_SECONDS"] = "1"
	h.succeed("config-check")
	h.Write("/fake/verify-fails", "2")
	h.fail("config-check", "tuned-adm verify")
	h.Env["TUNED_SETTLE_SECONDS"] = "soon"
	h.fail("config-check", `TUNED_SETTLE_SECONDS is "soon"`)
}
