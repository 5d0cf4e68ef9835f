//go:build linux

package testbed

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func newTestAuthority(t *testing.T) *authority {
	t.Helper()
	return must(newAuthority())(t)
}

func parsePair(t *testing.T, p keyPair) *x509.Certificate {
	t.Helper()
	pair := must(tls.X509KeyPair(p.Cert, p.Key))(t)
	return pair.Leaf
}

func TestIssuedCertificates(t *testing.T) {
	ca := newTestAuthority(t)
	node := subject{User: "system:node:node1", Groups: []string{"system:nodes"}, Hosts: []string{"10.200.1.1", "node1"}}
	pair := must(ca.issue(node))(t)
	cert := parsePair(t, pair)
	if cert.Subject.CommonName != "system:node:node1" || !slices.Equal(cert.Subject.Organization, []string{"system:nodes"}) {
		t.Errorf("subject %v", cert.Subject)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	for _, host := range []string{"10.200.1.1", "node1"} {
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
				t.Errorf("%s: %v", host, err)
			}
		}
	}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: "node2"}); err == nil {
		t.Error("the certificate is good for another node")
	}
	other := x509.NewCertPool()
	other.AddCert(newTestAuthority(t).cert)
	if _, err := cert.Verify(x509.VerifyOptions{Roots: other}); err == nil {
		t.Error("the certificate is good in another cluster")
	}
}

func TestSerialsDiffer(t *testing.T) {
	ca := newTestAuthority(t)
	seen := map[string]bool{}
	for range 20 {
		pair := must(ca.issue(subject{User: "x"}))(t)
		serial := parsePair(t, pair).SerialNumber.String()
		if seen[serial] {
			t.Fatalf("serial %s twice", serial)
		}
		seen[serial] = true
	}
}

func TestServiceAccountKey(t *testing.T) {
	pair := must(serviceAccountKey())(t)
	pub, _ := pem.Decode(pair.Cert)
	key, _ := pem.Decode(pair.Key)
	if pub == nil || pub.Type != "PUBLIC KEY" || key == nil || key.Type != "PRIVATE KEY" {
		t.Fatalf("got %s and %s", pair.Cert, pair.Key)
	}
	public := must(x509.ParsePKIXPublicKey(pub.Bytes))(t)
	private := must(x509.ParsePKCS8PrivateKey(key.Bytes))(t)
	if k, ok := private.(interface{ Public() any }); ok && k.Public() != public {
		t.Error("the keys do not belong together")
	}
}

func TestKubeconfig(t *testing.T) {
	ca := newTestAuthority(t)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := writeKubeconfig(file, ca, "https://127.0.0.1:4711", subject{User: "admin", Groups: []string{"system:masters"}}); err != nil {
		t.Fatal(err)
	}
	c := must(clientcmd.BuildConfigFromFlags("", file))(t)
	if c.Host != "https://127.0.0.1:4711" || !bytes.Equal(c.CAData, ca.pair.Cert) {
		t.Errorf("host %s", c.Host)
	}
	if cert := parsePair(t, keyPair{Cert: c.CertData, Key: c.KeyData}); cert.Subject.Organization[0] != "system:masters" {
		t.Errorf("subject %v", cert.Subject)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v: it holds a key", info.Mode())
	}
}
