package images

import (
	"context"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/skyhook-operator/skyhook/pkg/image"
)

// applets are the commands that the base offers through busybox, beside bash.
var applets = []string{
	"[", "awk", "base64", "basename", "cat", "chgrp", "chmod", "chown", "chroot", "cmp", "cut", "date", "dd", "df", "diff", "dirname",
	"du", "echo", "egrep", "env", "expr", "false", "fgrep", "find", "grep", "gunzip", "gzip", "head", "hexdump", "hostname",
	"id", "kill", "ln", "ls", "md5sum", "mkdir", "mktemp", "mv", "nproc", "od", "printf", "ps", "pwd", "readlink",
	"realpath", "rm", "rmdir", "sed", "seq", "sha256sum", "sleep", "sort", "stat", "tail", "tar", "tee", "test", "timeout",
	"touch", "tr", "true", "uname", "uniq", "vi", "wc", "which", "whoami", "xargs",
}

// baseLayer is what every package image starts from: bash and the usual commands, nothing else.
func baseLayer(ctx context.Context, o Options, platform v1.Platform) (v1.Layer, error) {
	files, err := o.debian.files(ctx, o, platform.Architecture)
	if err != nil {
		return nil, err
	}
	t := image.Tree{
		"tmp":        image.Folder(0o1777),
		"root":       image.Folder(0o700),
		"etc/passwd": image.File([]byte("root:x:0:0:root:/root:/bin/bash\n")),
		"etc/group":  image.File([]byte("root:x:0:\n")),
		"bin/sh":     image.Symlink("bash"),
		// The operator copies a package over an earlier copy of itself, with links of a mounted config map in it. Debian's
		// busybox refuses to replace a link unless forced; and since its own shell would prefer the applet to this
		// script, the shell of the image is bash.
		"bin/cp": image.Program([]byte("#!/bin/sh\nexec /bin/busybox cp -f \"$@\"\n")),
	}
	for _, name := range applets {
		t["bin/"+name] = image.Symlink("busybox")
	}
	for _, part := range []struct {
		from string
		name string
		to   string
		as   func([]byte) image.Entry
	}{
		{busybox, "bin/busybox", "bin/busybox", image.Program},
		{busybox, "usr/share/doc/busybox-static/copyright", "usr/share/doc/busybox-static/copyright", image.File},
		{bash, "bin/bash-static", "bin/bash", image.Program},
		{bash, "usr/share/doc/bash-static/copyright", "usr/share/doc/bash-static/copyright", image.File},
	} {
		i := slices.IndexFunc(files, func(f DebianFile) bool { return f.Name == part.from })
		content, err := files[i].extract(ctx, part.name)
		if err != nil {
			return nil, err
		}
		t[part.to] = part.as(content)
	}
	return t.Layer()
}
