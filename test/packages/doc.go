// Package packages holds what skyhook-agent validate says about packages, broken and valid, by running the compiled
// agent over them.
package packages
