package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const folder = "../../docs/pictures"

// TestPictures: each source is drawn without anything that covers another, as the file in the repository has it, and a
// page shows it with the same words as its title.
func TestPictures(t *testing.T) {
	out := t.TempDir()
	if err := all(folder, out); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(out, "*.svg"))
	if err != nil || len(names) < 7 {
		t.Fatalf("only %d pictures: %v", len(names), err)
	}
	pages := pages(t)
	for _, name := range names {
		base := filepath.Base(name)
		drawn, kept := read(t, name), read(t, filepath.Join(folder, base))
		if !bytes.Equal(drawn, kept) {
			t.Errorf("%s is not current: run 'make generate'", base)
		}
		wellFormed(t, base, drawn)
		_, rest, _ := bytes.Cut(drawn, []byte("<title>"))
		title, _, _ := bytes.Cut(rest, []byte("</title>"))
		if !strings.Contains(pages, "!["+string(title)+"](pictures/"+base+")") {
			t.Errorf("no page shows %s with its title as text", base)
		}
	}
}

// pages are all pages, with one blank between words.
func pages(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, name := range names {
		words = append(words, strings.Fields(string(read(t, name)))...)
	}
	return strings.Join(words, " ")
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func wellFormed(t *testing.T, name string, drawn []byte) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(drawn))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
	}
}

// TestMistakes: what a reader could not read is an error of the source.
func TestMistakes(t *testing.T) {
	const head = "title: x\nsize: [200, 100]\ngrid: [50, 50]\norigin: [50, 50]\nbox: [80, 30]\n"
	for name, c := range map[string]struct{ source, want string }{
		"no title":             {"size: [9, 9]", "no title"},
		"a long text":          {head + "boxes: [{at: [0, 0], text: longer than its box}]", "does not fit"},
		"many lines":           {head + "boxes: [{at: [0, 0], text: \"a\\nb\\nc\"}]", "does not fit"},
		"a text on another":    {head + "texts: [{at: [0, 0], text: one}, {at: [0.1, 0], text: two}]", "covers another"},
		"a text outside":       {head + "texts: [{at: [2.8, 0], text: outside}]", "does not fit"},
		"a box outside":        {head + "boxes: [{at: [3, 0]}]", "outside"},
		"an arrow to nothing":  {head + "boxes: [{id: a, at: [0, 0]}]\narrows: [{from: a, to: b}]", "no such box"},
		"an unknown look":      {head + "boxes: [{at: [0, 0], look: purple}]", "no look"},
		"an unknown cell":      {head + "lanes: [{row: 0, cells: x}]", "no cell"},
		"a misspelt field":     {head + "boxs: []", "boxs"},
		"a bar's text":         {head + "lanes: [{row: 0, bars: [{from: 0, to: 0.5, text: too long}]}]", "does not fit"},
		"a lane's name":        {head + "lanes: [{row: 0, text: too long a name}]", "does not fit"},
		"an arrow's text":      {head + "boxes: [{id: a, at: [0, 0]}, {id: b, at: [2, 0]}]\narrows: [{from: a, to: b, text: a text that is wider than the picture}]", "does not fit"},
		"a mark above the top": {head + "marks: [{at: 0, rows: [-1, 1], text: x}]", "does not fit"},
	} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(path, []byte(c.source), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := one(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all(t.TempDir(), t.TempDir()) == nil {
		t.Error("no sources: nothing was noticed")
	}
}

// TestArrow: a line leaves a box where it is nearest, and ends at the other.
func TestArrow(t *testing.T) {
	r := rectangle{10, 10, 30, 20}
	for to, want := range map[point]point{
		{100, 15}: {30, 15}, {0, 12}: {10, 12}, {20, 100}: {20, 20}, {15, 0}: {15, 10}, {100, 40}: {30, 15}, {25, 100}: {25, 20},
		{8, 100}: {20, 20},
	} {
		if got := r.edge(to); got != want {
			t.Errorf("towards %v from %v, not %v", to, got, want)
		}
	}
	if got, want := longest([]point{{0, 0}, {0, 10}, {40, 10}}), (point{20, 10}); got != want {
		t.Errorf("longest part %v, not %v", got, want)
	}
}
