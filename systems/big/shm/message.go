package shm

// kind is the kind of a message.
type kind uint32

const (
	kickOff kind = iota + 1
	ping
	pong
	dismissal
)

// kindShift is the position of the kind in a message. The 16 bits below it have the index of the sender.
const kindShift = 16

// message returns a message of a kind from the worker with an index in the neighbourhood. In messages of the
// core the index is 0 and has no meaning.
func message(k kind, from int) uint32 { return uint32(k)<<kindShift | uint32(from) }

// kindOf returns the kind of a message.
func kindOf(message uint32) kind { return kind(message >> kindShift) }

// senderOf returns the index of the sender of a message.
func senderOf(message uint32) int { return int(message & (1<<kindShift - 1)) }
