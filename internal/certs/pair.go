// Package certs makes the certificate with which the operator serves its webhooks, and has it trusted and renewed.
//
// Making and judging certificates is pure but for chance: the time comes in as a value. The Keeper does the rest: the
// certificate is in a Secret, the API server trusts it by the caBundle of a ValidatingWebhookConfiguration, and every
// replica serves it from memory.
package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

const (
	// Lifetime of a certificate and of the CA that signed it.
	Lifetime = 365 * 24 * time.Hour
	// RenewBefore is how long before its end a certificate is replaced.
	RenewBefore = 30 * 24 * time.Hour
	// skew is how far the clock of an API server may be behind ours.
	skew = time.Hour
)

const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
	organization     = "skyhook-operator"
)

// Pair is a serving certificate with its key, and the CA certificates to trust it by. All of it is PEM.
type Pair struct {
	// CA has the certificate that signed Cert, and those before it that have not ended.
	CA        []byte
	Cert, Key []byte
}

// Make returns a new certificate for the given DNS names, signed by a CA of its own. The CA's key is thrown away, so
// that nothing else can ever be signed by it.
func Make(names []string, now time.Time) (Pair, error) {
	caKey, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	ca := &x509.Certificate{
		Subject:   pkix.Name{Organization: []string{organization}, CommonName: "webhooks-ca"},
		NotBefore: now.Add(-skew), NotAfter: now.Add(Lifetime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return Pair{}, fmt.Errorf("sign the CA: %w", err)
	}
	if ca, err = x509.ParseCertificate(caDER); err != nil {
		return Pair{}, fmt.Errorf("read the CA: %w", err)
	}
	p, err := issue(names, ca, caKey)
	if err != nil {
		return Pair{}, err
	}
	p.CA = encode(certificateBlock, caDER)
	return p, nil
}

// issue signs a serving certificate that lives as long as its CA.
func issue(names []string, ca *x509.Certificate, caKey *ecdsa.PrivateKey) (Pair, error) {
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("encode the key: %w", err)
	}
	certDER, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		// Names are in the extension alone: a common name must not be longer than 64 characters.
		Subject:  pkix.Name{Organization: []string{organization}, CommonName: "webhooks"},
		DNSNames: names, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca, key.Public(), caKey)
	if err != nil {
		return Pair{}, fmt.Errorf("sign the certificate: %w", err)
	}
	return Pair{Cert: encode(certificateBlock, certDER), Key: encode(keyBlock, keyDER)}, nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

func encode(block string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: block, Bytes: der})
}

// Served is a certificate that may be served.
type Served struct {
	Certificate *tls.Certificate
	// End is when the certificate, or the CA that signed it, ends.
	End time.Time
}

// RenewAt is when the certificate has to be replaced.
func (s Served) RenewAt() time.Time { return s.End.Add(-RenewBefore) }

// Load reads a pair. The error says why it cannot be served for the names at that time.
func Load(p Pair, names []string, now time.Time) (Served, error) {
	cert, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		return Served{}, fmt.Errorf("read the certificate and its key: %w", err)
	}
	if len(names) == 0 {
		return Served{}, errors.New("a certificate needs a name")
	}
	s := Served{Certificate: &cert}
	for _, name := range names {
		chain, err := verify(&cert, p.CA, name, now)
		if err != nil {
			return Served{}, err
		}
		s.End = end(chain)
	}
	return s, nil
}

// verify returns the way from the certificate to one of the CAs, over those that are served with it.
func verify(cert *tls.Certificate, ca []byte, name string, now time.Time) ([]*x509.Certificate, error) {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for _, der := range cert.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil { // else it is of no use to callers either
			between.AddCert(c)
		}
	}
	chains, err := cert.Leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, DNSName: name, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return nil, fmt.Errorf("verify the certificate: %w", err)
	}
	return chains[0], nil
}

func end(chain []*x509.Certificate) time.Time {
	first := chain[0].NotAfter
	for _, c := range chain {
		if c.NotAfter.Before(first) {
			first = c.NotAfter
		}
	}
	return first
}

// maxCAs bounds a bundle: whatever goes wrong, the objects that have it do not grow without end.
const maxCAs = 4

// Bundle puts a new CA before the older ones, without those that have ended or are no CA. So certificates of either are
// trusted while one after another replica comes to serve the new one.
func Bundle(newest, older []byte, now time.Time) []byte {
	bundle, count := bytes.Clone(newest), 1
	for rest := older; count < maxCAs; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if block.Type != certificateBlock || err != nil || !c.IsCA || now.After(c.NotAfter) {
			continue
		}
		if text := encode(certificateBlock, block.Bytes); !bytes.Contains(bundle, text) {
			bundle = append(bundle, text...)
			count++
		}
	}
	return bundle
}
