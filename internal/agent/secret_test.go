//go:build integration

package agent_test

import (
	"strings"
	"testing"
)

// TestSecretVariablesAreMaskedEverywhere, also where a script traces what it
// does, and where a value comes in pieces, or in a line that is handed on in
// pieces.
func TestSecretVariablesAreMaskedEverywhere(t *testing.T) {
	h := newHost(t)
	h.Env["TOKEN"], h.Env["PEM"], h.Env["PORT"], h.Env["OPEN"] = "hunter2-hunter2", "-----BEGIN KEY-----\nMIIabc\n-----END KEY-----\n", "443", "not-secret"
	h.Env["KEY,ID of it"] = "zz-comma-secret" // Kubernetes allows such names
	h.Env["SKYHOOK_SECRET_ENV"] = "TOKEN,PEM,PORT,KEY,ID of it,MISSING"
	h.Env["SKYHOOK_AGENT_BUFFER_LIMIT"] = "64"
	h.define("apply", h.Script("a.sh", `set -x
		: curl -H "Bearer $TOKEN" "$PEM" "$OPEN" "$PORT"
		echo "$2"
		echo "$PEM" >&2
		[[ x == "$TOKEN" ]]
		set +x
		declare -p TOKEN PEM
		printf 'hunter2'; sleep 0.05; printf -- '-hunter2 in pieces\n'
		for i in 1 2 3 4 5 6 7 8 9; do printf '%055d' 0; printf 'hunter2-h'; sleep 0.01; printf 'unter2'; done; echo
		printf 'at the end hunter2-hunter2'
		[[ $1 == hunter2-hunter2 ]] || exit 9
		exit 5`, "env:TOKEN", "env:KEY,ID of it"))
	r := h.fail("apply", "step a.sh env:TOKEN env:KEY,ID of it exited 5")
	all := map[string]string{"stdout": r.Stdout, "stderr": r.Stderr, "message": r.message}
	for _, log := range h.find(logsDir + "/shell/1.1.0/*") {
		all[log] = h.Read(log)
	}
	for name, text := range all {
		for _, secret := range []string{"hunter2", `\h\u\n`, "BEGIN KEY", "MIIabc", "zz-comma"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows %s:\n%s", name, secret, text)
			}
		}
	}
	if !strings.Contains(r.Stderr, "not-secret 443") || !strings.Contains(r.Stdout, "at the end ***\n") || !strings.HasSuffix(r.message, "at the end ***") {
		t.Errorf("stdout\n%s\nstderr\n%s\nmessage\n%s", r.Stdout, r.Stderr, r.message)
	}
}
