package text_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/internal/text"
)

func TestCarriageReturn(t *testing.T) {
	for name, c := range map[string]struct {
		file, content string
		line          int
	}{
		"none":                            {"a.sh", "#!/bin/sh\necho\n", 0},
		"the #! line":                     {"a", "#!/bin/sh\r\necho\n", 1},
		"the #! line of any interpreter":  {"a", "#!/usr/bin/python3\r\n", 1},
		"another line":                    {"a", "#!/bin/bash\n\ntouch a\r\n", 3},
		"another line of env":             {"a", "#!/usr/bin/env -S bash -e\ntouch a\r\n", 2},
		"another line of others":          {"a", "#!/usr/bin/python3\nprint(1)\r\n", 0},
		"the last line, without its LF":   {"a.sh", "true\ntouch a\r", 2},
		"ends of the classic Mac":         {"a", "#!/bin/sh\rtouch a\rtouch b\r", 1},
		"a library":                       {"lib/a.sh", "a=1\r\n", 1},
		"in a line":                       {"a.sh", "printf 'a\rb'\n", 0},
		"data":                            {"a.conf", "a=1\r\n", 0},
		"a program by a script's name":    {"a.sh", "\x7fELF\r\n", 0},
		"an empty file":                   {"a.sh", "", 0},
		"a script by another name's line": {"a.txt", "#!/bin/sh\n\r\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := text.CarriageReturn(c.file, []byte(c.content)); got != c.line {
				t.Errorf("line %d, want %d", got, c.line)
			}
		})
	}
}
