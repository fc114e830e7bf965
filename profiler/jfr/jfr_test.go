package jfr

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
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
			if last := s.Frames[len(s.Frames)-1]; last.Class != "Spin" || last.Method != "main" {
				t.Errorf("%s: a stack begins with %+v, want Spin.main", c.file, last)
			}
			if s.Frames[0].Class == "java.util.HashMap" {
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
