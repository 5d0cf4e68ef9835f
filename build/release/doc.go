// Package release makes what a release consists of: images as archives, the chart, install.yaml, programs for people's
// own machines, what is in each of them (SPDX), checksums, and signatures where a key is given.
//
// Equal input gives equal bytes, signatures included. Input is that of package images, and the time of the commit.
//
// It publishes nothing. What images consist of is not its business: build/images knows.
package release
