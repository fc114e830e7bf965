package external

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/systems/loaded"
)

// Inline returns a definition that is written on the command line: URL, name=URL or name=COMMAND. A command
// is split by Split, without a shell; {port} in it stands for the port on which it has to listen.
func Inline(text string) (Definition, error) {
	name, value, named := strings.Cut(text, "=")
	if isURL(text) || !named {
		name, value = "", text
	}
	d := Definition{Name: name}
	switch {
	case isURL(value):
		d.URL = value
		u, err := url.Parse(value)
		if err == nil && u.User == nil && u.RawQuery != "" {
			return d, fmt.Errorf("URL %q: a query belongs to what is asked of every system: --path %s, and "+
				"%s://%s here", value, Quote(u.RequestURI()), u.Scheme, u.Host)
		}
		if err == nil && name == "" {
			d.Name = loaded.NameOf(u.Host)
		}
	case !named:
		return d, fmt.Errorf("%q is no file, no URL and not name=COMMAND", text)
	default:
		var err error
		if d.Command, err = Split(value); err != nil {
			return d, fmt.Errorf("system %s: %w", name, err)
		}
		if len(d.Command) == 0 {
			return d, fmt.Errorf("system %s: there is no command behind %q", name, name+"=")
		}
		if !strings.Contains(value, portMark) {
			return d, fmt.Errorf("system %s: put %s into the command where its port belongs, or write a system file "+
				"with its url: cleave init system", name, portMark)
		}
		if d.Dir, err = os.Getwd(); err != nil {
			return d, err
		}
	}
	return d, joinMistakes("system "+d.Name, d.complete())
}

// isURL reports whether a text begins with a scheme, such as http://.
func isURL(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	return found && !strings.ContainsAny(scheme, "= /")
}

// Split splits a command into words at blanks. Blanks between single or double quotes do not split, and a
// backslash escapes the next character, except between single quotes. Nothing else has a meaning.
func Split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune                 // the open quote; 0: none
	begun, escaped := false, false // begun: there is a word, which may be empty
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			begun, escaped = true, true
		case r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			begun, quote = true, r
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("the command ends inside quotes or behind a backslash")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// bareWord matches the words that mean the same to a shell without quotes, among them those with {port}. Of
// words that begin with =, zsh makes paths of commands.
var bareWord = regexp.MustCompile(`^(?:[\pL\pN_@%+:,./-]|\{\w+\})(?:[\pL\pN_@%+=:,./-]|\{\w+\})*$`)

// Quote returns a command as a user types it in a shell. Nothing in its words is expanded or run there. A
// word with characters that a terminal does not show is written as $'...', which bash and zsh read.
//
// syntax.Quote of mvdan.cc/sh leaves ! bare, which an interactive shell expands, and quotes {port}.
func Quote(words ...string) string {
	isHidden := func(r rune) bool { return !unicode.IsPrint(r) }
	quoted := make([]string, len(words))
	for i, word := range words {
		switch {
		case bareWord.MatchString(word):
			quoted[i] = word
		case !utf8.ValidString(word), strings.ContainsFunc(word, isHidden):
			escaped := strings.ReplaceAll(strconv.Quote(word), "'", `\x27`) // other shells know no \' in it
			quoted[i] = "$'" + escaped[1:len(escaped)-1] + "'"
		default:
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
