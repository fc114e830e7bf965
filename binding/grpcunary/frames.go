package grpcunary

import (
	"encoding/binary"
	"fmt"
)

// The frames of HTTP/2 (RFC 9113, section 6) that calls need.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameReset        = 0x3
	frameSettings     = 0x4
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindow       = 0x8
	frameContinuation = 0x9
)

// Flags of frames.
const (
	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// Settings (section 6.5.2).
const (
	settingTableSize = 0x1
	settingPush      = 0x2
	settingStreams   = 0x3
	settingWindow    = 0x4
	settingFrameSize = 0x5
)

// Sizes and limits of the protocol, of gRPC and of this package, in bytes unless stated.
const (
	defaultWindow       = 65_535
	defaultFrameSize    = 16_384
	defaultTableSize    = 4_096
	windowLimit         = 1<<31 - 1
	framePrefix         = 9 // bytes before the payload
	messagePrefix       = 5 // bytes of gRPC before a message
	preface             = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	unlimitedStreams    = 1<<31 - 1
	lastUsefulStream    = 1 << 30 // beyond this stream number a client replaces the connection
	maxHeaderBlock      = 64 << 10
	maxHeaderValue      = 16 << 10
	ourStreamWindow     = 16 << 20 // the longest message fits, so streams need no updates
	ourConnectionWindow = 1 << 30  // updated whenever half of it is used
	maxResponse         = ourStreamWindow - messagePrefix
	concurrentStreams   = 4_096 // concurrent calls that a server accepts per connection
)

// Errors (section 7).
const (
	codeNone         = 0x0
	codeProtocol     = 0x1
	codeStreamClosed = 0x5
	codeFrameSize    = 0x6
	codeRefused      = 0x7
	codeCancel       = 0x8
	codeCompression  = 0x9
)

// protocolError is a mistake of the peer that ends the connection.
type protocolError struct {
	code uint32
	what string
}

func (e *protocolError) Error() string {
	return fmt.Sprintf("HTTP/2 error %d: %s", e.code, e.what)
}

// violation returns a mistake of the peer that has no more specific code.
func violation(what string) error { return &protocolError{codeProtocol, what} }

// frame is one frame. Its payload is a part of the connection's buffer.
type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

func (f frame) has(flag byte) bool { return f.flags&flag != 0 }

// parseFrame returns the first frame of data and its length; taken is 0 if the frame is
// incomplete.
func parseFrame(data []byte) (f frame, taken int, err error) {
	if len(data) < framePrefix {
		return f, 0, nil
	}
	length := int(data[0])<<16 | int(data[1])<<8 | int(data[2])
	if length > defaultFrameSize {
		return f, 0, &protocolError{codeFrameSize, fmt.Sprintf("a frame of %d bytes", length)}
	}
	if len(data) < framePrefix+length {
		return f, 0, nil
	}
	f = frame{kind: data[3], flags: data[4], stream: binary.BigEndian.Uint32(data[5:]) &^ (1 << 31),
		payload: data[framePrefix : framePrefix+length]}
	return f, framePrefix + length, nil
}

// content returns the payload of a frame without padding and priority.
func (f frame) content() ([]byte, error) {
	payload, padding := f.payload, 0
	if f.has(flagPadded) {
		if len(payload) == 0 {
			return nil, violation("a padded frame without a length of its padding")
		}
		payload, padding = payload[1:], int(payload[0])
	}
	if f.kind == frameHeaders && f.has(flagPriority) {
		padding += 5
		if padding <= len(payload) {
			return payload[5 : len(payload)-padding+5], nil
		}
	}
	if padding > len(payload) {
		return nil, violation("a frame with more padding than payload")
	}
	return payload[:len(payload)-padding], nil
}

// appendPrefix appends the header of a frame whose payload has the given length.
func appendPrefix(dst []byte, length int, kind, flags byte, stream uint32) []byte {
	dst = append(dst, byte(length>>16), byte(length>>8), byte(length), kind, flags)
	return binary.BigEndian.AppendUint32(dst, stream)
}

// appendNumber appends a frame whose payload is one number: RST_STREAM, WINDOW_UPDATE.
func appendNumber(dst []byte, kind byte, stream, number uint32) []byte {
	return binary.BigEndian.AppendUint32(appendPrefix(dst, 4, kind, 0, stream), number)
}

// appendSettings appends a SETTINGS frame; pairs alternates setting and value.
func appendSettings(dst []byte, pairs ...uint32) []byte {
	dst = appendPrefix(dst, 3*len(pairs), frameSettings, 0, 0)
	for i := 0; i < len(pairs); i += 2 {
		dst = binary.BigEndian.AppendUint16(dst, uint16(pairs[i]))
		dst = binary.BigEndian.AppendUint32(dst, pairs[i+1])
	}
	return dst
}

// appendGoAway appends a GOAWAY frame: calls up to stream last are carried out, later
// ones are not.
func appendGoAway(dst []byte, last, code uint32) []byte {
	dst = appendPrefix(dst, 8, frameGoAway, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, last)
	return binary.BigEndian.AppendUint32(dst, code)
}
