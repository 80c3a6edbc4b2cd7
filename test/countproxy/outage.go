// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package countproxy

import "fmt"

// TakeDown ends the listener of a service and its connections, as if the service were not running: new connections are
// refused until BringUp is called.
func (p *Proxy) TakeDown(service string) error {
	p.mutex.Lock()
	server := p.servers[service]
	delete(p.servers, service)
	p.mutex.Unlock()
	if server == nil {
		return fmt.Errorf("service %q is not up", service)
	}
	return server.Close()
}

// BringUp listens again for a service that TakeDown took down, at the same address.
func (p *Proxy) BringUp(service string) error {
	p.mutex.Lock()
	known, ok := p.listeners[service]
	up := p.servers[service] != nil
	p.mutex.Unlock()
	if !ok || up {
		return fmt.Errorf("service %q is not down", service)
	}
	again := known.service
	again.Listen = known.Addr().String()
	l, err := listen(again)
	if err != nil {
		return err
	}
	p.serve(l)
	return nil
}
