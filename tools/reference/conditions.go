package main

import "strings"

// conditions is the page of the types of conditions.
func conditions(root string) (string, error) {
	all, err := groups(root, "conditions.go")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(head("Conditions", "the comments of api/v1alpha1/conditions.go",
		"All types of conditions. [Status](../skyhooks.md#status) says how to read them, and\n"+
			"[Reasons](../reasons.md) what their reasons mean and who can end them."))
	for _, g := range all {
		var rows [][]string
		for _, c := range g.constants {
			value := c.value
			if strings.HasPrefix(value, "/") {
				value = "skyhook.nvidia.com/<skyhook>" + value
			}
			rows = append(rows, []string{code(value), sentence(c.says())})
		}
		b.WriteString(section(g, []string{"type", "meaning"}, rows))
	}
	return b.String(), nil
}
