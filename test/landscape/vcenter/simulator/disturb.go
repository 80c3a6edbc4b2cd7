// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

// soapObject finds the type and ID of the object in a SOAP request.
var soapObject = regexp.MustCompile(`<_this[^>]* type="(\w+)"[^>]*>([^<]+)<`)

// taskAnswer is the answer to a call of a method that has a task.
const taskAnswer = `<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>
<%sResponse xmlns="urn:vim25"><returnval type="Task">%s</returnval></%sResponse>
</soapenv:Body></soapenv:Envelope>`

// disturber applies the settings to the calls of the simulator.
type disturber struct {
	model              *simulator.Model
	username, password string
	// machines is nil if no machines boot.
	machines *machines

	mutex    sync.Mutex
	settings control.Settings
	faults   []int
	clones   int
	// datastores are the summaries of datastores that are changed, as they were.
	datastores map[types.ManagedObjectReference]types.DatastoreSummary
	// instance is the vCenter's own UUID.
	instance string
}

// apply replaces the settings.
func (d *disturber) apply(settings control.Settings) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.settings = settings
	d.faults = make([]int, len(settings.Faults))
	d.clones = 0
	d.identify(settings.InstanceUUID)
	d.changeDatastores(settings.Datastores)
	// The simulator reads the map without a lock: it is replaced and never changed. Without a hand-off the object can be read
	// while its task is delayed. Power-on is not delayed: a clone keeps its template locked while it does it, so that clones would
	// wait for one another.
	delays := map[string]int{"LockHandoff": 0}
	for _, name := range []string{"CloneVm", "PowerOff", "Destroy", "ReconfigVm"} {
		delays[name] = int(settings.Task.Milliseconds())
	}
	delays["ReconfigureCluster"] = int(settings.Rule.Milliseconds())
	simulator.TaskDelay.MethodDelay = delays
}

// changeDatastores lets datastores be as wanted, and all others as they were.
func (d *disturber) changeDatastores(wanted map[string]control.Datastore) {
	registry := d.model.Map()
	ctx := &simulator.Context{Context: context.Background(), Map: registry}
	changed := map[types.ManagedObjectReference]types.DatastoreSummary{}
	for _, entity := range registry.All("Datastore") {
		datastore, ok := entity.(*simulator.Datastore)
		if !ok {
			continue
		}
		registry.WithLock(ctx, datastore, func() {
			if before, ok := d.datastores[datastore.Self]; ok {
				datastore.Summary = before
			}
			want, ok := wanted[datastore.Name]
			if !ok {
				return
			}
			changed[datastore.Self] = datastore.Summary
			datastore.Summary.FreeSpace = cmp.Or(want.Free, datastore.Summary.FreeSpace)
			datastore.Summary.Accessible = !want.Inaccessible
			if want.Maintenance {
				datastore.Summary.MaintenanceMode = string(types.DatastoreSummaryMaintenanceModeStateInMaintenance)
			}
		})
	}
	d.datastores = changed
}

// identify gives the vCenter the UUID, or its own if there is none.
func (d *disturber) identify(id string) {
	registry := d.model.Map()
	instance, ok := registry.Get(vim25.ServiceInstance).(*simulator.ServiceInstance)
	if !ok {
		return
	}
	ctx := &simulator.Context{Context: context.Background(), Map: registry}
	registry.WithLock(ctx, instance, func() {
		d.instance = cmp.Or(d.instance, instance.Content.About.InstanceUuid)
		instance.Content.About.InstanceUuid = cmp.Or(id, d.instance)
	})
}

func (d *disturber) current() control.Settings {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.settings
}

func (d *disturber) acted() control.Acted {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return control.Acted{Faults: slices.Clone(d.faults), Clones: d.clones}
}

func (d *disturber) validLogin(login *types.Login) bool {
	password := d.password
	if settings := d.current(); settings.Password != "" {
		password = settings.Password
	}
	return login.UserName == d.username && login.Password == password
}

// fault returns the type of the fault of a call or of its task, empty if there is none.
func (d *disturber) fault(method string, inTask bool) string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for i, f := range d.settings.Faults {
		if f.Method != method || f.InTask != inTask || f.Times > 0 && d.faults[i] >= f.Times {
			continue
		}
		d.faults[i]++
		return f.Type
	}
	return ""
}

