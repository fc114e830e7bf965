// Package seal makes a text unreadable without the key: it hashes the text with SHA-256,
// and encrypts hash and text with AES under a key of 16 bytes. It knows neither the kinds
// of records nor where they are stored.
//
// The modes: GCM, which also detects every change, is the default. ECB is what the JVM
// uses if a program says only "AES", as the Scala program of the study does (package people
// names the study). In ECB equal blocks of text give equal sealed blocks, and only the hash
// detects changes. The package has ECB only so that its cost can be measured.
//
// A sealed record begins with a header: its mode, a fingerprint of the key that reveals nothing
// of the key, and the length of the rest. So Open can distinguish a wrong key and a missing end
// from tampering.
//
// Entry point: New.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
)

// The modes of encryption.
const (
	GCM = "gcm"
	ECB = "ecb"
)

// KeySize is the length of a key, in bytes.
const KeySize = 16

// Why a sealed record cannot be opened.
var (
	ErrTruncated = errors.New("the end of the sealed record is missing")
	ErrOtherKey  = errors.New("the record was sealed with another key")
	ErrTampered  = errors.New("the sealed record was changed")
)

const (
	fingerprintSize = 4
	headerSize      = 1 + fingerprintSize + 4 // mode, fingerprint of the key, length of the rest
)

// Sealer seals and opens records with one key. It is safe for concurrent use.
type Sealer struct {
	block       cipher.Block
	gcm         cipher.AEAD // nil in ECB
	mode        byte        // its number in headers
	fingerprint []byte      // of the key
}

// New returns a sealer with a mode and a key of KeySize bytes.
func New(mode string, key []byte) (*Sealer, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("the key has %d bytes, expected %d", len(key), KeySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make the cipher: %w", err)
	}
	s := &Sealer{block: block}
	switch mode {
	case GCM:
		if s.gcm, err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, fmt.Errorf("make the cipher: %w", err)
		}
		s.mode = 1
	case ECB:
		s.mode = 2
	default:
		return nil, fmt.Errorf("there is no cipher %q: use %s or %s", mode, GCM, ECB)
	}
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte("name of the key")) // a hash never returns an error
	s.fingerprint = mac.Sum(nil)[:fingerprintSize]
	return s, nil
}

// Seal returns a sealed text. about is associated data: it is not stored, and Open needs the same. If about
// holds the kind and the id of a record, no record can take the place of another.
func (s *Sealer) Seal(about, text []byte) []byte {
	hash := digest(about, text)
	plain := make([]byte, 0, len(hash)+len(text)+aes.BlockSize)
	plain = append(append(plain, hash[:]...), text...)
	if s.gcm == nil {
		plain = pad(plain)
	}
	length := len(plain)
	if s.gcm != nil {
		length += s.gcm.Overhead()
	}
	sealed := make([]byte, 0, headerSize+length)
	sealed = append(append(sealed, s.mode), s.fingerprint...)
	sealed = binary.BigEndian.AppendUint32(sealed, uint32(length))
	if s.gcm != nil {
		return s.gcm.Seal(sealed, nil, plain, bound(sealed, about))
	}
	for at := 0; at < length; at += aes.BlockSize {
		s.block.Encrypt(plain[at:], plain[at:])
	}
	return append(sealed, plain...)
}

// Open returns the text of a sealed record, or ErrTruncated, ErrOtherKey or ErrTampered. A record that was
// sealed in the other mode counts as tampered with.
func (s *Sealer) Open(about, sealed []byte) ([]byte, error) {
	if len(sealed) < headerSize {
		return nil, ErrTruncated
	}
	header, body := sealed[:headerSize], sealed[headerSize:]
	length := binary.BigEndian.Uint32(header[1+fingerprintSize:])
	switch {
	case header[0] != s.mode:
		return nil, ErrTampered
	case subtle.ConstantTimeCompare(header[1:1+fingerprintSize], s.fingerprint) == 0:
		return nil, ErrOtherKey
	case uint64(len(body)) < uint64(length):
		return nil, ErrTruncated
	case uint64(len(body)) > uint64(length):
		return nil, ErrTampered
	}
	plain, err := s.decrypt(header, about, body)
	if err != nil || len(plain) < sha256.Size {
		return nil, ErrTampered
	}
	hash, text := plain[:sha256.Size], plain[sha256.Size:]
	if want := digest(about, text); subtle.ConstantTimeCompare(hash, want[:]) == 0 {
		return nil, ErrTampered
	}
	return text, nil
}

func (s *Sealer) decrypt(header, about, body []byte) ([]byte, error) {
	if s.gcm != nil {
		return s.gcm.Open(nil, nil, body, bound(header, about))
	}
	if len(body) == 0 || len(body)%aes.BlockSize != 0 {
		return nil, ErrTampered
	}
	plain := make([]byte, len(body))
	for at := 0; at < len(body); at += aes.BlockSize {
		s.block.Decrypt(plain[at:], body[at:])
	}
	return unpad(plain)
}

// bound returns the additional data that GCM authenticates: the header and about.
func bound(header, about []byte) []byte {
	all := make([]byte, 0, len(header)+len(about))
	all = append(all, header...)
	return append(all, about...)
}

// digest returns the hash of about and a text. The length of about is hashed first, so that no byte can move
// from one to the other.
func digest(about, text []byte) [sha256.Size]byte {
	all := make([]byte, 0, 4+len(about)+len(text))
	all = binary.BigEndian.AppendUint32(all, uint32(len(about)))
	return sha256.Sum256(append(append(all, about...), text...))
}

// pad fills the last block as PKCS #7 does: with the number of bytes that are missing.
func pad(text []byte) []byte {
	missing := aes.BlockSize - len(text)%aes.BlockSize
	return append(text, bytes.Repeat([]byte{byte(missing)}, missing)...)
}

func unpad(text []byte) ([]byte, error) {
	last := text[len(text)-1]
	missing := int(last)
	if missing < 1 || missing > aes.BlockSize {
		return nil, ErrTampered
	}
	if padding := bytes.Repeat([]byte{last}, missing); !bytes.HasSuffix(text, padding) {
		return nil, ErrTampered
	}
	return text[:len(text)-missing], nil
}
