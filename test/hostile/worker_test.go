// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// worker is a subject as a process, seen from here.
type worker struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser

	mutex   sync.Mutex
	waiting map[string]chan outcome
	begun   map[string]bool
	beside  []string
	ended   bool
	log     *logOf
	done    chan struct{}
}

// logOf looks at what a process writes, line by line.
type logOf struct {
	mutex sync.Mutex
	// long and told are lines that are too long, or that tell what they must not.
	long, told []string
	// panics are lines about panics, also recovered ones.
	panics []string
	// fatal is what the process said when it ended.
	fatal []string
}

func newWorker() (*worker, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(path) // #nosec G204 -- this test
	w := &worker{cmd: command, waiting: map[string]chan outcome{}, begun: map[string]bool{}, log: &logOf{}, done: make(chan struct{})}
	w.cmd.Env = append(os.Environ(), subjectVariable+"=1", "GOMEMLIMIT=off", "GOGC=100", "GODEBUG=")
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := w.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	group.Go(func() { w.log.read(stderr) })
	group.Go(func() { w.read(stdout) })
	go func() {
		group.Wait()
		_ = w.cmd.Wait()
		w.mutex.Lock()
		w.ended = true
		for _, c := range w.waiting {
			close(c)
		}
		w.waiting = nil
		w.mutex.Unlock()
		close(w.done)
	}()
	return w, nil
}

func (w *worker) read(stdout io.Reader) {
	decoder := json.NewDecoder(stdout)
	for {
		var o outcome
		if decoder.Decode(&o) != nil {
			_, _ = io.Copy(io.Discard, stdout)
			return
		}
		w.mutex.Lock()
		switch {
		case o.Begun:
			w.begun[o.ID] = true
		case o.Beside != "":
			w.beside = append(w.beside, o.Beside)
		default:
			if c := w.waiting[o.ID]; c != nil {
				delete(w.waiting, o.ID)
				c <- o
			}
		}
		w.mutex.Unlock()
	}
}

// do has the process do the job. It returns false if the process ended meanwhile.
func (w *worker) do(j job) (outcome, bool) {
	raw, err := json.Marshal(j)
	if err != nil {
		return outcome{ID: j.ID, Refused: err.Error()}, true
	}
	c := make(chan outcome, 1)
	w.mutex.Lock()
	if w.ended || w.waiting == nil {
		w.mutex.Unlock()
		return outcome{}, false
	}
	if !j.Beside {
		w.waiting[j.ID] = c
	}
	_, err = w.stdin.Write(append(raw, '\n'))
	w.mutex.Unlock()
	if j.Beside {
		return outcome{}, err == nil
	}
	if err != nil {
		<-w.done
	}
	o, ok := <-c
	return o, ok
}

func (w *worker) stop() {
	_ = w.stdin.Close()
	_ = w.cmd.Process.Kill() // its cases are done
	<-w.done
}

// read looks at each line. Those of the end of the process are kept.
func (l *logOf) read(from io.Reader) {
	lines := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	length := 0
	for {
		part, more, err := lines.ReadLine()
		if err != nil {
			return
		}
		length += len(part)
		if len(line) < 8192 {
			line = append(line, part...)
		}
		if more {
			continue
		}
		l.look(string(line), length)
		line, length = line[:0], 0
	}
}

func (l *logOf) look(line string, length int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.fatal) > 0 || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
		if len(l.fatal) < 60 {
			l.fatal = append(l.fatal, cut(line, 200))
		}
		return
	}
	if length > maxMessage {
		l.long = append(l.long, fmt.Sprintf("%d bytes: %s", length, cut(line, 200)))
	}
	if tells(line) != "" {
		l.told = append(l.told, tells(line)+": "+cut(line, 300))
	}
	if strings.Contains(line, "panic") && !strings.Contains(line, "goroutine") {
		l.panics = append(l.panics, cut(line, 200))
	}
}

// why returns why the process ended.
func (l *logOf) why() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.fatal) == 0 {
		return "the process ended"
	}
	return l.fatal[0] + " at " + frame(bytes.Join(toBytes(l.fatal), []byte("\n")))
}

func toBytes(lines []string) [][]byte {
	var result [][]byte
	for _, line := range lines {
		result = append(result, []byte(line))
	}
	return result
}
