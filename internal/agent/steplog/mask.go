package steplog

import (
	"io"
	"slices"
	"strings"
)

const (
	masked = "***"
	// minSecret is the length from which a value is masked: replacing every
	// "1" would destroy the text and protect nothing.
	minSecret = 4
)

// Secrets are texts that must not be printed. The zero value has none.
type Secrets struct {
	// texts are the longest first: a secret may be the start of another one.
	texts []string
	// first tells of each byte whether a secret begins with it.
	first [256]bool
}

// NewSecrets takes values; each line of a value is a secret of its own, also
// in the forms in which a shell prints it when it traces commands.
func NewSecrets(values []string) Secrets {
	var s Secrets
	for _, value := range values {
		for line := range strings.Lines(value) {
			line = strings.TrimSpace(line)
			if len(line) < minSecret {
				continue
			}
			s.texts = append(s.texts, shellForms(line)...)
		}
	}
	slices.Sort(s.texts)
	s.texts = slices.Compact(s.texts)
	slices.SortStableFunc(s.texts, func(a, b string) int { return len(b) - len(a) })
	for _, text := range s.texts {
		s.first[text[0]] = true
	}
	return s
}

// Mask replaces all secrets in a text by asterisks.
func (s Secrets) Mask(text string) string {
	sure, _ := s.mask([]byte(text), true)
	return string(sure)
}

// mask splits text into what is sure, and an end that may be the start of a
// secret. If nothing follows, that is one as well, unless it is short.
func (s Secrets) mask(text []byte, final bool) (sure, held []byte) {
	for i := 0; i < len(text); {
		n, open := 0, false
		if s.first[text[i]] {
			n, open = s.match(text[i:], final)
		}
		switch {
		case open:
			return sure, text[i:]
		case n > 0:
			sure = append(sure, masked...)
			i += n
		default:
			sure = append(sure, text[i])
			i++
		}
	}
	return sure, nil
}

// match is the length of the secret that text begins with; open says that more
// text may make it one.
func (s Secrets) match(text []byte, final bool) (n int, open bool) {
	for _, secret := range s.texts {
		if len(text) >= len(secret) {
			if string(text[:len(secret)]) == secret {
				return len(secret), false
			}
			continue
		}
		if strings.HasPrefix(secret, string(text)) && (!final || len(text) >= minSecret) {
			return len(text), !final
		}
	}
	return 0, false
}

// Masking masks secrets in a stream, also those that come in pieces. What may
// be the start of one is held back until it is clear. It is for one goroutine.
type Masking struct {
	secrets Secrets
	sink    io.Writer
	held    []byte
}

// Masking returns a writer that masks what it hands on to the sink.
func (s Secrets) Masking(sink io.Writer) *Masking { return &Masking{secrets: s, sink: sink} }

func (m *Masking) Write(p []byte) (int, error) {
	sure, held := m.secrets.mask(append(m.held, p...), false)
	m.held = slices.Clone(held)
	return len(p), m.handOn(sure)
}

// Close hands on what was held back.
func (m *Masking) Close() error {
	sure, _ := m.secrets.mask(m.held, true)
	m.held = nil
	return m.handOn(sure)
}

func (m *Masking) handOn(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	_, err := m.sink.Write(text)
	return err
}
