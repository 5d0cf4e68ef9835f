// Package available tests how that comes to light which a full cache hides: tools/available, tools/fresh.
package available
