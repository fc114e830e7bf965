package engine

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// BuildRequest makes the bytes that every operation sends. Headers are lines
// "Name: value"; Host and Content-Length are added where they are missing.
func BuildRequest(t Target, method string, headers []string, body []byte) ([]byte, error) {
	var mistakes []error
	if !isToken(method) {
		mistakes = append(mistakes, fmt.Errorf("method %q is not one word of letters", method))
	}
	var given []string
	var lines bytes.Buffer
	for _, header := range headers {
		name, value, err := splitHeader(header)
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		given = append(given, strings.ToLower(name))
		fmt.Fprintf(&lines, "%s: %s\r\n", name, value)
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	var request bytes.Buffer
	fmt.Fprintf(&request, "%s %s HTTP/1.1\r\n", method, t.uri)
	if !slices.Contains(given, "host") {
		fmt.Fprintf(&request, "Host: %s\r\n", t.host)
	}
	request.Write(lines.Bytes())
	if len(body) > 0 || slices.Contains([]string{"POST", "PUT", "PATCH"}, method) {
		request.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n")
	}
	request.WriteString("\r\n")
	request.Write(body)
	return request.Bytes(), nil
}

// splitHeader checks a header line. The framing is the engine's own business.
func splitHeader(line string) (name, value string, err error) {
	name, value, found := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	switch {
	case !found || !isToken(name):
		return "", "", fmt.Errorf("header %q: write it as 'Name: value'", line)
	case strings.ContainsFunc(value, isControl):
		return "", "", fmt.Errorf("header %s: the value %q has characters that a header cannot hold", name, value)
	case slices.Contains([]string{"content-length", "transfer-encoding"}, strings.ToLower(name)):
		return "", "", fmt.Errorf("header %s is set by the engine itself: leave it out", name)
	}
	return name, value, nil
}

// isToken reports whether s is a word as methods and header names are (RFC 9110,
// 5.6.2).
func isToken(s string) bool {
	for _, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// isControl finds what would end a header value early.
func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
