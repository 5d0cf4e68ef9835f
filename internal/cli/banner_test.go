package cli

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestWithoutBanner(t *testing.T) {
	const banner = bannerRule + "-CLI CONFIGURATION--\nmode: apply\n" + bannerRule
	for name, c := range map[string]struct{ log, want string }{
		"nothing":                     {"", ""},
		"a banner":                    {banner + "installed\n", "installed\n"},
		"a banner, and nothing yet":   {banner, ""},
		"half a banner":               {banner[:30], banner[:30]},
		"the end of a log":            {"mode: apply\n" + bannerRule + "installed\n", "mode: apply\n" + bannerRule + "installed\n"},
		"a package's own lines":       {bannerRule + "hello\n" + bannerRule, bannerRule + "hello\n" + bannerRule},
		"a banner after other output": {"hello\n" + banner, "hello\n" + banner},
		"lines that never end": {
			bannerRule + strings.Repeat("-CLI CONFIGURATION--\n", 100), bannerRule + strings.Repeat("-CLI CONFIGURATION--\n", 100),
		},
		"one line without an end": {"hello", "hello"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := io.ReadAll(withoutBanner(iotest.OneByteReader(strings.NewReader(c.log))))
			if err != nil || string(got) != c.want {
				t.Errorf("%q, error %v", got, err)
			}
		})
	}
}
