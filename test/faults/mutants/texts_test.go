package mutants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../.."

// TestTextsAreThere: each bug can still be planted into the engine as it is now.
func TestTextsAreThere(t *testing.T) {
	for _, m := range Mutants {
		t.Run(m.Name, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(root, m.File))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.apply(string(raw)); err != nil {
				t.Fatal(err)
			}
			if m.Findings == "" {
				t.Error("no finding is expected of it")
			}
		})
	}
}

func TestApplyRefusesStaleTexts(t *testing.T) {
	m := Mutant{File: "f.go", Before: "a < b", After: "a <= b"}
	for _, text := range []string{"", "a > b", strings.Repeat("a < b ", 2)} {
		if _, err := m.apply(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	if got, err := m.apply("if a < b {"); err != nil || got != "if a <= b {" {
		t.Errorf("%q, %v", got, err)
	}
}
