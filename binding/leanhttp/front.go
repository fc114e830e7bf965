//go:build linux

package leanhttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Front returns a Respond that calls a handler of net/http. The handler gets the same
// requests, and clients get the same answers, as with a server of net/http. But the
// handler cannot flush, hijack or push, because answers are only sent as a whole.
func Front(handler http.Handler) Respond {
	var writers sync.Pool
	clock := &Clock{}
	return func(ctx context.Context, r *Request, last bool, out []byte) []byte {
		w, used := writers.Get().(*writer)
		if !used {
			w = &writer{header: http.Header{}}
		}
		defer func() {
			if cap(w.body) <= keptBytes {
				writers.Put(w)
			}
		}()
		w.status = 0
		w.body = w.body[:0]
		clear(w.header)
		request, err := requestOf(ctx, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		} else {
			handler.ServeHTTP(w, request)
		}
		if w.closes() {
			last = true
			r.KeepAlive = false
		}
		return w.appendTo(out, clock.Date(), last, string(r.Method) == http.MethodHead)
	}
}

// requestOf converts a request to one of net/http.
func requestOf(ctx context.Context, r *Request) (*http.Request, error) {
	target, err := url.ParseRequestURI(string(r.Target))
	if err != nil {
		return nil, fmt.Errorf("the target is no URL: %w", err)
	}
	request := &http.Request{
		Method: string(r.Method), URL: target, RequestURI: string(r.Target), Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     make(http.Header, 4), Body: http.NoBody, ContentLength: int64(len(r.Body)), Close: !r.KeepAlive,
	}
	if len(r.Body) > 0 {
		request.Body = io.NopCloser(bytes.NewReader(r.Body))
	}
	lineEnd := []byte("\r\n")
	for line := range bytes.SplitSeq(bytes.TrimSuffix(r.Fields, lineEnd), lineEnd) {
		name, value, _ := bytes.Cut(line, []byte{':'})
		key := textproto.CanonicalMIMEHeaderKey(string(name))
		if text := string(bytes.Trim(value, " \t")); key == "Host" {
			request.Host = text
		} else if key != "" {
			request.Header[key] = append(request.Header[key], text)
		}
	}
	return request.WithContext(ctx), nil
}

// writer is an http.ResponseWriter that collects an answer.
type writer struct {
	header http.Header
	status int // 0: not set yet
	body   []byte
}

// Header implements http.ResponseWriter.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. It keeps the first status, and ignores
// interim ones.
func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *writer) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body = append(w.body, data...)
	return len(data), nil
}

// WriteString implements io.StringWriter.
func (w *writer) WriteString(text string) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body = append(w.body, text...)
	return len(text), nil
}

// closes reports whether the handler asked to close the connection after the answer.
func (w *writer) closes() bool {
	var said fields
	for _, value := range w.header["Connection"] {
		said.takeConnection([]byte(value))
	}
	return said.saysClose
}

// appendTo appends the answer; only its head if headOnly is set. The server itself sets Content-Length, Date
// and Connection; but for HEAD, handlers such as http.ServeContent set the length of the body that they omit.
func (w *writer) appendTo(out []byte, date string, last, headOnly bool) []byte {
	w.WriteHeader(http.StatusOK)
	contentType := w.header.Get("Content-Type")
	length := len(w.body)
	if contentType == "" && length > 0 {
		contentType = http.DetectContentType(w.body)
	}
	if sent, err := strconv.Atoi(w.header.Get("Content-Length")); err == nil && headOnly {
		length = sent
	}
	out = appendHead(out, w.status, date, contentType, length, last)
	for key, values := range w.header {
		switch key {
		case "Content-Type", "Content-Length", "Date", "Connection", "Transfer-Encoding":
			continue // set by appendHead, or not supported
		}
		for _, value := range values {
			out = append(append(append(out, "\r\n"...), key...), ": "...)
			out = append(out, strings.NewReplacer("\r", " ", "\n", " ").Replace(value)...) // as net/http does
		}
	}
	out = append(out, "\r\n\r\n"...)
	if headOnly || w.status == http.StatusNoContent || w.status == http.StatusNotModified {
		return out
	}
	return append(out, w.body...)
}

// Clock formats the Date field, which RFC 9110 section 6.6.1 requires of a server with a
// clock, once a second. It is safe for concurrent use.
type Clock struct{ date atomic.Pointer[second] }

type second struct {
	unix int64
	text string
}

// Date returns the value of the field for now.
func (c *Clock) Date() string {
	now := time.Now()
	date := c.date.Load()
	if date == nil || date.unix != now.Unix() {
		date = &second{now.Unix(), now.UTC().Format(http.TimeFormat)}
		c.date.Store(date)
	}
	return date.text
}