// call is asked by the simulator before each call. It may change the request and who serves it.
func (d *disturber) call(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if name := d.fault(method.Name, false); name != "" {
		return nil, newFault(name)
	}
	settings := d.current()
	switch request := method.Body.(type) {
	case *types.CloneVM_Task:
		nameFiles(ctx, request)
		d.disturbClone(request)
	case *types.RetrievePropertiesEx:
		return nil, disturbRead(settings, request.SpecSet)
	case *types.FindByUuid:
		request.Uuid = disturbSearch(settings, request.Uuid)
	case *types.FindAllByUuid:
		request.Uuid = disturbSearch(settings, request.Uuid)
	case *types.FindChild:
		request.Name = disturbSearch(settings, request.Name)
	case *types.FindByInventoryPath:
		request.InventoryPath = disturbSearch(settings, request.InventoryPath)
	}
	d.machines.redirect(method)
	return nil, nil
}

// disturbSearch returns what is searched for, or what does not exist if a folder is hidden.
func disturbSearch(settings control.Settings, wanted string) string {
	if settings.Hidden != "" {
		return "nothing"
	}
	return wanted
}

// disturbRead refuses to read the hidden folder, and leaves out the configuration of virtual machines that are unfinished.
func disturbRead(settings control.Settings, specs []types.PropertyFilterSpec) types.BaseMethodFault {
	for _, spec := range specs {
		for _, object := range spec.ObjectSet {
			if settings.Hidden != "" && object.Obj.Value == settings.Hidden {
				return &types.NoPermission{Object: &object.Obj, PrivilegeId: "System.Read"}
			}
		}
		for i := range spec.PropSet {
			if set := &spec.PropSet[i]; settings.Unfinished && set.Type == "VirtualMachine" {
				set.PathSet = slices.DeleteFunc(set.PathSet, func(path string) bool { return strings.HasPrefix(path, "config.") })
			}
		}
	}
	return nil
}

// nameFiles lets changes of disks be about the files of the clone. The simulator takes them from the request as they are, so that
// the clone would use, and delete, the files of its template.
func nameFiles(ctx *simulator.Context, request *types.CloneVM_Task) {
	if request.Spec.Config == nil || request.Spec.Location.Datastore == nil {
		return
	}
	datastore, ok := ctx.Map.Get(*request.Spec.Location.Datastore).(*simulator.Datastore)
	if !ok {
		return
	}
	for _, change := range request.Spec.Config.DeviceChange {
		spec := change.GetVirtualDeviceConfigSpec()
		disk, ok := spec.Device.(*types.VirtualDisk)
		if !ok || spec.Operation != types.VirtualDeviceConfigSpecOperationEdit {
			continue
		}
		if backing, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
			backing.GetVirtualDeviceFileBackingInfo().FileName = fmt.Sprintf("[%s] %s/%s.vmdk", datastore.Name, request.Name, request.Name)
		}
	}
}

func (d *disturber) disturbClone(request *types.CloneVM_Task) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	c := d.settings.Clone
	if c.Times > 0 && d.clones >= c.Times {
		return
	}
	d.clones++
	if c.Off {
		request.Spec.PowerOn = false
	}
	if request.Spec.Config == nil {
		return
	}
	if c.NoUUID {
		request.Spec.Config.Uuid = ""
	}
	var changes []types.BaseVirtualDeviceConfigSpec
	for _, change := range request.Spec.Config.DeviceChange {
		_, isDisk := change.GetVirtualDeviceConfigSpec().Device.(*types.VirtualDisk)
		if isDisk && c.NoDisks || !isDisk && c.NoNetwork {
			continue
		}
		changes = append(changes, change)
	}
	request.Spec.Config.DeviceChange = changes
}

func newFault(name string) types.BaseMethodFault {
	t, ok := types.TypeFunc()(name)
	if !ok {
		log.Printf("there is no fault %q", name)
		return &types.SystemError{}
	}
	return reflect.New(t).Interface().(types.BaseMethodFault)
}

// failTask answers a call with a task that fails, if there is such a fault.
func (d *disturber) failTask(w http.ResponseWriter, method string, body []byte) bool {
	match := soapObject.FindSubmatch(body)
	if match == nil {
		return false
	}
	name := d.fault(method, true)
	if name == "" {
		return false
	}
	registry := d.model.Map()
	ctx := &simulator.Context{Context: context.Background(), Map: registry}
	object := registry.Get(types.ManagedObjectReference{Type: string(match[1]), Value: string(match[2])})
	task := simulator.CreateTask(object, taskName(method), func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		return nil, newFault(name)
	})
	w.Header().Set("Content-Type", "text/xml")
	_, _ = fmt.Fprintf(w, taskAnswer, method, task.Run(ctx).Value, method)
	return true
}

// taskName is the name by which the simulator delays the task of a method: cloneVm for CloneVM_Task.
func taskName(method string) string {
	if method == "CloneVM_Task" {
		return "cloneVm"
	}
	return strings.TrimSuffix(method, "_Task")
}
