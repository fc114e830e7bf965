package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"syscall"

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
