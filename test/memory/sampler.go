// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Period is the time between two samples.
const Period = time.Second

// Process is the process of a container.
type Process struct {
	// Deployment is the name of the container's Deployment.
	Deployment string
	// Container is the name of the container.
	Container string
	// PID is the ID of the process, 0 if it does not run.
	PID int
}

type key struct{ deployment, container string }

// Sampler samples what the processes of containers have in memory. A process that is started again counts as the same.
type Sampler struct {
	mutex   sync.Mutex
	samples map[key][]Usage
}

// Run takes a sample of each process in each period until ctx ends.
func (s *Sampler) Run(ctx context.Context, processes func() []Process) {
	ticker := time.NewTicker(Period)
	defer ticker.Stop()
	for {
		s.sample(processes())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *Sampler) sample(processes []Process) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.samples == nil {
		s.samples = map[key][]Usage{}
	}
	for _, p := range processes {
		if p.PID == 0 {
			continue
		}
		usage, err := Of(p.PID)
		if err != nil {
			continue // it has ended meanwhile
		}
		k := key{p.Deployment, p.Container}
		s.samples[k] = append(s.samples[k], usage)
	}
}

// Containers are the containers that were sampled, by Deployment and name. Their requests are not set.
func (s *Sampler) Containers() []Container {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var result []Container
	for k, samples := range s.samples {
		resident, anonymous := make([]int64, len(samples)), make([]int64, len(samples))
		for i, usage := range samples {
			resident[i], anonymous[i] = usage.Resident, usage.Anonymous
		}
		result = append(result, Container{
			Deployment: k.deployment, Name: k.container, Samples: len(samples),
			Resident: figures(resident), Anonymous: figures(anonymous),
		})
	}
	slices.SortFunc(result, func(a, b Container) int {
		return strings.Compare(a.Deployment+"/"+a.Name, b.Deployment+"/"+b.Name)
	})
	return result
}

// figures sorts values and returns their figures. The percentile is the smallest value that 95 of 100 do not exceed.
func figures(values []int64) Figures {
	slices.Sort(values)
	return Figures{
		PeakMiB:         float64(values[len(values)-1]) / MiB,
		Percentile95MiB: float64(values[(len(values)*95+99)/100-1]) / MiB,
	}
}
