// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
)

// Check is a validation with a stable ID, which documentation, reports, and requests to skip it refer to.
type Check struct {
	// ID is "<area>-<what>" in lower case. It never changes.
	ID string
	// Title says what is checked.
	Title string
	// Remedy says what to do if the check fails.
	Remedy string
	// Needs are the IDs of earlier checks. If one of them fails or cannot be made, this one is not made.
	Needs []string
}

// CheckState is the result of a check.
type CheckState string

const (
	// Fine means that the check found nothing.
	Fine CheckState = "Fine"
	// Failed means that the site cannot be used as wanted.
	Failed CheckState = "Failed"
	// Warning means that there may be a problem later.
	Warning CheckState = "Warning"
	// Unknown means that the check could not be made.
	Unknown CheckState = "Unknown"
	// Skipped means that the check was not to be made.
	Skipped CheckState = "Skipped"
)

// Finding is a result of a check that is not Fine. A check can have several.
type Finding struct {
	// Check is the check.
	Check Check
	// State is the result.
	State CheckState
	// Class is the class of the problem, empty unless the state is Failed or Err is set.
	Class Class
	// Field is the path of the field in the Shoot, its InfrastructureConfig, the CloudProfile, or the Secret, empty if there is none.
	Field string
	// Is says what is, and Want what should be, if Is does not say that.
	Is, Want string
	// Remedy replaces that of the check unless it is empty.
	Remedy string
	// Err is why the check could not be made, nil if it was made, or if another check is the cause.
	Err error
	// Cause is the ID of the check because of which this one was not made.
	Cause string
}

// Message returns the field and what is.
func (f Finding) Message() string {
	if f.Field == "" {
		return f.Is
	}
	return f.Field + ": " + f.Is
}

// Advice returns what to do about the finding, empty if there is nothing to do.
func (f Finding) Advice() string {
	if f.State == Skipped || f.Cause != "" {
		return ""
	}
	return cmp.Or(f.Remedy, f.Check.Remedy)
}

// Findings are the result of a validation.
type Findings struct {
	// Checks are all checks. Those without a finding are Fine.
	Checks []Check
	// Found are the findings in the order of the checks. On a site that is already in use, a failure below the path of a Demand affects only
	// its pool.
	Found []Finding
	// Rooms are the resources that pools need, in the order of the checks.
	Rooms []Room
}

// Room is what the pools need of a resource, and what the site has for them, including what the shoot has already.
type Room struct {
	// Resource is the name of the resource.
	Resource string
	// Minimum and Maximum are what the pools need for their limits.
	Minimum, Maximum int
	// Available is what the site has.
	Available int
}

// Err returns the failures, nil if there are none, as errors of their classes: mistakes are of ClassConfiguration, quotas that do not
// suffice for the pools' minima of ClassQuota. It omits checks that could not be made.
func (f Findings) Err() error {
	var mistakes, shortages []error
	for i := range f.Found {
		found := &f.Found[i]
		switch err := NewError(found.Class, "%s", found.Message()); {
		case found.State != Failed || found.Err != nil:
		case found.Class == ClassQuota:
			shortages = append(shortages, err)
		default:
			mistakes = append(mistakes, err)
		}
	}
	return errors.Join(append(mistakes, shortages...)...)
}

// Fine returns the IDs of the checks that have found nothing.
func (f Findings) Fine() []string {
	var ids []string
	for _, check := range f.Checks {
		if !slices.ContainsFunc(f.Found, func(found Finding) bool { return found.Check.ID == check.ID }) {
			ids = append(ids, check.ID)
		}
	}
	return ids
}

// Add returns the findings with those of other checks.
func (f Findings) Add(other Findings) Findings {
	return Findings{Checks: slices.Concat(f.Checks, other.Checks), Found: slices.Concat(f.Found, other.Found)}
}

// Warnings returns possible future problems, such as quotas that do not suffice for the pools' maxima, and what a site does not tell.
func (f Findings) Warnings() []string {
	var messages []string
	for i := range f.Found {
		if found := &f.Found[i]; found.State == Warning || found.State == Unknown && found.Err == nil && found.Cause == "" {
			messages = append(messages, found.Message())
		}
	}
	return messages
}

// Result collects the findings of one check.
type Result struct {
	check Check
	found []Finding
	rooms []Room
	// cause is the ID of the check because of which those that need this one are not made.
	cause string
	// field is the path of the field that an error of the check is about.
	field string
}

// At sets the field of the finding that the check has if it returns an error.
func (r *Result) At(path *field.Path) {
	r.field = path.String()
}

// Fail adds a failure. The finding is valid until the next one is added.
func (r *Result) Fail(problem *field.Error) *Finding {
	return r.add(Finding{State: Failed, Class: ClassConfiguration, Field: problem.Field, Is: problem.ErrorBody()})
}

