package settings

// programMemory is what the pages of the program itself take, in bytes.
const programMemory = 40 << 20

// DataMemory is what a container's memory limit leaves for data, in bytes. The kernel counts the pages of the program,
// and the garbage collector does not.
func DataMemory(limit uint64) uint64 {
	return max(limit/2, limit-min(limit, programMemory))
}
