// Command dashboard prints the Grafana dashboard of Skyhook as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(dashboard()); err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

// dashboard has the uid and title by which people know it, and the variables that links to it may set.
func dashboard() object {
	return object{
		"uid": "skyhook-dashboard", "title": "Skyhook Dashboard", "tags": []string{"skyhook", "kubernetes"},
		"description": "Skyhooks, their rollouts, nodes and packages. https://github.com/skyhook-operator/skyhook",
		"editable":    true, "graphTooltip": 1, "schemaVersion": 39, "version": 1, "refresh": "30s", "timezone": "browser",
		"time":       object{"from": "now-1h", "to": "now"},
		"templating": object{"list": variables()},
		"panels":     layOut(rows()),
	}
}

func variables() []object {
	pick := func(name, label, query string) object {
		return object{
			"name": name, "label": label, "type": "query", "datasource": source, "definition": query,
			"query":      object{"query": query, "refId": "variable"},
			"includeAll": true, "multi": true, "allValue": ".*", "refresh": 2, "sort": 1,
			"current": object{"selected": true, "text": []string{"All"}, "value": []string{"$__all"}},
		}
	}
	return []object{
		{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
		pick("skyhook", "Skyhook", "label_values(skyhook_status, skyhook_name)"),
		pick("package", "Package", `label_values(skyhook_package_state_count{skyhook_name=~"$skyhook"}, package_name)`),
	}
}
