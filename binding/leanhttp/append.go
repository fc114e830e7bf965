package leanhttp

import (
	"net/http"
	"strconv"
)

// AppendRequest appends a request to dst. body must be empty unless contentType is set or the
// method is POST or PUT: only then a Content-Length is sent.
func AppendRequest(dst []byte, method, host, target, contentType string, body []byte) []byte {
	dst = append(dst, method...)
	dst = append(dst, ' ')
	dst = append(dst, target...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, host...)
	if contentType != "" || method == http.MethodPost || method == http.MethodPut {
		dst = appendEntity(dst, contentType, len(body))
	}
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, body...)
}

// Field is an additional header field of a response. Neither part may contain a line end.
type Field struct{ Name, Value string }

// AppendResponse appends a response to dst. date is the value of its Date field, which is
// omitted if empty. body must be empty for the status 204 or 304. last announces that the server
// closes the connection after the response.
func AppendResponse(
	dst []byte, status int, date, contentType string, body []byte, last bool, more ...Field,
) []byte {
	dst = appendHead(dst, status, date, contentType, len(body), last)
	for _, field := range more {
		dst = append(dst, "\r\n"...)
		dst = append(dst, field.Name...)
		dst = append(dst, ": "...)
		dst = append(dst, field.Value...)
	}
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, body...)
}

// appendHead appends the head without its last line end, so that fields can follow.
func appendHead(dst []byte, status int, date, contentType string, length int, last bool) []byte {
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	dst = append(dst, ' ')
	dst = append(dst, http.StatusText(status)...)
	if date != "" {
		dst = append(dst, "\r\nDate: "...)
		dst = append(dst, date...)
	}
	if last {
		dst = append(dst, "\r\nConnection: close"...)
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		dst = appendEntity(dst, contentType, length)
	}
	return dst
}

// appendEntity appends the fields that describe a body.
func appendEntity(dst []byte, contentType string, length int) []byte {
	if contentType != "" {
		dst = append(dst, "\r\nContent-Type: "...)
		dst = append(dst, contentType...)
	}
	dst = append(dst, "\r\nContent-Length: "...)
	return strconv.AppendInt(dst, int64(length), 10)
}
