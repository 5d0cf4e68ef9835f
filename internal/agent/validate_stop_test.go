package agent_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// packed is gzip's form of some content.
func (h *host) packed(content []byte) []byte {
	h.t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(content)
	h.must(err)
	h.must(w.Close())
	return out.Bytes()
}

// bomb is an image of a few MiB with a file of 28 GiB. It takes far longer to
// read than these tests.
func (h *host) bomb() v1.Image {
	h.t.Helper()
	const chunk, chunks = 64 << 20, 448
	var header bytes.Buffer
	h.must(tar.NewWriter(&header).WriteHeader(&tar.Header{Name: "usr/lib/data", Mode: 0o644, Size: chunk * chunks, Format: tar.FormatGNU}))
	content := slices.Concat(h.packed(header.Bytes()), bytes.Repeat(h.packed(make([]byte, chunk)), chunks))
	img, err := mutate.AppendLayers(h.image("amd64"), static.NewLayer(content, types.DockerLayer))
	h.must(err)
	return img
}

// TestValidateIsStopped by a signal while it reads, and leaves no files.
func TestValidateIsStopped(t *testing.T) {
	h := newHost(t)
	h.shippable()
	h.must(os.Mkdir(h.path("/scratch"), 0o755))
	h.env["TMPDIR"] = h.path("/scratch")
	path, err := layout.Write(h.path("layout"), empty.Index)
	h.must(err)
	bomb := h.bomb()
	h.must(path.AppendImage(bomb))
	reference, err := name.NewTag("shell:1.1.0")
	h.must(err)
	h.must(tarball.WriteToFile(h.path("shell.tar"), reference, bomb))
	for what, signal := range map[string]syscall.Signal{"layout": syscall.SIGTERM, "shell.tar": syscall.SIGINT} {
		cmd := h.command("validate", h.path(what))
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		h.must(cmd.Start())
		h.awaitScratch()
		began := time.Now()
		h.must(cmd.Process.Signal(signal))
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(out.String(), signal.String()+" signal received") {
			t.Errorf("%s: %v after %s\n%s", what, err, time.Since(began), out.String())
		}
		if left := h.scratch(); len(left) != 0 {
			t.Errorf("%s: left %q", what, left)
		}
	}
}

func (h *host) scratch() []string {
	h.t.Helper()
	found, err := filepath.Glob(h.path("/scratch/*"))
	h.must(err)
	return found
}

// awaitScratch waits for the first file of an image.
func (h *host) awaitScratch() {
	h.t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(h.scratch()) == 0 {
		select {
		case <-deadline:
			h.t.Fatal("nothing was unpacked")
		case <-tick.C:
		}
	}
}

// TestValidateOfAPipe: no signal would end the wait for its content.
func TestValidateOfAPipe(t *testing.T) {
	h := newHost(t)
	h.must(syscall.Mkfifo(h.path("pipe"), 0o644))
	if r := h.validate(h.path("pipe")); r.code != 1 || !strings.Contains(r.stderr, "is neither a folder nor a file") {
		t.Errorf("%+v", r)
	}
}