// Invalid adds an invalid value of a field.
func (r *Result) Invalid(path *field.Path, value, format string, args ...any) *Finding {
	return r.Fail(field.Invalid(path, value, fmt.Sprintf(format, args...)))
}

// Forbidden adds a failure that is not about the value of a field.
func (r *Result) Forbidden(path *field.Path, format string, args ...any) *Finding {
	return r.Fail(field.Forbidden(path, fmt.Sprintf(format, args...)))
}

// Short adds a quota that does not suffice.
func (r *Result) Short(problem *field.Error) *Finding {
	found := r.Fail(problem)
	found.Class = ClassQuota
	return found
}

// Warn adds a possible future problem.
func (r *Result) Warn(path *field.Path, format string, args ...any) *Finding {
	return r.add(Finding{State: Warning, Field: path.String(), Is: fmt.Sprintf(format, args...)})
}

// Unknown adds what the site does not tell.
func (r *Result) Unknown(path *field.Path, format string, args ...any) *Finding {
	return r.add(Finding{State: Unknown, Field: path.String(), Is: fmt.Sprintf(format, args...)})
}

// Depend adds that the check was not made because another one failed.
func (r *Result) Depend(cause string) *Finding {
	r.cause = cause
	return r.add(Finding{State: Unknown, Is: fmt.Sprintf("not checked, because %s failed", cause), Cause: cause})
}

// Measure adds a resource that pools need.
func (r *Result) Measure(room Room) {
	r.rooms = append(r.rooms, room)
}

func (r *Result) add(found Finding) *Finding {
	found.Check = r.check
	r.found = append(r.found, found)
	if found.State == Failed {
		r.cause = r.check.ID
	}
	return &r.found[len(r.found)-1]
}

// Checks are the checks of a T in the order in which they are reported.
type Checks[T any] []CheckOf[T]

// CheckOf is a check of a T.
type CheckOf[T any] struct {
	Check
	// Run makes the check. It returns a classified error if it could not be made.
	Run func(of T, ctx context.Context, result *Result) error
}

// List returns the checks without what they do.
func (c Checks[T]) List() []Check {
	return lists.Map(c, func(check CheckOf[T]) Check { return check.Check })
}

// Run makes all checks in parallel, and returns their findings, and the errors of checks that could not be made. A check that is skipped
// has no other findings; it is made nevertheless if others need it, but stops them only if it cannot be made.
func (c Checks[T]) Run(ctx context.Context, of T, skip []string) (Findings, error) {
	var (
		results = make([]Result, len(c))
		done    = make([]chan struct{}, len(c))
	)
	for i := range c {
		done[i] = make(chan struct{})
	}
	errs := Each(len(c), func(i int) error {
		defer close(done[i])
		result, skipped := &results[i], slices.Contains(skip, c[i].ID)
		result.check = c[i].Check
		for _, need := range c[i].Needs {
			j := slices.IndexFunc(c[:i], func(other CheckOf[T]) bool { return other.ID == need })
			<-done[j]
			if cause := results[j].cause; cause != "" && result.cause == "" {
				result.Depend(cause)
			}
		}
		var err error
		if result.cause == "" && (!skipped || c.needed(c[i].ID)) {
			err = Try(func() error { return c[i].Run(of, ctx, result) })
		}
		if skipped {
			*result = Result{check: c[i].Check, found: []Finding{{Check: c[i].Check, State: Skipped}}, cause: result.inherited()}
		} else if err != nil {
			result.add(Finding{State: stateOf(err), Class: ClassOf(err), Field: result.field, Is: err.Error(), Err: err})
		}
		if err != nil {
			result.cause = c[i].ID
		}
		return err
	})

	findings := Findings{Checks: c.List()}
	for i := range results {
		findings.Found = append(findings.Found, results[i].found...)
		findings.Rooms = append(findings.Rooms, results[i].rooms...)
	}
	return findings, distinct(errs)
}

func (c Checks[T]) needed(id string) bool {
	return slices.ContainsFunc(c, func(check CheckOf[T]) bool { return slices.Contains(check.Needs, id) })
}

// inherited returns the cause if it is another check.
func (r *Result) inherited() string {
	if r.cause == r.check.ID {
		return ""
	}
	return r.cause
}

// stateOf returns the state of a check that returned an error: refused credentials and configurations are failures.
func stateOf(err error) CheckState {
	switch ClassOf(err) {
	case ClassUnauthenticated, ClassConfiguration:
		return Failed
	}
	return Unknown
}

// distinct joins the errors, without those that say the same: checks share requests.
func distinct(errs []error) error {
	var result []error
	for _, err := range errs {
		if err != nil && !slices.ContainsFunc(result, func(other error) bool { return other.Error() == err.Error() }) {
			result = append(result, err)
		}
	}
	return errors.Join(result...)
}
