//go:build !race

package udspersistent

const racing = false // see race_on_test.go
