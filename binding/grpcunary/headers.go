package grpcunary

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2/hpack"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// fields holds the header fields of a request or an answer that calls need.
type fields struct {
	method, path, timeout, trace string // of requests
	answer                       string // HTTP status
	contentType                  string
	code, message, details       string // gRPC status
}

// take stores a field if calls need it.
func (f *fields) take(field hpack.HeaderField) {
	switch field.Name {
	case ":method":
		f.method = field.Value
	case ":path":
		f.path = field.Value
	case ":status":
		f.answer = field.Value
	case "content-type":
		f.contentType = field.Value
	case "grpc-timeout":
		f.timeout = field.Value
	case "traceparent":
		f.trace = field.Value
	case "grpc-status":
		f.code = field.Value
	case "grpc-message":
		f.message = field.Value
	case "grpc-status-details-bin":
		f.details = field.Value
	}
}

// contentTypeOf returns the content type of messages in an encoding. For Protocol Buffers it is the short
// one.
func contentTypeOf(codec rpc.Codec) string {
	if codec == rpc.Codec(rpc.Protobuf{}) {
		return rpc.GRPCType
	}
	return rpc.GRPCType + "+" + rpc.GRPCName(codec)
}

// status returns the gRPC status of an answer.
func (f *fields) status() *status.Status {
	if f.details != "" {
		var detailed statuspb.Status
		data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(f.details, "="))
		if err == nil && proto.Unmarshal(data, &detailed) == nil {
			return status.FromProto(&detailed)
		}
	}
	code, err := strconv.ParseUint(f.code, 10, 32)
	if err != nil {
		return status.New(codes.Internal, "the answer has no gRPC status (HTTP status "+f.answer+")")
	}
	return status.New(codes.Code(code), unescape(f.message))
}

// statusFields returns the trailer fields of a failed call. Texts are marked sensitive, so that HPACK does
// not add them to its table.
func statusFields(s *status.Status) []hpack.HeaderField {
	all := []hpack.HeaderField{
		{Name: "grpc-status", Value: strconv.Itoa(int(s.Code()))},
		{Name: "grpc-message", Value: escape(s.Message()), Sensitive: true},
	}
	if data, err := proto.Marshal(s.Proto()); err == nil && len(data) < maxHeaderValue/2 {
		all = append(all, hpack.HeaderField{Name: "grpc-status-details-bin",
			Value: base64.RawStdEncoding.EncodeToString(data), Sensitive: true})
	}
	return all
}

// escape returns a text in the percent-encoding of grpc-message. It cuts the text after about a quarter of
// maxHeaderValue.
func escape(text string) string {
	const hexadecimal = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(text) && b.Len() < maxHeaderValue/4; i++ {
		if c := text[i]; c >= ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hexadecimal[c>>4], hexadecimal[c&15]})
		}
	}
	return b.String()
}

// unescape reverses escape. It does not change invalid escapes.
func unescape(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// appendTimeout appends the value of grpc-timeout for the time left, at most rpc.MaxTimeout. It has at most
// eight digits, and is rounded up: the callee must not give up before the caller does.
func appendTimeout(dst []byte, left time.Duration) []byte {
	left = min(max(left, 0), rpc.MaxTimeout)
	unit := time.Microsecond
	letter := byte('u')
	if left > 99_999_999*time.Microsecond {
		unit, letter = time.Millisecond, 'm'
	}
	dst = strconv.AppendInt(dst, int64((left+unit-1)/unit), 10)
	return append(dst, letter)
}

// parseTimeout returns the value of a grpc-timeout, at most rpc.MaxTimeout; ok is false
// if it is absent or invalid.
func parseTimeout(value string) (left time.Duration, ok bool) {
	if len(value) < 2 || len(value) > 9 {
		return 0, false
	}
	n, err := strconv.ParseUint(value[:len(value)-1], 10, 32)
	if err != nil {
		return 0, false
	}
	unit := map[byte]time.Duration{
		'n': time.Nanosecond, 'u': time.Microsecond, 'm': time.Millisecond, 'S': time.Second, 'M': time.Minute,
		'H': time.Hour,
	}[value[len(value)-1]]
	if unit == 0 || time.Duration(n) > rpc.MaxTimeout/unit {
		return rpc.MaxTimeout, unit != 0
	}
	return time.Duration(n) * unit, true
}
