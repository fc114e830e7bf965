package event

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/backing/broker"
)

// Messages that one transaction leaves are one row of the outbox, up to perRow of
// them: the database writes, reads and removes that row instead of one each.

// perRow is the number of messages that one row holds.
const perRow = 64

// packVersion begins every pack, so that another form can be told from this one.
const packVersion = 1

// pack writes messages one behind the other: id, type, key and body, then how many
// headers and these by name, each text with its length before it.
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
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// errPack is a row that pack did not write.
var errPack = errors.New("a row of the outbox does not hold messages")

// unpack returns the reverse of pack.
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

// reader reads what appendText wrote.
type reader struct {
	text   []byte
	broken bool // something was not as it should be
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
