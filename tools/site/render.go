package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
)

//go:embed page.html
var layout string

//go:embed style.css
var style []byte

var frame = template.Must(template.New("page").Parse(layout))

// render returns the files of the site by their paths; program is what searches.
func (s *site) render(program []byte) (map[string][]byte, error) {
	groups := s.navigation()
	searched, err := s.searchable(program)
	files, problems := map[string][]byte{"style.css": style, finder: find, index: searched}, []error{err}
	for name, p := range s.pages {
		var body, whole bytes.Buffer
		err := markdown.Renderer().Render(&body, p.source, p.document)
		if err == nil {
			err = frame.Execute(&whole, p.view(body.Bytes(), groups))
		}
		problems = append(problems, err)
		files[address(name)] = whole.Bytes()
	}
	for name := range s.copied {
		content, err := fs.ReadFile(s.root, name)
		problems = append(problems, err)
		files[name] = content
	}
	return files, errors.Join(problems...)
}

// view is what the layout gets of a page.
func (p *page) view(body []byte, groups []group) map[string]any {
	// A wide table scrolls by itself; the text beside it does not.
	body = bytes.ReplaceAll(body, []byte("<table>"), []byte(`<div class="wide" tabindex="0"><table>`))
	body = bytes.ReplaceAll(body, []byte("</table>"), []byte("</table></div>"))
	var sections []entry
	for _, h := range p.headings {
		if h.level == 2 {
			sections = append(sections, entry{Label: h.text, Link: "#" + h.id})
		}
	}
	return map[string]any{
		"Title": p.title(), "Groups": p.localised(groups), "Sections": sections,
		"Body":     template.HTML(body), //nolint:gosec // the repository's own pages, without raw HTML
		"Home":     relative(p.path, address(front)),
		"Contents": relative(p.path, address(contents)),
		"Style":    relative(p.path, "style.css"),
		"Finder":   relative(p.path, finder),
		"Source":   fmt.Sprintf("%s/blob/main/%s", repository, p.path),
	}
}
