// Package rootdir puts the files that a package ships for the host in place,
// and takes them away again.
//
// A manifest on the host says which files came from the package, and keeps
// what they replaced. It is written before anything is copied, so that it is
// never short of a file. The package must not know stages.
package rootdir
