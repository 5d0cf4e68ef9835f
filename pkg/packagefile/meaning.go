package packagefile

import "strings"

// meanings says what each field holds, in a form that completes "make it …".
var meanings = map[string]string{
	"schema_version":        `"v1", the only schema there is`,
	"package_name":          "the name of the package, one path element such as shellscript",
	"package_version":       "a semantic version such as 1.2.3, without a leading v and without leading zeros",
	"expected_config_files": `a list of the config map keys that must be there, or []`,
	"modes":                 `an object from mode names to lists of steps, such as {"apply": [...], "apply-check": [...]}`,
	"name":                  "a name made of letters, digits, '_', '-' and '.'",
	"path":                  "the script's path below " + StepDir + "/",
	"arguments":             "a list of strings, or []",
	"returncodes":           "a list of the exit codes that mean success, such as [0]",
	"on_host":               "true: steps run on the host",
	"idempotence":           "true if the script may always be run again, false to run it only until it succeeded",
	"upgrade_step":          "true if the script wants the previous and the current version as arguments, else false",
	"env":                   "an object from names to strings",
}

// meaning describes the field at a location in config.json.
func meaning(at []string) string {
	if len(at) == 0 {
		return "an object"
	}
	last := at[len(at)-1]
	switch {
	case len(at) == 2 && at[0] == "modes":
		return "a list of steps, or []"
	case len(at) == 3 && at[0] == "modes":
		return "a step: an object with name, path, arguments, returncodes, on_host, idempotence and upgrade_step"
	case len(at) == 2 && at[0] == "expected_config_files":
		return "the name of a config map key"
	case len(at) == 5 && at[3] == "returncodes":
		return "an exit code, a whole number"
	case len(at) == 5 && (at[3] == "arguments" || at[3] == "env"):
		return "a string"
	}
	if m, ok := meanings[last]; ok {
		return m
	}
	return "what the schema asks for"
}

// knownKeys completes the fix for an unknown key of the object at a location.
func knownKeys(at []string) string {
	if len(at) == 1 && at[0] == "modes" {
		return "use one of " + strings.Join(ModeNames(), ", ")
	}
	return "remove it, or use one of name, path, arguments, returncodes, on_host, idempotence, upgrade_step, env"
}
