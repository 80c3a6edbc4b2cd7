// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const (
	openStack = "OpenStack"
	vSphere   = "vSphere"
	metal3    = "Metal3"
	ironCore  = "IronCore"

	// perMerge is of how many rows a merge needs one.
	perMerge = 3
	// maxMessage is how long a message may be.
	maxMessage = 1024
)

// secrets are ours. They are in no message, and go to the site alone.
var secrets = []string{secretPassword, secretUser, vSpherePassword, secretToken}

const (
	secretPassword = "Pa55-of-ours" // #nosec G101 -- of the test
	secretUser     = "user-of-ours"
	secretToken    = "token-of-ours" // #nosec G101 -- of the test
)

// protocol is a kind of far end and what our code does there.
type protocol struct {
	// world returns a new good peer, and what our code needs to reach it but for the address.
	world func(id string) (peer, world, error)
	// own is the same for operations whose rows need a peer of their own, which is closed after use.
	own func() (peer, world, error)
	// besides is an operation that reads.
	besides    string
	operations []operation
}

// worldOf returns where an operation is done.
func (p *protocol) worldOf(o *operation, id string) (peer, world, error) {
	if o.own {
		return p.own()
	}
	return p.world(id)
}

// row is one answer to one request of one operation.
type row struct {
	ID        string
	Protocol  string
	Operation *operation
	Shape     string
	answer    *answer
	good      *exchange
	// recordedAt is the host:port of the good run.
	recordedAt string
	run        *goodRun
	played     bool
	// missed is whether the request was not made.
	missed   bool
	failures []string
}

func (r *row) String() string {
	return fmt.Sprintf("%s %s/%s: %s: %s", r.Protocol, r.Operation.part, r.Operation.name, r.Shape, r.answer.name)
}

// watches reports whether the request is a watch, which is begun in the background and may never be: the operation may end before.
func (r *row) watches() bool {
	return strings.HasSuffix(r.Shape, "&watch")
}

// goodRun is an operation at an honest far end.
type goodRun struct {
	protocol  string
	operation *operation
	world     world
	peer      peer
	address   string
	exchanges []exchange
	written   []string
	outcome   outcome
	prepared  *prepared
}

var rowIDs atomic.Int64

func newID() string {
	return fmt.Sprintf("%05d", rowIDs.Add(1))
}

// recordRun does the operation at an honest far end.
func (s *matrix) recordRun(w *worker, name string, o *operation) (*goodRun, error) {
	id := newID()
	p, place, err := protocols[name].worldOf(o, id)
	if err != nil {
		return nil, err
	}
	f, err := newFront(p, shaper{}, nil, s.places)
	if err != nil {
		return nil, err
	}
	defer f.close()
	run := &goodRun{protocol: name, operation: o, peer: p, address: f.bad()}
	run.world = s.placed(place, name, id, f)
	j := job{ID: goodRunPrefix + id, Operation: o.part + "/" + o.name, World: run.world, PrepareOnly: true}
	made, ok := w.do(j)
	if !ok || made.Refused != "" {
		return nil, fmt.Errorf("%s %s/%s cannot be prepared: %s %s", name, o.part, o.name, made.Refused, w.log.why())
	}
	j.Prepared, j.PrepareOnly = made.Prepared, false
	run.prepared = made.Prepared
	if run.outcome, ok = w.do(j); !ok {
		return nil, fmt.Errorf("%s %s/%s: %s", name, o.part, o.name, w.log.why())
	}
	if run.outcome.Error != "" && run.outcome.Class != "Progress" {
		exchanges, _, _ := f.taken()
		return nil, fmt.Errorf("%s %s/%s fails at an honest far end: %s; the last request was %s", name, o.part, o.name, run.outcome.Error,
			lastOf(exchanges))
	}
	run.exchanges, run.written, _ = f.taken()
	if len(run.exchanges) == 0 {
		return nil, fmt.Errorf("%s %s/%s asks the site nothing", name, o.part, o.name)
	}
	return run, nil
}

func lastOf(exchanges []exchange) string {
	if len(exchanges) == 0 {
		return "none"
	}
	e := exchanges[len(exchanges)-1]
	return fmt.Sprintf("%s: %d %s", e.Shape, e.Status, cut(string(e.Body), 200))
}

func (s *matrix) placed(w world, name, id string, f *front) world {
	w.Protocol, w.Good, w.Bad, w.CA = name, f.good(), f.bad(), s.places.ca
	if w.Site == "" {
		w.Site = "site" + id
	}
	if w.Shoot == "" {
		w.Shoot = "shoot--h--" + id
	}
	return w
}

