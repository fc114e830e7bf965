package leanhttp

import (
	"bytes"
	"net/http"
)

// ParseRequest parses the request at the front of data into r and returns its length in
// bytes. It returns 0 if the request is incomplete, and an *Error if data cannot become
// a valid one.
func ParseRequest(data []byte, limits Limits, r *Request) (int, error) {
	limits = limits.filled()
	start, lines, head, err := splitHead(data, limits)
	if head == 0 || err != nil {
		return 0, err
	}
	*r = Request{}
	version10, err := parseRequestLine(start, r)
	if err != nil {
		return 0, err
	}
	fields, err := parseFields(lines, limits)
	if err != nil {
		return 0, err
	}
	// RFC 9112 section 3.2: exactly one Host in HTTP/1.1.
	lacksHost := fields.hosts == 0 && !version10
	if fields.hosts > 1 || lacksHost {
		return 0, refuse(http.StatusBadRequest, "request has %d Host fields, want 1", fields.hosts)
	}
	if fields.expects {
		return 0, refuse(http.StatusExpectationFailed, "request has an Expect field")
	}
	length := max(fields.length, 0)
	if len(data) < head+length {
		return 0, nil
	}
	r.ContentType = fields.contentType
	r.Context = fields.context
	r.Trace = fields.trace
	r.Body = data[head : head+length]
	r.Fields = lines
	r.KeepAlive = fields.keepAlive(version10)
	return head + length, nil
}

// ParseResponse parses the response at the front of data into r and returns its length
// in bytes. It returns 0 if the response is incomplete, and an *Error if data cannot
// become a valid one.
func ParseResponse(data []byte, limits Limits, r *Response) (int, error) {
	limits = limits.filled()
	start, lines, head, err := splitHead(data, limits)
	if head == 0 || err != nil {
		return 0, err
	}
	*r = Response{}
	version10, err := parseStatusLine(start, r)
	if err != nil {
		return 0, err
	}
	fields, err := parseFields(lines, limits)
	if err != nil {
		return 0, err
	}
	length := fields.length
	switch {
	case r.Status < 200:
		return 0, refuse(http.StatusNotImplemented, "response is interim (status %d)", r.Status)
	case r.Status == 204 || r.Status == 304: // they have no body, even with a Content-Length
		length = 0
	case length < 0:
		return 0, refuse(http.StatusNotImplemented, "response has no Content-Length")
	}
	if len(data) < head+length {
		return 0, nil
	}
	r.ContentType = fields.contentType
	r.Body = data[head : head+length]
	r.KeepAlive = fields.keepAlive(version10)
	return head + length, nil
}

// splitHead splits the head of a message, which ends with an empty line. It returns
// the first line, the other lines with their line ends, and the length of the head; 0
// if the head is incomplete.
func splitHead(data []byte, limits Limits) (start, lines []byte, length int, err error) {
	window := data[:min(len(data), limits.Head)]
	end := bytes.Index(window, []byte("\r\n\r\n"))
	if end >= 0 {
		start, lines, err = nextLine(data[:end+2])
		return start, lines, end + 4, err
	}
	if len(data) >= limits.Head {
		return nil, nil, 0, refuse(http.StatusRequestHeaderFieldsTooLarge, "head is longer than %d bytes",
			limits.Head)
	}
	// A first byte that cannot begin a message (a TLS handshake, an empty line) is refused
	// at once, instead of waiting for the end of the head.
	if len(data) > 0 && !isToken[data[0]] {
		return nil, nil, 0, refuse(http.StatusBadRequest, "message begins with byte 0x%02x", data[0])
	}
	return nil, nil, 0, nil
}

// nextLine splits off the first line. It refuses all control bytes except the tab (RFC
// 9110 section 5.5), and therefore also a CR or LF alone.
func nextLine(lines []byte) (line, rest []byte, err error) {
	for i, b := range lines {
		if b >= ' ' && b != 0x7f || b == '\t' {
			continue
		}
		if b == '\r' && i+1 < len(lines) && lines[i+1] == '\n' {
			return lines[:i], lines[i+2:], nil
		}
		return nil, nil, refuse(http.StatusBadRequest, "control byte 0x%02x in the head", b)
	}
	return nil, nil, refuse(http.StatusBadRequest, "line without end in the head")
}

// parseRequestLine stores the method and the target of a request line in r. It reports whether its version is
// HTTP/1.0.
func parseRequestLine(line []byte, r *Request) (version10 bool, err error) {
	method, rest, found := bytes.Cut(line, []byte{' '})
	target, version, foundTwo := bytes.Cut(rest, []byte{' '})
	if !found || !foundTwo || !validToken(method) {
		return false, refuse(http.StatusBadRequest, "request line %.60q: want METHOD TARGET VERSION", line)
	}
	if len(target) == 0 || target[0] != '/' || !validTarget(target) {
		return false, refuse(http.StatusBadRequest, "target %.60q: want a path", target)
	}
	r.Method = method
	r.Target = target
	return parseVersion(version)
}

// parseStatusLine stores the status of a status line in r. It reports whether its version is HTTP/1.0.
func parseStatusLine(line []byte, r *Response) (version10 bool, err error) {
	version, rest, _ := bytes.Cut(line, []byte{' '})
	code, _, _ := bytes.Cut(rest, []byte{' '})
	if version10, err = parseVersion(version); err != nil {
		return false, err
	}
	status, ok := parseNumber(code)
	if !ok || len(code) != 3 || status < 100 || status > 599 {
		return false, refuse(http.StatusBadRequest, "status line %.60q: want VERSION STATUS REASON", line)
	}
	r.Status = status
	return version10, nil
}

// parseVersion reports whether a version is HTTP/1.0. It refuses all but this and HTTP/1.1.
func parseVersion(version []byte) (version10 bool, err error) {
	switch string(version) {
	case "HTTP/1.1":
		return false, nil
	case "HTTP/1.0":
		return true, nil
	}
	return false, refuse(http.StatusHTTPVersionNotSupported, "version %.20q: want HTTP/1.1 or HTTP/1.0", version)
}
