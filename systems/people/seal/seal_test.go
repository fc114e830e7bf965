package seal

import (
	"bytes"
	"crypto/aes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

func sealer(t testing.TB, mode string, key byte) *Sealer {
	t.Helper()
	s, err := New(mode, bytes.Repeat([]byte{key}, KeySize))
	testset.Must(t, err)
	return s
}

func TestWhatIsSealedOpensUnchanged(t *testing.T) {
	for _, mode := range []string{GCM, ECB} {
		s := sealer(t, mode, 1)
		for _, length := range []int{0, 1, 15, 16, 17, 31, 32, 5000} {
			text := bytes.Repeat([]byte("secret "), length)[:length]
			sealed := s.Seal([]byte("persons 1"), text)
			if length > 6 && bytes.Contains(sealed, []byte("secret")) {
				t.Errorf("%s: %d bytes are readable", mode, length)
			}
			got, err := s.Open([]byte("persons 1"), sealed)
			if err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s: %d bytes open as %q, %v", mode, length, got, err)
			}
		}
	}
	one := sealer(t, GCM, 1).Seal(nil, []byte("same"))
	other := sealer(t, GCM, 1).Seal(nil, []byte("same"))
	if bytes.Equal(one, other) {
		t.Error("equal texts look equal with GCM")
	}
}

// TestErrorsOfOpen flips a bit of each byte of a sealed record, cuts it at each length, and opens it as
// another record and with another key.
func TestErrorsOfOpen(t *testing.T) {
	for _, mode := range []string{GCM, ECB} {
		s := sealer(t, mode, 1)
		about := []byte("persons 1")
		sealed := s.Seal(about, []byte("Ada Lovelace, programmer"))
		refused := func(what string, about, sealed []byte, want ...error) {
			text, err := s.Open(about, sealed)
			for _, one := range want {
				if errors.Is(err, one) && text == nil {
					return
				}
			}
			t.Errorf("%s, %s: %q, %v, want one of %v", mode, what, text, err, want)
		}
		for at := range sealed {
			changed := bytes.Clone(sealed)
			changed[at] ^= 1
			refused("changed", about, changed, ErrTampered, ErrOtherKey, ErrTruncated)
			refused("cut", about, sealed[:at], ErrTruncated)
		}
		changed := bytes.Clone(sealed)
		changed[len(changed)-1] ^= 1
		refused("changed at the end", about, changed, ErrTampered)
		refused("longer", about, append(bytes.Clone(sealed), 0), ErrTampered)
		refused("of another record", []byte("persons 2"), sealed, ErrTampered)
		refused("of another key", about, sealer(t, mode, 2).Seal(about, []byte("Ada")), ErrOtherKey)
	}
	if _, err := sealer(t, GCM, 1).Open(nil, sealer(t, ECB, 1).Seal(nil, nil)); !errors.Is(err, ErrTampered) {
		t.Errorf("what another mode has sealed: %v", err)
	}
}

// TestChangedPaddingIsFound changes the last block of a record, which has nothing but padding, in many ways.
func TestChangedPaddingIsFound(t *testing.T) {
	s := sealer(t, ECB, 1)
	sealed := s.Seal(nil, make([]byte, aes.BlockSize))
	block := sealed[len(sealed)-aes.BlockSize:]
	for range 1 << 12 {
		binary.BigEndian.PutUint32(block, binary.BigEndian.Uint32(block)+1)
		if text, err := s.Open(nil, sealed); !errors.Is(err, ErrTampered) {
			t.Fatalf("with the last block %x: %q, %v", block, text, err)
		}
	}
}

func TestKeysHaveSixteenBytes(t *testing.T) {
	if _, err := New(GCM, make([]byte, 24)); err == nil {
		t.Error("a key of 24 bytes is taken")
	}
	if _, err := New("rot13", make([]byte, KeySize)); err == nil {
		t.Error("rot13 is a cipher")
	}
}

// FuzzOpen: no bytes open but those that were sealed.
func FuzzOpen(f *testing.F) {
	about := []byte("persons 1")
	for _, mode := range []string{GCM, ECB} {
		f.Add(mode == GCM, sealer(f, mode, 1).Seal(about, []byte("Ada")))
	}
	f.Fuzz(func(t *testing.T, gcm bool, sealed []byte) {
		mode := ECB
		if gcm {
			mode = GCM
		}
		text, err := sealer(t, mode, 1).Open(about, sealed)
		if err == nil && !bytes.Equal(text, []byte("Ada")) {
			t.Errorf("%x opens as %q", sealed, text)
		}
	})
}
