package jfr

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// recording returns a recording of testdata; testdata/README.md says how it was made.
func recording(t testing.TB, name string) []byte {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRecordingsOfTwoJDKsAreRead expects the numbers of the JDK's own reader (jfr summary).
func TestRecordingsOfTwoJDKsAreRead(t *testing.T) {
	for _, c := range []struct {
		file, event string
		samples     int
		began       string
	}{
		{"spin17.jfr.gz", Execution, 94, "2026-11-22T23:56:59Z"},
		{"spin25.jfr.gz", CPUTime, 127, "2026-11-22T23:57:01Z"},
	} {
		samples, err := Read(recording(t, c.file))
		if err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		began, err := time.Parse(time.RFC3339, c.began)
		if err != nil {
			t.Fatal(err)
		}
		found, hashing := 0, 0
		for _, s := range samples {
			if s.Time.Before(began) || s.Time.After(began.Add(3*time.Second)) {
				t.Errorf("%s: a sample of %v, the program began at %v and ran for less than 2 s", c.file, s.Time, began)
			}
			if s.Event != c.event {
				continue
			}
			found++
			if s.Class == "java.util.HashMap" {
				hashing++
			}
		}
		if found != c.samples || hashing <= found/2 {
			t.Errorf("%s: %d samples of %s, %d in HashMap; want %d, most in HashMap", c.file, found, c.event, hashing,
				c.samples)
		}
	}
}

func TestChunksAreReadOneAfterAnother(t *testing.T) {
	one := recording(t, "spin17.jfr.gz")
	samples, err := Read(append(bytes.Clone(one), one...))
	if err != nil || len(samples) != 2*94 {
		t.Errorf("%d samples of two chunks, %v", len(samples), err)
	}
}

func TestWhatIsNoRecordingIsRefused(t *testing.T) {
	whole := recording(t, "spin17.jfr.gz")
	changed := func(at int, with ...byte) []byte {
		data := bytes.Clone(whole)
		copy(data[at:], with)
		return data
	}
	far := binary.BigEndian.AppendUint64(nil, 1<<40)
	for want, data := range map[string][]byte{
		"the recording is empty":  nil,
		"this is no recording":    []byte(strings.Repeat("PK\x03\x04", 40)),
		"before what it announce": whole[:len(whole)/2],
		"version 1":               changed(4, 0, 1),
		"not compressed":          changed(offsetOptions, 0),
		"clock has 0 ticks":       changed(offsetPace, make([]byte, 8)...),
		"said to be at byte":      changed(offsetMeta, far...),
		"constants: an event":     changed(offsetPool, far...),
	} {
		if _, err := Read(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestObjectsWithoutBytesAreBounded: objects of classes without fields take no bytes in a recording. Their
// memory is nevertheless in proportion to its size.
func TestObjectsWithoutBytesAreBounded(t *testing.T) {
	data := nested(t, 256<<10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Read(data)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "outnumber its bytes") {
		t.Errorf("error %v", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(250*len(data)) {
		t.Errorf("a recording of %d bytes took %d bytes of memory", len(data), used)
	}
}

// nested returns a recording of a size whose constants are objects of eight objects each, eight levels deep,
// of which the last have no fields.
func nested(t *testing.T, size int) []byte {
	t.Helper()
	texts := append([]string{"root", "metadata", "class", "field", "id", "class", "name",
		"1", "2", "3", "4", "5", "6", "7", "8"}, neededFields...)
	const element, class, fieldOf, id, ofClass, name, first, names = 1, 2, 3, 4, 5, 6, 7, 15
	number := func(data []byte, all ...byte) []byte { return append(data, all...) } // each is below 128
	event := func(kind byte, content []byte) []byte {
		n := len(content) + 3 // of two bytes, and the kind
		return append([]byte{byte(n)&0x7f | 0x80, byte(n >> 7), kind}, content...)
	}
	meta := number(nil, 0, 0, 0, byte(len(texts)))
	for _, text := range texts {
		meta = append(number(meta, textUTF8, byte(len(text))), text...)
	}
	meta = number(meta, 0, 0, 1, element, 0, 8) // the root, and in it the metadata of eight classes
	for level := byte(0); level < 8; level++ {
		meta = number(meta, class, 2, id, first+level, name, first+level)
		if level == 7 {
			meta = number(meta, 0)
			continue
		}
		meta = number(meta, 8)
		for n := byte(0); n < 8; n++ {
			meta = number(meta, fieldOf, 2, name, names+n, ofClass, first+level+1, 0)
		}
	}
	data := make([]byte, headerSize, size)
	copy(data, "FLR\x00\x00\x02")
	data[offsetOptions] = compressed
	binary.BigEndian.PutUint64(data[offsetSize:], uint64(size))
	binary.BigEndian.PutUint64(data[offsetPace:], 1)
	binary.BigEndian.PutUint64(data[offsetMeta:], uint64(len(data)))
	data = append(data, event(0, meta)...)
	binary.BigEndian.PutUint64(data[offsetPool:], uint64(len(data)))
	data = append(data, event(1, number(nil, 0, 0, 0, 0, 1, 1, 1, 1))...) // a constant of class 1, of key 1
	return data[:size]
}

// FuzzRead: for any bytes, reading ends within memory in proportion to them, and samples are valid.
func FuzzRead(f *testing.F) {
	f.Add(recording(f, "spin17.jfr.gz"))
	f.Add(recording(f, "spin25.jfr.gz"))
	f.Fuzz(func(t *testing.T, data []byte) {
		samples, err := Read(data)
		if err == nil && len(data) == 0 {
			t.Error("nothing was read as a recording")
		}
		if len(samples) > len(data) {
			t.Errorf("%d samples of %d bytes", len(samples), len(data))
		}
		for _, s := range samples {
			if s.Event != Execution && s.Event != CPUTime {
				t.Errorf("a sample of the event %q", s.Event)
			}
		}
	})
}
