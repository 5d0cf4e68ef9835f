//go:build integration

package images

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// archiveScript is an apt-get whose archive has every package at one version, or cannot be reached for an empty one.
// Like apt, it takes that for no error of an update, and gives files the archive's time.
const archiveScript = `#!/bin/bash
set -e
arch=${2#*=}
while [[ $1 != update && $1 != download ]]; do shift; done
if [[ $1 == update ]]; then
	[[ -n "VERSION" ]] || echo "W: Failed to fetch" >&2
	exit
fi
[[ -n "VERSION" ]] || { echo "E: Unable to locate package" >&2; exit 100; }
shift
for name; do
	mkdir -p root/DEBIAN root/bin
	echo VERSION >root/bin/content
	printf "Package: %s\nVersion: 1:VERSION\nArchitecture: %s\nMaintainer: x <x@y>\nDescription: x\n" $name $arch >root/DEBIAN/control
	dpkg-deb --build root "${name}_1%3aVERSION_$arch.deb" >/dev/null
	touch -d 2001-01-01 ./*.deb
done
`

// debianArchive makes an apt-get that has these packages at one version, for each architecture; empty: it reaches
// nothing. It returns options with an empty cache.
func debianArchive(t *testing.T) (o Options, serve func(version string)) {
	t.Helper()
	bin := t.TempDir()
	serve = func(version string) {
		script := strings.ReplaceAll(archiveScript, "VERSION", version)
		if err := os.WriteFile(filepath.Join(bin, "apt-get"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return Options{Cache: t.TempDir(), Log: t.Output()}, serve
}

// versions are those that a new build takes.
func versions(t *testing.T, o Options) (all []string) {
	t.Helper()
	for _, arch := range []string{"amd64", "arm64"} {
		for _, file := range must(debian{}.files(t.Context(), o, arch))(t) {
			all = append(all, file.Name+" "+file.Version+" "+file.Arch)
		}
	}
	return all
}

// at lists the packages at one version.
func at(version string) (all []string) {
	for _, arch := range []string{"amd64", "arm64"} {
		all = append(all, "bash-static "+version+" "+arch, "busybox-static "+version+" "+arch)
	}
	return all
}

// age makes all packages in the cache as old.
func age(t *testing.T, o Options, by time.Duration) {
	t.Helper()
	for _, file := range must(filepath.Glob(filepath.Join(o.Cache, "debs", "*.deb")))(t) {
		if err := os.Chtimes(file, time.Time{}, must(os.Stat(file))(t).ModTime().Add(-by)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDebianVersions: the archive says which version is taken, once a day; the cache is enough where it cannot.
func TestDebianVersions(t *testing.T) {
	o, serve := debianArchive(t)
	expect := func(when, version string) {
		t.Helper()
		if got := versions(t, o); !slices.Equal(got, at(version)) {
			t.Errorf("%s: took %v, want version %s", when, got, version)
		}
	}
	serve("")
	_, err := debian{}.files(t.Context(), o, "amd64")
	if err == nil || !strings.Contains(err.Error(), "cannot be had from Debian's archive") || !strings.Contains(err.Error(), "Failed to fetch") {
		t.Errorf("nothing can be had: got %v", err)
	}
	serve("9")
	expect("at first", "1:9")
	serve("10")
	expect("within a day", "1:9")
	age(t, o, askAgain)
	expect("a day later", "1:10")
	serve("")
	age(t, o, askAgain)
	expect("the archive cannot be reached", "1:10")
	serve("9")
	expect("a version that the archive took back", "1:9")
}

// TestDebianFolder: a folder of packages is what is taken, whatever the archive has since; it gets what it lacks.
func TestDebianFolder(t *testing.T) {
	o, serve := debianArchive(t)
	o.Debs = t.TempDir()
	serve("1")
	first := versions(t, o)
	serve("2")
	for _, file := range must(filepath.Glob(filepath.Join(o.Debs, "*")))(t) {
		if err := os.Chtimes(file, time.Time{}, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if again := versions(t, o); !slices.Equal(first, at("1:1")) || !slices.Equal(again, first) {
		t.Errorf("took %v, then %v", first, again)
	}
	if err := os.Remove(filepath.Join(o.Debs, "bash-static_1%3a1_arm64.deb")); err != nil {
		t.Fatal(err)
	}
	want := at("1:1")
	want[2] = "bash-static 1:2 arm64"
	if got := versions(t, o); !slices.Equal(got, want) {
		t.Errorf("took %v, want %v", got, want)
	}
}

// TestDebianFile: version, sum and content are those of the file, and a damaged one is refused.
func TestDebianFile(t *testing.T) {
	o, serve := debianArchive(t)
	serve("3")
	file := must(debian{}.files(t.Context(), o, "arm64"))(t)[1]
	sum := sha256.Sum256(must(os.ReadFile(file.path))(t))
	if file.Name != busybox || file.License != "GPL-2.0-only" || file.Sum != hex.EncodeToString(sum[:]) {
		t.Errorf("got %+v", file)
	}
	if content := must(file.extract(t.Context(), "bin/content"))(t); string(content) != "3\n" {
		t.Errorf("it has %q", content)
	}
	if err := os.WriteFile(file.path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (debian{}).files(t.Context(), o, "arm64"); err == nil || !strings.Contains(err.Error(), file.path+" is damaged: remove it") {
		t.Errorf("got %v, want an error that names the damaged file", err)
	}
}