// plan returns the rows of a good run. What was asked in the part before gets the misleading answers only.
func plan(run *goodRun, asked map[string]bool) []*row {
	var (
		rows   []*row
		inRun  = map[string]bool{}
		common = append(answers(), messages()...)
	)
	for i := range run.exchanges {
		e := &run.exchanges[i]
		if inRun[e.Shape] || strings.HasPrefix(e.Shape, "SOAP Logout") {
			continue
		}
		inRun[e.Shape] = true
		if leaves := run.operation.leaves; leaves != nil && leaves(e.Shape) {
			continue
		}
		// Each request begins to count at another place, so that it gets other answers than the one before.
		kind, planned := run.operation.part+" "+e.Method, len(inRun)
		moved := 0
		for j := range common {
			a := &common[j]
			if !a.suits(run.protocol) || a.fits != nil && !a.fits(*e) || !matchesVariable(answersVariable, a.name) {
				continue
			}
			if asked[run.operation.part+" "+e.Shape] && !a.misleading {
				continue
			}
			if a.redirect && asked[kind] {
				// Two are enough of those: one to another host, and one to plain http.
				if moved++; moved != 5 && moved != 2 {
					continue
				}
			}
			if planned++; suite.ForMerge() && planned%perMerge != 0 {
				continue
			}
			rows = append(rows,
				&row{ID: newID(), Protocol: run.protocol, Operation: run.operation, Shape: e.Shape, answer: a, good: e, recordedAt: run.address,
					run: run})
		}
		asked[run.operation.part+" "+e.Shape], asked[kind] = true, true
	}
	return rows
}

// play gives the hostile answer. It returns false if the process ended.
func (s *matrix) play(w *worker, r *row, alone bool) bool {
	p, place := r.run.peer, r.run.world
	if r.Operation.mutates {
		var err error
		if p, place, err = protocols[r.Protocol].worldOf(r.Operation, r.ID); err != nil {
			r.fail("the good peer: %v", err)
			return true
		}
	} else {
		place.Good, place.Bad = "", ""
	}
	f, err := newFront(p, shaper{}, r, s.places)
	if err != nil {
		r.fail("the far end: %v", err)
		return true
	}
	defer f.close()
	j := job{ID: r.ID, Operation: r.Operation.part + "/" + r.Operation.name, World: s.placed(place, r.Protocol, r.ID, f), Alone: alone}
	if !r.Operation.mutates {
		j.Prepared = r.run.prepared
		raw := *r.run.prepared
		j.Prepared = &raw
		j.World.Good = r.run.world.Good
	}
	before := len(w.log.panicked())
	o, ok := w.do(j)
	if !ok {
		return false
	}
	if o.Refused == "" && !r.watches() {
		f.await(operationTimeout)
	}
	_, written, hits := f.taken()
	r.played, r.missed = true, o.Refused != "" || hits == 0
	s.judge(r, &o, written, hits)
	if alone {
		if now := w.log.panicked(); len(now) > before {
			r.fail("panicked, which was recovered: %s", now[len(now)-1])
		}
	}
	return true
}

func (l *logOf) panicked() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.panics)
}

func (r *row) fail(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// tells returns what the text must not tell, empty if nothing.
func tells(text string) string {
	if strings.Contains(text, marker) {
		return "a document of the far end"
	}
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			return "a credential"
		}
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) && r != '\n' && r != '\t' }) {
		return "what cannot be printed"
	}
	return ""
}

func (s *matrix) judge(r *row, o *outcome, written []string, hits int) {
	if o.Refused != "" {
		r.fail("not prepared: %s", o.Refused)
		return
	}
	if hits == 0 {
		r.fail("the request was not made")
	}
	if o.Panic != "" {
		r.fail("panicked: %s", o.Panic)
	}
	if o.Late && !r.Operation.patient {
		r.fail("did not end within %s", operationTimeout+grace)
	}
	if o.Memory > memoryLimit {
		r.fail("memory grew by %d MiB", o.Memory>>20)
	}
	for _, reached := range s.places.reached(r.ID) {
		r.fail("another host was asked: %s", reached)
	}
	if o.Error != "" {
		if o.Length > maxMessage {
			r.fail("message of %d bytes: %s", o.Length, cut(o.Error, 150))
		}
		if what := tells(o.Error); what != "" {
			r.fail("message tells %s: %s", what, cut(o.Error, 300))
		}
		if r.Operation.tenant && (strings.Contains(o.Error, value) || strings.Contains(o.Error, complaint)) {
			r.fail("message tells a tenant what the far end says: %s", cut(o.Error, 300))
		}
		if !r.Operation.silent && !strings.Contains(o.Error, r.site()) {
			r.fail("message does not name the site: %s", cut(o.Error, 300))
		}
		if strings.Contains(o.Error, "internal error") && r.answer.name != "error of 2 MiB" {
			r.fail("panicked, which was recovered: %s", cut(o.Error, 200))
		}
	}
	r.judgeWrites(o, written)
}

