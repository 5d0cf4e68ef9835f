package main

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCommands: the suites on clusters come last, by themselves, and nothing is cached whose tests run programs.
func TestCommands(t *testing.T) {
	tests := []string{"x_test.go"}
	got := commands([]listed{
		{ImportPath: "m/test/e2e", TestGoFiles: tests, TestImports: []string{"os/exec"}},
		{ImportPath: "m/test/e2e/alone", TestGoFiles: tests},
		{ImportPath: "m/test/e2erest", TestGoFiles: tests},
		{ImportPath: "m/test/helm", Imports: []string{"os/exec"}},
		{ImportPath: "m/cmd", TestGoFiles: tests, Imports: []string{"os/exec"}},
		{ImportPath: "m/chart", XTestGoFiles: tests, XTestImports: []string{"m/test/helm"}},
		{ImportPath: "m/build", XTestGoFiles: tests, XTestImports: []string{"os/exec"}},
		{ImportPath: "m/test/board", Module: module{"m"}, TestGoFiles: tests, TestImports: []string{"os/exec"}},
		{ImportPath: "m/test/board/more", Module: module{"m"}, TestGoFiles: tests, TestImports: []string{"os/exec"}},
	}, "/place")
	for i, want := range []struct{ packages, flag string }{
		{"m/test/e2erest m/cmd m/test/board", ""},
		{"m/chart m/build m/test/board/more", "-count=1"},
		{"m/test/e2e m/test/e2e/alone", "-count=1"},
	} {
		args := got[i].args
		var packages []string
		for _, a := range args {
			if strings.HasPrefix(a, "m/") {
				packages = append(packages, a)
			}
		}
		if strings.Join(packages, " ") != want.packages || slices.Contains(args, "-count=1") != (want.flag != "") {
			t.Errorf("command %d: %v, want %v", i, args, want)
		}
	}
}

// TestNamed: what is named is there, and would not be cached without that.
func TestNamed(t *testing.T) {
	packages, err := list(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	programs := runPrograms(packages)
	for _, folder := range named {
		i := slices.IndexFunc(packages, func(p listed) bool { return p.folder() == folder })
		if i < 0 || !packages[i].tested() || !programs(packages[i]) {
			t.Errorf("no tests of %s run programs", folder)
		}
	}
}

// TestRun: all commands run although one fails, or is not there.
func TestRun(t *testing.T) {
	shell := func(name, script string) command {
		return command{name: name, args: []string{"sh", "-c", script}, alone: "make " + name}
	}
	var out bytes.Buffer
	err := run(t.Context(), &out, []command{
		shell("fails", "echo one; exit 1"), {name: "lacks", args: []string{"no-such-program"}}, shell("comes after", "echo two"),
	})
	printed := regexp.MustCompile(`^one\nfails: \d+ s, .*\ntwo\ncomes after: \d+ s, .*\n$`)
	if err == nil || !strings.HasPrefix(err.Error(), "fails: exit status 1; one test alone: make fails\nlacks: ") || !printed.MatchString(out.String()) {
		t.Errorf("printed %q, error %v", out.String(), err)
	}
}

// TestInterrupt: what runs is told by the signal for which go test waits, and may clean up.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	go func() {
		_, _ = read.Read(make([]byte, 1))
		cancel()
		_, _ = io.Copy(io.Discard, read)
	}()
	c := command{name: "waits", args: []string{"sh", "-c", "trap 'exit 7' INT; echo; while :; do sleep 0.01; done"}}
	if err := run(ctx, write, []command{c}); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("error %v", err)
	}
}
