package kit

import (
	"crypto/sha256"
	"encoding/binary"
)

// TrialKey returns a key of 32 bytes for a purpose in a trial. It is derived from the trial's seed, so that
// the trial can be repeated and audited, and protects nothing beyond the trial.
func TrialKey(purpose string, seed uint64) []byte {
	hash := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("key of "+purpose+" "), seed))
	return hash[:]
}
