package tutorial

import (
	"slices"
	"testing"
)

const page = "# Page\n```sh\nbefore\n```\n## Tutorial\ntext\n```sh\ncat <<EOF\n## no heading\nEOF\n```\n### Deeper\n```text\nout\n```\n## Next\n```sh\nafter\n```\n"

func TestSection(t *testing.T) {
	got, err := section(page, "Tutorial")
	want := []block{{"sh", "cat <<EOF\n## no heading\nEOF\n", 8}, {"text", "out\n", 14}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if _, err := section(page, "Tutorials"); err == nil {
		t.Error("found what is not there")
	}
}

func TestShows(t *testing.T) {
	for name, c := range map[string]struct {
		shown, output string
		want          bool
	}{
		"the same":              {"a\nb\n", "a\nb\n", true},
		"nothing":               {"", "", true},
		"too much":              {"a\n", "a\nb\n", false},
		"too little":            {"a\nb\n", "a\n", false},
		"lines left out":        {"…\nb\n…\n", "x\ny\nb\nz\n", true},
		"no lines left out":     {"…\nb\n…\n", "b\n", true},
		"not the one":           {"…\nb\n…\n", "x\nbb\nz\n", false},
		"the rest of a line":    {"after …\n", "after 3ms\n", true},
		"not the next line":     {"after …\n", "after\n3ms\n", false},
		"signs of a pattern":    {"(a.*)\n", "(a.*)\n", true},
		"not as a pattern":      {"a.*\n", "abc\n", false},
		"in another order":      {"…\na\n…\nb\n…\n", "b\na\n", false},
		"a line of it indented": {"  a\n", "a\n", false},
	} {
		if got := shows(c.shown, c.output); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
