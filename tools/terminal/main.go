// Command terminal prints a terminal session as an animated SVG: kubectl skyhook status --watch during a rollout, from
// the command to the end. The operator's controllers roll out to a cluster in memory, and the command's own screen shows
// it, so the picture changes when what people see does. It has no clock and no chance in it: the same code prints the
// same bytes. tools/generate runs it.
package main

import (
	"fmt"
	"os"
)

func main() {
	frames, err := session()
	if err == nil {
		_, err = os.Stdout.WriteString(picture(frames))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
