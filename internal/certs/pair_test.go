package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	names = []string{"webhook.skyhook.svc", "webhook.skyhook.svc.cluster.local"}
)

func mustMake(t *testing.T, now time.Time) Pair {
	t.Helper()
	p, err := Make(names, now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func parse(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, rest := pem.Decode(text)
	if block == nil || len(rest) > 0 {
		t.Fatalf("not one block of PEM: %s", text)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMake(t *testing.T) {
	p := mustMake(t, start)
	ca, cert := parse(t, p.CA), parse(t, p.Cert)
	if !ca.IsCA || ca.KeyUsage != x509.KeyUsageCertSign || !ca.MaxPathLenZero {
		t.Errorf("the CA may do more, or less, than sign certificates: %+v", ca)
	}
	if cert.IsCA || len(cert.ExtKeyUsage) != 1 || cert.ExtKeyUsage[0] != x509.ExtKeyUsageServerAuth {
		t.Errorf("the certificate may do more than serve: %+v", cert)
	}
	for _, c := range []*x509.Certificate{ca, cert} {
		if key, is := c.PublicKey.(*ecdsa.PublicKey); !is || key.Curve != elliptic.P256() {
			t.Errorf("the key is %T", c.PublicKey)
		}
		if !c.NotAfter.Equal(start.Add(365*24*time.Hour)) || !c.NotBefore.Equal(start.Add(-time.Hour)) {
			t.Errorf("valid from %s to %s", c.NotBefore, c.NotAfter)
		}
	}
	if other := mustMake(t, start); bytes.Equal(other.CA, p.CA) || bytes.Equal(other.Key, p.Key) || parse(t, other.Cert).SerialNumber.Cmp(cert.SerialNumber) == 0 {
		t.Error("two certificates share something")
	}
}

// TestLoad: what may be served, at which time, for which names.
func TestLoad(t *testing.T) {
	good, other := mustMake(t, start), mustMake(t, start)
	for _, c := range []struct {
		name  string
		pair  Pair
		names []string
		at    time.Time
		want  string // part of the error
	}{
		{name: "new", pair: good, names: names, at: start},
		{name: "with a clock that is behind", pair: good, names: names, at: start.Add(-time.Hour)},
		{name: "at its last moment", pair: good, names: names, at: start.Add(Lifetime)},
		{name: "among other CAs", pair: Pair{CA: Bundle(other.CA, good.CA, start), Cert: good.Cert, Key: good.Key}, names: names, at: start},
		{name: "ended", pair: good, names: names, at: start.Add(Lifetime + time.Second), want: "expired"},
		{name: "not yet", pair: good, names: names, at: start.Add(-2 * time.Hour), want: "not yet valid"},
		{name: "for another name", pair: good, names: []string{names[0], "webhook.elsewhere.svc"}, at: start, want: "webhook.elsewhere.svc"},
		{name: "for no name", pair: good, at: start, want: "needs a name"},
		{name: "of another CA", pair: Pair{CA: other.CA, Cert: good.Cert, Key: good.Key}, names: names, at: start, want: "verify"},
		{name: "with another key", pair: Pair{CA: good.CA, Cert: good.Cert, Key: other.Key}, names: names, at: start, want: "private key does not match"},
		{name: "without a CA", pair: Pair{Cert: good.Cert, Key: good.Key}, names: names, at: start, want: "verify"},
		{name: "garbage", pair: Pair{CA: []byte("x"), Cert: []byte("y"), Key: []byte("z")}, names: names, at: start, want: "read the certificate"},
		{name: "nothing", names: names, at: start, want: "read the certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			served, err := Load(c.pair, c.names, c.at)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q in it", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := start.Add(335 * 24 * time.Hour); !served.RenewAt().Equal(want) {
				t.Errorf("to be renewed at %s, want %s", served.RenewAt(), want)
			}
		})
	}
}

func TestLoadEndsWithTheCA(t *testing.T) {
	short := &x509.Certificate{NotAfter: start.Add(time.Hour)}
	long := &x509.Certificate{NotAfter: start.Add(2 * time.Hour)}
	for _, chain := range [][]*x509.Certificate{{short, long}, {long, short}, {short}} {
		if got := end(chain); !got.Equal(short.NotAfter) {
			t.Errorf("got %s", got)
		}
	}
}

func TestBundle(t *testing.T) {
	first, second, third := mustMake(t, start), mustMake(t, start.Add(300*24*time.Hour)), mustMake(t, start.Add(600*24*time.Hour))
	join := func(texts ...[]byte) []byte { return bytes.Join(texts, nil) }
	many := make([][]byte, 6)
	for i := range many {
		many[i] = mustMake(t, start).CA
	}
	for _, c := range []struct {
		name         string
		newest, old  []byte
		at           time.Time
		want         []byte
		wantCertsAre int
	}{
		{"the first", first.CA, nil, start, first.CA, 1},
		{"two", second.CA, first.CA, start.Add(300 * 24 * time.Hour), join(second.CA, first.CA), 2},
		{"one has ended", third.CA, join(second.CA, first.CA), start.Add(600 * 24 * time.Hour), join(third.CA, second.CA), 2},
		{"again", first.CA, first.CA, start, first.CA, 1},
		{"garbage around", second.CA, join([]byte("x\n"), first.CA, []byte("y")), start, join(second.CA, first.CA), 2},
		{"not a CA", second.CA, join(first.Cert, first.Key), start, second.CA, 1},
		{"too many", first.CA, join(many...), start, join(first.CA, many[0], many[1], many[2]), 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Bundle(c.newest, c.old, c.at)
			if !bytes.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if n := bytes.Count(got, []byte("BEGIN")); n != c.wantCertsAre {
				t.Errorf("%d certificates, want %d", n, c.wantCertsAre)
			}
		})
	}
}
