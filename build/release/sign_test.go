package release

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func newKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	return must(ecdsa.GenerateKey(curve, rand.Reader))(t)
}

// keyFile writes a private key as a file of one of the kinds that there are.
func keyFile(t *testing.T, kind string, key any) string {
	t.Helper()
	marshal := x509.MarshalPKCS8PrivateKey
	if kind == "EC PRIVATE KEY" {
		marshal = func(key any) ([]byte, error) { return x509.MarshalECPrivateKey(key.(*ecdsa.PrivateKey)) }
	}
	der := must(marshal(key))(t)
	return write(t, "cosign.key", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReadKey(t *testing.T) {
	key := newKey(t, elliptic.P256())
	for _, kind := range []string{"EC PRIVATE KEY", "PRIVATE KEY"} {
		if got, err := ReadKey(keyFile(t, kind, key)); err != nil || !got.Equal(key) {
			t.Errorf("%s: got another key, or %v", kind, err)
		}
	}
	file := keyFile(t, "EC PRIVATE KEY", key)
	content := must(os.ReadFile(file))(t)
	// As openssl writes it without -noout.
	parameters := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 8, 42, 134, 72, 206, 61, 3, 1, 7}})
	if got, err := ReadKey(write(t, "cosign.key", append(parameters, content...))); err != nil || !got.Equal(key) {
		t.Errorf("after parameters: got another key, or %v", err)
	}
}

func TestReadKeyRefuses(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED SIGSTORE PRIVATE KEY", Bytes: []byte("{}")})
	old := pem.EncodeToMemory(&pem.Block{
		Type: "EC PRIVATE KEY", Bytes: []byte("x"), Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"},
	})
	for _, test := range []struct{ name, file, want string }{
		{"none", filepath.Join(t.TempDir(), "none"), "no such file"},
		{"no PEM", write(t, "k", []byte("text")), "not a PEM file"},
		{"another curve", keyFile(t, "EC PRIVATE KEY", newKey(t, elliptic.P384())), "P-256"},
		{"another algorithm", keyFile(t, "PRIVATE KEY", edwards), "P-256"},
		{"cosign's own", write(t, "k", encrypted), "ENCRYPTED SIGSTORE PRIVATE KEY that is encrypted"},
		{"with a password", write(t, "k", old), "encrypted"},
		{"damaged", write(t, "k", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})), "asn1"},
	} {
		if _, err := ReadKey(test.file); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q in it", test.name, err, test.want)
		}
	}
}

func TestBundle(t *testing.T) {
	key := newKey(t, elliptic.P256())
	digest := sha256.Sum256([]byte("what is signed"))
	first, second := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for _, file := range []string{first, second} {
		if err := writeBundle(file, key, digest[:]); err != nil {
			t.Fatal(err)
		}
	}
	a, b := read(t, first), read(t, second)
	if !bytes.Equal(a, b) {
		t.Error("two signatures of the same differ, so two releases would")
	}
	verify(t, first, &key.PublicKey, digest[:])

	var fields map[string]any
	if err := json.Unmarshal(a, &fields); err != nil {
		t.Fatal(err)
	}
	public := must(x509.MarshalPKIXPublicKey(&key.PublicKey))(t)
	hint := sha256.Sum256(public)
	want := map[string]any{"publicKey": map[string]any{"hint": base64.StdEncoding.EncodeToString(hint[:])}}
	if got := fields["verificationMaterial"]; !equalJSON(t, got, want) {
		t.Errorf("verification material is %v, want %v", got, want)
	}
	if got := fields["mediaType"]; got != "application/vnd.dev.sigstore.bundle.v0.3+json" {
		t.Errorf("media type is %v", got)
	}
}

// verify checks a bundle with nothing of ours: its bytes, a public key, and the digest of what was signed.
func verify(t *testing.T, file string, key *ecdsa.PublicKey, digest []byte) {
	t.Helper()
	var b struct {
		MessageSignature struct {
			MessageDigest struct {
				Algorithm string
				Digest    []byte
			}
			Signature []byte
		}
	}
	if err := json.Unmarshal(read(t, file), &b); err != nil {
		t.Fatal(err)
	}
	signed := b.MessageSignature
	if signed.MessageDigest.Algorithm != "SHA2_256" || !bytes.Equal(signed.MessageDigest.Digest, digest) {
		t.Errorf("%s is about %s %x, want %x", file, signed.MessageDigest.Algorithm, signed.MessageDigest.Digest, digest)
	}
	if !ecdsa.VerifyASN1(key, digest, signed.Signature) {
		t.Errorf("%s has a wrong signature", file)
	}
}

func equalJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	if errX != nil || errY != nil {
		t.Fatal(errX, errY)
	}
	return bytes.Equal(x, y)
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	return must(os.ReadFile(file))(t)
}

// must ends a test that cannot go on without a value: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
