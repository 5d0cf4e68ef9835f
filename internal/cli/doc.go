// Package cli has the commands of kubectl skyhook for administrators. They show and steer Skyhooks with what the user
// may read and write: none of them needs the operator to be there.
package cli
