package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// find.js is on every page. Once somebody wants to search it fetches index.js, which has MiniSearch and all sections: a
// script, as a page that is opened from a disk may fetch nothing else.
const (
	finder = "find.js"
	index  = "index.js"
)

//go:embed find.js
var find []byte

// section is what is found: a heading, and what follows it up to the next one.
type section struct {
	ID int `json:"id"`
	// Link is from the root of the site.
	Link    string `json:"link"`
	Page    string `json:"page"`
	Heading string `json:"heading"`
	Text    string `json:"text"`
}

// searchable returns the script with all sections, for the program that searches.
func (s *site) searchable(program []byte) ([]byte, error) {
	var all []section
	for _, name := range slices.Sorted(maps.Keys(s.pages)) {
		for _, one := range s.pages[name].sections() {
			one.ID = len(all)
			all = append(all, one)
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encode what can be searched: %w", err)
	}
	return fmt.Appendf(bytes.Clone(program), "\nwindow.sections = %s\n", data), nil
}

// sections are those of a page.
func (p *page) sections() (all []section) {
	for n := p.document.FirstChild(); n != nil; n = n.NextSibling() {
		switch {
		case n.Kind() == ast.KindHeading:
			h := headingOf(n, p.source)
			all = append(all, section{Link: address(p.path) + "#" + h.id, Page: p.title(), Heading: h.text})
		case len(all) > 0:
			last := &all[len(all)-1].Text
			*last = strings.TrimSpace(*last + " " + words(n, p.source))
		}
	}
	return all
}

// words are the text of a block, with that of code.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Value(source))
			}
			if n.SoftLineBreak() && entering {
				b.WriteByte(' ')
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				if entering {
					b.Write(line.Value(source))
				}
			}
		default:
			if n.Type() == ast.TypeBlock && !entering {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
