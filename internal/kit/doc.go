// Package kit is what authors of packages use on their own machines: it checks a package, tries it without a cluster,
// and builds its image. It is the commands below `skyhook package`.
//
// A trial runs the agent itself; the agent knows nothing of this package, so what only authors need is on no host.
package kit
