package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
)

// peerReport is the output of the peer.
type peerReport struct {
	RoundTrips     int64   `json:"round_trips"`
	Sent           int64   `json:"sent"`
	Answered       int64   `json:"answered"`
	Received       int64   `json:"received"`
	ElapsedSeconds float64 `json:"elapsed_seconds"`
	CPUSeconds     float64 `json:"cpu_seconds"`
}

// buildPeer compiles the peer. The error says what is missing.
func buildPeer(ctx context.Context, folder string) error {
	cargo, err := exec.LookPath("cargo")
	if err != nil {
		return fmt.Errorf("the peer %q is left out, install a Rust tool chain to have it: %w", tokio, err)
	}
	command := exec.CommandContext(ctx, cargo, "build", "--release", "--locked", "--quiet",
		"--manifest-path", filepath.Join(folder, "Cargo.toml"))
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("the peer %q is left out, %s failed: %w\n%s", tokio, command, err, output)
	}
	return nil
}

// playPeer runs the peer once and checks its counts against the job.
func playPeer(ctx context.Context, folder string, c contender, seed uint64) (cost, error) {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(folder, "target", "release", "tokio-big"),
		strconv.Itoa(c.size.neighbourhoods), strconv.Itoa(c.size.workers), strconv.Itoa(c.pings),
		strconv.FormatUint(seed, 10))
	output, err := command.Output()
	if err != nil {
		return cost{}, fmt.Errorf("%s: %w", command, err)
	}
	var report peerReport
	if err := json.Unmarshal(output, &report); err != nil {
		return cost{}, fmt.Errorf("read what %s printed: %w", command, err)
	}
	want := c.job().RoundTrips()
	if report.RoundTrips != want || report.Sent != want || report.Answered != want || report.Received != want {
		return cost{}, fmt.Errorf("%s reports %+v, want %d of each count", command, report, want)
	}
	n := float64(want)
	return cost{cpu: report.CPUSeconds / n, elapsed: report.ElapsedSeconds / n}, nil
}
