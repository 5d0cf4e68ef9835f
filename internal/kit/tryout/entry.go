package tryout

import (
	"fmt"
	"io/fs"
	"strings"
)

// entry is what a snapshot knows of one file.
type entry struct {
	mode     fs.FileMode
	uid, gid uint32
	// size is zero for what is no regular file.
	size int64
	link string
	// device is what a device file stands for, volume the file system that the
	// file is on.
	device, volume uint64
	stamp          stamp
	// digest stands for the content, where it was read.
	digest   uint64
	digested bool
	// opaque directories of an overlay hide those below them.
	opaque bool
}

// stamp changes with the content, if that was not read.
type stamp struct {
	modified, changed int64
	inode             uint64
}

// whiteout is how an overlay keeps that a file was removed.
func (e entry) whiteout() bool {
	return e.mode.Type() == fs.ModeDevice|fs.ModeCharDevice && e.device == 0
}

func (e entry) file() *File {
	return &File{Mode: lsMode(e.mode), Owner: fmt.Sprintf("%d:%d", e.uid, e.gid), Size: e.size, Link: e.link}
}

// setting is one of the kernel's.
type setting struct {
	mode  fs.FileMode
	value string
}

func (s setting) file() *File {
	return &File{Mode: lsMode(s.mode), Owner: "0:0", Size: int64(len(s.value)), Value: strings.TrimSpace(s.value)}
}

var typeLetters = map[fs.FileMode]byte{
	0: '-', fs.ModeDir: 'd', fs.ModeSymlink: 'l', fs.ModeNamedPipe: 'p', fs.ModeSocket: 's',
	fs.ModeDevice: 'b', fs.ModeDevice | fs.ModeCharDevice: 'c',
}

// lsMode prints a mode as ls does; Go has letters of its own.
func lsMode(mode fs.FileMode) string {
	text := []byte(mode.Perm().String())
	text[0] = typeLetters[mode.Type()]
	for _, bit := range []struct {
		mode     fs.FileMode
		place    int
		executed byte
	}{{fs.ModeSetuid, 3, 's'}, {fs.ModeSetgid, 6, 's'}, {fs.ModeSticky, 9, 't'}} {
		switch {
		case mode&bit.mode == 0:
		case text[bit.place] == 'x':
			text[bit.place] = bit.executed
		default:
			text[bit.place] = bit.executed - 'a' + 'A'
		}
	}
	return string(text)
}

// Aspects in which a file differs from what it was.
const (
	aspectType    = "type"
	aspectMode    = "mode"
	aspectOwner   = "owner"
	aspectLink    = "link"
	aspectDevice  = "device"
	aspectContent = "content"
	// aspectWritten: written again with as many bytes, maybe the same.
	aspectWritten = "written"
	// aspectTouched: nothing that a snapshot shows, but the kernel noted a change.
	aspectTouched = "touched"
	aspectValue   = "value"
)

// difference names the aspects in which a file differs.
func difference(was, is entry) []string {
	if was.mode.Type() != is.mode.Type() {
		return []string{aspectType}
	}
	var aspects []string
	for _, a := range []struct {
		name    string
		differs bool
	}{
		{aspectMode, was.mode != is.mode},
		{aspectOwner, was.uid != is.uid || was.gid != is.gid},
		{aspectLink, was.link != is.link},
		{aspectDevice, was.device != is.device},
	} {
		if a.differs {
			aspects = append(aspects, a.name)
		}
	}
	if !is.mode.IsRegular() {
		return aspects
	}
	switch content := contentDifference(was, is); {
	case content == "", content == aspectTouched && len(aspects) > 0:
		return aspects
	default:
		return append(aspects, content)
	}
}

func contentDifference(was, is entry) string {
	switch {
	case was.size != is.size:
		return aspectContent
	case was.digested && is.digested:
		if was.digest != is.digest {
			return aspectContent
		}
		return ""
	case was.stamp.modified != is.stamp.modified:
		return aspectWritten
	case was.stamp != is.stamp:
		return aspectTouched
	}
	return ""
}
