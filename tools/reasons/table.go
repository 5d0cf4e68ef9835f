package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// table is one block of constants.
type table struct {
	heading, text string
	rows          []row
}

// row is one reason, in Markdown.
type row struct {
	constant, reason string
	meaning          string
	endedBy          []string
	do               string
}

// The two lines of a comment that begin a part of their own.
const (
	endedBy = "Ended by: "
	do      = "Do: "
)

const (
	// none ends a reason for which nothing waits; message, one whose message says who ends it.
	none    = "none"
	message = "message"
)

// enders are all who can end something that waits.
var enders = []string{"time", "node", "other", "administrator", "author", "package author", message, none}

// unclear are words that the glossary has a better one for, or that only the authors of this project understand.
var unclear = regexp.MustCompile(`(?i)\b(whoever|go(es)? on|gets? on|mend(s|ed)?|at work|set aside|gives? up|given up|owe[ds]?|undo(es|ne)?|take[sn]? back|somebody|nobody)\b`)

// parse reads the tables from the comments of a Go file. Its error names every comment that is not complete.
func parse(path string, text []byte) ([]table, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("parse the reasons: %w", err)
	}
	var tables []table
	var problems []error
	for _, decl := range file.Decls {
		block, ok := decl.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		t := table{}
		t.heading, t.text, _ = strings.Cut(oneLine(block.Doc.Text()), ". ")
		if t.heading = strings.TrimSuffix(t.heading, "."); t.heading == "" {
			problems = append(problems, fmt.Errorf("%s: the block has no comment; its first sentence is the heading", files.Position(block.Pos())))
		}
		for _, spec := range block.Specs {
			r, err := parseRow(spec)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", files.Position(spec.Pos()), err))
			}
			t.rows = append(t.rows, r)
		}
		tables = append(tables, t)
	}
	return tables, errors.Join(problems...)
}

func parseRow(spec ast.Spec) (row, error) {
	constant, ok := spec.(*ast.ValueSpec)
	if !ok || len(constant.Names) != 1 || len(constant.Values) != 1 {
		return row{}, errors.New("each reason has a line of its own: ReasonX = \"X\"")
	}
	r := row{constant: constant.Names[0].Name}
	if value, ok := constant.Values[0].(*ast.BasicLit); ok {
		r.reason, _ = strconv.Unquote(value.Value)
	}
	comment := constant.Doc.Text()
	meaning, rest, hasEnds := strings.Cut(comment, "\n"+endedBy)
	ends, help, hasDo := strings.Cut(rest, "\n"+do)
	named, isNamed := strings.CutPrefix(oneLine(meaning), r.constant+": ")
	ends, isSentence := strings.CutSuffix(oneLine(ends), ".")
	r.meaning, r.endedBy, r.do = named, strings.Split(ends, ", "), oneLine(help)
	switch {
	case !isNamed:
		return r, fmt.Errorf("the comment of %s must begin with %q and say what it means", r.constant, r.constant+": ")
	case !hasEnds || !isSentence || !knownEnders(r.endedBy):
		return r, fmt.Errorf("the comment of %s must have the line %q and in it one or more of %s",
			r.constant, endedBy, strings.Join(enders, ", "))
	case !hasDo:
		return r, fmt.Errorf("the comment of %s must end with the line %q and what helps", r.constant, do)
	}
	return r, r.check()
}

// check returns what is wrong with the sentences of a row.
func (r row) check() error {
	switch {
	case r.reason == "":
		return fmt.Errorf("%s has no text", r.constant)
	case !strings.HasPrefix(r.constant, "Node") && !strings.HasSuffix(r.constant, r.reason):
		return fmt.Errorf("%s must be called as its value, %q", r.constant, r.reason)
	case !isSentence(r.meaning):
		return fmt.Errorf("the meaning of %s is no sentence: %q", r.constant, r.meaning)
	case !isSentence(r.do):
		return fmt.Errorf("what helps against %s is no sentence: %q", r.constant, r.do)
	case !slices.Contains(r.endedBy, none) && !strings.Contains(r.do, "`"):
		return fmt.Errorf("what helps against %s names no command and no field, in backquotes: %q", r.constant, r.do)
	case strings.Count(r.meaning, "`")%2 != 0 || strings.Count(r.do, "`")%2 != 0:
		return fmt.Errorf("a backquote of %s is not closed", r.constant)
	}
	if word := unclear.FindString(r.meaning + " " + r.do); word != "" {
		return fmt.Errorf("%s says %q; docs/glossary.md has the words to use", r.constant, word)
	}
	return nil
}

// isSentence reports whether a text begins like one and ends like one.
func isSentence(text string) bool {
	return text != "" && strings.ToUpper(text[:1]) == text[:1] && strings.HasSuffix(text, ".")
}

func knownEnders(names []string) bool {
	for i, name := range names {
		if !slices.Contains(enders, name) || slices.Contains(names[:i], name) || (name == none || name == message) && len(names) > 1 {
			return false
		}
	}
	return true
}

// oneLine joins the lines of a comment.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
