package http1

import (
	"bytes"
	"fmt"
	"strconv"
)

// header reads one header line, and keeps it if headers are wanted. Only headers that frame or encode the
// answer matter here. It compares their lengths first, for speed.
func (r *Response) header(line []byte) error {
	i := bytes.IndexByte(line, ':')
	if i <= 0 {
		return fmt.Errorf("%w: a header reads %q", ErrMalformed, line[:min(len(line), 40)])
	}
	if r.keepHeader {
		r.Header = append(append(r.Header, line...), "\r\n"...)
	}
	name, value := line[:i], line[i+1:]
	switch {
	case i == len("connection") && bytes.EqualFold(name, []byte("connection")):
		r.connection(value)
	case i == len("content-length") && bytes.EqualFold(name, []byte("content-length")):
		return r.contentLength(bytes.TrimSpace(value))
	case i == len("transfer-encoding") && bytes.EqualFold(name, []byte("transfer-encoding")):
		if !bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked")) {
			return fmt.Errorf("%w: transfer encoding %q is not supported", ErrMalformed, value[:min(len(value), 40)])
		}
		r.chunked = true
	case i == len("content-encoding") && bytes.EqualFold(name, []byte("content-encoding")):
		r.Encoding = append(r.Encoding[:0], bytes.TrimSpace(value)...)
	}
	return nil
}

// connection reads the options of the header Connection.
func (r *Response) connection(value []byte) {
	for option := range bytes.SplitSeq(value, []byte(",")) {
		option = bytes.TrimSpace(option)
		r.Last = r.Last || bytes.EqualFold(option, []byte("close"))
		r.keepAlive = r.keepAlive || bytes.EqualFold(option, []byte("keep-alive"))
	}
}

// contentLength reads a length. Two different lengths are an error: the end of the body would be
// ambiguous.
func (r *Response) contentLength(digits []byte) error {
	length, err := strconv.ParseUint(string(digits), 10, 62)
	isSecond := r.sized && int64(length) != r.left
	if err != nil || isSecond {
		return fmt.Errorf("%w: its length is %q", ErrMalformed, digits[:min(len(digits), 40)])
	}
	r.sized = true
	r.left = int64(length)
	return nil
}
