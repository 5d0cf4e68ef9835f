package main

import (
	"path"

	"github.com/yuin/goldmark/ast"
)

// group is a part of the navigation.
type group struct {
	Title   string
	Entries []entry
}

type entry struct {
	Label, Link string
	Current     bool
	// page and id are what the entry leads to.
	page, id string
}

// navigation reads the page of contents: a group for each heading, and an entry for each line of a list that begins with
// a link.
func (s *site) navigation() []group {
	var groups []group
	p := s.pages[contents]
	_ = ast.Walk(p.document, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		if h, ok := n.(*ast.Heading); ok && h.Level == 2 {
			groups = append(groups, group{Title: plain(h, p.source)})
		}
		if n.Kind() == ast.KindListItem && len(groups) > 0 {
			link := n.FirstChild().FirstChild()
			if to, ok := p.links[link]; ok {
				g := &groups[len(groups)-1]
				g.Entries = append(g.Entries, entry{Label: plain(link, p.source), page: to.page, id: to.id})
			}
		}
		return ast.WalkContinue, nil
	})
	return groups
}

// localised returns the navigation as it is on the page.
func (p *page) localised(groups []group) []group {
	var all []group
	for _, g := range groups {
		local := group{Title: g.Title}
		for _, e := range g.Entries {
			e.Current = e.page == p.path && e.id == "" ||
				path.Base(e.page) == "README.md" && path.Dir(e.page) == path.Dir(p.path)
			e.Link = relative(p.path, address(e.page))
			if e.id != "" {
				e.Link += "#" + e.id
			}
			local.Entries = append(local.Entries, e)
		}
		all = append(all, local)
	}
	return all
}
