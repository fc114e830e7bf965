package event

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/backing/broker"
)

// perRow is the largest number of messages in one row of the outbox. The
// messages of a transaction share rows, so that the database writes, reads and removes
// one row instead of many.
const perRow = 64

// packVersion is the first byte of every pack. Every change of the format changes it.
const packVersion = 1

// pack encodes messages one after another: id, type, key and body, then the number of
// headers and the headers sorted by name. Every text follows its length.
func pack(messages []broker.Message) []byte {
	text := []byte{packVersion}
	for _, m := range messages {
		text = appendText(text, m.ID)
		text = appendText(text, m.Type)
		text = appendText(text, m.Key)
		text = appendText(text, string(m.Body))
		text = binary.AppendUvarint(text, uint64(len(m.Headers)))
		for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
			text = appendText(appendText(text, name), m.Headers[name])
		}
	}
	return text
}

func appendText(to []byte, text string) []byte {
	to = binary.AppendUvarint(to, uint64(len(text)))
	return append(to, text...)
}

// errPack means that a row was not written by pack.
var errPack = errors.New("a row of the outbox does not hold messages")

// unpack decodes what pack has written. It returns errPack for anything else.
func unpack(text []byte) ([]broker.Message, error) {
	if len(text) == 0 || text[0] != packVersion {
		return nil, errPack
	}
	r := reader{text: text[1:]}
	var messages []broker.Message
	for len(r.text) > 0 && !r.broken {
		m := broker.Message{ID: string(r.next()), Type: string(r.next()), Key: string(r.next()), Body: r.next()}
		for n := r.number(); n > 0 && !r.broken; n-- {
			if m.Headers == nil {
				m.Headers = map[string]string{}
			}
			name := string(r.next())
			m.Headers[name] = string(r.next())
		}
		messages = append(messages, m)
	}
	if r.broken || len(messages) == 0 {
		return nil, errPack
	}
	return messages, nil
}

// reader reads the texts and numbers of a pack.
type reader struct {
	text   []byte
	broken bool // the text ended early or holds a bad number
}

func (r *reader) number() uint64 {
	n, used := binary.Uvarint(r.text)
	if used <= 0 {
		r.broken = true
		return 0
	}
	r.text = r.text[used:]
	return n
}

func (r *reader) next() []byte {
	n := r.number()
	if r.broken || n > uint64(len(r.text)) {
		r.broken = true
		return nil
	}
	found := r.text[:n:n]
	r.text = r.text[n:]
	return found
}
