package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
)

// maxPending is the number of outputs of a life that are kept until the conductor asks for them. Further
// writes of the unit block.
const maxPending = 16

// life is one life of a unit, from its start to its end. After a restart the unit has another life.
type life struct {
	fleet.Instance
	unit    *fleet.Unit
	outputs chan process.Output
	gone    <-chan struct{} // closed when the conductor is gone
}

// put queues an output for the conductor, unless the conductor is gone.
func (l *life) put(output process.Output) {
	select {
	case l.outputs <- output:
	case <-l.gone:
	}
}

// Open begins a trial and reserves its ports.
func (h *Host) Open(trial Trial, ports *[]int) (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.trial != nil {
		return errors.New("a trial is under way on this host")
	}
	if !fleet.IsFileName(trial.Name) {
		return fmt.Errorf("%q cannot be the name of a trial's folder", trial.Name)
	}
	if h.probe != nil {
		_ = h.probe.Close() // its port is free for units now
		h.probe = nil
	}
	dir := filepath.Join(h.scratch.Dir, "trial-"+trial.Name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	h.trial, *ports, err = h.deployer.OpenRemote(dir, trial.Ports)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	h.lives = map[int]*life{} // not in Stop: the conductor still asks for their last output
	return nil
}

// SetEndpoints sets the addresses of all units of the trial.
func (h *Host) SetEndpoints(endpoints map[string]lab.Endpoint, _ *None) error {
	trial, err := h.current()
	if err == nil {
		trial.SetEndpoints(endpoints)
	}
	return err
}

// current returns the present trial; it fails if there is none.
func (h *Host) current() (*process.Remote, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.trial == nil {
		return nil, errors.New("there is no trial on this host")
	}
	return h.trial, nil
}

// Start starts one life of a unit.
func (h *Host) Start(start process.Start, started *Started) error {
	trial, err := h.current()
	if err != nil {
		return err
	}
	l := &life{outputs: make(chan process.Output, maxPending), gone: h.gone}
	if l.unit, l.Instance, err = trial.Start(start, l.put); err != nil {
		return err
	}
	*started = Started{Life: h.add(l), PID: l.unit.PID}
	return nil
}

// add adds a life of the trial and returns its number, which no life of another trial has.
func (h *Host) add(l *life) (number int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	number = h.started
	h.lives[number] = l
	h.started++
	return number
}

// life returns the life that has this number.
func (h *Host) life(number int) (*life, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lives[number]
	if l == nil {
		return nil, fmt.Errorf("there is no unit %d", number)
	}
	return l, nil
}

// Next waits for the next output of a life and returns it.
func (h *Host) Next(number int, next *process.Output) error {
	l, err := h.life(number)
	if err != nil {
		return err
	}
	select {
	case *next = <-l.outputs:
		return nil
	case <-h.gone:
		return errors.New("the agent ends")
	}
}

// withLife calls do with the life that has this number.
func (h *Host) withLife(number int, do func(*life) error) error {
	l, err := h.life(number)
	if err == nil {
		err = do(l)
	}
	return err
}

// Send writes to the standard input of a unit.
func (h *Host) Send(input Input, _ *None) error {
	return h.withLife(input.Life, func(l *life) error {
		_, err := l.unit.Commands.Write(input.Text)
		return err
	})
}

// Release asks a unit to end, as fleet.Instance.End does.
func (h *Host) Release(number int, _ *None) error {
	return h.withLife(number, func(l *life) error { return l.End(context.Background()) })
}

// Kill kills a unit and returns the proof.
func (h *Host) Kill(number int, proof *string) error {
	return h.withLife(number, func(l *life) (err error) {
		*proof, err = l.Kill(context.Background())
		return err
	})
}

// Pause pauses a unit and returns the proof.
func (h *Host) Pause(number int, proof *string) error {
	return h.withLife(number, func(l *life) (err error) {
		*proof, err = l.Pause(context.Background())
		return err
	})
}

// Resume lets a paused unit go on.
func (h *Host) Resume(number int, _ *None) error {
	return h.withLife(number, func(l *life) error { return l.Resume(context.Background()) })
}

// Stop ends the trial, if there is one, and removes everything of it on this host.
func (h *Host) Stop(None, *None) error {
	h.mu.Lock()
	trial, metering := h.trial, h.metering
	h.trial = nil
	h.metering = nil
	h.mu.Unlock()
	if metering != nil {
		_, _ = metering.Stop() // the trial has failed: nobody asks for its usage
	}
	if trial == nil {
		return nil
	}
	return trial.Stop()
}

// Watch begins to meter units of the trial.
func (h *Host) Watch(units []lab.Unit, _ *None) error {
	metering, err := h.meter.Watch(context.Background(), units)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.metering = metering
	return err
}

// withMetering calls do with the metering of the trial.
func (h *Host) withMetering(do func(lab.Metering) error) error {
	h.mu.Lock()
	metering := h.metering
	h.mu.Unlock()
	if metering == nil {
		return errors.New("nothing is metered on this host")
	}
	return do(metering)
}

// Mark records the usage of the units so far.
func (h *Host) Mark(None, *None) error { return h.withMetering(lab.Metering.Mark) }

// SuspendMetering stops metering a unit that is about to be killed.
func (h *Host) SuspendMetering(unit string, _ *None) error {
	return h.withMetering(func(m lab.Metering) error { return m.Suspend(unit) })
}

// ResumeMetering starts to meter a unit again that was killed.
func (h *Host) ResumeMetering(unit lab.Unit, _ *None) error {
	return h.withMetering(func(m lab.Metering) error { return m.Resume(unit) })
}

// Metered ends metering and returns the usage of the units.
func (h *Host) Metered(_ None, used *lab.Metered) error {
	err := h.withMetering(func(m lab.Metering) (err error) {
		*used, err = m.Stop()
		return err
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.metering = nil
	return err
}
