package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// change is what a mutant changes of a file of the engine: the code from one offset to another becomes text.
type change struct {
	file, text string
	from, to   int
	// code is all of the file as it was.
	code string
}

// change looks for the function in the files of its package, and for the syntax in the function. An error names the bug:
// the engine has changed, and the bug has to be written anew.
func (m Mutant) change(dir string, files []string) (change, error) {
	fset := token.NewFileSet()
	all, err := m.functions(fset, dir, files)
	if err != nil {
		return change{}, fmt.Errorf("mutant %q: %w", m.Name, err)
	}
	if len(all) != 1 {
		return change{}, fmt.Errorf("mutant %q: %d functions %s in %s, not one; name the one to change", m.Name, len(all),
			m.Func, m.Package)
	}
	f := all[0]
	spots, form, err := m.spots(f.decl)
	if err != nil {
		return change{}, fmt.Errorf("mutant %q: %w", m.Name, err)
	}
	if len(spots) != 1 {
		return change{}, fmt.Errorf("mutant %q: its syntax is %d times in %s of %s, not once; adapt it to the code as it "+
			"is now:\n%s", m.Name, len(spots), m.Func, m.Package, m.Before)
	}
	c := change{file: f.file, code: f.text}
	c.from, c.to = fset.Position(spots[0].from).Offset, fset.Position(spots[0].to).Offset
	before := c.code[c.from:c.to]
	after := strings.ReplaceAll(m.After, "$0", before)
	c.text = strings.NewReplacer("NAME", strconv.Quote(m.Name), "AFTER", after, "BEFORE", before).Replace(form)
	return c, nil
}

// Forms of code that has a mutant, which is switched on by its name. A condition evaluates only what counts; any other
// expression, both.
const (
	formCondition  = `(planted(NAME) && (AFTER) || !planted(NAME) && (BEFORE))`
	formExpression = `plantedOr(NAME, (AFTER), (BEFORE))`
	formStatements = "if planted(NAME) {\nAFTER\n} else {\nBEFORE\n}"
)

// switchesFile is the name of the file that switches returns.
const switchesFile = "planted_mutants.go"

// switchedBy is the variable of the environment that names the mutant that is switched on.
const switchedBy = "FAULTS_MUTANT"

// switches is a file of a package with mutants: what switches them on.
func switches(pkg string) string {
	return fmt.Sprintf(`package %s

import "os"

var plantedName = os.Getenv(%q)

func planted(name string) bool { return name == plantedName }

func plantedOr[T any](name string, bug, sound T) T {
	if planted(name) {
		return bug
	}
	return sound
}
`, pkg, switchedBy)
}

// overlaps reports whether two changes cannot be made together.
func (c change) overlaps(d change) bool { return c.file == d.file && c.from < d.to && d.from < c.to }

// rounds puts changes into as few lists as it can, by their indices, so that those of one list can be made together.
func rounds(all []change) (lists [][]int) {
	for i, c := range all {
		free := slices.IndexFunc(lists, func(list []int) bool {
			return !slices.ContainsFunc(list, func(k int) bool { return all[k].overlaps(c) })
		})
		if free < 0 {
			lists, free = append(lists, nil), len(lists)
		}
		lists[free] = append(lists[free], i)
	}
	return lists
}

// apply makes changes that do not overlap, and returns the files as they are then.
func apply(all []change) map[string]string {
	all = slices.SortedFunc(slices.Values(all), func(a, b change) int { return b.from - a.from })
	files := map[string]string{}
	for _, c := range all { // from the end of a file to its beginning, so that the offsets stay right
		text, changed := files[c.file]
		if !changed {
			text = c.code
		}
		files[c.file] = text[:c.from] + c.text + text[c.to:]
	}
	return files
}

// function is one of the engine, in its file.
type function struct {
	file, text string
	decl       *ast.FuncDecl
}

// functions are those that bear the name of the mutant's.
func (m Mutant) functions(fset *token.FileSet, dir string, files []string) ([]function, error) {
	var all []function
	for _, name := range files {
		path := filepath.Join(dir, name)
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(fset, path, raw, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && nameOf(f) == m.Func {
				all = append(all, function{path, string(raw), f})
			}
		}
	}
	return all, nil
}

// nameOf is Type.method, or the name of a function.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

type spot struct{ from, to token.Pos }

// spots are where the syntax is in a function, and the form of what comes in its place.
func (m Mutant) spots(f *ast.FuncDecl) (spots []spot, form string, err error) {
	if pattern, err := parser.ParseExpr(m.Before); err == nil {
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && same(pattern, e) {
				spots = append(spots, spot{e.Pos(), e.End()})
			}
			return true
		})
		if isCondition(pattern) {
			return spots, formCondition, nil
		}
		return spots, formExpression, nil
	}
	pattern, err := statements(m.Before)
	if err != nil {
		return nil, "", err
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		case *ast.CommClause:
			list = n.Body
		}
		for i := 0; i+len(pattern) <= len(list); i++ {
			if last := i + len(pattern); same(pattern, list[i:last]) {
				spots = append(spots, spot{list[i].Pos(), list[last-1].End()})
			}
		}
		return true
	})
	return spots, formStatements, nil
}

// isCondition reports whether an expression is a bool by its operator.
func isCondition(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return isCondition(e.X)
	case *ast.UnaryExpr:
		return e.Op == token.NOT
	case *ast.BinaryExpr:
		return slices.Contains([]token.Token{
			token.LAND, token.LOR, token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ,
		}, e.Op)
	}
	return false
}

func statements(text string) ([]ast.Stmt, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p; func f() {"+text+"\n}", parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("neither an expression nor statements: %w\n%s", err, text)
	}
	return file.Decls[0].(*ast.FuncDecl).Body.List, nil
}

// same compares syntax, wherever it stands and however it is laid out. A block {etc} of the pattern is any block.
func same(pattern, code any) bool { return alike(reflect.ValueOf(pattern), reflect.ValueOf(code)) }

var position = reflect.TypeFor[token.Pos]()

func alike(p, c reflect.Value) bool {
	if p.Type() != c.Type() {
		return false
	}
	switch p.Kind() {
	case reflect.Interface, reflect.Pointer:
		if p.IsNil() || c.IsNil() {
			return p.IsNil() && c.IsNil()
		}
		return anything(p.Interface()) || alike(p.Elem(), c.Elem())
	case reflect.Slice:
		return p.Len() == c.Len() && each(p.Len(), func(i int) bool { return alike(p.Index(i), c.Index(i)) })
	case reflect.Struct:
		return each(p.NumField(), func(i int) bool {
			return p.Type().Field(i).Type == position || alike(p.Field(i), c.Field(i))
		})
	default: // a name, an operator
		return p.Equal(c)
	}
}

func each(n int, ok func(i int) bool) bool {
	for i := range n {
		if !ok(i) {
			return false
		}
	}
	return true
}

// anything reports whether a node is the block {etc}.
func anything(node any) bool {
	b, ok := node.(*ast.BlockStmt)
	if !ok || len(b.List) != 1 {
		return false
	}
	s, ok := b.List[0].(*ast.ExprStmt)
	if !ok {
		return false
	}
	id, ok := s.X.(*ast.Ident)
	return ok && id.Name == "etc"
}
