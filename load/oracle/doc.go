// Package oracle tells right answers from wrong ones: by status, by texts and
// patterns in the body, by values in JSON. An answer with status 200 and a
// failure in its body is a failure. It knows no protocol; who received the
// answer hands it in as an Answer.
package oracle
