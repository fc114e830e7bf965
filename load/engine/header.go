package engine

import (
	"bytes"
	"fmt"
)

// header reads one header line. Only those that frame the answer matter; lengths
// keep the comparison off the hot path.
func (r *response) header(line []byte) error {
	i := bytes.IndexByte(line, ':')
	if i <= 0 {
		return fmt.Errorf("%w: a header reads %q", errMalformed, line[:min(len(line), 40)])
	}
	name, value := line[:i], line[i+1:]
	switch {
	case i == len("connection") && bytes.EqualFold(name, []byte("connection")):
		r.connection(value)
	case i == len("content-length") && bytes.EqualFold(name, []byte("content-length")):
		return r.contentLength(bytes.TrimSpace(value))
	case i == len("transfer-encoding") && bytes.EqualFold(name, []byte("transfer-encoding")):
		if !bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked")) {
			return fmt.Errorf("%w: transfer encoding %q is not supported", errMalformed, value[:min(len(value), 40)])
		}
		r.chunked = true
	}
	return nil
}

// connection reads the options of the header Connection.
func (r *response) connection(value []byte) {
	for option := range bytes.SplitSeq(value, []byte(",")) {
		option = bytes.TrimSpace(option)
		r.last = r.last || bytes.EqualFold(option, []byte("close"))
		r.keepAlive = r.keepAlive || bytes.EqualFold(option, []byte("keep-alive"))
	}
}

// contentLength reads a length. Two that differ would make the rest a matter of
// opinion.
func (r *response) contentLength(digits []byte) error {
	const most = 18 // digits of an int64
	var length int64
	for _, digit := range digits {
		if digit < '0' || digit > '9' {
			length = -1
			break
		}
		length = 10*length + int64(digit-'0')
	}
	if len(digits) == 0 || len(digits) > most || length < 0 || r.sized && length != r.left {
		return fmt.Errorf("%w: its length is %q", errMalformed, digits[:min(len(digits), 40)])
	}
	r.sized, r.left = true, length
	return nil
}
