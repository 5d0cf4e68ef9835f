package purity

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// notKeys are texts with the group's name in them that are no keys.
var notKeys = map[string]string{
	"validate-skyhook.nvidia.com": "the name of a webhook, which the chart has as well",
}

// checkKeys returns one sentence, with its position, for every place where a Go file makes a public key of its own
// instead of using that of api/v1alpha1. The error says that the file could not be read or parsed.
func checkKeys(path string) ([]string, error) {
	var found findings
	file, err := found.parse(path)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(node ast.Node) bool {
		found.checkKey(node)
		return true
	})
	return found.texts, nil
}

// checkKey reports what makes a key: a text, a sum with the group's name, or another name of it.
func (f *findings) checkKey(node ast.Node) {
	switch n := node.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(n.Value)
		if n.Kind == token.STRING && strings.Contains(text, v1alpha1.GroupName) && notKeys[text] == "" {
			f.report(n.Pos(), "%q belongs into api/v1alpha1", text)
		}
	case *ast.BinaryExpr:
		_, literal := n.Y.(*ast.BasicLit)
		if n.Op == token.ADD && (named(n.X, "GroupName") || named(n.Y, "GroupName") || named(n.X, "KeyPrefix") && literal) {
			f.report(n.Pos(), "a key that is put together here belongs into api/v1alpha1")
		}
	case *ast.ValueSpec:
		for _, value := range n.Values {
			if named(value, "GroupName") || named(value, "KeyPrefix") {
				f.report(n.Pos(), "%s is another name for what api/v1alpha1 has one for", n.Names[0].Name)
			}
		}
	}
}

// named reports whether an expression is the constant of that name, of whatever package.
func named(e ast.Expr, name string) bool {
	selector, ok := e.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == name
}
