// Package house holds the rules of the code base as tests: which room may import
// which, the maximum length of files and functions, that every package and every
// exported name has a comment, and that no dependency is added unnoticed.
//
// It exports nothing. A failing rule prints why it exists; a wrong rule is changed
// here, visibly.
package house
