package tutorial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Follow runs the command blocks of a page in one shell, which ends with the first command that fails, and checks what
// they print. The shell begins in dir, with these variables beside those of this process.
func Follow(ctx context.Context, blocks []Block, dir string, env ...string) error {
	const mark = "\x1e"
	var script strings.Builder
	script.WriteString("set -euo pipefail\n")
	for i, b := range blocks {
		if b.runs() {
			fmt.Fprintf(&script, "%s\nprintf '%s%d%s'\n", b.Text, `\036`, i, `\036`)
		}
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second // what the shell started may outlive it, with its output open
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, strings.ReplaceAll(out.String(), mark, "\n"))
	}
	outputs := map[int]string{}
	parts := strings.Split(out.String(), mark)
	for i := 0; i+1 < len(parts); i += 2 {
		var index int
		if _, err := fmt.Sscan(parts[i+1], &index); err != nil {
			return fmt.Errorf("the output has a mark of its own: %q", parts[i+1])
		}
		outputs[index] = parts[i]
	}
	return check(blocks, outputs)
}

func (b Block) runs() bool { return b.Language == "sh" && !b.Yours }

// check compares the blocks of output with what the commands above them printed. Every block is something that is
// checked.
func check(blocks []Block, outputs map[int]string) error {
	var problems []error
	problem := func(b Block, format string, args ...any) {
		problems = append(problems, fmt.Errorf("line %d: "+format, append([]any{b.Line}, args...)...))
	}
	for i, b := range blocks {
		switch b.Language {
		case "sh":
		case "text":
			if i == 0 || !blocks[i-1].runs() {
				problem(b, "no command is before this output")
			} else if got := outputs[i-1]; !shows(b.Text, got) {
				problem(b, "the commands before printed\n%s", got)
			}
		case "yaml":
			if err := yaml.UnmarshalStrict([]byte(b.Text), new(v1alpha1.Skyhook)); err != nil {
				problem(b, "no Skyhook: %w", err)
			}
		default:
			problem(b, "a block of %q is not checked; make it sh, text or yaml", b.Language)
		}
	}
	return errors.Join(problems...)
}
