// Package board tests the page of kubectl skyhook board as people see it: in a real browser, with the real command,
// on a real API server whose nodes carry the records that the operator writes.
package board
