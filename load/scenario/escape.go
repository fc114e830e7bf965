package scenario

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

const hexDigits = "0123456789ABCDEF"

// appendURL writes a text into a URL: bytes that a URL cannot hold (RFC 3986,
// appendix A) are percent-encoded, and the sign # too, which would end it. What
// divides a URL (/ ? & = %) stays, so that a value can be a whole path or query.
func appendURL(out, text []byte) []byte {
	for _, c := range text {
		if c > ' ' && c < 0x7f && strings.IndexByte("\"#<>\\^`{|}", c) < 0 {
			out = append(out, c)
			continue
		}
		out = append(out, '%', hexDigits[c>>4], hexDigits[c&15])
	}
	return out
}

// appendTarget writes a value that is a whole URL or its path, as a server names
// it in the header Location: without scheme and host, from the first slash on.
func appendTarget(out, text []byte) []byte {
	if scheme, rest, found := bytes.Cut(text, []byte("://")); found && !bytes.ContainsAny(scheme, "/?#") {
		text = nil
		if i := bytes.IndexAny(rest, "/?"); i >= 0 {
			text = rest[i:]
		}
	}
	if len(text) == 0 || text[0] != '/' {
		out = append(out, '/')
	}
	return appendURL(out, text)
}

// appendHeaderText writes a text into a header. Characters that would end it
// become spaces, as RFC 9110, 5.5 has recipients do.
func appendHeaderText(out, text []byte) []byte {
	for _, c := range text {
		if c < ' ' && c != '\t' || c == 0x7f {
			c = ' '
		}
		out = append(out, c)
	}
	return out
}

// appendJSONText writes a text between the quotes of a JSON string. Bytes that
// are no UTF-8 become the replacement character, as in encoding/json.
func appendJSONText(out, text []byte) []byte {
	for len(text) > 0 {
		c := text[0]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(text)
			out = utf8.AppendRune(out, r)
			text = text[size:]
			continue
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ' || c == 0x7f:
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			out = append(out, c)
		}
		text = text[1:]
	}
	return out
}
