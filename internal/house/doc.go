// Package house holds the rules of the code base as tests: which room may import
// which, how long files and functions may be, that every package and every
// exported name is explained, and that no dependency comes in unnoticed.
//
// It has no code for others. A rule that fails says why it exists; a rule that
// is wrong is changed here, in the open.
package house
