package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// setTimes gives what git tracks, and nobody modified, a modification time that follows from its content: go test takes
// a file for the same by its size, mode and time, and in a new clone all would be new.
func setTimes(ctx context.Context, root string) error {
	tracked, err := git(ctx, root, "ls-files", "-z", "--stage")
	if err != nil {
		return err
	}
	changed, err := git(ctx, root, "ls-files", "-z", "--modified", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, name := range changed {
		keep[name], keep[path.Dir(name)] = true, true
	}
	set := 0
	for name, identity := range identities(tracked) {
		if keep[name] {
			continue
		}
		done, err := setTime(filepath.Join(root, name), timeOf(identity))
		if err != nil {
			return err
		}
		if done {
			set++
		}
	}
	if set == 0 {
		return nil
	}
	// Or git would read all of these files each time that it is asked what is modified.
	_, err = git(ctx, root, "update-index", "-q", "--refresh")
	return err
}

// identities tells what files and folders hold: mode and blob of a file, names in a folder.
func identities(tracked []string) map[string]string {
	all := map[string]string{}
	for _, entry := range tracked {
		about, name, _ := strings.Cut(entry, "\t")
		all[name] = about
		for known := false; name != "." && !known; name = path.Dir(name) {
			_, known = all[path.Dir(name)]
			all[path.Dir(name)] += path.Base(name) + "\x00"
		}
	}
	return all
}

// timeOf is a time between 2001 and 2018, made of 58 bits of what identifies something.
func timeOf(identity string) unix.Timespec {
	sum := sha256.Sum256([]byte(identity))
	seconds, fraction := binary.BigEndian.Uint32(sum[:])>>3, binary.BigEndian.Uint32(sum[4:])%1_000_000_000
	return unix.NsecToTimespec((1_000_000_000+int64(seconds))*1_000_000_000 + int64(fraction))
}

// setTime tells whether the time was another. It does not follow links.
func setTime(name string, want unix.Timespec) (bool, error) {
	var now unix.Stat_t
	err := unix.Lstat(name, &now)
	if errors.Is(err, fs.ErrNotExist) { // in a sparse clone
		return false, nil
	}
	if err == nil && now.Mtim == want {
		return false, nil
	}
	if err == nil {
		err = unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, want}, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return false, &fs.PathError{Op: "set the time of", Path: name, Err: err}
	}
	return true, nil
}

// git lists what a command of git that ends each name with a null byte prints.
func git(ctx context.Context, root string, args ...string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
}
