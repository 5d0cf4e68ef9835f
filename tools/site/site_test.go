package main

import (
	"bytes"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"
)

const root = "../.."

// TestSite: every link of the site leads to a file and a heading of it, or out of it; none needs the network to be read.
func TestSite(t *testing.T) {
	files, err := build(os.DirFS(root), nil)
	if err != nil {
		t.Fatal(err)
	}
	targets, links := map[string]bool{}, map[string][]string{}
	for name, content := range files {
		targets[name] = true
		if path.Ext(name) != ".html" {
			continue
		}
		ids, refs := scan(t, name, content)
		for _, id := range ids {
			if targets[name+"#"+id] {
				t.Errorf("%s: the id %s is there twice", name, id)
			}
			targets[name+"#"+id] = true
		}
		links[name] = refs
	}
	checked := 0
	for name, refs := range links {
		for _, ref := range refs {
			if to := resolve(t, name, ref); to != "" {
				checked++
				if !targets[to] {
					t.Errorf("%s: %s leads nowhere", name, ref)
				}
			}
		}
	}
	if len(links) < 60 || checked < 2000 {
		t.Errorf("only %d pages and %d links", len(links), checked)
	}
}

// scan returns the ids of a page, and what it leads to and shows.
func scan(t *testing.T, name string, content []byte) (ids, refs []string) {
	t.Helper()
	document, err := html.Parse(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	titles := 0
	for n := range document.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "h1" {
			titles++
		}
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				ids = append(ids, a.Val)
			case "href", "src":
				refs = append(refs, a.Val)
			}
			if a.Key == "src" && strings.Contains(a.Val, ":") {
				t.Errorf("%s shows %s, which is not part of the site", name, a.Val)
			}
		}
	}
	if titles != 1 {
		t.Errorf("%s has %d titles", name, titles)
	}
	return ids, refs
}

// resolve returns the path on the site with the heading, and nothing for a link that leads out of it.
func resolve(t *testing.T, from, ref string) string {
	t.Helper()
	to, err := url.Parse(ref)
	if err != nil {
		t.Fatal(err)
	}
	if to.Scheme != "" {
		return ""
	}
	target := from
	if to.Path != "" {
		target = path.Join(path.Dir(from), to.Path)
	}
	if to.Fragment != "" {
		target += "#" + to.Fragment
	}
	return target
}

// TestNavigation: every page of docs has its place, in the contents or in the list of its folder.
func TestNavigation(t *testing.T) {
	s := &site{root: os.DirFS(root), pages: map[string]*page{}, copied: map[string]bool{}}
	if err := s.read(contents); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{contents: true}
	var titles []string
	for _, g := range s.navigation() {
		titles = append(titles, g.Title)
		for _, e := range g.Entries {
			listed[e.page] = true
			if path.Base(e.page) == "README.md" {
				for to := range maps.Values(s.pages[e.page].links) {
					listed[to.page] = true
				}
			}
		}
	}
	if want := []string{"Tutorials", "How-to", "Reference", "Explanation", "Contributors"}; !slices.Equal(titles, want) {
		t.Errorf("groups %q, want %q", titles, want)
	}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md", "packages/*/*.md", "*.md"} {
		found, err := fs.Glob(s.root, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			if !listed[name] && name != front {
				t.Errorf("%s is in no list: add it to %s, or to the README.md of its folder", name, contents)
			}
		}
	}
}

// TestBroken: what leads nowhere is reported with the page on which it stands.
func TestBroken(t *testing.T) {
	for name, link := range map[string]string{
		"a page": "docs/gone.md", "a heading": "docs/README.md#gone", "a heading of this page": "#gone",
		"a file": "code.go", "a picture": "gone.svg", "no address": "%zz",
	} {
		pages := fstest.MapFS{
			"README.md":      {Data: []byte("# A\n\n[x](" + link + ") [y](docs/README.md#b-1)\n")},
			"docs/README.md": {Data: []byte("# B\n\n## B\n")},
		}
		if _, err := build(pages, nil); err == nil || !strings.Contains(err.Error(), "README.md: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPage: links to pages and pictures stay on the site, links to code lead to the repository.
func TestPage(t *testing.T) {
	files, err := build(fstest.MapFS{
		"README.md":          {Data: []byte("# A\n\n[b](docs/b.md#it-is-b) [c](code/c.go) [d](code) ![p](docs/p.svg)\n\n| x |\n|---|\n| y |\n")},
		"docs/README.md":     {Data: []byte("# C\n\n## Group\n\n- [The b](b.md): text\n- [E](e/README.md)\n")},
		"docs/b.md":          {Data: []byte("# B\n\n## It is `b`!\n\n<script>x</script>\n")},
		"docs/e/README.md":   {Data: []byte("# E\n\n[f](f.md) [top](../../README.md)\n")},
		"docs/e/f.md":        {Data: []byte("# F\n")},
		"docs/p.svg":         {Data: []byte("<svg/>")},
		"code/c.go":          {},
		"docs/not-linked.md": {Data: []byte("# N\n")},
	}, []byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"docs/b.html", "docs/e/f.html", "docs/e/index.html", "docs/index.html", "docs/p.svg", "find.js", "index.html", "index.js", "style.css"}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	for name, parts := range map[string][]string{
		"index.html": {
			`href="docs/b.html#it-is-b"`, `href="` + repository + `/blob/main/code/c.go"`,
			`href="` + repository + `/tree/main/code"`, `src="docs/p.svg"`, `<div class="wide" tabindex="0"><table>`,
		},
		"docs/b.html":   {`<a href="b.html" aria-current="page">The b</a>`, `<a href="#it-is-b">It is b!</a>`, `href="../index.html"`},
		"docs/e/f.html": {`<a href="index.html" aria-current="page">E</a>`, `href="../b.html"`, `src="../../find.js"`},
		"index.js": {
			"program\nwindow.sections = [", `{"id":0,"link":"index.html#a","page":"A","heading":"A","text":"b c d p x y"}`,
			`"link":"docs/b.html#it-is-b","page":"B","heading":"It is b!","text":"`,
		},
	} {
		for _, part := range parts {
			if !bytes.Contains(files[name], []byte(part)) {
				t.Errorf("%s has no %s:\n%s", name, part, files[name])
			}
		}
	}
	if bytes.Contains(files["docs/b.html"], []byte("<script>")) {
		t.Error("a script of a page is on the site")
	}
}

// TestWrite: what was there before is gone.
func TestWrite(t *testing.T) {
	out := filepath.Join(t.TempDir(), "site")
	for _, files := range []map[string][]byte{{"old/a.html": nil}, {"b/c.html": []byte("c")}} {
		if err := write(out, files); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "old")); err == nil {
		t.Error("the old file is still there")
	}
	if got, err := os.ReadFile(filepath.Join(out, "b", "c.html")); err != nil || string(got) != "c" {
		t.Errorf("%q, %v", got, err)
	}
}
