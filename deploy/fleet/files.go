package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/cleave-lab/cleave/lab"
)

// maxHandedOver bounds the files that a unit hands over in a trial, in bytes.
const maxHandedOver = 16 << 30

// handedOver writes the files that units hand over into a folder.
type handedOver struct {
	folder string
	mu     sync.Mutex
	owners map[string]string // unit by file
	bytes  map[string]int64  // by unit
}

// take appends a piece, a lab.FilePiece as JSON, to its file. It fails if the name is a path or another
// unit's file.
func (h *handedOver) take(unit string, data json.RawMessage) error {
	var piece lab.FilePiece
	if err := json.Unmarshal(data, &piece); err != nil {
		return err
	}
	if !filepath.IsLocal(piece.File) || filepath.Base(piece.File) != piece.File || piece.File == "." {
		return fmt.Errorf("%q is no plain file name", piece.File)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if owner, taken := h.owners[piece.File]; taken && owner != unit {
		return fmt.Errorf("%s was handed over by unit %s", piece.File, owner)
	}
	if h.bytes[unit] += int64(len(piece.Data)); h.bytes[unit] > maxHandedOver {
		return fmt.Errorf("%s: the unit has handed over more than %d GiB, the rest is not written: record less, "+
			"or make the load shorter", piece.File, maxHandedOver>>30)
	}
	h.owners[piece.File] = unit
	if err := os.MkdirAll(h.folder, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(h.folder, piece.File), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(piece.Data)
	return errors.Join(err, file.Close())
}
