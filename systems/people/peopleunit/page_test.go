package peopleunit

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
)

// TestThePageCreatesAndFetches fills in and sends every form of the page in Chromium.
func TestThePageCreatesAndFetches(t *testing.T) {
	testset.Need(t, "it opens the page in Chromium")
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is not installed: type: apt-get install chromium")
	}
	folder, err := os.MkdirTemp("", "cleave-browser-")
	testset.Must(t, err)
	t.Cleanup(func() { // processes of the browser write into it for a moment after it has ended
		end := time.Now().Add(time.Minute)
		for err := os.RemoveAll(folder); err != nil; err = os.RemoveAll(folder) {
			if time.Now().After(end) {
				t.Fatalf("the browser's folder cannot be removed for a minute: %v", err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	s := start(t, architecture.Services, nil, t.TempDir(), []byte("this is some key"))
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.UserDataDir(folder), chromedp.Env("TMPDIR="+folder))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	run := func(actions ...chromedp.Action) {
		t.Helper()
		testset.Must(t, chromedp.Run(ctx, actions...))
	}
	run(chromedp.Navigate(s.url), chromedp.WaitVisible("#create-profiles button"))
	for _, kind := range people.Kinds() {
		var id, fetched, refused string
		create, fetch := "#create-"+string(kind), "#fetch-"+string(kind)
		for _, property := range kind.Properties() {
			run(chromedp.SendKeys(create+"-"+property, property+" <b>&"))
		}
		run(chromedp.Click(create+" button"), chromedp.WaitVisible(create+" output.done"),
			chromedp.Text(create+" output", &id))
		field := fetch + "-id"
		run(chromedp.SendKeys(field, id), chromedp.Click(fetch+" button"),
			chromedp.WaitVisible(fetch+" output.done"), chromedp.Text(fetch+" output", &fetched))
		for _, property := range kind.Properties() {
			if !strings.Contains(fetched, property+": "+property+" <b>&") {
				t.Errorf("%s: %s is not in %q", kind, property, fetched)
			}
		}
		run(chromedp.SetValue(field, "17"), chromedp.Click(fetch+" button"),
			chromedp.WaitVisible(fetch+" output.failed"), chromedp.Text(fetch+" output", &refused))
		if !strings.Contains(refused, "no UUID") {
			t.Errorf("%s: an id that is none: %q", kind, refused)
		}
	}
}
