//go:build integration

package tuning_test

import (
	"os"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/test/hostroot"
)

const grubConfig = "/boot/grub/grub.cfg"

// grubText is the drop-in with this text behind what other files want.
func grubText(added string) string {
	return header + `GRUB_CMDLINE_LINUX_DEFAULT="${GRUB_CMDLINE_LINUX_DEFAULT} ` + added + "\"\n"
}

func TestGrub(t *testing.T) {
	t.Parallel()
	type row struct {
		conf, added string
		// line is what GRUB reads, and running what the kernel shows of it.
		line, running string
	}
	tests := map[string]row{
		"one":              {"nosmt\n", `nosmt`, `nosmt`, `nosmt`},
		"two":              {"nosmt\nhugepages=4\n", `nosmt hugepages=4`, `nosmt hugepages=4`, `hugepages=4 nosmt`},
		"two in a line":    {"hugepagesz=1G \t hugepages=4", `hugepagesz=1G hugepages=4`, `hugepagesz=1G hugepages=4`, `hugepagesz=1G hugepages=4`},
		"comments":         {"# a\n\n  # b\n nosmt \n", `nosmt`, `nosmt`, `nosmt`},
		"twice":            {"nosmt\nnosmt", `nosmt nosmt`, `nosmt nosmt`, `nosmt a nosmt`},
		"pages":            {"hugepagesz=2M\nhugepages=16\nhugepagesz=1G\nhugepages=16", `hugepagesz=2M hugepages=16 hugepagesz=1G hugepages=16`, `hugepagesz=2M hugepages=16 hugepagesz=1G hugepages=16`, `hugepages=8 hugepagesz=2M hugepages=16 a hugepagesz=1G hugepages=16`},
		"the same name":    {"console=tty0\nconsole=ttyS1,115200n8\n", `console=tty0 console=ttyS1,115200n8`, `console=tty0 console=ttyS1,115200n8`, `console=tty0 console=ttyS1,115200n8`},
		"signs":            {"isolcpus=1-3,5\npci=realloc,nocrs\na.b_c=~!%^*?()[]:@+/", `isolcpus=1-3,5 pci=realloc,nocrs a.b_c=~!%^*?()[]:@+/`, `isolcpus=1-3,5 pci=realloc,nocrs a.b_c=~!%^*?()[]:@+/`, `isolcpus=1-3,5 pci=realloc,nocrs a.b_c=~!%^*?()[]:@+/`},
		"quotes":           {`dyndbg="file a.c +p"`, `\"dyndbg=file a.c +p\"`, `"dyndbg=file a.c +p"`, `"dyndbg=file a.c +p"`},
		"quotes elsewhere": {`dyndbg="file a.c +p"`, `\"dyndbg=file a.c +p\"`, `"dyndbg=file a.c +p"`, `dyndbg="file a.c +p"`},
		"a dollar":         {"memmap=4G$16G\n", `memmap=4G\\\$16G`, `memmap=4G\$16G`, `memmap=4G$16G`},
		"a shell's signs":  {"a=1;2|3&4<5>6{7}\n", `a=1\\;2\\|3\\&4\\<5\\>6\\{7\\}`, `a=1\;2\|3\&4\<5\>6\{7\}`, `a=1;2|3&4<5>6{7}`},
		"a comment's sign": {"a=1#2\n", `a=1#2`, `a=1#2`, `a=1#2`},
	}
	hostroot.Each(t, tests, newDebian, func(t *testing.T, h *host, test row) {
		before := h.Snapshot(watched...)
		h.configure(map[string]string{"grub.conf": test.conf})
		h.expectCalls("update-grub")
		h.expect(grubDropIn, grubText(test.added))
		if want := " ro quiet console=ttyS0 cloud=1 " + test.line + "\n"; !strings.Contains(h.Read(grubConfig), want) {
			t.Errorf("got %q, want %q", h.Read(grubConfig), want)
		}
		if r := h.run("post-interrupt-check"); r.Code != 1 || !strings.Contains(r.Stderr, "; reboot the host: interrupt {type: reboot}") {
			t.Errorf("before the reboot: %+v", r)
		}
		h.Write("/proc/cmdline", "ro quiet "+test.running+" last\n")
		h.succeed("post-interrupt-check")
		h.Write("/proc/cmdline", before["/proc/cmdline"][strings.Index(before["/proc/cmdline"], "\n")+1:])
		h.uninstall()
		h.expectCalls("update-grub")
		h.ExpectSnapshot(before, watched...)
	})
}

