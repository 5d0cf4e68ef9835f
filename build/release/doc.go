// Package release makes what a release consists of: images as archives, the chart, install.yaml, programs for people's
// own machines, the manifest for krew, what is in each of them (SPDX), checksums, and signatures where a key is given.
// A Publisher pushes the images and the chart of a release that was made.
//
// Equal input gives equal bytes, signatures included. Input is that of package images, and the time of the commit.
//
// What images consist of is not its business: build/images knows.
package release
