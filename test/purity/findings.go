package purity

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
)

// findings are what is wrong with one Go file, one sentence each, with its position.
type findings struct {
	files *token.FileSet
	texts []string
}

// parse reads the file that is looked at.
func (f *findings) parse(path string) (*ast.File, error) {
	f.files = token.NewFileSet()
	return parser.ParseFile(f.files, path, nil, parser.SkipObjectResolution)
}

func (f *findings) report(at token.Pos, format string, args ...any) {
	position := f.files.Position(at)
	f.texts = append(f.texts, fmt.Sprintf("%s:%d: ", filepath.Base(position.Filename), position.Line)+fmt.Sprintf(format, args...))
}
