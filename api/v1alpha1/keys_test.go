package v1alpha1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// constant is one constant of a file, by the literal that gives its value.
type constant struct{ name, value, comment string }

// constants reads the string constants of a file that are literals, or KeyPrefix or GroupName and a literal.
func constants(t *testing.T, path string) []constant {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all []constant
	ast.Inspect(file, func(node ast.Node) bool {
		decl, isDecl := node.(*ast.GenDecl)
		if !isDecl || decl.Tok != token.CONST {
			return true
		}
		for _, spec := range decl.Specs {
			value := spec.(*ast.ValueSpec)
			c := constant{name: value.Names[0].Name, value: text(t, value.Values[0]), comment: value.Doc.Text()}
			if len(decl.Specs) == 1 {
				c.comment += decl.Doc.Text()
			}
			all = append(all, c)
		}
		return false
	})
	return all
}

func text(t *testing.T, value ast.Expr) string {
	t.Helper()
	switch v := value.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(v.Value)
		if err != nil {
			t.Fatal(err)
		}
		return s
	case *ast.BinaryExpr:
		return text(t, v.X) + text(t, v.Y)
	case *ast.Ident:
		if known, ok := map[string]string{"KeyPrefix": v1alpha1.KeyPrefix, "GroupName": v1alpha1.GroupName}[v.Name]; ok {
			return known
		}
	}
	t.Fatalf("%T is no value that this test can read", value)
	return ""
}

// TestReasons: people search for a reason as they read it, so its constant is called the same, and stands for it alone.
func TestReasons(t *testing.T) {
	reason := regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`) // as the API wants it in conditions
	seen := map[string]string{}
	for _, c := range append(constants(t, "reasons.go"), constants(t, "reasons_events.go")...) {
		kind := regexp.MustCompile(`^(Reason|NodeReason|Event)`).FindString(c.name)
		if kind == "" {
			t.Errorf("%s is no name of a reason", c.name)
		}
		if other, ok := seen[c.value]; ok {
			t.Errorf("%s and %s are both %q", other, c.name, c.value)
		}
		seen[c.value] = c.name
		if kind != "NodeReason" && (c.name != kind+c.value || !reason.MatchString(c.value)) {
			t.Errorf("%s is %q", c.name, c.value)
		}
		if !strings.HasPrefix(c.comment, c.name+": ") && !strings.HasPrefix(c.comment, c.name+" ") {
			t.Errorf("the comment of %s does not say what it means: %q", c.name, c.comment)
		}
	}
	if len(seen) < 80 {
		t.Errorf("only %d reasons were found", len(seen))
	}
}

func TestConditions(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range constants(t, "conditions.go") {
		if seen[c.value] {
			t.Errorf("%s is not the only one with %q", c.name, c.value)
		}
		seen[c.value] = true
		if name := "NodeCondition" + strings.TrimPrefix(c.value, "/") + "Suffix"; c.name != name && c.name != "Condition"+c.value {
			t.Errorf("%s is %q", c.name, c.value)
		}
	}
	if len(seen) < 18 {
		t.Errorf("only %d condition types were found", len(seen))
	}
}

// TestKeys: the API server accepts every key, and no two mean the same object's same key.
func TestKeys(t *testing.T) {
	seen := map[string]string{}
	for _, c := range constants(t, "keys.go") {
		switch c.name {
		case "KeyPrefix", "ResourcePrefix", "DefaultRuntimeRequiredTaint":
			continue
		}
		key := c.value
		if strings.HasSuffix(c.name, "Prefix") {
			key += "demo"
		}
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			t.Errorf("%s: %q: %s", c.name, key, strings.Join(problems, "; "))
		}
		kind := regexp.MustCompile(`^(Annotation|Label|Finalizer)`).FindString(c.name)
		if other, ok := seen[kind+" "+key]; ok || kind == "" {
			t.Errorf("%s and %s are both %q", other, c.name, key)
		}
		seen[kind+" "+key] = c.name
	}
	if len(seen) < 30 {
		t.Errorf("only %d keys were found", len(seen))
	}
}
