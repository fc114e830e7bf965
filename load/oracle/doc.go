// Package oracle distinguishes right answers from wrong ones: by status, by texts and patterns in the
// body, and by values in JSON. An answer with status 200 and a failure in its body is a failure. The
// package knows no protocol; the receiver of an answer passes it as an Answer.
package oracle
