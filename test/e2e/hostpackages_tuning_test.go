//go:build e2e && nightly

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// cronDropIn is where the package "tuning" has the drop-in of cron.
const cronDropIn = "/etc/systemd/system/cron.service.d/999-tuning_tuning-tuning.conf"

// cronFiles are the numbers of files that the running cron may open: the soft and the hard limit.
func cronFiles(t *testing.T, node string) string {
	t.Helper()
	pid := strings.TrimSpace(onHost(t, node, "systemctl", "show", "--property", "MainPID", "--value", "cron"))
	for line := range strings.Lines(onHost(t, node, "cat", "/proc/"+pid+"/limits")) {
		if rest, is := strings.CutPrefix(line, "Max open files"); is {
			return strings.Join(strings.Fields(rest)[:2], " ")
		}
	}
	t.Fatalf("node %s: process %s has no limit of open files", node, pid)
	return ""
}

// loginFiles are the same limits of a new login.
func loginFiles(t *testing.T, node string) string {
	t.Helper()
	out := onHost(t, node, "su", "-", "-s", "/bin/sh", "nobody", "-c", "ulimit -Sn; ulimit -Hn")
	return strings.Join(strings.Fields(out), " ")
}

// valueOf is what a text of lines "name=value" says of a name.
func valueOf(t *testing.T, text, name string) string {
	t.Helper()
	for line := range strings.Lines(text) {
		if key, value, is := strings.Cut(line, "="); is && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("%q says nothing of %s", text, name)
	return ""
}

// TestTuning takes the package of examples/tuning.yaml through its life: what it is told is what the kernel, the
// running cron and a new login have, and after it went the node is as it was before.
func TestTuning(t *testing.T) {
	node := ownNode(t)
	w := exampleWish(t, "tuning.yaml", "tuning", node)
	// Fewer than in the example: a machine may lack CAP_SYS_RESOURCE, and then no login there can have more than its
	// shell.
	w.packages["tuning"].ConfigMap["ulimit.conf"] = "nofile=9000"
	config := func(key string) string { return w.packages["tuning"].ConfigMap[key] }
	before, login, cron := hostState(t, node), loginFiles(t, node), cronFiles(t, node)
	w.install(t)

	t.Run("installed", func(t *testing.T) {
		hasSettings(t, node, config("sysctl.conf"))
		want := valueOf(t, config("service_cron.conf"), "LimitNOFILE")
		if got := cronFiles(t, node); got != want+" "+want || got == cron {
			t.Errorf("cron runs with %s open files, before with %s, want %s", got, cron, want)
		}
		want = valueOf(t, config("ulimit.conf"), "nofile")
		if got := loginFiles(t, node); got != want+" "+want || got == login {
			t.Errorf("a login has %s open files, before %s, want %s", got, login, want)
		}
	})
	t.Run("a value changes and keys go", func(t *testing.T) {
		start := cronStart(t, node)
		reconfigure(t, w, "tuning", map[string]string{
			"sysctl.conf": "# one of these is new\nvm.swappiness = 23\nnet.ipv4.tcp_rmem = 4096 65536 1048576", "ulimit.conf": "",
		})
		hasSettings(t, node, config("sysctl.conf"))
		if got := loginFiles(t, node); got != login {
			t.Errorf("a login still has %s open files, before %s", got, login)
		}
		absent(t, node, "/etc/security/limits.d/999-tuning_tuning-tuning.conf")
		if cronStart(t, node) != start {
			t.Error("cron was restarted, though its key is the same")
		}
	})
	t.Run("the drop-in of a unit goes, and the unit is restarted", func(t *testing.T) {
		w.edit("tuning", func(p *v1alpha1.Package) {
			p.ConfigInterrupts = map[string]v1alpha1.Interrupt{"service_*": {Type: v1alpha1.InterruptService, Services: []string{"cron"}}}
		})
		reconfigure(t, w, "tuning", map[string]string{"service_cron.conf": "", "service_apt-daily.conf": "[Service]\nNice=10"})
		absent(t, node, cronDropIn)
		if got := cronFiles(t, node); got != cron {
			t.Errorf("cron runs with %s open files, before with %s", got, cron)
		}
	})
	t.Run("an upgrade changes nothing", func(t *testing.T) {
		state := hostState(t, node)
		upgrade(t, w, "tuning")
		sameHost(t, node, state)
	})
	t.Run("uninstalled", func(t *testing.T) {
		w.change(t, "tuning", uninstallNow)
		noTraces(t, untilUninstalled(t, w.name, node), w.name)
		sameHost(t, node, before)
		if got := cronFiles(t, node); got != cron {
			t.Errorf("cron runs with %s open files, before with %s", got, cron)
		}
	})
}

// TestTuningOfTwoSkyhooks: two Skyhooks have a package of one name tune a node, and the one that goes takes nothing of the
// other away.
func TestTuningOfTwoSkyhooks(t *testing.T) {
	node := ownNode(t)
	before := hostState(t, node)
	stays, goes := exampleWish(t, "tuning.yaml", "stays", node), exampleWish(t, "tuning.yaml", "goes", node)
	for w, keys := range map[*wish]map[string]string{
		stays: {"sysctl.conf": "vm.swappiness = 23", "service_cron.conf": "[Service]\nNice=3"},
		goes:  {"sysctl.conf": "net.ipv4.tcp_rmem = 4096 65536 1048576", "service_cron.conf": "[Service]\nLimitNOFILE=9000"},
	} {
		w.edit("tuning", func(p *v1alpha1.Package) { p.ConfigMap = keys })
	}
	stays.install(t)
	goes.install(t)
	both := stays.packages["tuning"].ConfigMap["sysctl.conf"] + "\n" + goes.packages["tuning"].ConfigMap["sysctl.conf"]
	hasSettings(t, node, both)
	goes.change(t, "tuning", uninstallNow)
	untilUninstalled(t, goes.name, node)
	hasSettings(t, node, stays.packages["tuning"].ConfigMap["sysctl.conf"])
	dropIn := "/etc/systemd/system/cron.service.d/999-stays_tuning-tuning.conf"
	if got := onHost(t, node, "cat", dropIn); got != "[Service]\nNice=3" {
		t.Errorf("%s has %q", dropIn, got)
	}
	absent(t, node, strings.Replace(dropIn, "stays", "goes", 1))
	stays.change(t, "tuning", uninstallNow)
	untilUninstalled(t, stays.name, node)
	sameHost(t, node, before)
}

// grubOf installs Debian's GRUB on a node, with one kernel to boot, until the test ends.
//
// One command is a stand-in: grub-probe looks for the disk under a folder, and finds none under the root of a node,
// which is an overlay. All else is real: the settings, update-grub, the scripts that make grub.cfg, and what they make
// of it.
func grubOf(t *testing.T, node string) {
	t.Helper()
	t.Cleanup(func() {
		onCleanNode(t, node, `rm -f /usr/sbin/grub-probe
			dpkg-divert --local --rename --remove /usr/sbin/grub-probe
			apt-get purge --yes --auto-remove grub2-common
			rm -rf /boot/grub /boot/vmlinuz-6.1.0-0-amd64 /etc/default/grub /etc/default/grub.d`)
	})
	onHost(t, node, "sh", "-c", `set -e
		export DEBIAN_FRONTEND=noninteractive
		apt-get update
		apt-get install --yes --no-install-recommends grub2-common
		dpkg-divert --local --rename --add /usr/sbin/grub-probe
		cat > /usr/sbin/grub-probe <<-'END'
			#!/bin/sh
			case "$*" in
			*--target=device*) echo /dev/vda1 ;;
			*--target=fs_uuid*) echo 6d1ce2ea-8f3a-4c8e-9d0b-2f7f3c7a5b11 ;;
			*--target=fs) echo ext2 ;;
			*--target=partmap) echo gpt ;;
			*--target=abstraction | *--target=*hint*) ;;
			*) exit 1 ;;
			esac
		END
		chmod 755 /usr/sbin/grub-probe
		install -D -m 644 /usr/share/grub/default/grub /etc/default/grub
		mkdir -p /boot/grub
		echo kernel > /boot/vmlinuz-6.1.0-0-amd64
		update-grub`)
}

// bootedWith are the arguments that a node was booted with.
func bootedWith(t *testing.T, node string) string {
	t.Helper()
	return strings.TrimSpace(onHost(t, node, "cat", "/proc/cmdline"))
}

// TestTuningOfKernelArguments changes the arguments of the kernel, which needs a reboot: of the node, which does the
// boot loader's work by the node's own grub.cfg.
func TestTuningOfKernelArguments(t *testing.T) {
	node := ownNode(t)
	grubOf(t, node)
	w := exampleWish(t, "huge-pages.yaml", "kernel", node)
	huge := w.packages["huge-pages"].ConfigMap["grub.conf"]
	w.edit("huge-pages", func(p *v1alpha1.Package) {
		p.ConfigMap = map[string]string{"grub.conf": huge + "\nmitigations=auto,nosmt\n", "sysctl.conf": "vm.swappiness = 23\n"}
	})
	before := hostState(t, node)
	was := onHost(t, node, "cat", "/boot/grub/grub.cfg")
	w.install(t)

	t.Run("the node boots with the arguments behind Debian's own", func(t *testing.T) {
		contains(t, "grub.cfg", onHost(t, node, "cat", "/boot/grub/grub.cfg"), " quiet hugepagesz=1G hugepages=16 mitigations=auto,nosmt\n")
		contains(t, "the command line", bootedWith(t, node)+"\n", " quiet hugepagesz=1G hugepages=16 mitigations=auto,nosmt\n")
		contains(t, "the log", logsOf(t, node, w), "Found linux image: /boot/vmlinuz-6.1.0-0-amd64")
	})
	t.Run("sysctls are there after the boot", func(t *testing.T) { hasSettings(t, node, "vm.swappiness = 23") })
	t.Run("an argument goes", func(t *testing.T) {
		reconfigure(t, w, "huge-pages", map[string]string{"grub.conf": huge})
		contains(t, "the command line", bootedWith(t, node)+"\n", " quiet hugepagesz=1G hugepages=16\n")
	})
	t.Run("uninstalled", func(t *testing.T) {
		boot := bootID(t, node)
		w.change(t, "huge-pages", uninstallNow)
		noTraces(t, untilUninstalled(t, w.name, node), w.name)
		sameHost(t, node, before)
		if now := onHost(t, node, "cat", "/boot/grub/grub.cfg"); now != was {
			t.Errorf("grub.cfg was\n%s\nand is now\n%s", was, now)
		}
		if args := bootedWith(t, node); bootID(t, node) == boot || !strings.HasSuffix(args, " ro quiet") {
			t.Errorf("the node was not booted anew without the arguments: %s", args)
		}
	})
}

// logsOf is what the steps of a Skyhook's packages said on a node.
func logsOf(t *testing.T, node string, w *wish) string {
	t.Helper()
	return onHost(t, node, "sh", "-c", fmt.Sprintf("find /var/log/skyhook/%s -type f | xargs cat", w.name))
}
