package images

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteTable lists images for people.
func WriteTable(w io.Writer, results []Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "IMAGE\tVERSION\tSIZE\tDIGEST")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%s\t%.1f MB\t%s\n", strings.TrimSuffix(r.Reference, ":"+r.Version), r.Version,
			float64(r.Size)/1e6, r.Digest)
	}
	return t.Flush()
}
