//go:build integration

package certs

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
)

// TestIntermediateCA: an issuer of a company signs with a CA that its root signed. Both are served; the root is trusted.
func TestIntermediateCA(t *testing.T) {
	root, rootKey := authority(t, nil, nil)
	middle, middleKey := authority(t, root, rootKey)
	leaf, err := issue(names, middle, middleKey)
	if err != nil {
		t.Fatal(err)
	}
	c := newCluster(t)
	c.configure(ours...)
	leaf.CA = encode(certificateBlock, root.Raw)
	leaf.Cert = append(leaf.Cert, encode(certificateBlock, middle.Raw)...)
	c.give(leaf)
	c.inject(leaf.CA)
	k := c.replica()
	k.Given = true
	c.pass(k)
	c.ready(k)
	c.serves(k)
}

// authority makes a CA, signed by another one or by itself.
func authority(t *testing.T, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		Subject: pkix.Name{CommonName: t.Name()}, NotBefore: start.Add(-day), NotAfter: start.Add(Lifetime),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if parent == nil {
		parent, by = ca, key
	} else {
		ca.Subject.CommonName += " between"
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, parent, key.Public(), by)
	if err != nil {
		t.Fatal(err)
	}
	if ca, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return ca, key
}
