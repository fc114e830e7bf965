//go:build race

package udspersistent

// racing is true in a test binary with the race detector, which takes many
// times the memory per process.
const racing = true
