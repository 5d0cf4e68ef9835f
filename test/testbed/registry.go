//go:build linux

package testbed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// maxManifest bounds what is read of a manifest; real ones have a few kilobytes.
const maxManifest = 4 << 20

// registry serves images by repository and tag or digest, whatever host a client believes to ask. Layers are kept on
// disk by the library, manifests by this type, so that images outlive the process.
type registry struct {
	dir     string
	handler http.Handler
	mu      sync.Mutex
}

// savedManifest is one manifest as it was pushed.
type savedManifest struct {
	Path, ContentType string
	Body              []byte
}

// newRegistry opens the registry in dir with everything pushed to it earlier.
func newRegistry(dir string) (*registry, error) {
	blobs := filepath.Join(dir, "blobs")
	for _, d := range []string{blobs, filepath.Join(dir, "manifests")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	r := &registry{dir: dir, handler: ggcr.New(
		ggcr.WithBlobHandler(ggcr.NewDiskBlobHandler(blobs)),
		ggcr.Logger(log.New(io.Discard, "", 0)))}
	if err := r.restore(); err != nil {
		return nil, err
	}
	return r, nil
}

// ServeHTTP implements the distribution API.
func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPut || !isManifestPath(req.URL.Path) {
		r.handler.ServeHTTP(w, req)
		return
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxManifest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m := savedManifest{Path: req.URL.Path, ContentType: req.Header.Get("Content-Type"), Body: body}
	res := r.put(m)
	if res.Code < http.StatusMultipleChoices {
		if err := r.save(m); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	copyResponse(w, res)
}

// isManifestPath is true for /v2/<repository>/manifests/<reference>.
func isManifestPath(urlPath string) bool {
	e := strings.Split(urlPath, "/")
	return len(e) >= 5 && e[1] == "v2" && e[len(e)-2] == "manifests"
}

func (r *registry) put(m savedManifest) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPut, m.Path, bytes.NewReader(m.Body))
	req.Header.Set("Content-Type", m.ContentType)
	res := httptest.NewRecorder()
	r.handler.ServeHTTP(res, req)
	return res
}

func copyResponse(w http.ResponseWriter, res *httptest.ResponseRecorder) {
	for k, v := range res.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(res.Code)
	_, _ = w.Write(res.Body.Bytes()) // a client that went away is no concern of ours
}

// save names files after references: a tag that moves replaces what it named, which keeps its digest.
func (r *registry) save(m savedManifest) error {
	digest, _, err := v1.SHA256(bytes.NewReader(m.Body))
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range []string{m.Path, path.Join(path.Dir(m.Path), digest.String())} {
		m.Path = p
		b, err := json.Marshal(m)
		if err != nil {
			return err
		}
		if err := writeAtomic(filepath.Join(r.dir, "manifests", shortHash([]byte(p))+".json"), b); err != nil {
			return err
		}
	}
	return nil
}

// restore pushes what was saved. An index may only be pushed after the manifests it lists, and files have no order, so
// what is refused is tried again as long as that helps.
func (r *registry) restore() error {
	todo, err := readManifests(filepath.Join(r.dir, "manifests"))
	if err != nil {
		return err
	}
	for len(todo) > 0 {
		var refused []savedManifest
		for _, m := range todo {
			if r.put(m).Code >= http.StatusMultipleChoices {
				refused = append(refused, m)
			}
		}
		if len(refused) == len(todo) {
			return fmt.Errorf("restore images: the registry refuses %s; remove %s", refused[0].Path, r.dir)
		}
		todo = refused
	}
	return nil
}

func readManifests(dir string) ([]savedManifest, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var ms []savedManifest
	for _, f := range files {
		b, err := os.ReadFile(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var m savedManifest
		if err == nil {
			err = json.Unmarshal(b, &m)
		}
		if err != nil {
			return nil, fmt.Errorf("restore images: %s: %w", f, err)
		}
		ms = append(ms, m)
	}
	return ms, nil
}
