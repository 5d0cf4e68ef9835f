package purity

import (
	"go/ast"
	"strconv"
	"strings"
)

// forbiddenImports are import paths that pure code must not have, with what they would bring in. A path stands for
// everything below it as well.
var forbiddenImports = map[string]string{
	"k8s.io/client-go":                  "a client",
	"sigs.k8s.io/controller-runtime":    "a client",
	"k8s.io/utils/clock":                "a clock",
	"k8s.io/apimachinery/pkg/util/wait": "a clock",
	"github.com/go-logr":                "a logger",
	"go.uber.org/zap":                   "a logger",
	"k8s.io/klog":                       "a logger",
	"log":                               "a logger",
	"net":                               "the network",
	"os":                                "the host",
	"syscall":                           "the host",
	"math/rand":                         "chance",
}

// clock lists the names of packages that look at, or wait for, the time.
var clock = map[string]map[string]bool{
	"time":                                 set("After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"),
	"k8s.io/apimachinery/pkg/apis/meta/v1": set("Now", "NowMicro"),
	"context":                              set("WithDeadline", "WithDeadlineCause", "WithTimeout", "WithTimeoutCause"),
}

func set(names ...string) map[string]bool {
	s := make(map[string]bool, len(names))
	for _, name := range names {
		s[name] = true
	}
	return s
}

// checkFile returns one sentence, with its position, for every place where a Go file is not pure.
// The error says that the file could not be read or parsed.
func checkFile(path string) ([]string, error) {
	var found findings
	file, err := found.parse(path)
	if err != nil {
		return nil, err
	}
	clocks := map[string]map[string]bool{}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if what, rule := forbidden(imported); what != "" {
			found.report(spec.Pos(), "imports %s: %s is %s", imported, rule, what)
		}
		names, isClock := clock[imported]
		switch {
		case !isClock:
		case spec.Name != nil && spec.Name.Name == ".":
			found.report(spec.Pos(), "imports %s without its name, which would hide the use of its clock", imported)
		default:
			clocks[localName(spec, imported)] = names
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		selector, isSelector := node.(*ast.SelectorExpr)
		if !isSelector {
			return true
		}
		if x, isName := selector.X.(*ast.Ident); isName && clocks[x.Name][selector.Sel.Name] {
			found.report(selector.Pos(), "uses %s.%s: time must come in as a value", x.Name, selector.Sel.Name)
		}
		return true
	})
	return found.texts, nil
}

// localName is the name that a file knows an import by.
func localName(spec *ast.ImportSpec, imported string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return imported[strings.LastIndex(imported, "/")+1:]
}

// forbidden returns what an import would bring in and the rule that says so, or two empty strings.
func forbidden(imported string) (what, rule string) {
	for rule, what := range forbiddenImports {
		if imported == rule || strings.HasPrefix(imported, rule+"/") {
			return what, rule
		}
	}
	return "", ""
}
