// Package house holds the rules of the code base as tests: which room may import
// which, the maximum length of files and functions, that every package and every
// exported name has a comment, and that no dependency is added unnoticed.
//
// It exports nothing. A failing test prints the reason of its rule. If a rule is wrong, change it here, so
// that reviewers see the change.
package house
