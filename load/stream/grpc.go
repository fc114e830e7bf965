package stream

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/cleave-lab/cleave/load/oracle"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

const (
	// maxMessage bounds the message of an answer, in bytes, because it is kept whole. It is the default limit
	// of gRPC clients.
	maxMessage = 4 << 20
	// prefix is the number of bytes before a message: whether it is compressed, and its length.
	prefix = 5
)

// grpcLink is a connection that several calls share. A unary call of gRPC is a request of HTTP/2 whose body
// is one message, and whose answer ends with a status in its trailers ("gRPC over HTTP2", a document of
// gRPC).
type grpcLink struct {
	*http2Link
	methods map[string]*method
}

// exchange makes a call.
func (l *grpcLink) exchange(x *exchange) {
	call := x.session.Call()
	method := l.methods[call.GRPC]
	if method == nil {
		x.fail(record.OtherError, "the method "+call.GRPC+
			" was not looked up before the load: name it in Config.Methods")
		return
	}
	body, err := method.encode(call.Body)
	if err != nil {
		x.fail(record.OtherError, err.Error())
		return
	}
	message, status, ok := l.call(x, &call, body)
	if !ok {
		if isOfGRPC(&x.answer) { // 200 of HTTP, which would be taken for a status of gRPC
			x.answer.Status = 0
		}
		return
	}
	header, needed := x.session.Needs()
	if header {
		x.answer.Header = withPadding(x.answer.Header)
	}
	x.answer.Status = int(status.code)
	x.answer.Body = nil
	if needed > 0 && status.code == codes.OK {
		if x.answer.Body, err = method.decode(message); err != nil {
			x.fail(record.Malformed, err.Error())
		}
	}
}

// call sends the body of a call, and returns the message and the status of the answer. ok is false if there
// is no such answer: then the exchange has failed.
func (l *grpcLink) call(
	x *exchange, call *scenario.Call, body []byte,
) (message []byte, status callStatus, ok bool) {
	header, err := callHeader(call.Header, l.limit)
	if err != nil {
		x.fail(record.OtherError, err.Error())
		return nil, status, false
	}
	x.h2.Bodiless = false
	x.h2.KeepHeader = true
	x.h2.KeepBody = prefix + maxMessage
	l.roundTrip(x, &scenario.Call{Method: "POST", Path: "/" + call.GRPC, Header: header, Body: body})
	if x.outcome != record.OK {
		return nil, status, false
	}
	message, status, outcome, why := readCall(&x.answer)
	if outcome != record.OK {
		x.fail(outcome, why)
	}
	return message, status, outcome == record.OK
}

// callHeader returns the header of a call with the headers of its step. The values of names that end in -bin
// are bytes, which steps and requests have in base64.
func callHeader(step []scenario.Field, limit time.Duration) ([]scenario.Field, error) {
	// The server gets a little more time, so that this side ends the call: at the end of its time a server may
	// reset the stream without a status.
	limit += 250 * time.Millisecond
	timeout := fmt.Sprintf("%dm", limit.Milliseconds())
	if len(timeout) > len("12345678m") { // a number has at most eight digits
		timeout = fmt.Sprintf("%dS", limit/time.Second)
	}
	header := []scenario.Field{
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
		{Name: "grpc-timeout", Value: timeout},
	}
	for _, field := range step {
		name := strings.ToLower(field.Name)
		switch name {
		case "content-type", "te", "grpc-timeout", "grpc-encoding": // they belong to the protocol
			continue
		}
		if strings.HasSuffix(name, scenario.BinarySuffix) {
			if _, err := scenario.DecodeBinary(field.Value); err != nil {
				return nil, fmt.Errorf("header %s: %w", name, err)
			}
			field.Value = strings.TrimRight(field.Value, "=") // the protocol wants no padding
		}
		header = append(header, field)
	}
	return header, nil
}

// withPadding returns the header of an answer with padding in the base64 of names that end in -bin, which
// servers leave out.
func withPadding(header []byte) []byte {
	out := make([]byte, 0, len(header))
	for line := range bytes.Lines(header) {
		field := bytes.TrimSuffix(line, []byte("\r\n"))
		name, value, _ := bytes.Cut(field, []byte(": "))
		if bytes.HasSuffix(name, []byte(scenario.BinarySuffix)) {
			if data, err := scenario.DecodeBinary(string(value)); err == nil {
				value = base64.StdEncoding.AppendEncode(nil, data)
			}
		}
		out = fmt.Appendf(out, "%s: %s\r\n", name, value)
	}
	return out
}

// callStatus is the status with which a server ends a call.
type callStatus struct {
	code    codes.Code
	message string
}

// Error returns the code and the message.
func (s callStatus) Error() string { return fmt.Sprintf("%s: %s", s.code, s.message) }

// readCall returns the message and the status of an answer to a call. For any other answer it returns the
// outcome and the reason.
func readCall(a *oracle.Answer) (message []byte, status callStatus, outcome record.Outcome, why string) {
	if !isOfGRPC(a) {
		kind, _ := a.HeaderValue("content-type")
		return nil, status, outcomeOfPage(a.Status),
			fmt.Sprintf("it answers with the HTTP status %d and the type %q, not with gRPC", a.Status, kind)
	}
	text, _ := a.HeaderValue("grpc-status")
	code, err := strconv.ParseUint(string(text), 10, 31)
	if err != nil {
		return nil, status, record.Malformed, fmt.Sprintf("its status of gRPC is %q", text)
	}
	text, _ = a.HeaderValue("grpc-message")
	status = callStatus{codes.Code(code), string(text)}
	if plain, err := url.PathUnescape(status.message); err == nil {
		status.message = plain
	}
	switch {
	case status.code != codes.OK: // a message before such a status does not count
		return nil, status, record.OK, ""
	case a.Truncated:
		return nil, status, record.TooLarge, fmt.Sprintf("its message has more than %d bytes", maxMessage)
	case !isOneMessage(a.Body):
		return nil, status, record.Malformed, "its body is not one message that is not compressed"
	}
	return a.Body[prefix:], status, record.OK, ""
}

// isOneMessage reports whether a body is one message that is not compressed.
func isOneMessage(body []byte) bool {
	if len(body) < prefix {
		return false
	}
	isCompressed := body[0] != 0
	length := binary.BigEndian.Uint32(body[1:])
	return !isCompressed && int64(length) == int64(len(body)-prefix)
}

// isOfGRPC reports whether the header of an answer begins an answer to a call.
func isOfGRPC(a *oracle.Answer) bool {
	kind, _ := a.HeaderValue("content-type")
	return a.Status == http.StatusOK && bytes.HasPrefix(kind, []byte("application/grpc"))
}

// outcomeOfPage returns the outcome for an answer that is not gRPC, such as that of a proxy, by its HTTP
// status.
func outcomeOfPage(status int) record.Outcome {
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return record.Rejected
	case http.StatusOK:
		return record.Malformed
	}
	return record.BadStatus
}
