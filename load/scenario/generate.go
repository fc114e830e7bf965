package scenario

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
)

// generator generates the values of one name for one player. Only sequences have a state.
type generator interface {
	appendNext(out []byte, r *rand.Rand) []byte
}

// uuid generates random UUIDs, version 4 (RFC 9562, 5.4).
type uuid struct{}

func (uuid) appendNext(out []byte, r *rand.Rand) []byte {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], r.Uint64())
	binary.BigEndian.PutUint64(id[8:], r.Uint64())
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	var text [36]byte
	hex.Encode(text[0:8], id[0:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:36], id[10:16])
	text[8] = '-'
	text[13] = '-'
	text[18] = '-'
	text[23] = '-'
	return append(out, text[:]...)
}

// integer generates evenly distributed whole numbers.
type integer struct {
	from int64
	n    uint64 // number of values; 0: all 64-bit numbers
}

func (g integer) appendNext(out []byte, r *rand.Rand) []byte {
	if g.n == 0 {
		return strconv.AppendInt(out, int64(r.Uint64()), 10)
	}
	return strconv.AppendInt(out, g.from+int64(r.Uint64N(g.n)), 10)
}

// randomText generates texts of letters and digits.
type randomText struct{ length int }

const lettersAndDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

func (g randomText) appendNext(out []byte, r *rand.Rand) []byte {
	const (
		base  = uint64(len(lettersAndDigits))
		run   = 10 // characters from one random number
		power = base * base * base * base * base * base * base * base * base * base
	)
	for left := g.length; left > 0; left -= run {
		number := r.Uint64N(power)
		for range min(left, run) {
			out = append(out, lettersAndDigits[number%base])
			number /= base
		}
	}
	return out
}

// choice generates one of several texts, with equal probability.
type choice []string

func (g choice) appendNext(out []byte, r *rand.Rand) []byte {
	return append(out, g[r.IntN(len(g))]...)
}

// personName generates a first and a last name.
type personName struct{ first, last []string }

func (g personName) appendNext(out []byte, r *rand.Rand) []byte {
	out = append(out, g.first[r.IntN(len(g.first))]...)
	out = append(out, ' ')
	return append(out, g.last[r.IntN(len(g.last))]...)
}

// sequence generates every step-th number.
type sequence struct{ from, next, step int64 }

func (g *sequence) appendNext(out []byte, _ *rand.Rand) []byte {
	out = strconv.AppendInt(out, g.from+g.next, 10)
	g.next += g.step
	return out
}
