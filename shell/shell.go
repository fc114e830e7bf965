// Package shell splits commands as users type them, and quotes commands that users can paste into a shell. It
// runs none.
//
// Entry points: Split, Quote.
package shell

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Split splits a command into words at blanks. Blanks between single or double quotes do not split, and a
// backslash escapes the next character, except between single quotes. Nothing else has a meaning. A NUL
// character is an error, because no word of a command can hold one.
func Split(text string) ([]string, error) {
	if strings.ContainsRune(text, 0) {
		return nil, errors.New("the command has a NUL character: remove it")
	}
	var words []string
	var word []byte
	var quote byte                 // the open quote; 0: none
	begun, escaped := false, false // begun: there is a word, which may be empty
	for i := range len(text) {     // bytes, since a path may be no UTF-8
		c := text[i]
		switch {
		case escaped:
			word = append(word, c)
			escaped = false
		case c == '\\' && quote != '\'':
			begun, escaped = true, true
		case c == quote:
			quote = 0
		case quote != 0:
			word = append(word, c)
		case c == '\'' || c == '"':
			begun, quote = true, c
		case c == ' ' || c == '\t' || c == '\n':
			if begun {
				words = append(words, string(word))
			}
			word = word[:0]
			begun = false
		default:
			begun = true
			word = append(word, c)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("the command ends inside quotes or behind a backslash")
	}
	if begun {
		words = append(words, string(word))
	}
	return words, nil
}

// bareWord matches the words that mean the same to a shell without quotes, among them those with {port}. It
// does not match a word that begins with =, which zsh replaces by the path of a command.
var bareWord = regexp.MustCompile(`^(?:[\pL\pN_@%+:,./-]|\{\w+\})(?:[\pL\pN_@%+=:,./-]|\{\w+\})*$`)

// Quote returns a command as a user types it in a shell. Nothing in its words is expanded or run there. A
// word with characters that a terminal does not show is written as $'...', which bash and zsh read.
//
// It does not use syntax.Quote of mvdan.cc/sh, which quotes {port}, and leaves ! bare, though an interactive
// shell expands it.
func Quote(words ...string) string {
	isHidden := func(r rune) bool { return !unicode.IsPrint(r) }
	quoted := make([]string, len(words))
	for i, word := range words {
		switch {
		case bareWord.MatchString(word):
			quoted[i] = word
		case !utf8.ValidString(word), strings.ContainsFunc(word, isHidden):
			var escaped strings.Builder
			for b := range len(word) { // a byte beyond ASCII becomes \xc3: bash reads \u00e4 in UTF-8 alone
				one := strconv.Quote(word[b : b+1])
				escaped.WriteString(one[1 : len(one)-1])
			}
			// A shell that does not know $'...' would end the quotes at \'.
			quoted[i] = "$'" + strings.ReplaceAll(escaped.String(), "'", `\x27`) + "'"
		default:
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
