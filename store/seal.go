package store

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
)

// sealFile holds a code that proves that this user made the plan on this host. It proves nothing on another
// host and does not reveal the user's key.
const sealFile = "plan.seal"

const (
	keyBytes = 32   // of the key of seals
	maxSmall = 1000 // bytes read from a seal or a lock file
)

// seal writes the seal of a plan into the folder. It makes the user's key if there is none. If the key can be
// neither read nor made, seal returns nil without a seal: Cleave then asks before it plays the plan again.
func (f *Folder) seal(plan []byte) error {
	key, err := ownKey()
	if errors.Is(err, fs.ErrNotExist) {
		key, err = makeKey()
	}
	if err != nil {
		return nil
	}
	return f.Write(sealFile, []byte(sealOf(key, plan)+"\n"))
}

// PlanWithSeal reads the plan, and reports whether this user's Cleave has made it on this host and nobody has
// changed it since.
func (f *Folder) PlanWithSeal() (plan lab.Plan, own bool, err error) {
	data, err := inputfile.Read(f.Path(planFile), maxDocument)
	if err != nil {
		return plan, false, fmt.Errorf("read result folder: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields() // a plan that is played must have no field that this version ignores
	if plan, err = f.decodePlan(decoder); err != nil {
		return plan, false, err
	}
	seal, err := inputfile.Read(f.Path(sealFile), maxSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return plan, false, nil
	}
	if err != nil {
		return plan, false, fmt.Errorf("read result folder: %w", err)
	}
	key, err := ownKey()
	if err != nil {
		return plan, false, nil // a key that cannot be read proves nothing
	}
	expected := sealOf(key, data)
	return plan, hmac.Equal(bytes.TrimSpace(seal), []byte(expected)), nil
}

// sealOf returns the seal of a plan: a hexadecimal HMAC of the plan and the host. The host is part of it
// because hosts may share a home folder, and thus the key.
func sealOf(key, plan []byte) string {
	code := hmac.New(sha256.New, key)
	host, _ := os.ReadFile("/etc/machine-id") // hosts without this file cannot be told apart
	fmt.Fprintf(code, "cleave plan\n%d\n%s", len(host), host)
	code.Write(plan)
	return hex.EncodeToString(code.Sum(nil))
}

// keyPath returns the path of this user's key.
func keyPath() (string, error) {
	settings, err := os.UserConfigDir()
	return filepath.Join(settings, "cleave", "plan.key"), err
}

// ownKey reads the key of this user from a file that only this user can read.
func ownKey() ([]byte, error) {
	path, err := keyPath()
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(path)
	if err == nil && len(key) != keyBytes {
		err = fmt.Errorf("%s has %d bytes, want %d", path, len(key), keyBytes)
	}
	return key, err
}

// makeKey writes a new key, which only this user can read. If several processes do so at the same time, the
// last key stays, and Cleave asks before it plays the plans of the others again.
func makeKey() ([]byte, error) {
	path, err := keyPath()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // never fails
	return key, renameio.WriteFile(path, key, 0o600, renameio.WithTempDir(filepath.Dir(path)))
}