func (r *row) site() string {
	if r.Operation.mutates {
		return "site" + r.ID
	}
	return r.run.world.Site
}

// judgeWrites tells whether what exists was kept.
func (r *row) judgeWrites(o *outcome, written []string) {
	more := slices.Clone(written)
	for _, shape := range r.run.written {
		if i := slices.Index(more, shape); i >= 0 {
			more = slices.Delete(more, i, i+1)
		}
	}
	attacksRead := !r.good.writes()
	more = slices.DeleteFunc(more, func(shape string) bool { return shape == r.Operation.forces })
	for _, shape := range more {
		if deletes(shape) || attacksRead && !r.Operation.repairs {
			r.fail("a write that the good run did not make: %s", shape)
		}
	}
	if o.Error != "" {
		if attacksRead && o.Class == "NotFound" && r.Operation.proves && o.Class != r.run.outcome.Class {
			r.fail("the object is said to be gone: %s", cut(o.Error, 200))
		}
		return
	}
	if o.Late || o.Panic != "" || !attacksRead || r.Operation.lenient || r.tellsMore() {
		return
	}
	if !r.Operation.mutates {
		if o.Result != r.run.outcome.Result {
			r.fail("another result than that of the good run, and no error: %s instead of %s", cut(o.Result, 200), cut(r.run.outcome.Result, 200))
		}
		return
	}
	if len(written) < len(r.run.written) && r.Shape != r.Operation.awaits {
		r.fail("succeeded with %d of the %d writes of the good run; missing: %s", len(written), len(r.run.written),
			strings.Join(missing(r.run.written, written), ", "))
	}
}

// tellsMore says whether the answer is a true one with more in it, which nobody can know to be wrong.
func (r *row) tellsMore() bool {
	return r.answer.name == "pages without end"
}

func missing(of, in []string) []string {
	left := slices.Clone(of)
	for _, shape := range in {
		if i := slices.Index(left, shape); i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
	}
	return left
}

// matrix is what all rows share.
type matrix struct {
	places *places
	slots  chan struct{}

	mutex   sync.Mutex
	results map[string]*partResult
}

// partResult are the rows of a part.
type partResult struct {
	protocol, part string
	rows           []*row
	// problems are not those of a row.
	problems []string
	took     time.Duration
}

func (s *matrix) result(protocol, part string) *partResult {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	key := protocol + " " + part
	if s.results[key] == nil {
		s.results[key] = &partResult{protocol: protocol, part: part}
	}
	return s.results[key]
}

