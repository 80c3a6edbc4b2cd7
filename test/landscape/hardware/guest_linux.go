// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

const (
	// maxInfo and maxInfoSize bound what a hypervisor tells a guest.
	maxInfo     = 64
	maxInfoSize = 1 << 20
	// maxReport and maxAddresses bound what a guest tells its hypervisor.
	maxReport    = 64 << 10
	maxAddresses = 64

	reportFile = "tools"
)

var (
	infoKey = regexp.MustCompile(`^guestinfo\.[A-Za-z0-9._-]{1,128}$`)

	errTooLarge = fmt.Errorf("a hypervisor tells at most %d values of %d bytes together, whose keys match %s", maxInfo, maxInfoSize, infoKey)
)

// Firmware is what the tables of a machine's firmware say.
type Firmware struct {
	// Vendor is who made the machine.
	Vendor string
	// Product is the name of the machine's product.
	Product string
	// UUID is the machine's UUID.
	UUID string
}

// Report is what the tools in a guest report.
type Report struct {
	// Time is when they reported it last, zero if they never did since the machine was told something.
	Time time.Time `json:"-"`
	// HostName is the name of the guest.
	HostName string `json:"hostName"`
	// Interfaces are the guest's interfaces, as iproute2 lists them.
	Interfaces []Interface `json:"interfaces"`
}

// Interface is an interface of a guest.
type Interface struct {
	// MAC is its hardware address.
	MAC string `json:"address"`
	// Addresses are its addresses.
	Addresses []struct {
		Address netip.Addr `json:"local"`
	} `json:"addr_info"`
}

// Tell makes the machine a virtual one, whose guest can ask for the info. The machine must be off. Its disk stays.
func (m *Machine) Tell(firmware Firmware, info map[string]string) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.on {
		return fmt.Errorf("tell %s: it is on", m.Name)
	}
	size := 0
	for key, value := range info {
		size += len(value)
		if !infoKey.MatchString(key) {
			return fmt.Errorf("tell %s: %w", m.Name, errTooLarge)
		}
	}
	if len(info) > maxInfo || size > maxInfoSize {
		return fmt.Errorf("tell %s: %w", m.Name, errTooLarge)
	}
	if err := os.RemoveAll(m.hypervisor()); err != nil {
		return err
	}
	return errors.Join(
		writeFiles(filepath.Join(m.hypervisor(), "dmi"), map[string]string{"sys_vendor": firmware.Vendor + "\n",
			"product_name": firmware.Product + "\n", "product_uuid": firmware.UUID + "\n"}),
		writeFiles(filepath.Join(m.hypervisor(), "guestinfo"), info),
	)
}

func writeFiles(dir string, files map[string]string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(files[name]), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Report returns what the tools in the guest reported last.
func (m *Machine) Report() (Report, error) {
	r := Report{}
	file, err := os.Open(filepath.Join(m.hypervisor(), reportFile))
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	} else if err != nil {
		return r, err
	}
	defer func() { _ = file.Close() }()
	about, err := file.Stat()
	if err != nil {
		return r, err
	}
	if err := json.NewDecoder(io.LimitReader(file, maxReport)).Decode(&r); err != nil {
		return Report{}, fmt.Errorf("the tools in %s: %w", m.Name, err)
	}
	r.Time = about.ModTime()
	left := maxAddresses
	for i := range r.Interfaces {
		of := &r.Interfaces[i]
		of.Addresses = of.Addresses[:min(left, len(of.Addresses))]
		left -= len(of.Addresses)
	}
	return r, nil
}

// hypervisor is the folder that the machine and this process see.
func (m *Machine) hypervisor() string { return filepath.Join(m.dir, "hypervisor") }
