package http1

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/load/oracle"
)

// parse feeds an answer in pieces of a size and ends the connection after it.
func parse(text string, size int, head bool) (*Response, error) {
	r := new(Response)
	r.Begin(head, true, oracle.MaxBody)
	for data := []byte(text); len(data) > 0; {
		piece := data[:min(size, len(data))]
		data = data[len(piece):]
		n, err := r.Feed(piece)
		if err != nil {
			return r, err
		}
		if n < len(piece) {
			return r, errors.New("bytes are left")
		}
	}
	if !r.End() {
		return r, errors.New("unfinished")
	}
	return r, nil
}

func TestAnswersAreReadWhateverTheirPieces(t *testing.T) {
	cases := []struct {
		name, text string
		status     int
		body       string
		last       bool
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", false},
		{"no reason", "HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", 200, "", false},
		{"bare line feeds", "HTTP/1.1 404 Not Found\nContent-Length: 2\n\nno", 404, "no", false},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", 200,
			"hello", false},
		{"chunks with trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: " +
			"Chunked\r\n\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n", 200, "0123456789", false},
		{"chunks and length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 200, "a", true},
		{"until the end", "HTTP/1.1 200 OK\r\n\r\nhello", 200, "hello", true},
		{"close", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\na", 200, "a", true},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, "a", true},
		{"HTTP/1.0 that stays", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", 200, "a",
			false},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", false},
		{"not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", 304, "", false},
		{"continue first", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 " +
			"Created\r\nContent-Length: 1\r\n\r\na", 201, "a", false},
		{"folded", "HTTP/1.1 200 OK\r\nX-Long: first \r\n\t second\r\n   \r\nContent-Length:\r\n 2\r\n" +
			"Connection: x,\r\n close\r\n\r\nok", 200, "ok", true},
		{"folded, to chunks", "HTTP/1.1 200 OK\nTransfer-Encoding:\n\tchunked\n\n1\na\n0\nX: y\n z\n\n", 200, "a",
			false},
		{"same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", 200, "a",
			false},
	}
	for _, c := range cases {
		for size := 1; size <= len(c.text); size++ {
			r, err := parse(c.text, size, false)
			if err != nil || r.Status != c.status || string(r.Body) != c.body || r.Last != c.last {
				t.Errorf("%s, in pieces of %d: status %d, body %q, last %v, error %v", c.name, size, r.Status, r.Body,
					r.Last, err)
				break
			}
		}
	}
	if r, err := parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 7, true); err != nil || len(r.Body) != 0 {
		t.Errorf("answer to HEAD: body %q, error %v", r.Body, err)
	}
}

// TestFoldedHeadersAreJoined: readers of headers see one line (RFC 9112, 5.2).
func TestFoldedHeadersAreJoined(t *testing.T) {
	text := "HTTP/1.1 200 OK\r\nX-Long: first\r\n  second\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n"
	for size := 1; size <= len(text); size++ {
		r, err := parse(text, size, false)
		if want := "X-Long: first   second\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n"; err != nil ||
			string(r.Header) != want || string(r.Encoding) != "gzip" {
			t.Fatalf("in pieces of %d: header %q, encoding %q, error %v", size, r.Header, r.Encoding, err)
		}
		if r.Begin(false, false, 0); len(r.Encoding) > 0 {
			t.Fatalf("the next answer begins with encoding %q", r.Encoding)
		}
	}
}

