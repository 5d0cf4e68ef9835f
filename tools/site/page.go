package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// site is what has been read so far.
type site struct {
	root  fs.FS
	pages map[string]*page // by path
	// copied are files that pages show: pictures.
	copied map[string]bool
}

// page is one Markdown file; its links are those of the site.
type page struct {
	path     string
	source   []byte
	document ast.Node
	headings []heading
	links    map[ast.Node]reference
}

type heading struct {
	level    int
	id, text string
}

// reference is what a link to a page leads to; id is a heading, or empty.
type reference struct{ page, id string }

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// read reads a page, and those that it leads to.
func (s *site) read(name string) error {
	if s.pages[name] != nil {
		return nil
	}
	source, err := fs.ReadFile(s.root, name)
	if err != nil {
		return err
	}
	p := &page{path: name, source: source, links: map[ast.Node]reference{}}
	s.pages[name] = p
	p.document = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(anchors{}))))
	var problems []error
	err = ast.Walk(p.document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			problems = append(problems, s.visit(p, n))
		}
		return ast.WalkContinue, nil
	})
	return errors.Join(append(problems, err)...)
}

func (s *site) visit(p *page, n ast.Node) (err error) {
	switch n := n.(type) {
	case *ast.Heading:
		p.headings = append(p.headings, headingOf(n, p.source))
	case *ast.Link:
		n.Destination, err = s.lead(p, n, string(n.Destination))
	case *ast.Image:
		n.Destination, err = s.lead(p, n, string(n.Destination))
	}
	return err
}

func headingOf(n ast.Node, source []byte) heading {
	id, _ := n.AttributeString("id")
	name, _ := id.([]byte)
	h := heading{id: string(name), text: plain(n, source)}
	if n, ok := n.(*ast.Heading); ok {
		h.level = n.Level
	}
	return h
}

// lead returns what a link of a page is on the site.
func (s *site) lead(p *page, n ast.Node, link string) ([]byte, error) {
	to, err := url.Parse(link)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.path, err)
	}
	if to.Scheme != "" {
		return []byte(link), nil
	}
	target := p.path
	if to.Path != "" {
		target = path.Join(path.Dir(p.path), to.Path)
	}
	info, err := fs.Stat(s.root, target)
	if err != nil {
		return nil, fmt.Errorf("%s: link %s: %w", p.path, link, err)
	}
	readme := path.Join(target, "README.md")
	if _, err := fs.Stat(s.root, readme); info.IsDir() && err == nil {
		target = readme
	}
	switch {
	case path.Ext(target) == ".md":
		p.links[n] = reference{target, to.Fragment}
		to.Path = relative(p.path, address(target))
		return []byte(to.String()), s.read(target)
	case n.Kind() == ast.KindImage:
		s.copied[target] = true
		return []byte(relative(p.path, target)), nil
	case info.IsDir():
		return []byte(repository + "/tree/main/" + target), nil
	}
	return []byte(repository + "/blob/main/" + target), nil
}

// check reports links to headings that do not exist.
func (s *site) check() error {
	var problems []error
	for _, p := range s.pages {
		for _, to := range p.links {
			is := func(h heading) bool { return h.id == to.id }
			if to.id != "" && !slices.ContainsFunc(s.pages[to.page].headings, is) {
				problems = append(problems, fmt.Errorf("%s: %s has no heading #%s", p.path, to.page, to.id))
			}
		}
	}
	return errors.Join(problems...)
}

// title is the first heading.
func (p *page) title() string {
	if len(p.headings) == 0 {
		return p.path
	}
	return p.headings[0].text
}

// address is the path of a page on the site.
func address(page string) string {
	if path.Base(page) == "README.md" {
		return path.Join(path.Dir(page), "index.html")
	}
	return strings.TrimSuffix(page, ".md") + ".html"
}

// relative is the link from a page to a path, as both are on the site.
func relative(from, to string) string {
	link, err := filepath.Rel(filepath.Dir(from), to)
	if err != nil {
		panic(err) // both are below the site's root
	}
	return filepath.ToSlash(link)
}

// plain is the text of a node without its looks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
