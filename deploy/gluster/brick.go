package gluster

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// healPatience limits how long a lost brick may take until it has all writes that it missed.
const healPatience = 2 * time.Minute

// answer is the XML output of the gluster command.
type answer struct {
	Failed  int    `xml:"opRet"`
	Problem string `xml:"opErrstr"`
	Bricks  []struct {
		Host    string `xml:"hostname"`
		Online  int    `xml:"status"`
		Process string `xml:"pid"` // in the PID namespace of its host
	} `xml:"volStatus>volumes>volume>node"`
	Behind []struct {
		Name   string `xml:"name"`
		Status string `xml:"status"`
		Files  string `xml:"numberOfEntries"`
	} `xml:"healInfo>bricks>brick"`
}

// ask runs a gluster command on the first host and reads its answer; into may be nil.
func (v *Volume) ask(ctx context.Context, into *answer, words ...string) error {
	command := v.hosts.Hosts()[0].Command(ctx, "gluster",
		append([]string{"--mode=script", "--xml"}, words...)...)
	text, err := command.Output()
	if into == nil {
		into = &answer{}
	}
	if err = into.read(text, err); err != nil {
		return fmt.Errorf("gluster %s: %w", strings.Join(words, " "), err)
	}
	return nil
}

// read parses the output of a command. how is the error with which the command ended; it may be nil although
// the servers have refused the command.
func (a *answer) read(text []byte, how error) error {
	err := errors.Join(how, xml.Unmarshal(text, a))
	if err == nil && a.Failed != 0 {
		err = fmt.Errorf("result %d", a.Failed)
	}
	if err == nil {
		return nil
	}
	begin := string(text[:min(len(text), 300)])
	said := strings.TrimSpace(a.Problem + " " + begin)
	return fmt.Errorf("%s (%w)", said, err)
}

// checkReached returns an error unless the mount is connected to a brick, or is not if wanted is false, by
// the mount's own state.
func (v *Volume) checkReached(brick string, wanted bool) error {
	text, err := os.ReadFile(filepath.Join(v.mountPath(), ".meta", "graphs", "active",
		fmt.Sprintf("%s-client-%d", name, slices.Index(Bricks(), brick)), "private"))
	if reached := strings.Contains(string(text), "\nconnected = 1\n"); err != nil || reached != wanted {
		return errors.Join(fmt.Errorf("the mount reaches %s: %t, want %t", brick, reached, wanted), err)
	}
	return nil
}

// Kill kills the server process of a brick and returns the proof.
func (v *Volume) Kill(ctx context.Context, brick string) (proof string, err error) {
	host := v.hosts.Named(brick)
	var now answer
	if err := v.ask(ctx, &now, "volume", "status", name); err != nil {
		return "", err
	}
	for _, b := range now.Bricks {
		// A brick that is not online has the process -1, which kill would take for all processes.
		if b.Host != host.Address || b.Online != 1 {
			continue
		}
		if err := host.Run(ctx, "kill", "-9", b.Process); err != nil {
			return "", err
		}
		err = v.until(ctx, func() error { return v.checkReached(brick, false) })
		return "its process was killed, and the mount has lost it", err
	}
	return "", fmt.Errorf("%s does not run", brick)
}

// Heal starts the server process of a brick again and waits until the brick has all writes that it missed. It
// starts all other bricks that were killed, too: GlusterFS has no command for one.
func (v *Volume) Heal(ctx context.Context, brick string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, healPatience, fmt.Errorf("not healed after %v", healPatience))
	defer cancel()
	if err := v.ask(ctx, nil, "volume", "start", name, "force"); err != nil {
		return err
	}
	return v.until(ctx, func() error {
		if err := v.checkReached(brick, true); err != nil {
			return err
		}
		var now answer
		if err := v.ask(ctx, &now, "volume", "heal", name, "info"); err != nil {
			return err
		}
		for _, b := range now.Behind {
			if b.Files != "0" {
				return fmt.Errorf("%s, %s, knows of %s files that are not healed", b.Name, b.Status, b.Files)
			}
		}
		return nil
	})
}
