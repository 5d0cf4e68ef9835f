package packagefile

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

var topLevelKeys = []string{"schema_version", "package_name", "package_version", "expected_config_files", "modes"}

// checkKeys finds keys that the decoder drops without a word: the first of two
// that are the same, and those at the top level that are nearly a known one.
func checkKeys(raw []byte, report *Report) {
	d := keyReader{json.NewDecoder(bytes.NewReader(raw)), report}
	// The text was parsed before, so there are no errors to expect.
	d.value(nil)
}

type keyReader struct {
	*json.Decoder
	report *Report
}

func (d keyReader) value(at []string) {
	token, _ := d.Token()
	switch token {
	case json.Delim('{'):
		d.object(at)
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			d.value(append(slices.Clone(at), strconv.Itoa(i)))
		}
		_, _ = d.Token()
	}
}

func (d keyReader) object(at []string) {
	seen := map[string]int{}
	for d.More() {
		token, _ := d.Token()
		key, _ := token.(string)
		here := append(slices.Clone(at), key)
		seen[key]++
		if seen[key] == 2 {
			d.report.fail(pointerTo(here...), "keep one: only the last one counts", "is given more than once")
		}
		if meant := nearest(key); len(at) == 0 && meant != "" {
			d.report.warn(pointerTo(here...), "write it as "+meant+", or remove it", "is not a known key, and is ignored")
		}
		d.value(here)
	}
	_, _ = d.Token()
}

// nearest is the known key that an unknown one was probably meant to be.
func nearest(key string) string {
	if slices.Contains(topLevelKeys, key) {
		return ""
	}
	for _, known := range topLevelKeys {
		a, b := plain(key), plain(known)
		if a == b || distance(a, b) <= len(b)/5 {
			return known
		}
	}
	return ""
}

// plain leaves of a key what does not depend on how words are joined.
func plain(key string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(key))
}

// distance counts the letters to add, drop or change between two words, as
// Levenshtein did; words that are too different to matter count as far apart.
func distance(a, b string) int {
	const far = 99
	if max(len(a), len(b)) > 2*min(len(a), len(b)) {
		return far
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// checkTag warns of versions that no image can have as its tag.
func checkTag(pkg *Package, report *Report) {
	if strings.Contains(pkg.Version, "+") {
		report.warn("/package_version", "leave out what begins with '+'",
			"%q cannot be the tag of an image, which has no '+'", pkg.Version)
	}
}
