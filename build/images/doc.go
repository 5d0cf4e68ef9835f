// Package images builds the project's container images without a container engine: operator and agent from one static
// binary each, packages from their folder and a small base of Debian's static bash and busybox.
//
// Equal input gives equal digests. Input is the source, the Go release, the packages of Debian that Result.Debian lists,
// and the version and revision that go into the labels; times, owners, folders and the order of directory entries are not.
//
// It knows how images are made, not where they go: what runs them pushes Result.Index, or reads the files of Result.
package images
