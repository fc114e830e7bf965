package containers

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cleave-lab/cleave/lab"
)

// Packed returns the orders of a starter as JSON, compressed by gzip. It fails if that has more than most
// bytes, the size of the largest secret.
func Packed(orders lab.StarterOrders, most int) ([]byte, error) {
	var into bytes.Buffer
	writer := gzip.NewWriter(&into)
	err := errors.Join(json.NewEncoder(writer).Encode(orders), writer.Close())
	if err == nil && into.Len() > most {
		err = fmt.Errorf("its files have %d bytes when they are compressed, and a secret holds %d: "+
			"give it less to begin with, such as fewer operations", into.Len(), most)
	}
	return into.Bytes(), err
}