// parts returns the parts of a protocol.
func parts(name string) []string {
	found := map[string]bool{}
	for _, o := range protocols[name].operations {
		if selected(&o) {
			found[o.part] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// runPart plays all rows of a part.
func (s *matrix) runPart(ctx context.Context, name, part string) {
	start := time.Now()
	result := s.result(name, part)
	defer func() {
		result.took = time.Since(start)
		fmt.Fprintf(GinkgoWriter, "%s %s: %d rows, %d failures, %s\n", name, part, len(result.rows), len(result.failures()),
			result.took.Round(time.Second))
	}()
	if !s.record(name, part, result) || os.Getenv(goodVariable) != "" {
		return
	}

	var light, heavy []*row
	for _, r := range result.rows {
		if r.answer.heavy {
			heavy = append(heavy, r)
		} else {
			light = append(light, r)
		}
	}
	var group sync.WaitGroup
	group.Go(func() { s.playAll(ctx, result, light, lightAtOnce, false) })
	for shard := range heavyProcesses {
		var of []*row
		for i, r := range heavy {
			if i%heavyProcesses == shard {
				of = append(of, r)
			}
		}
		group.Go(func() { s.playAll(ctx, result, of, 1, true) })
	}
	group.Wait()
	s.playMissed(ctx, result)
	for _, r := range result.rows {
		if !r.played {
			r.fail("was not played")
		}
	}
}

// record makes the good runs of a part, and plans the rows.
func (s *matrix) record(name, part string, result *partResult) bool {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	recorder, err := newWorker()
	if err != nil {
		result.problems = append(result.problems, err.Error())
		return false
	}
	defer func() { recorder.stop() }()
	asked := map[string]bool{}
	for i := range protocols[name].operations {
		o := &protocols[name].operations[i]
		if o.part != part || !selected(o) {
			continue
		}
		run, err := s.recordRun(recorder, name, o)
		if err != nil {
			result.problems = append(result.problems, err.Error())
			if recorder.hasEnded() {
				recorder.stop()
				if recorder, err = newWorker(); err != nil {
					return false
				}
			}
			continue
		}
		result.rows = append(result.rows, plan(run, asked)...)
	}
	result.problems = append(result.problems, recorder.log.problems("good run")...)
	return true
}

// playMissed plays those rows again, with nothing beside them, whose request was not made: on a busy machine one before it may have
// taken too long. A watch that is not begun then either is no row: it is begun in the background, and the operation may end before.
func (s *matrix) playMissed(ctx context.Context, result *partResult) {
	var missed []*row
	for _, r := range result.rows {
		if r.missed {
			r.failures, r.ID = nil, newID()
			missed = append(missed, r)
		}
	}
	s.playAll(ctx, result, missed, 1, true)
	result.rows = slices.DeleteFunc(result.rows, func(r *row) bool { return r.missed && r.watches() })
}

const (
	lightAtOnce    = 12
	heavyProcesses = 2
)

// playAll plays the rows in a process. If it ends, those that had begun are played again, each in a process of its own.
func (s *matrix) playAll(ctx context.Context, result *partResult, rows []*row, atOnce int, alone bool) {
	for len(rows) > 0 && ctx.Err() == nil {
		s.slots <- struct{}{}
		w, err := newWorker()
		if err != nil {
			<-s.slots
			result.add(err.Error())
			return
		}
		stopBeside := s.startBeside(w, result)
		var (
			mutex sync.Mutex
			again []*row
			group sync.WaitGroup
			limit = make(chan struct{}, atOnce)
		)
		for i, r := range rows {
			limit <- struct{}{}
			if w.hasEnded() {
				mutex.Lock()
				again = append(again, rows[i:]...)
				mutex.Unlock()
				break
			}
			group.Go(func() {
				defer func() { <-limit }()
				if !s.play(w, r, alone) {
					mutex.Lock()
					defer mutex.Unlock()
					again = append(again, r)
				}
			})
		}
		group.Wait()
		ended := w.hasEnded()
		w.stop()
		stopBeside()
		<-s.slots
		result.add(w.log.problems(fmt.Sprintf("%d rows beside", len(rows)))...)
		for _, problem := range w.beside {
			result.add("the other site: " + problem)
		}
		if !ended {
			return
		}
		again = s.blame(result, w, again, alone)
		rows = again
	}
}

// blame finds the rows that end the process among those that had begun, and returns the others.
func (s *matrix) blame(result *partResult, ended *worker, again []*row, alone bool) []*row {
	var rest []*row
	for _, r := range again {
		if !ended.begun[r.ID] {
			r.failures, r.ID = nil, newID()
			rest = append(rest, r)
			continue
		}
		if alone {
			r.played = true
			r.fail("the process ended: %s", ended.log.why())
			continue
		}
		r.failures, r.ID = nil, newID()
		w, err := newWorker()
		if err != nil {
			r.fail("%v", err)
			continue
		}
		if !s.play(w, r, false) {
			r.played = true
			r.fail("the process ended: %s", w.log.why())
		}
		w.stop()
	}
	return rest
}

func (w *worker) hasEnded() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.ended
}

func (p *partResult) add(problems ...string) {
	if len(problems) == 0 {
		return
	}
	resultMutex.Lock()
	defer resultMutex.Unlock()
	p.problems = append(p.problems, problems...)
}

var resultMutex sync.Mutex

// problems are what the log of a process must not have.
func (l *logOf) problems(of string) []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var result []string
	for _, line := range l.long {
		result = append(result, fmt.Sprintf("log of %s: line of %s", of, line))
	}
	for _, line := range l.told {
		result = append(result, fmt.Sprintf("log of %s: tells %s", of, line))
	}
	for _, line := range l.panics {
		result = append(result, fmt.Sprintf("log of %s: %s", of, line))
	}
	return result
}

// startBeside has the process ask a good site again and again.
func (s *matrix) startBeside(w *worker, result *partResult) func() {
	name := result.protocol
	o := operationOf(name, protocols[name].besides)
	if o == nil {
		return func() {}
	}
	id := "beside" + newID()
	p, place, err := protocols[name].world(id)
	if err != nil {
		result.add(err.Error())
		return func() {}
	}
	f, err := newFront(p, shaper{}, nil, s.places)
	if err != nil {
		result.add(err.Error())
		return func() {}
	}
	j := job{ID: id, Operation: protocols[name].besides, World: s.placed(place, name, id, f), PrepareOnly: true}
	made, ok := w.do(j)
	if !ok || made.Refused != "" {
		result.add("the other site: " + made.Refused)
		return f.close
	}
	j.PrepareOnly, j.Beside, j.Prepared = false, true, made.Prepared
	w.do(j)
	return f.close
}
