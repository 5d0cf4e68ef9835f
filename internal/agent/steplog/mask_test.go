package steplog_test

import (
	"bytes"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/agent/steplog"
)

// TestMasking: whatever the pieces in which the output comes, one secret is
// masked as one.
func TestMasking(t *testing.T) {
	tests := map[string]struct {
		secrets    []string
		text, want string
	}{
		"none":                  {nil, "pw=hunter2", "pw=hunter2"},
		"twice":                 {[]string{"hunter2"}, "pw=hunter2;again hunter2\n", "pw=***;again ***\n"},
		"one after the other":   {[]string{"hunter2"}, "hunter2hunter2", "******"},
		"secret in a secret":    {[]string{"hunter", "hunter2"}, "hunter2 hunter\n", "*** ***\n"},
		"short at the end":      {[]string{"hunter", "hunter2"}, "hunter", "***"},
		"other ends":            {[]string{"hunter", "hunter22"}, "hunter2 hunterx", "***2 ***x"},
		"end and start":         {[]string{"hunter2", "2xyz"}, "hunter2 2xyz hunter2", "*** *** ***"},
		"false starts":          {[]string{"aaab"}, "aaaaab aab\n", "aa*** aab\n"},
		"several lines":         {[]string{" KEY1\n  line1\r\nline2\n\n"}, "x KEY1\nline1\nline2 y\n", "x ***\n***\n*** y\n"},
		"too short to hide":     {[]string{"1", "", "abc", "ab\nxyz"}, "11 of 1 abc ab xyz\n", "11 of 1 abc ab xyz\n"},
		"cut off":               {[]string{"hunter2"}, "pw=hunte", "pw=***"},
		"cut off early":         {[]string{"hunter2"}, "the hun", "the hun"},
		"traced in quotes":      {[]string{"it's me"}, `+ curl 'it'\''s me'`, `+ curl '***'`},
		"traced in ANSI quotes": {[]string{"a\tb'c\nline2"}, `+ curl $'a\tb\'c\nline2'`, `+ curl $'***\n***'`},
		"traced by dash":        {[]string{"it's me"}, `+ curl 'it'"'"'s me'`, `+ curl '***'`},
		"compared by [[":        {[]string{"hunter 2ä"}, `+ [[ x == \h\u\n\t\e\r\ \2\ä ]]`, `+ [[ x == *** ]]`},
		"compared in locale C":  {[]string{"hunterä2"}, "+ [[ x == \\h\\u\\n\\t\\e\\r\\\xc3\\\xa4\\2 ]]", "+ [[ x == *** ]]"},
		"listed by export":      {[]string{"a\"b$c`d\\e"}, "export S=\"a\\\"b\\$c\\`d\\\\e\"", `export S="***"`},
		"listed in locale C":    {[]string{"hunterä's\x1b"}, `S=$'hunter\303\244\'s\E'`, `S=$'***'`},
		"printf %q":             {[]string{"hunter's (2)"}, `hunter\'s\ \(2\)`, `***`},
		"not UTF-8":             {[]string{"\xff\xfe\xfd\xfc"}, "a\xff\xfe\xfd\xfcb\xff", "a***b\xff"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			secrets := steplog.NewSecrets(test.secrets)
			if got := secrets.Mask(test.text); got != test.want {
				t.Errorf("at once: %q, want %q", got, test.want)
			}
			for size := 1; size <= len(test.text); size++ {
				var got bytes.Buffer
				w := secrets.Masking(&got)
				for rest := test.text; rest != ""; {
					n := min(size, len(rest))
					write(t, w, rest[:n])
					rest = rest[n:]
				}
				for range 2 {
					must(t, w.Close())
				}
				if got.String() != test.want {
					t.Errorf("in pieces of %d: %q, want %q", size, got.String(), test.want)
				}
			}
		})
	}
}
