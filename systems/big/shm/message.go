package shm

// kind says what a message is.
type kind uint32

const (
	kickOff kind = iota + 1
	ping
	pong
	dismissal
)

// kindShift leaves the lower half of a message to the index of its sender.
const kindShift = 16

func message(k kind, from int) uint32 { return uint32(k)<<kindShift | uint32(from) }

func kindOf(message uint32) kind { return kind(message >> kindShift) }

func senderOf(message uint32) int { return int(message & (1<<kindShift - 1)) }
