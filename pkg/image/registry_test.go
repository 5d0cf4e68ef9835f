package image_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/skyhook-operator/skyhook/pkg/image"
	"github.com/skyhook-operator/skyhook/test/registry"
)

// anonymous has no credentials.
var anonymous = authn.NewMultiKeychain()

// only holds credentials for one user.
type only authn.AuthConfig

func (o only) Resolve(authn.Resource) (authn.Authenticator, error) {
	return authn.FromConfig(authn.AuthConfig(o)), nil
}

var robot = only{Username: "robot", Password: "sesame"}

// newRegistry is one in memory; closed asks for the robot's password.
func newRegistry(t *testing.T, closed bool) string {
	t.Helper()
	if closed {
		return registry.Serve(t, registry.Login(robot.Username, robot.Password))
	}
	return registry.Serve(t)
}

func push(t *testing.T, reference string, what remote.Taggable) {
	t.Helper()
	registry.Push(t, reference, what, remote.WithAuthFromKeychain(robot))
}

func TestFromRegistry(t *testing.T) {
	host := newRegistry(t, true)
	both := index(t, good(t, amd64), good(t, arm64))
	digest, err := both.Digest()
	must(t, err)
	for _, tag := range []string{"1.2.3", "1.2.4", "latest"} {
		push(t, host+"/tuning:"+tag, both)
	}
	tests := map[string]string{
		":1.2.3": "", ":1.2.4": `"1.2.4"`, ":latest": `"latest"`, "": `"latest"`,
		"@" + digest.String(): "", ":1.2.4@" + digest.String(): "",
	}
	for suffix, want := range tests {
		t.Run(suffix, func(t *testing.T) {
			found, err := image.FromRegistry(t.Context(), host+"/tuning"+suffix, robot)
			must(t, err)
			pkg, report, err := found.Lint(t.Context())
			if err != nil || pkg == nil || len(report.Warnings) != 0 {
				t.Errorf("package %v, report %+v, error %v", pkg, report, err)
			}
			expect(t, report.Errors, "config.json", want, "tag it 1.2.3")
		})
	}
}

// TestRegistry asks for what the tag stands for, and for the labels of the first image for Linux.
func TestRegistry(t *testing.T) {
	host := newRegistry(t, true)
	windows := v1.Platform{OS: "windows", Architecture: "amd64"}
	said := build(t, arm64, map[string]string{"said": "first"})
	push(t, host+"/tuning:1", index(t, build(t, windows, nil), said, good(t, amd64)))
	push(t, host+"/windows:1", index(t, build(t, windows, nil)))
	push(t, host+"/one:1", said)
	r := image.Registry{Keys: robot}
	tests := map[string]struct {
		registry  image.Registry
		reference string
		said      string
		cause     image.Cause
	}{
		"an index":          {r, host + "/tuning:1", "first", 0},
		"one image":         {r, host + "/one:1", "first", 0},
		"not for Linux":     {r, host + "/windows:1", "", image.Unusable},
		"not there":         {r, host + "/tuning:2", "", image.Missing},
		"no reference":      {r, "UPPER case", "", image.BadReference},
		"no credentials":    {image.Registry{}, host + "/tuning:1", "", image.Denied},
		"nobody is there":   {r, "127.0.0.1:1/tuning:1", "", image.Unreachable},
		"wrong credentials": {image.Registry{Keys: only{Username: "robot"}}, host + "/tuning:1", "", image.Denied},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			var labels map[string]string
			digest, err := test.registry.Digest(t.Context(), test.reference)
			if err == nil {
				labels, err = test.registry.Labels(t.Context(), test.reference, digest)
			}
			if labels["said"] != test.said || (err == nil) != (test.said != "") || err != nil && image.CauseOf(err) != test.cause {
				t.Errorf("digest %q, labels %v, error %v of cause %d", digest, labels, err, image.CauseOf(err))
			}
		})
	}
	digest, err := said.Digest()
	must(t, err)
	if got, err := r.Digest(t.Context(), "127.0.0.1:1/tuning:1@"+digest.String()); err != nil || got != digest.String() {
		t.Errorf("a reference with a digest: %s, %v", got, err)
	}
}

// TestRegistry_IsBounded: no answer is read for ever.
func TestRegistry_IsBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v2/":
			return
		case r.Method == http.MethodHead:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		for range 10 {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<20)); err != nil {
				return // the client has seen enough
			}
		}
	}))
	t.Cleanup(server.Close)
	reference := strings.TrimPrefix(server.URL, "http://") + "/tuning:1"
	_, err := image.Registry{}.Digest(t.Context(), reference)
	if image.CauseOf(err) != image.Unusable || !strings.Contains(err.Error(), "the registry sends more than 4 MiB") {
		t.Errorf("the digest: %v", err)
	}
	_, err = image.Registry{}.Labels(t.Context(), reference, "sha256:"+strings.Repeat("a", 64))
	if image.CauseOf(err) != image.Unusable || !strings.Contains(err.Error(), "the registry sends more than 4 MiB") {
		t.Errorf("the labels: %v", err)
	}
}

func TestFromRegistry_OneImage(t *testing.T) {
	reference := newRegistry(t, false) + "/tuning:1.2.3"
	must(t, remote.Write(tag(t, reference), good(t, amd64)))
	found, err := image.FromRegistry(t.Context(), reference, anonymous)
	must(t, err)
	if _, report, err := found.Lint(t.Context()); err != nil || len(report.Errors) != 0 || len(report.Warnings) != 1 {
		t.Errorf("report %+v, error %v", report, err)
	}
}

func TestFromRegistry_SaysWhatToDo(t *testing.T) {
	open, closed := newRegistry(t, false), newRegistry(t, true)
	push(t, closed+"/tuning:1.2.3", index(t, good(t, amd64)))
	push(t, open+"/windows:1", index(t, build(t, v1.Platform{OS: "windows", Architecture: "amd64"}, nil)))
	tests := map[string]struct {
		reference string
		want      []string
	}{
		"no reference":       {"UPPER case", []string{`"UPPER case" is not a reference of an image`}},
		"not pushed":         {open + "/tuning:1.2.3", []string{"get image " + open + "/tuning:1.2.3: ", "it has to be pushed first"}},
		"no credentials":     {closed + "/tuning:1.2.3", []string{"get image " + closed + "/tuning:1.2.3: ", "docker login " + closed}},
		"nobody is there":    {"127.0.0.1:1/tuning:1.2.3", []string{"get image 127.0.0.1:1/tuning:1.2.3: ", "127.0.0.1:1 can be reached"}},
		"for another system": {open + "/windows:1", []string{open + "/windows:1 holds no image for linux"}},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			_, err := image.FromRegistry(t.Context(), test.reference, anonymous)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("want %q, got %v", want, err)
				}
			}
		})
	}
}

func TestFromRegistry_IsStopped(t *testing.T) {
	reference := newRegistry(t, false) + "/tuning:1.2.3"
	push(t, reference, index(t, good(t, amd64)))
	ctx, stop := context.WithCancel(t.Context())
	found, err := image.FromRegistry(ctx, reference, anonymous)
	must(t, err)
	stop()
	if _, _, err := found.Lint(t.Context()); err == nil || !strings.Contains(err.Error(), reference+" for linux/amd64: ") {
		t.Errorf("got %v", err)
	}
}
