// Package gitops judges objects as GitOps tools do: with the library that Flux and others judge by, and with the script
// for Argo CD in examples/gitops. It knows nothing of the operator.
package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// Script is the path of the script for Argo CD in the repository.
const Script = "examples/gitops/argocd/health.lua"

// Health is what tools make of an object.
type Health struct {
	// KStatus is the verdict of kstatus, such as Current.
	KStatus string
	// ArgoCD is the one of the script, such as Healthy, and Message what it says.
	ArgoCD, Message string
}

// Judge asks the tools about an object as the API server has it. root is the repository's folder.
func Judge(t testing.TB, root string, o *unstructured.Unstructured) Health {
	t.Helper()
	result, err := status.Compute(o)
	if err != nil {
		t.Fatalf("kstatus of %s %s: %v", o.GetKind(), o.GetName(), err)
	}
	h := Health{KStatus: result.Status.String()}
	if o.GetDeletionTimestamp() != nil { // then Argo CD asks no script
		h.ArgoCD, h.Message = "Progressing", "Pending deletion"
		return h
	}
	script, err := os.ReadFile(filepath.Join(root, Script))
	if err != nil {
		t.Fatal(err)
	}
	if h.ArgoCD, h.Message, err = run(string(script), o); err != nil {
		t.Fatalf("%s with %s %s: %v", Script, o.GetKind(), o.GetName(), err)
	}
	return h
}

// run executes a script with the libraries that Argo CD gives it: neither strings, nor mathematics, nor files.
func run(script string, o *unstructured.Unstructured) (health, message string, err error) {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	l.SetGlobal("obj", value(l, o.Object))
	if err := l.DoString(script); err != nil {
		return "", "", err
	}
	answer, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("it returns a %s instead of a table", l.Get(-1).Type())
	}
	health, message = lua.LVAsString(answer.RawGetString("status")), lua.LVAsString(answer.RawGetString("message"))
	return health, message, nil
}

// value is what a script gets for a part of an object.
func value(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		list := l.NewTable()
		for _, item := range v {
			list.Append(value(l, item))
		}
		return list
	case map[string]any:
		table := l.NewTable()
		for key, item := range v {
			table.RawSetString(key, value(l, item))
		}
		return table
	default:
		return lua.LNil
	}
}
