package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// allowance is a file system that limits the sum of the bytes that are read of its files. Each file has a
// limit, too, but a stranger's folder may have thousands of files. Callers open no further file when nothing
// is left.
type allowance struct {
	fs.FS
	left int64 // bytes; may become negative with the last file
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
	on *allowance
}

// Read implements fs.File.
func (f countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.on.left -= int64(n)
	return n, err
}

// head decodes the wanted members of the JSON object in a file into their targets, and stops reading after
// the last of them. Members that are missing leave their target as it is.
func head(files fs.FS, run, name string, wanted map[string]any) error {
	file, err := files.Open(path.Join(run, name))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	limited := &io.LimitedReader{R: file, N: maxHead}
	decoder := json.NewDecoder(limited)
	if brace, wrong := decoder.Token(); wrong != nil || brace != json.Delim('{') {
		err = errors.Join(errors.New("it holds no object"), wrong)
	}
	left := len(wanted)
	for err == nil && left > 0 && decoder.More() {
		var key json.Token
		if key, err = decoder.Token(); err != nil {
			break
		}
		member, _ := key.(string)
		if target, isWanted := wanted[member]; isWanted {
			err = decoder.Decode(target)
			left--
		} else {
			err = decoder.Decode(new(json.RawMessage))
		}
	}
	if err == nil && left > 0 { // More is also false at the end of a file that is cut off
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

// document decodes a JSON file of a run into value. It fails if the file has more than most bytes.
func document(files fs.FS, run, name string, most int64, value any) error {
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
