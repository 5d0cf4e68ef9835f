package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// group is a block of constants: its comment, of which the first sentence is the title.
type group struct {
	title, about string
	constants    []constant
}

type constant struct{ name, value, comment string }

// groups reads the blocks of text constants of a file of the API.
func groups(root, file string) ([]group, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "api/v1alpha1", file), nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	values := map[string]string{"GroupName": v1alpha1.GroupName, "KeyPrefix": v1alpha1.KeyPrefix}
	var all []group
	for _, declaration := range parsed.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		title, about, _ := strings.Cut(people(block.Doc.Text()), ". ")
		title, _, _ = strings.Cut(title, ";")
		g := group{title: strings.TrimSuffix(title, "."), about: about}
		for _, s := range block.Specs {
			spec := s.(*ast.ValueSpec) //nolint:forcetypeassert // a block of constants has nothing else
			c := constant{name: spec.Names[0].Name, comment: oneLine(spec.Doc.Text())}
			if c.value, err = text(spec.Values[0], values); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			values[c.name] = c.value
			g.constants = append(g.constants, c)
		}
		all = append(all, g)
	}
	return all, nil
}

// text is the value of an expression: a literal, a constant that is known, or a sum of these.
func text(e ast.Expr, values map[string]string) (string, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.Ident:
		value, ok := values[e.Name]
		if !ok {
			return "", fmt.Errorf("%s is not known", e.Name)
		}
		return value, nil
	case *ast.BinaryExpr:
		left, err := text(e.X, values)
		if err != nil {
			return "", err
		}
		right, err := text(e.Y, values)
		return left + right, err
	}
	return "", fmt.Errorf("an expression that is no text: %T", e)
}

// people replaces names of the code by what people see.
func people(comment string) string {
	return conditionName.ReplaceAllString(strings.ReplaceAll(oneLine(comment), "KeyPrefix", v1alpha1.KeyPrefix), "$1")
}

var conditionName = regexp.MustCompile(`\bCondition([A-Z]\w+)`)

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
