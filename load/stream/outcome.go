package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/http1"
	"github.com/cleave-lab/cleave/load/http2"
	"github.com/cleave-lab/cleave/load/record"
)

// outcomeOf returns the outcome for an error of an open connection, or of an answer on it.
func outcomeOf(err error) record.Outcome {
	var (
		alert   tls.AlertError
		garbage tls.RecordHeaderError
		errno   syscall.Errno
	)
	switch {
	case errors.Is(err, http1.ErrTooLarge):
		return record.TooLarge
	case errors.Is(err, http1.ErrMalformed), errors.Is(err, http2.ErrMalformed), errors.Is(err, errNotHTTP2):
		return record.Malformed
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return record.Timeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return record.Closed
	case errors.As(err, &errno):
		return engine.OutcomeOf(errno)
	case errors.As(err, &alert), errors.As(err, &garbage):
		return record.BadTLS
	}
	return record.OtherError
}

// outcomeOfConnect returns the outcome for a failed attempt to connect. A failed handshake is BadTLS, also if
// the server closed the connection in the regular way: it refused the handshake. If the connection below TLS
// was broken, the outcome is that of the connection; if time was up, it is Timeout.
func outcomeOfConnect(err error) record.Outcome {
	var handshake *handshakeError
	if errors.As(err, &handshake) {
		switch {
		case outcomeOf(handshake.error) == record.Timeout:
			return record.Timeout
		case handshake.below == record.OK, handshake.below == record.Closed:
			return record.BadTLS
		}
		return handshake.below
	}
	if outcome, known := engine.OutcomeOfConnect(err); known {
		return outcome
	}
	return outcomeOf(err)
}

// outcomeOfHTTP2 returns the outcome for an exchange without an answer on HTTP/2. The end that the wire
// has seen is more exact than the error above it.
func outcomeOfHTTP2(err error, w *wire) record.Outcome {
	var (
		reset  http2.ResetError
		goAway http2.GoAwayError
	)
	switch {
	case errors.Is(err, http2.ErrTimeout):
		return record.Timeout
	case errors.Is(err, http2.ErrTooLarge):
		return record.TooLarge
	case errors.Is(err, http2.ErrMalformed):
		return record.Malformed
	case errors.As(err, &reset):
		if reset.Code == http2.RefusedStream || reset.Code == http2.EnhanceYourCalm {
			return record.Rejected
		}
		return record.Reset
	case errors.As(err, &goAway) && goAway.Code == http2.EnhanceYourCalm:
		return record.Rejected
	case w.outcome() != record.OK:
		return w.outcome()
	case errors.As(err, &goAway), errors.Is(err, http2.ErrUnseen), errors.Is(err, http2.ErrClosed):
		return record.Closed
	}
	return outcomeOf(err)
}

// outcomeOfGRPC returns the outcome for a call without a status of the server. The library reports many
// causes as text only.
func outcomeOfGRPC(err error, w *wire) record.Outcome {
	text := status.Convert(err).Message()
	switch code := status.Code(err); {
	case code == codes.DeadlineExceeded:
		return record.Timeout
	case tooLarge(err):
		return record.TooLarge
	case strings.Contains(text, "unexpected HTTP status code"):
		return outcomeOfPage(text)
	case strings.Contains(text, "REFUSED_STREAM"), strings.Contains(text, "ENHANCE_YOUR_CALM"):
		return record.Rejected
	case strings.Contains(text, "RST_STREAM"):
		return record.Reset
	case code == codes.Unavailable && w.outcome() != record.OK:
		return w.outcome()
	case code == codes.Unavailable, code == codes.Canceled:
		return record.Closed
	}
	return record.Malformed
}

// tooLarge reports whether this side refused a message because of its size. The server's status may come
// at the same time.
func tooLarge(err error) bool {
	return status.Code(err) == codes.ResourceExhausted &&
		strings.HasPrefix(status.Convert(err).Message(), "grpc: received message larger")
}

// outcomeOfPage returns the outcome for an answer that is not gRPC, such as that of a proxy.
func outcomeOfPage(text string) record.Outcome {
	switch {
	case strings.Contains(text, "server: 429"), strings.Contains(text, "server: 503"):
		return record.Rejected
	case strings.Contains(text, "server: 200"):
		return record.Malformed
	}
	return record.BadStatus
}
