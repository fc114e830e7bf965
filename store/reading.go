package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
)

// allowance is a file system that counts the bytes read from all of its files against a limit. Each file has
// a limit of its own, but a stranger's folder may have thousands of files. The caller checks left before it
// opens further files: allowance itself refuses none.
type allowance struct {
	fs.FS
	left int64 // bytes; negative if the last file had more than were left
}

// Open implements fs.FS.
func (a *allowance) Open(name string) (fs.File, error) {
	file, err := a.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return countedFile{file, a}, nil
}

// countedFile is a file whose bytes are subtracted from an allowance.
type countedFile struct {
	fs.File
	allowance *allowance
}

// Read implements fs.File.
func (f countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.allowance.left -= int64(n)
	return n, err
}

// members holds the wanted members of a JSON object: pointers to variables for their values, by key.
type members map[string]any

// decodeMembers decodes the wanted members of the JSON object in a file of a run, and stops reading after the
// last of them. The variable of a member that is missing keeps its value; of a repeated one the first counts.
func decodeMembers(files fs.FS, run, name string, wanted members) error {
	file, err := files.Open(path.Join(run, name))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	limited := &io.LimitedReader{R: file, N: maxHead}
	decoder := json.NewDecoder(limited)
	if brace, tokenErr := decoder.Token(); tokenErr != nil || brace != json.Delim('{') {
		err = errors.Join(errors.New("it holds no object"), tokenErr)
	}
	missing := maps.Clone(wanted)
	for err == nil && len(missing) > 0 && decoder.More() {
		var key json.Token
		if key, err = decoder.Token(); err != nil {
			break
		}
		member, _ := key.(string)
		if target, isMissing := missing[member]; isMissing {
			err = decoder.Decode(target)
			delete(missing, member)
		} else {
			err = decoder.Decode(new(json.RawMessage))
		}
	}
	if err == nil && len(missing) > 0 { // More is false in a file that is cut off, too: Token tells them apart
		_, err = decoder.Token()
	}
	if err != nil && limited.N == 0 {
		return fmt.Errorf("%s is not read beyond its first %d bytes, and they lack some of what is shown here",
			path.Join(run, name), maxHead)
	}
	if err != nil {
		return fmt.Errorf("%s is damaged: %w", path.Join(run, name), err)
	}
	return nil
}

// decodeFile decodes a JSON file of a run into value. It fails if the file has more than most bytes.
func decodeFile(files fs.FS, run, name string, most int64, value any) error {
	data, err := read(files, run, name, most)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("%s is damaged: %w", path.Join(run, name), err)
	}
	return nil
}

// read returns the content of a file of a run. It fails if the file has more than most bytes.
func read(files fs.FS, run, name string, most int64) ([]byte, error) {
	file, err := files.Open(path.Join(run, name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s has more than %d bytes, which is the most that is shown", path.Join(run, name), most)
	}
	return data, err
}
