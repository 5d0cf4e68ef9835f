package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestKinds: each list has every constant of its type, and so has what the CRD allows.
func TestKinds(t *testing.T) {
	constants, enums := kinds(t)
	for name, list := range map[string][]string{
		"InterruptType": texts(InterruptTypes()), "Stage": texts(Stages()), "State": texts(States()), "Status": texts(Statuses()),
	} {
		slices.Sort(list)
		if want := slices.Sorted(maps.Keys(constants[name])); !slices.Equal(list, want) {
			t.Errorf("the list of %s has %v, its constants are %v", name, list, want)
		}
		slices.Sort(enums[name])
		if !slices.Equal(list, enums[name]) {
			t.Errorf("the list of %s has %v, its marker allows %v", name, list, enums[name])
		}
	}
}

func texts[T ~string](list []T) (all []string) {
	for _, v := range list {
		all = append(all, string(v))
	}
	return all
}

// kinds are the values of the constants by their type, and those that the marker of a type allows.
func kinds(t *testing.T) (constants map[string]map[string]bool, enums map[string][]string) {
	t.Helper()
	constants, enums = map[string]map[string]bool{}, map[string][]string{}
	marker := regexp.MustCompile(`\+kubebuilder:validation:Enum=(\S+)\ntype (\w+) string`)
	for _, file := range []string{"package_types.go", "status_types.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range marker.FindAllStringSubmatch(string(source), -1) {
			enums[m[2]] = strings.Split(m[1], ";")
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || spec.Type == nil || len(spec.Values) != 1 {
				return true
			}
			name, isName := spec.Type.(*ast.Ident)
			value, isText := spec.Values[0].(*ast.BasicLit)
			if isName && isText {
				text, err := strconv.Unquote(value.Value)
				if err != nil {
					t.Fatal(err)
				}
				if constants[name.Name] == nil {
					constants[name.Name] = map[string]bool{}
				}
				constants[name.Name][text] = true
			}
			return true
		})
	}
	return constants, enums
}
