package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	changed, err := modified(ctx, root)
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, name := range changed {
		for ; !keep[name]; name = path.Dir(name) { // up to the root, as folders may be new, too
			keep[name] = true
		}
	}
	set, all := 0, identities(tracked)
	for name, identity := range all {
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
	if err := unset(ctx, root, all); err != nil || set == 0 {
		return err
	}
	// Or git would read all of these files each time that it is asked what is modified.
	_, err = git(ctx, root, "update-index", "-q", "--refresh")
	return err
}

// modified are the files that are not as they are tracked, or of which git was told not to look.
func modified(ctx context.Context, root string) ([]string, error) {
	all, err := git(ctx, root, "ls-files", "-z", "--modified", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	tagged, err := git(ctx, root, "ls-files", "-z", "-v")
	for _, entry := range tagged {
		if tag, name, _ := strings.Cut(entry, " "); tag == "S" || tag != strings.ToUpper(tag) {
			all = append(all, name)
		}
	}
	return all, err
}

// unset gives files a new time that have that of their tracked content, but not this content: somebody changed them
// after git was asked.
func unset(ctx context.Context, root string, tracked map[string]string) error {
	changed, err := modified(ctx, root)
	if err != nil {
		return err
	}
	for _, name := range changed {
		var stat unix.Stat_t
		file := filepath.Join(root, name)
		if identity, is := tracked[name]; !is || unix.Lstat(file, &stat) != nil || stat.Mtim != timeOf(identity) {
			continue
		}
		if _, err := setTime(file, unix.Timespec{Nsec: unix.UTIME_NOW}); err != nil {
			return err
		}
	}
	return nil
}

// lock waits until no other run has this clone: results are kept by the times of files when a test ends, and another run
// could have set them meanwhile. The lock ends with the process.
func lock(root string) error {
	folder, err := git(context.Background(), root, "rev-parse", "--absolute-git-dir")
	if err != nil || len(folder) != 1 {
		return err // not a clone: there is nothing to set
	}
	file, err := unix.Open(filepath.Join(strings.TrimSpace(folder[0]), "gotest.lock"), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("lock the clone: %w", err)
	}
	if unix.Flock(file, unix.LOCK_EX|unix.LOCK_NB) == nil {
		return nil
	}
	fmt.Fprintln(os.Stderr, "gotest: another run of this clone has to end first")
	return unix.Flock(file, unix.LOCK_EX)
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
	// A file counts as modified by all that tells, whatever somebody's configuration says.
	options := []string{"-C", root, "-c", "core.trustctime=true", "-c", "core.checkStat=default"}
	out, err := exec.CommandContext(ctx, "git", append(options, args...)...).Output()
	if err != nil {
		if failed := new(exec.ExitError); errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
}
