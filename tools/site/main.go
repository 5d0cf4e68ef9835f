// Command site writes the documentation as a site of plain files, which needs no network and no script to be read. With
// scripts it can be searched, by MiniSearch.
//
//	go run ./tools/site -search FILE [-root .] [-out dist/site]
//
// A page of the site is a page of the repository, at the same path: README.md, and every page that it leads to by
// links. docs/README.md is the navigation: its headings are the groups, the first link of each line an entry. A link
// to a file that is no page leads to the repository. What a link leads to must exist, headings too.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// repository is where links to code lead.
const repository = "https://github.com/skyhook-operator/skyhook"

// The pages that the others are found from.
const (
	front    = "README.md"
	contents = "docs/README.md"
)

func main() {
	root := flag.String("root", ".", "the repository")
	out := flag.String("out", filepath.Join("dist", "site"), "the folder to write; what is in it is removed")
	search := flag.String("search", "", "MiniSearch, as a script that defines it globally")
	flag.Parse()
	program, err := os.ReadFile(*search)
	if err != nil {
		fmt.Fprintln(os.Stderr, "site: -search:", err)
		os.Exit(1)
	}
	files, err := build(os.DirFS(*root), program)
	if err == nil {
		err = write(*out, files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stdout, "%d files: %s\n", len(files), filepath.Join(*out, "index.html"))
}

// build returns the files of the site by their paths. It reports every link that leads nowhere.
func build(root fs.FS, program []byte) (map[string][]byte, error) {
	s := &site{root: root, pages: map[string]*page{}, copied: map[string]bool{}}
	if err := errors.Join(s.read(front), s.read(contents)); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s.render(program)
}

func write(out string, files map[string][]byte) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
