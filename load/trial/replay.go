package trial

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/load/schedule"
	"github.com/cleave-lab/cleave/yamlfile"
)

// within returns a path, which may be relative to a folder.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// replay reads recorded arrivals. A duration, if not zero, cuts off later arrivals. Without one the load
// ends a mean gap after the last arrival, so that its rate is the recorded one.
func (m *model) replay(path string, duration time.Duration) error {
	file, err := inputfile.Open(path, maxReplay)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	times, err := readArrivals(file)
	if err != nil {
		return fmt.Errorf("replay %s: %w", path, err)
	}
	if duration > 0 {
		end, _ := slices.BinarySearch(times, duration)
		times = times[:end]
	}
	if m.open, err = schedule.Replay(times); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	m.duration = duration
	if duration == 0 {
		m.duration = time.Second
		last := times[len(times)-1]
		if last > 0 {
			gaps := max(1, len(times)-1)
			m.duration = last + max(1, last/time.Duration(gaps))
		}
		if max(last, m.duration) > longest { // the sum may overflow a duration
			return fmt.Errorf("%s: %w", path, tooLong("load of the recorded arrivals", max(last, m.duration)))
		}
	}
	m.peak = mostInASecond(times)
	m.text = fmt.Sprintf("replay of %d arrivals in %s", len(times), filepath.Base(path))
	return nil
}

// mostInASecond returns the highest number of arrivals in any second.
func mostInASecond(times []time.Duration) float64 {
	most, first := 0, 0
	for i, at := range times {
		for at-times[first] >= time.Second {
			first++
		}
		most = max(most, i+1-first)
	}
	return float64(most)
}

// Limits of a file of arrivals.
const (
	maxReplay   = 16 << 30 // bytes; the file is not kept in memory
	maxArrivals = 50_000_000
	maxLine     = 1 << 20 // bytes
)

// readArrivals reads recorded arrivals and returns them in order, as times since the beginning. The first
// line shows which kind of file it is; a byte order mark before it is skipped:
//
//	0.25                      seconds since the beginning of the load, one per line
//	{"started": "2026-...     output of `cleave load --lines`
//	timeStamp,elapsed,...     output of `cleave load --jtl` and JMeter
//
// The times of the last two kinds begin with the first arrival. Later steps of flows are left out if the
// file marks them.
func readArrivals(in io.Reader) ([]time.Duration, error) {
	buffered := bufio.NewReaderSize(in, maxLine)
	inputfile.SkipByteOrderMark(buffered)
	first, err := buffered.Peek(1)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	}
	if err != nil {
		return nil, err
	}
	var times []time.Duration
	switch {
	case first[0] == '{':
		times, err = arrivalsOfLines(buffered)
	case first[0] >= 'A' || first[0] == '"':
		times, err = arrivalsOfTable(buffered)
	default:
		return arrivalsInSeconds(buffered)
	}
	return sinceFirst(times), err
}

// eachLine calls read with every line that is not empty. An error names the line.
func eachLine(in io.Reader, read func(line string) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, maxLine), maxLine)
	n := 1
	for ; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if n > maxArrivals {
			return fmt.Errorf("more than %d lines", maxArrivals)
		}
		if err := read(line); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d has more than %d bytes, the limit of a line", n, maxLine)
	}
	return lines.Err()
}

// arrivalsInSeconds reads one number per line.
func arrivalsInSeconds(in io.Reader) (times []time.Duration, err error) {
	err = eachLine(in, func(line string) error {
		seconds, err := strconv.ParseFloat(line, 64)
		isInRange := seconds >= 0 && seconds < math.MaxInt64/1e9 // NaN is not
		if err != nil || !isInRange {
			return fmt.Errorf("%q is not a time: write seconds since the beginning, for example 0.25",
				yamlfile.Excerpt(line))
		}
		times = append(times, time.Duration(math.Round(seconds*1e9)))
		return nil
	})
	slices.Sort(times)
	return times, err
}

// arrivalsOfLines reads JSON lines, and returns nanoseconds since 1970.
func arrivalsOfLines(in io.Reader) (times []time.Duration, err error) {
	err = eachLine(in, func(line string) error {
		var row struct {
			Started time.Time `json:"started"`
			Follows bool      `json:"follows"`
		}
		err := json.Unmarshal([]byte(line), &row)
		if year := row.Started.Year(); err != nil || year < 1970 || year > 2200 {
			return errors.New(`there is no time under "started": use what cleave load --lines writes`)
		}
		if !row.Follows {
			times = append(times, time.Duration(row.Started.UnixNano()))
		}
		return nil
	})
	return times, err
}

// arrivalsOfTable reads JTL files, CSV with a header line, and returns nanoseconds since 1970.
func arrivalsOfTable(in io.Reader) ([]time.Duration, error) {
	table := csv.NewReader(in)
	table.ReuseRecord = true
	header, err := table.Read()
	if err != nil {
		return nil, err
	}
	column := slices.Index(header, "timeStamp")
	if column < 0 {
		return nil, fmt.Errorf("the first line has no column timeStamp: %q",
			yamlfile.Excerpt(strings.Join(header, ",")))
	}
	var times []time.Duration
	for {
		row, err := table.Read()
		if errors.Is(err, io.EOF) {
			return times, nil
		}
		if err != nil {
			return nil, err
		}
		line, _ := table.FieldPos(column)
		ms, err := strconv.ParseInt(row[column], 10, 64)
		if err != nil || ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
			return nil, fmt.Errorf("line %d: timeStamp %q is not a time in milliseconds", line,
				yamlfile.Excerpt(row[column]))
		}
		if len(times) == maxArrivals {
			return nil, fmt.Errorf("line %d: more than %d arrivals", line, maxArrivals)
		}
		times = append(times, time.Duration(ms)*time.Millisecond)
	}
}

// sinceFirst sorts times and makes them relative to the first one.
func sinceFirst(times []time.Duration) []time.Duration {
	slices.Sort(times)
	for i := len(times) - 1; i >= 0; i-- {
		times[i] -= times[0]
	}
	return times
}
