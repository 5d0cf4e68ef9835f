package main

import (
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// values is the page of the chart's values.
func values(root string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(root, "charts/skyhook-operator/values.yaml"))
	if err != nil {
		return "", err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(raw, &document); err != nil {
		return "", err
	}
	rows, err := valueRows("", document.Content[0])
	if err != nil {
		return "", err
	}
	return head("Chart values", "charts/skyhook-operator/values.yaml",
		"Every value of the Helm chart with its default. [Install](../install.md#chart) says what most of them are for; a value\n"+
			"that is wrong stops Helm with a message that names it.") +
		"\n" + table([]string{"value", "default", "meaning"}, rows), nil
}

// valueRows are those of a mapping; one that is empty, or a list, is a value by itself.
func valueRows(path string, n *yaml.Node) ([][]string, error) {
	var all [][]string
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		at := strings.TrimPrefix(path+"."+name.Value, ".")
		about := comment(name)
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 {
			if about != "" {
				all = append(all, []string{code(at), "", about})
			}
			below, err := valueRows(at, value)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
			continue
		}
		shown, err := flow(*value)
		if err != nil {
			return nil, err
		}
		all = append(all, []string{code(at), code(shown), about})
	}
	return all, nil
}

// comment is what stands above a key. A blank line separates comments: only the last is about the key.
func comment(n *yaml.Node) string {
	parts := strings.Split(n.HeadComment, "\n\n")
	var lines []string
	for line := range strings.Lines(parts[len(parts)-1]) {
		lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "#"))
	}
	return sentence(strings.Join(lines, " "))
}

// flow is a value in one line.
func flow(n yaml.Node) (string, error) {
	oneLined(&n)
	raw, err := yaml.Marshal(&n)
	return strings.TrimSpace(string(raw)), err
}

func oneLined(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	n.Style |= yaml.FlowStyle
	for _, inner := range n.Content {
		oneLined(inner)
	}
}
