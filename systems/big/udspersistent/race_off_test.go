//go:build !race

package udspersistent

const racing = false
