package server

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// credentials are what clients log in with.
type credentials struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

// loadCredentials reads the credentials of the folder or makes random ones.
func (i *Instance) loadCredentials() error {
	var c credentials
	text, err := os.ReadFile(i.file("credentials.json"))
	switch {
	case err == nil:
		if err := json.Unmarshal(text, &c); err != nil {
			return fmt.Errorf("read %s: %w", i.file("credentials.json"), err)
		}
	case errors.Is(err, os.ErrNotExist):
		c = credentials{User: "cleave", Password: secret()}
		if err := i.writeJSON("credentials.json", c); err != nil {
			return err
		}
	default:
		return err
	}
	i.user, i.password = c.User, c.Password
	return nil
}

// secret returns 128 random bits in hexadecimal.
func secret() string {
	bits := make([]byte, 16)
	_, _ = rand.Read(bits) // never fails: crypto/rand
	return hex.EncodeToString(bits)
}

// write makes a file that only its owner can read.
func (i *Instance) write(name string, lines ...string) error {
	path := i.file(name)
	_ = os.Remove(path) // the mode counts for new files only
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

func (i *Instance) writeJSON(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return i.write(name, string(text))
}

// exists reports whether the instance's folder has a file.
func (i *Instance) exists(name string) bool {
	_, err := os.Lstat(i.file(name))
	return err == nil
}

// firstData has fill make a new data folder under another name and gives it its
// own when that succeeded: a folder called data is always whole.
func (i *Instance) firstData(fill func(folder string) error) error {
	half := i.file(dataFolder) + ".half"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	if err := fill(half); err != nil {
		return err
	}
	return os.Rename(half, i.file(dataFolder))
}

// lastLines returns the end of a log on one line, for messages.
func lastLines(path string, n int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}
