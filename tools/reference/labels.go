package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// labels is the page of the keys that the operator reads and writes.
func labels(root string) (string, error) {
	all, err := groups(root, "keys.go")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(head("Labels and annotations", "the comments of api/v1alpha1/keys.go",
		"All keys that the operator reads or writes; `<skyhook>` stands for the name of a Skyhook. Keys that users set are\n"+
			"described in [Steering](../skyhooks.md#steering), who writes the others in\n"+
			"[Who writes what](../architecture.md#who-writes-what)."))
	for _, g := range all {
		var rows [][]string
		for _, c := range g.constants {
			if strings.HasPrefix(c.name, "Annotation") || strings.HasPrefix(c.name, "Label") || c.name == "Finalizer" {
				rows = append(rows, []string{code(c.key()), c.sort(), sentence(c.says())})
			}
		}
		if len(rows) > 0 {
			b.WriteString(section(g, []string{"key", "is", "meaning"}, rows))
		}
	}
	return b.String(), nil
}

// section is a group with its title.
func section(g group, titles []string, rows [][]string) string {
	about := ""
	if g.about != "" {
		about = sentence(g.about) + "\n\n"
	}
	return fmt.Sprintf("\n## %s\n\n%s%s", g.title, about, table(titles, rows))
}

// key is the key as people see it.
func (c constant) key() string {
	switch {
	case c.name == "AnnotationAutoTaintPrefix":
		return c.value + "<taint>"
	case strings.HasSuffix(c.name, "Prefix"):
		return c.value + "<skyhook>"
	}
	return c.value
}

func (c constant) sort() string {
	for _, sort := range []string{"Annotation", "Label"} {
		if strings.HasPrefix(c.name, sort) {
			return strings.ToLower(sort)
		}
	}
	return "finalizer"
}

// says is the comment without the constant's name.
func (c constant) says() string {
	rest := strings.TrimPrefix(c.comment, c.name)
	for _, begin := range []string{": ", " begins the key of ", " begins the key that ", " "} {
		if said, ok := strings.CutPrefix(rest, begin); ok {
			said = people(said)
			first, size := utf8.DecodeRuneInString(said)
			return string(unicode.ToUpper(first)) + said[size:]
		}
	}
	return rest
}