// TestGrubOfEarlierVersions: what a shell and GRUB made of a line, it still means.
func TestGrubOfEarlierVersions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ conf, now string }{
		"a dollar":              {`memmap=4G\\\$16G`, `memmap=4G$16G`},
		"a dollar for one":      {`memmap=4G\$16G`, `memmap=4G$16G`},
		"a dollar for GRUB":     {`memmap=4G\\$16G`, `memmap=4G$16G`},
		"quotes":                {`dyndbg=\"file a.c +p\"`, `dyndbg="file a.c +p"`},
		"single quotes":         {`dyndbg='file a.c +p'`, `dyndbg="file a.c +p"`},
		"another sign":          {`a=1\\;2`, `a=1;2`},
		"two arguments in line": {`a=1\\;2 b=3`, `a=1;2 b=3`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, now := newDebian(t), newDebian(t)
			now.configure(map[string]string{"grub.conf": test.now})
			h.configMap(map[string]string{"grub.conf": "# a\n" + test.conf})
			reading := strings.ReplaceAll(test.now, `"`, "")
			if said := h.succeed("config"); !strings.Contains(said, "grub.conf line 2: "+test.conf+" is read as "+reading+"; write it as it shall be in /proc/cmdline") {
				t.Errorf("said %q", said)
			}
			h.succeed("config-check")
			h.expect(grubDropIn, now.Read(grubDropIn))
		})
	}
}

// TestGrubRunning: an argument counts if the kernel has it as a whole.
func TestGrubRunning(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		running string
		good    bool
	}{
		"there":             {"ro hugepages=4 quiet", true},
		"alone":             {"hugepages=4", true},
		"twice":             {"hugepages=4 hugepages=4", true},
		"in quotes":         {`"hugepages=4"`, true},
		"quoted value":      {`hugepages="4"`, true},
		"missing":           {"ro quiet", false},
		"a longer one":      {"hugepages=40", false},
		"a longer name":     {"xhugepages=4", false},
		"in another's text": {`a="b hugepages=4"`, false},
		"the name alone":    {"hugepages", false},
	}
	h := newDebian(t)
	h.configMap(map[string]string{"grub.conf": "hugepages=4\n"})
	for name, test := range tests {
		t.Log(name)
		h.Write("/proc/cmdline", test.running+"\n")
		if test.good {
			h.succeed("post-interrupt-check")
		} else {
			h.fail("post-interrupt-check", "the kernel runs without hugepages=4; reboot the host: interrupt {type: reboot}")
		}
	}
}

// TestGrubOrder: what is said twice counts twice, and in its order.
func TestGrubOrder(t *testing.T) {
	t.Parallel()
	const pages, consoles = "hugepagesz=2M hugepages=16 hugepagesz=1G hugepages=16", "console=tty0 console=ttyS0"
	type row struct {
		conf, running string
		good          bool
	}
	tests := map[string]row{
		"the same":          {pages, pages, true},
		"among others":      {pages, "hugepages=1 ro hugepagesz=2M hugepages=16 x hugepagesz=1G y hugepages=16 z", true},
		"one is missing":    {pages, "hugepagesz=2M hugepages=16 hugepagesz=1G", false},
		"another order":     {pages, "hugepagesz=2M hugepagesz=1G hugepages=16 hugepages=16", false},
		"size and number":   {"hugepagesz=1G hugepages=16", "hugepages=16 hugepagesz=1G", false},
		"consoles":          {consoles, "console=ttyS0 console=tty0 console=ttyS0", true},
		"consoles reversed": {consoles, "console=ttyS0 console=tty0", false},
		"others may move":   {"a=1 " + consoles, "console=tty0 console=ttyS0 a=1", true},
	}
	hostroot.Each(t, tests, newDebian, func(_ *testing.T, h *host, test row) {
		h.configure(map[string]string{"grub.conf": strings.ReplaceAll(test.conf, " ", "\n")})
		config := h.Read(grubConfig)
		h.Write("/proc/cmdline", "ro "+test.running+"\n")
		h.Write(grubConfig, "\tlinux /recovery ro\n\tlinux /boot/vmlinuz ro "+test.running+"\n")
		if test.good {
			h.succeed("config-check", "post-interrupt-check")
			return
		}
		wanted := strings.TrimPrefix(test.conf, "a=1 ") + " in this order"
		h.fail("post-interrupt-check", "the kernel runs without "+wanted+"; reboot the host: interrupt {type: reboot}")
		h.fail("config-check", grubConfig+" does not start the kernel with "+wanted+"; see the output of update-grub")
		h.Write(grubConfig, config)
		h.succeed("config-check")
	})
}