func TestAnswersThatAreRefused(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\n"
	cases := []struct {
		name, text string
		want       error
	}{
		{"garbage", "\x00\x01\x02garbage and more\n", ErrMalformed},
		{"another protocol", "SSH-2.0-OpenSSH_9.6\r\n", ErrMalformed},
		{"HTTP/2", "HTTP/2 200 OK\r\n", ErrMalformed},
		{"status with letters", "HTTP/1.1 2x0 OK\r\n", ErrMalformed},
		{"status out of range", "HTTP/1.1 999 OK\r\n", ErrMalformed},
		{"switching protocols", "HTTP/1.1 101 Switching Protocols\r\n\r\n", ErrMalformed},
		{"header without colon", head + "nonsense\r\n\r\n", ErrMalformed},
		{"header without name", head + ": x\r\n\r\n", ErrMalformed},
		{"negative length", head + "Content-Length: -1\r\n\r\n", ErrMalformed},
		{"length with letters", head + "Content-Length: 0x10\r\n\r\n", ErrMalformed},
		{"empty length", head + "Content-Length: \r\n\r\n", ErrMalformed},
		{"overlong length", head + "Content-Length: 9999999999999999999\r\n\r\n", ErrMalformed},
		{"two lengths", head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", ErrMalformed},
		{"other coding", head + "Transfer-Encoding: gzip, chunked\r\n\r\n", ErrMalformed},
		{"chunk without length", head + "Transfer-Encoding: chunked\r\n\r\n\r\n", ErrMalformed},
		{"chunk with bad length", head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", ErrMalformed},
		{"overlong chunk", head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", ErrMalformed},
		{"chunk that goes on", head + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", ErrMalformed},
		{"endless line", "HTTP/1.1 200 " + strings.Repeat("x", maxHead), ErrTooLarge},
		{"endless headers", head + strings.Repeat("A: b\r\n", maxHead/6), ErrTooLarge},
		{"endless continues", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", maxHead/25+1), ErrTooLarge},
		{"endless chunk line", head + "Transfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", maxChunkLine),
			ErrTooLarge},
		{"endless trailers", head + "Transfer-Encoding: chunked\r\n\r\n0\r\n" +
			strings.Repeat("A: b\r\n", maxHead/6+1), ErrTooLarge},
	}
	for _, c := range cases {
		for _, size := range []int{1, 1000, len(c.text)} {
			if _, err := parse(c.text, size, false); !errors.Is(err, c.want) {
				t.Errorf("%s, in pieces of %d: error %v, want %v", c.name, size, err, c.want)
			}
		}
	}
}

func TestLongBodiesAreKeptInPart(t *testing.T) {
	text := "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("a", oracle.MaxBody+1)
	r, err := parse(text, 1<<16, false)
	if err != nil || len(r.Body) != oracle.MaxBody || !r.Truncated {
		t.Errorf("%d bytes are kept, truncated %v, error %v", len(r.Body), r.Truncated, err)
	}
}

func TestTheHeaderIsKeptWithoutStatusLinesAndTrailers(t *testing.T) {
	const text = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\nSet-Cookie: " +
		"a=b\nTransfer-Encoding: chunked\r\n\r\n" +
		"1\r\na\r\n0\r\nX: trailer\r\n\r\n"
	const want = "Set-Cookie: a=b\r\nTransfer-Encoding: chunked\r\n"
	for size := 1; size <= len(text); size++ {
		r, err := parse(text, size, false)
		if err != nil || string(r.Header) != want {
			t.Fatalf("in pieces of %d: header %q, error %v, want %q", size, r.Header, err, want)
		}
	}
}

func TestNothingIsKeptThatNobodyWants(t *testing.T) {
	const text = "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 5\r\n\r\nhello"
	for _, c := range []struct {
		header               bool
		body                 int
		wantHeader, wantBody string
	}{
		{false, 0, "", ""}, {true, 0, "X: y\r\nContent-Length: 5\r\n", ""}, {false, 5, "", "hello"},
	} {
		var r Response
		for range 2 { // memory is used again
			r.Begin(false, c.header, c.body)
			if n, err := r.Feed([]byte(text)); n != len(text) || err != nil || !r.Complete() {
				t.Fatalf("took %d of %d bytes, error %v", n, len(text), err)
			}
			if string(r.Header) != c.wantHeader || string(r.Body) != c.wantBody {
				t.Errorf("header %v, body %v: kept %q and %q", c.header, c.body, r.Header, r.Body)
			}
		}
	}
}

func TestMemoryOfALargeBodyIsGivenBack(t *testing.T) {
	r, err := parse("HTTP/1.1 200 OK\r\n\r\n"+strings.Repeat("a", oracle.MaxBody), 1<<16, false)
	if err != nil {
		t.Fatal(err)
	}
	r.Begin(false, true, oracle.MaxBody)
	if cap(r.Body) > oracle.MaxRetained {
		t.Errorf("%d bytes are held between answers, want at most %d", cap(r.Body), oracle.MaxRetained)
	}
}

func TestAnswersTakeNoMemoryAnew(t *testing.T) {
	text := []byte("HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 5\r\n\r\nhello")
	var r Response
	allocated := testing.AllocsPerRun(100, func() {
		r.Begin(false, true, oracle.MaxBody)
		if _, err := r.Feed(text); err != nil || !r.Complete() {
			t.Fatal(err)
		}
	})
	if allocated != 0 {
		t.Errorf("an answer allocates %g times, want never", allocated)
	}
}

// FuzzResponse checks what must be true for any bytes: no panic, bounded memory, and the same result for
// every division into pieces.
func FuzzResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 3)
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n0\r\nX: y\r\n\r\n"), 2)
	f.Add([]byte("HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.0 200 OK\r\nSet-Cookie: a=b\r\n\r\nrest"), 7)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		size = max(size, 1)
		whole, wholeTaken, wholeErr := feedAll(data, len(data)+1)
		cut, cutTaken, cutErr := feedAll(data, size)
		checkKept(t, whole, wholeTaken, data)
		if (wholeErr == nil) != (cutErr == nil) {
			t.Fatalf("error %v in one piece, %v in pieces of %d", wholeErr, cutErr, size)
		}
		if wholeErr != nil {
			return
		}
		same := wholeTaken == cutTaken && whole.phase == cut.phase && whole.Status == cut.Status &&
			whole.Last == cut.Last
		if !same || !bytes.Equal(whole.Header, cut.Header) || !bytes.Equal(whole.Body, cut.Body) {
			t.Fatalf("pieces of %d change the answer: %+v and %+v", size, whole, cut)
		}
	})
}

// checkKept checks the limits for what an answer may keep, and that the kept header consists of whole
// lines, each with its colon.
func checkKept(t *testing.T, r *Response, taken int, data []byte) {
	t.Helper()
	if taken > len(data) || len(r.partial) > maxHead+maxChunkLine || len(r.Body) > oracle.MaxBody ||
		len(r.Header) > 2*maxHead {
		t.Fatalf("took %d of %d bytes, keeps %d, %d and %d", taken, len(data), len(r.partial), len(r.Body),
			len(r.Header))
	}
	for rest := r.Header; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\r\n"))
		if !whole || bytes.IndexByte(line, ':') <= 0 {
			t.Fatalf("the kept header has the line %q", line)
		}
		rest = after
	}
}

// feedAll feeds pieces until the answer is complete.
func feedAll(data []byte, size int) (*Response, int, error) {
	r := new(Response)
	r.Begin(false, true, oracle.MaxBody)
	taken := 0
	for taken < len(data) && r.phase != complete {
		n, err := r.Feed(data[taken:min(taken+size, len(data))])
		taken += n
		if err != nil {
			return r, taken, err
		}
	}
	return r, taken, nil
}
