package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestAnInterruptedCommandSaysSo: a command that ends because of a signal has the exit code for that, not the
// one for bad arguments. The context of other errors does not matter.
func TestAnInterruptedCommandSaysSo(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	root := newRoot(strings.NewReader(""), io.Discard, io.Discard)
	root.SetArgs([]string{"predict", "../../predict/testdata/small.model.yaml", "--split", "stock",
		"--hop", "120us,80us", "--rate", "10"})
	err := orInterrupted(ended, root.ExecuteContext(ended))
	if exitCode(err) != exitInterrupted || !strings.HasPrefix(err.Error(), "interrupted: ") {
		t.Errorf("exit code %d: %v", exitCode(err), err)
	}
	for _, c := range []struct {
		ctx  context.Context
		err  error
		code int
	}{
		{ended, withCode(exitBadPlan, "no such file"), exitBadPlan},
		{t.Context(), withCode(exitBadPlan, "%w", context.Canceled), exitBadPlan},
		{t.Context(), errors.New("broken"), exitFailed},
		{ended, nil, exitFine},
	} {
		if code := exitCode(orInterrupted(c.ctx, c.err)); code != c.code {
			t.Errorf("the exit code for %v is %d, want %d", c.err, code, c.code)
		}
	}
}
