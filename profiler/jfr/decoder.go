package jfr

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// errShort is the error of a recording that ends within a value.
var errShort = errors.New("the recording ends before what it announces")

// decoder reads a recording, value by value. After an error it returns zero values.
type decoder struct {
	data []byte
	at   int
	err  error
}

// fail keeps the first error.
func (b *decoder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
	b.at = len(b.data)
}

// take returns the next n bytes.
func (b *decoder) take(n int) []byte {
	if n < 0 || n > len(b.data)-b.at {
		b.fail(errShort)
		return nil
	}
	taken := b.data[b.at : b.at+n]
	b.at += n
	return taken
}

// number reads a compressed integer: seven bits a byte, lowest first; a ninth byte has eight.
func (b *decoder) number() int64 {
	var value uint64
	for shift := 0; ; shift += 7 {
		next := b.take(1)
		if next == nil {
			return 0
		}
		if shift == 56 {
			return int64(value | uint64(next[0])<<shift)
		}
		value |= uint64(next[0]&0x7f) << shift
		if next[0] < 0x80 {
			return int64(value)
		}
	}
}

// count reads the number of elements that follow. Each takes at least one byte.
func (b *decoder) count() int {
	n := b.number()
	if n < 0 || n > int64(len(b.data)-b.at) {
		b.fail(errShort)
		return 0
	}
	return int(n)
}

// The encodings of texts.
const (
	textNull = iota
	textEmpty
	textConstant
	textUTF8
	textCharacters
	textLatin1
)

// text reads a text, or its key in the pool of texts.
func (b *decoder) text() (text string, key int64) {
	encoding := b.take(1)
	if encoding == nil {
		return "", 0
	}
	switch encoding[0] {
	case textNull, textEmpty:
	case textConstant:
		return "", b.number()
	case textUTF8:
		return string(b.take(b.count())), 0
	case textCharacters:
		n := b.count()
		var all []byte
		for range n {
			all = utf8.AppendRune(all, rune(b.number()))
		}
		return string(all), 0
	case textLatin1:
		var all []byte
		for _, c := range b.take(b.count()) {
			all = utf8.AppendRune(all, rune(c))
		}
		return string(all), 0
	default:
		b.fail(fmt.Errorf("a text has the unknown encoding %d", encoding[0]))
	}
	return "", 0
}

// long reads a number of the header of a chunk: eight bytes.
func long(data []byte) int64 { return int64(binary.BigEndian.Uint64(data)) }
