//go:build integration

package kit_test

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
func (a *author) packed(content []byte) []byte {
	a.T.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(content)
	a.Must(err)
	a.Must(w.Close())
	return out.Bytes()
}

// bomb is an image of a few MiB with a file of 28 GiB. It takes far longer to
// read than these tests.
func (a *author) bomb() v1.Image {
	a.T.Helper()
	const chunk, chunks = 64 << 20, 448
	var header bytes.Buffer
	a.Must(tar.NewWriter(&header).WriteHeader(&tar.Header{Name: "usr/lib/data", Mode: 0o644, Size: chunk * chunks, Format: tar.FormatGNU}))
	content := slices.Concat(a.packed(header.Bytes()), bytes.Repeat(a.packed(make([]byte, chunk)), chunks))
	img, err := mutate.AppendLayers(a.image("amd64"), static.NewLayer(content, types.DockerLayer))
	a.Must(err)
	return img
}

// TestValidateIsStopped by a signal while it reads, and leaves no files.
func TestValidateIsStopped(t *testing.T) {
	a := newAuthor(t)
	a.shippable()
	a.Must(os.Mkdir(a.Path("/scratch"), 0o755))
	a.Env["TMPDIR"] = a.Path("/scratch")
	path, err := layout.Write(a.Path("layout"), empty.Index)
	a.Must(err)
	bomb := a.bomb()
	a.Must(path.AppendImage(bomb))
	reference, err := name.NewTag("shell:1.1.0")
	a.Must(err)
	a.Must(tarball.WriteToFile(a.Path("shell.tar"), reference, bomb))
	for what, signal := range map[string]syscall.Signal{"layout": syscall.SIGTERM, "shell.tar": syscall.SIGINT} {
		cmd := a.command("validate", a.Path(what))
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		a.Must(cmd.Start())
		a.awaitScratch()
		began := time.Now()
		a.Must(cmd.Process.Signal(signal))
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(out.String(), signal.String()+" signal received") {
			t.Errorf("%s: %v after %s\n%s", what, err, time.Since(began), out.String())
		}
		if left := a.scratch(); len(left) != 0 {
			t.Errorf("%s: left %q", what, left)
		}
	}
}

func (a *author) scratch() []string {
	a.T.Helper()
	found, err := filepath.Glob(a.Path("/scratch/*"))
	a.Must(err)
	return found
}

// awaitScratch waits for the first file of an image.
func (a *author) awaitScratch() {
	a.T.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(a.scratch()) == 0 {
		select {
		case <-deadline:
			a.T.Fatal("nothing was unpacked")
		case <-tick.C:
		}
	}
}

// TestValidateOfAPipe: no signal would end the wait for its content.
func TestValidateOfAPipe(t *testing.T) {
	a := newAuthor(t)
	a.Must(syscall.Mkfifo(a.Path("pipe"), 0o644))
	if r := a.validate(a.Path("pipe")); r.Code != 1 || !strings.Contains(r.Stderr, "is neither a folder nor a file") {
		t.Errorf("%+v", r)
	}
}
