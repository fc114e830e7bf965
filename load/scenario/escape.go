package scenario

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

const hexDigits = "0123456789ABCDEF"

// appendURL appends a text to a URL. It percent-encodes bytes that a URL cannot contain (RFC 3986,
// appendix A), and the sign #, which would end the URL. It keeps the separators / ? & = %, so that a
// value can be a whole path or query.
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

// appendTarget appends a value that is a whole URL or its path, as in the header Location: without scheme
// and host, from the first slash on, and without its fragment, which clients do not send.
func appendTarget(out, text []byte) []byte {
	text, _, _ = bytes.Cut(text, []byte("#"))
	if scheme, rest, found := bytes.Cut(text, []byte("://")); found && !bytes.ContainsAny(scheme, "/?") {
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

// appendHeaderText appends a text to a header. It replaces characters that would end the header by
// spaces, as recipients do by RFC 9110, 5.5.
func appendHeaderText(out, text []byte) []byte {
	for _, c := range text {
		if isControl(rune(c)) {
			c = ' '
		}
		out = append(out, c)
	}
	return out
}

// appendJSONText appends a text within the quotes of a JSON string. Bytes that are not UTF-8 become the
// replacement character, as in encoding/json.
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