// TestGrubOverridden: of arguments of one name the kernel takes the last, but for those that add up.
func TestGrubOverridden(t *testing.T) {
	t.Parallel()
	type row struct{ conf, running, ours, theirs string }
	tests := map[string]row{
		"ours is last":        {"a=2", "a=1 a=2", "", ""},
		"another is last":     {"a=2", "ro a=2 quiet a=1", "a=2", "a=1"},
		"the same again":      {"a=2", "a=2 a=1 a=2", "", ""},
		"a switch":            {"nosmt", "nosmt nosmt=force", "nosmt", "nosmt=force"},
		"_ and -":             {"a_b=1", "a_b=1 a-b=2", "a_b=1", "a-b=2"},
		"a longer name":       {"a=1", "a=1 ab=2", "", ""},
		"consoles add up":     {"console=tty0", "console=tty0 console=ttyS0", "", ""},
		"pages":               {"hugepages=4", "hugepages=4 hugepages=8", "hugepages=4", "hugepages=8"},
		"pages of other size": {"hugepages=4", "hugepages=4 hugepagesz=1G hugepages=8", "", ""},
		"pages of that size":  {"hugepagesz=1G hugepages=4", "hugepagesz=1G hugepages=4 hugepagesz=1G hugepages=8", "hugepages=4", "hugepages=8"},
	}
	hostroot.Each(t, tests, newDebian, func(_ *testing.T, h *host, test row) {
		h.configure(map[string]string{"grub.conf": strings.ReplaceAll(test.conf, " ", "\n")})
		h.Write("/proc/cmdline", "ro "+test.running+"\n")
		h.Write(grubConfig, "\tlinux /boot/vmlinuz ro "+test.running+"\n")
		if test.theirs == "" {
			h.succeed("config-check", "post-interrupt-check")
			return
		}
		h.Write("/etc/default/grub.d/zz.cfg", "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT "+test.theirs+"\"\n")
		reason := " has " + test.theirs + " behind " + test.ours + ", and the last one counts; take it out of /etc/default/grub.d/zz.cfg, or " + test.ours + " out of grub.conf"
		h.fail("config-check", grubConfig+reason)
		h.fail("post-interrupt-check", "/proc/cmdline"+reason)
	})
}

func TestGrubCheck(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.configure(map[string]string{"grub.conf": "nosmt\nhugepages=4\n"})
	config := h.Read(grubConfig)
	h.Write(grubConfig, strings.Replace(config, "hugepages=4", "hugepages=40", 1))
	h.fail("config-check", grubConfig+" does not start the kernel with hugepages=4; see the output of update-grub")
	h.Write(grubConfig, strings.ReplaceAll(config, "\tlinux\t", "\t# linux\t")+"linux /b hugepages=4\n")
	h.fail("config-check", grubConfig+" does not start the kernel with nosmt; see the output of update-grub")
	h.Must(os.Remove(h.Path(grubConfig)))
	h.succeed("config-check")
	h.Write(grubDropIn, grubText("nosmt"))
	h.fail("config-check", grubDropIn+" is not what grub.conf wants")
	h.configMap(nil)
	h.fail("config-check", grubDropIn+" is left")
}

func TestUpdateGrubFails(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	h.replace("update-grub", "echo Generating; echo 'grub-probe: error: no device' >&2; exit 1")
	h.configMap(map[string]string{"grub.conf": "nosmt\n"})
	h.fail("config", "update-grub failed: Generating\ngrub-probe: error: no device")
	r := h.run("config-check")
	if r.Code != 1 || !strings.Contains(r.Stderr, "update-grub was not run since "+grubDropIn+" changed") {
		t.Errorf("%+v", r)
	}
	h.tool("mv", "/usr/bin/real-update-grub", "/usr/bin/update-grub")
	h.succeed("config", "config-check")
	h.expectCalls("update-grub")
}

func TestNoGrub(t *testing.T) {
	t.Parallel()
	h := newDebian(t)
	before := h.Snapshot("/etc")
	h.configure(map[string]string{"grub.conf": "nosmt\n"})
	h.Must(os.Remove(h.Path("/usr/bin/update-grub")))
	h.fail("config", "grub.conf: this host has neither update-grub nor grubby, which set kernel arguments")
	h.uninstall()
	h.ExpectSnapshot(before, "/etc")
	h.configure(map[string]string{"grub.conf": "# nothing\n"})
}

