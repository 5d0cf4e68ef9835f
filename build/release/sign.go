package release

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
)

// howToMakeAKey is for errors about keys.
const howToMakeAKey = "make one with: openssl ecparam -name prime256v1 -genkey -noout -out cosign.key"

// bundle is a signature as cosign reads it, for a key that the reader has already:
// https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_bundle.proto, as JSON. The generated types of
// that module would raise the operator's protobuf library, and write other bytes each time.
type bundle struct {
	MediaType            string               `json:"mediaType"`
	VerificationMaterial verificationMaterial `json:"verificationMaterial"`
	MessageSignature     messageSignature     `json:"messageSignature"`
}

type verificationMaterial struct {
	PublicKey keyHint `json:"publicKey"`
}

// keyHint tells which key it was: cosign's hint is the SHA-256 of the public key.
type keyHint struct {
	Hint string `json:"hint"`
}

type messageSignature struct {
	MessageDigest messageDigest `json:"messageDigest"`
	Signature     []byte        `json:"signature"`
}

type messageDigest struct {
	Algorithm string `json:"algorithm"`
	Digest    []byte `json:"digest"`
}

// ReadKey reads the private key to sign with: ECDSA on the curve P-256, as PEM, SEC 1 or PKCS #8, not encrypted.
func ReadKey(file string) (*ecdsa.PrivateKey, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the key to sign with: %w", err)
	}
	var parsed any
	// The parameters of the curve may stand before the key.
	block, rest := pem.Decode(content)
	for block != nil && block.Type == "EC PARAMETERS" {
		block, rest = pem.Decode(rest)
	}
	switch {
	case block == nil:
		return nil, fmt.Errorf("key %s: not a PEM file; %s", file, howToMakeAKey)
	case block.Type == "EC PRIVATE KEY" && block.Headers["DEK-Info"] == "":
		parsed, err = x509.ParseECPrivateKey(block.Bytes)
	case block.Type == "PRIVATE KEY":
		parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	default:
		return nil, fmt.Errorf("key %s: a %s that is encrypted or of another kind cannot be used; %s",
			file, block.Type, howToMakeAKey)
	}
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", file, err)
	}
	key, isECDSA := parsed.(*ecdsa.PrivateKey)
	if !isECDSA || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("key %s: not an ECDSA key on the curve P-256; %s", file, howToMakeAKey)
	}
	return key, nil
}

// writeBundle signs what has this SHA-256.
func writeBundle(file string, key *ecdsa.PrivateKey, digest []byte) error {
	// Without randomness the signature is deterministic (RFC 6979), so that two releases are equal.
	signature, err := key.Sign(nil, digest, crypto.SHA256)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	hint := sha256.Sum256(public)
	content, err := json.MarshalIndent(bundle{
		MediaType:            "application/vnd.dev.sigstore.bundle.v0.3+json",
		VerificationMaterial: verificationMaterial{keyHint{base64.StdEncoding.EncodeToString(hint[:])}},
		MessageSignature:     messageSignature{messageDigest{"SHA2_256", digest}, signature},
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(content, '\n'), 0o644)
}

func writePublicKey(file string, key *ecdsa.PublicKey) error {
	content, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: content}), 0o644)
}