// entries are the arguments of the boot entries.
func (h *host) entries() [2]string {
	h.T.Helper()
	var all [2]string
	for i, name := range []string{"1", "2"} {
		all[i] = strings.Join(strings.Fields(h.Read("/boot/loader/entries/"+name+".conf")), " ")
	}
	return all
}

func TestGrubby(t *testing.T) {
	t.Parallel()
	type row struct {
		first, second string // the entries before; the second's default is the first's
		conf          string
		want          [2]string
		after         [2]string // of the uninstall
	}
	tests := map[string]row{
		"added":              {"ro", "", "nosmt\na=1\n", [2]string{"ro nosmt a=1", "ro nosmt a=1"}, [2]string{"ro", "ro"}},
		"there already":      {"ro nosmt", "", "nosmt\n", [2]string{"ro nosmt", "ro nosmt"}, [2]string{"ro nosmt", "ro nosmt"}},
		"one of two":         {"ro nosmt", "", "nosmt\na=1", [2]string{"ro nosmt a=1", "ro nosmt a=1"}, [2]string{"ro nosmt", "ro nosmt"}},
		"another value":      {"ro a=1", "", "a=2", [2]string{"ro a=2", "ro a=2"}, [2]string{"ro a=1", "ro a=1"}},
		"in one entry alone": {"ro nosmt", "ro", "nosmt", [2]string{"ro nosmt", "ro nosmt"}, [2]string{"ro nosmt", "ro nosmt"}},
		"of one name":        {"ro", "", "console=tty0\nconsole=ttyS0", [2]string{"ro console=tty0 console=ttyS0", "ro console=tty0 console=ttyS0"}, [2]string{"ro", "ro"}},
		"one of a name":      {"ro console=ttyS0", "", "console=tty0\nconsole=ttyS0", [2]string{"ro console=tty0 console=ttyS0", "ro console=tty0 console=ttyS0"}, [2]string{"ro console=ttyS0", "ro console=ttyS0"}},
		"others of a name":   {"ro console=a console=b", "", "console=tty0\nconsole=ttyS0", [2]string{"ro console=tty0 console=ttyS0", "ro console=tty0 console=ttyS0"}, [2]string{"ro console=a console=b", "ro console=a console=b"}},
		"none of them":       {"ro console=a console=b", "", "a=1", [2]string{"ro console=a console=b a=1", "ro console=a console=b a=1"}, [2]string{"ro console=a console=b", "ro console=a console=b"}},
		"of one name, there": {"ro console=tty0 console=ttyS0", "", "console=tty0\nconsole=ttyS0", [2]string{"ro console=tty0 console=ttyS0", "ro console=tty0 console=ttyS0"}, [2]string{"ro console=tty0 console=ttyS0", "ro console=tty0 console=ttyS0"}},
		"pages come back":    {"ro hugepagesz=2M hugepages=2 hugepagesz=1G hugepages=1", "", "hugepagesz=1G\nhugepages=16", [2]string{"ro hugepagesz=1G hugepages=16", "ro hugepagesz=1G hugepages=16"}, [2]string{"ro hugepagesz=2M hugepages=2 hugepagesz=1G hugepages=1", "ro hugepagesz=2M hugepages=2 hugepagesz=1G hugepages=1"}},
		"pages, some there":  {"ro hugepages=2", "", "hugepagesz=1G\nhugepages=2", [2]string{"ro hugepagesz=1G hugepages=2", "ro hugepagesz=1G hugepages=2"}, [2]string{"ro hugepages=2", "ro hugepages=2"}},
		"overridden":         {"ro a=2 a=1", "", "a=2", [2]string{"ro a=2", "ro a=2"}, [2]string{"ro a=2 a=1", "ro a=2 a=1"}},
		"a part of a word":   {"ro xnosmt", "", "nosmt", [2]string{"ro xnosmt nosmt", "ro xnosmt nosmt"}, [2]string{"ro xnosmt", "ro xnosmt"}},
	}
	hostroot.Each(t, tests, newRHEL, func(t *testing.T, h *host, test row) {
		if test.second == "" {
			test.second = test.first
		}
		h.Write("/boot/loader/entries/1.conf", strings.ReplaceAll(test.first, " ", "\n")+"\n")
		h.Write("/boot/loader/entries/2.conf", strings.ReplaceAll(test.second, " ", "\n")+"\n")
		h.configure(map[string]string{"grub.conf": test.conf})
		if got := h.entries(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
		h.calls()
		h.succeed("config", "config-check")
		h.expectCalls()
		h.uninstall()
		if got := h.entries(); got != test.after {
			t.Errorf("after uninstall: got %q, want %q", got, test.after)
		}
	})
}

func TestGrubbyChanges(t *testing.T) {
	t.Parallel()
	h := newRHEL(t)
	for _, conf := range []string{"hugepages=4\nnosmt\n", "hugepages=8\n", "a=1"} {
		h.configure(map[string]string{"grub.conf": conf})
	}
	if want := [2]string{"ro quiet hugepages=2 a=1", "ro quiet hugepages=2 a=1"}; h.entries() != want {
		t.Errorf("got %q, want %q", h.entries(), want)
	}
	h.expect("/etc/default/grub.d/999-demo_web-tuning.cfg", "")
	h.Write("/boot/loader/entries/2.conf", "ro\n")
	h.fail("config-check", "not every boot entry has a=1; see grubby --info=ALL")
	h.configMap(nil)
	h.fail("config-check", "the boot entries still have a=1 of this package")
	h.configMap(map[string]string{"grub.conf": "a=\"b c\"\n"})
	h.fail("config", "grub.conf: grubby cannot set arguments with blanks or $ in them")
}

// TestGrubbyThatKeepsOneOfAName: half of it is not left in the boot entries.
func TestGrubbyThatKeepsOneOfAName(t *testing.T) {
	t.Parallel()
	h := newRHEL(t)
	h.Write("/run/one-of-a-name", "")
	before := h.Snapshot(watched...)
	h.configMap(map[string]string{"grub.conf": "console=tty0\nconsole=ttyS0\n"})
	reason := "grub.conf: grubby of this host did not set console=tty0 console=ttyS0: it may keep one argument of a name only; see grubby --info=ALL"
	h.fail("config", reason)
	h.fail("config", reason)
	h.ExpectSnapshot(before, watched...)
	h.uninstall()

	h.Write("/boot/loader/entries/1.conf", "ro\nconsole=a\nconsole=b\n")
	h.Write("/boot/loader/entries/2.conf", "ro\nconsole=a\nconsole=b\n")
	h.configure(map[string]string{"grub.conf": "console=c\n"})
	h.configMap(nil)
	if said := h.succeed("uninstall", "uninstall-check"); !strings.Contains(said, `grubby could not set back "console=a console=b"; the boot entries have "console=b"`) {
		t.Errorf("said %q", said)
	}
}

// TestGrubbyThatKeepsPlaces: what is there goes first, so that the order is right.
func TestGrubbyThatKeepsPlaces(t *testing.T) {
	t.Parallel()
	h := newRHEL(t)
	h.Write("/run/in-place", "")
	h.configure(map[string]string{"grub.conf": "hugepagesz=1G\nhugepages=16\n"})
	if want := "ro quiet hugepagesz=1G hugepages=16"; h.entries() != [2]string{want, want} {
		t.Errorf("got %q, want %q", h.entries(), want)
	}
	h.uninstall()
	if want := "ro quiet hugepages=2"; h.entries() != [2]string{want, want} {
		t.Errorf("got %q, want %q", h.entries(), want)
	}
}

// TestGrubbyFailsInTheMiddle: when what was there is gone already.
func TestGrubbyFailsInTheMiddle(t *testing.T) {
	t.Parallel()
	h := newRHEL(t)
	before := h.Snapshot(watched...)
	h.replace("grubby", `[[ "$*" != *--args* ]] || exit 1; exec /usr/bin/real-grubby "$@"`)
	h.configMap(map[string]string{"grub.conf": "hugepagesz=1G\nhugepages=16\n"})
	h.fail("config", "grubby --args=hugepagesz=1G hugepages=16 failed:")
	if want := "ro quiet"; h.entries() != [2]string{want, want} {
		t.Errorf("got %q, want %q", h.entries(), want)
	}
	h.tool("mv", "/usr/bin/real-grubby", "/usr/bin/grubby")
	h.uninstall()
	h.ExpectSnapshot(before, watched...)
}

func TestGrubbyFails(t *testing.T) {
	t.Parallel()
	h := newRHEL(t)
	h.replace("grubby", `[[ "$1" == --update* ]] || exec /usr/bin/real-grubby "$@"; echo no room >&2; exit 1`)
	h.configMap(map[string]string{"grub.conf": "nosmt\n"})
	h.fail("config", "grubby --args=nosmt failed: no room")
	h.tool("mv", "/usr/bin/real-grubby", "/usr/bin/grubby")
	h.succeed("config", "config-check")
}
