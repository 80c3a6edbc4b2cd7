// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package rehearsal rehearses requests to a vCenter: it sends those that change nothing. Others are recorded, and answered as if the
// vCenter had accepted them: later reads see their effect.
package rehearsal

import (
	"context"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// Wrap rehearses the requests of sessions with the log.
func Wrap(log *rehearsal.Log) client.Wrap {
	return func(siteName string, vim soap.RoundTripper, rest http.RoundTripper) (soap.RoundTripper, http.RoundTripper) {
		r := &rehearsing{
			Site: &rehearsal.Site{Name: siteName, Log: log}, next: vim, destroyed: map[types.ManagedObjectReference]bool{},
			off: map[types.ManagedObjectReference]bool{}, rules: map[types.ManagedObjectReference][]types.ClusterRuleSpec{},
			names: map[namedObject]string{}, attached: map[types.ManagedObjectReference][]string{},
		}
		return r, r.RoundTripper(rest, r.answer)
	}
}

// rehearsing is the rehearsal at a vCenter.
type rehearsing struct {
	*rehearsal.Site
	next soap.RoundTripper

	// created are the objects that do not exist.
	created []mo.ManagedEntity
	// destroyed are the objects that were destroyed, and off the virtual machines that were switched off.
	destroyed, off map[types.ManagedObjectReference]bool
	// rules are the changes of the rules of clusters.
	rules map[types.ManagedObjectReference][]types.ClusterRuleSpec
	// names are those of objects and rules that were read or created.
	names map[namedObject]string
	// tags are the tags and categories that do not exist, and attached the IDs of the tags that were attached to objects.
	tags     []tagObject
	attached map[types.ManagedObjectReference][]string
}

// namedObject is an object, or the rule of a cluster with the key.
type namedObject struct {
	object types.ManagedObjectReference
	rule   int32
}

// remember remembers a name that the vCenter returned.
func (r *rehearsing) remember(object namedObject, name string) {
	if len(r.names) < rehearsal.MaxObjects {
		r.names[object] = name
	}
}

func (r *rehearsing) nameOf(object types.ManagedObjectReference) string {
	return r.names[namedObject{object: object}]
}

// RoundTrip implements soap.RoundTripper.
func (r *rehearsing) RoundTrip(ctx context.Context, request, response soap.HasFault) error {
	r.Lock()
	defer r.Unlock()
	switch body := request.(type) {
	case *methods.RetrievePropertiesExBody:
		return r.retrieve(ctx, body, response.(*methods.RetrievePropertiesExBody))
	case *methods.FindByInventoryPathBody:
		found, err := r.find(ctx, body.Req)
		response.(*methods.FindByInventoryPathBody).Res = &types.FindByInventoryPathResponse{Returnval: found}
		return err
	case *methods.ContinueRetrievePropertiesExBody, *methods.FindChildBody, *methods.FindAllByUuidBody, *methods.CurrentTimeBody,
		*methods.RetrieveServiceContentBody, *methods.FetchUserPrivilegeOnEntitiesBody, *methods.QueryEventsBody,
		*methods.CreateContainerViewBody, *methods.DestroyViewBody:
		return r.read(ctx, request, response)
	default:
		return r.write(request, response)
	}
}

// read sends a request that changes nothing, and changes the response to what it would be.
func (r *rehearsing) read(ctx context.Context, request, response soap.HasFault) error {
	if err := r.Ask(func() error { return r.next.RoundTrip(ctx, request, response) }); err != nil {
		return err
	}
	switch body := response.(type) {
	case *methods.ContinueRetrievePropertiesExBody:
		body.Res.Returnval.Objects = r.view(body.Res.Returnval.Objects)
	case *methods.FindByInventoryPathBody:
		body.Res.Returnval = r.existing(body.Res.Returnval)
	case *methods.FindChildBody:
		body.Res.Returnval = r.existing(body.Res.Returnval)
	case *methods.FindAllByUuidBody:
		body.Res.Returnval = slices.DeleteFunc(body.Res.Returnval, func(o types.ManagedObjectReference) bool { return r.destroyed[o] })
	}
	return nil
}

// existing returns nil for an object that was destroyed.
func (r *rehearsing) existing(object *types.ManagedObjectReference) *types.ManagedObjectReference {
	if object == nil || r.destroyed[*object] {
		return nil
	}
	return object
}

// write records the request, and answers it.
func (r *rehearsing) write(request, response soap.HasFault) error {
	method := strings.TrimSuffix(reflect.TypeOf(request).Elem().Name(), "Body")
	w := rehearsal.Write{PlannedRequest: v1alpha1.PlannedRequest{Service: "vim25", Method: method}, Action: v1alpha1.PlannedActionChange}
	// By default, a task that has succeeded is returned.
	returned := types.ManagedObjectReference{Type: "Task", Value: r.NewID("task")}
	switch body := request.(type) {
	case *methods.CreateFolderBody:
		returned = r.create(&w, body.Req.This, "Folder", body.Req.Name)
	case *methods.CreateResourcePoolBody:
		returned = r.create(&w, body.Req.This, "ResourcePool", body.Req.Name)
	case *methods.Destroy_TaskBody:
		r.describe(&w, body.Req.This)
		w.Action, r.destroyed[body.Req.This] = v1alpha1.PlannedActionDelete, true
	case *methods.ShutdownGuestBody:
		r.switchOff(&w, body.Req.This)
	case *methods.PowerOffVM_TaskBody:
		r.switchOff(&w, body.Req.This)
	case *methods.ReconfigVM_TaskBody:
		r.describe(&w, body.Req.This)
	case *methods.ReconfigureComputeResource_TaskBody:
		spec, ok := body.Req.Spec.(*types.ClusterConfigSpecEx)
		if !ok || len(spec.RulesSpec) != 1 {
			return rehearsal.Refuse(w.Service, method, "")
		}
		r.changeRule(&w, body.Req.This, spec.RulesSpec[0])
	default:
		return rehearsal.Refuse(w.Service, method, "")
	}
	result := reflect.ValueOf(response).Elem().FieldByName("Res")
	result.Set(reflect.New(result.Type().Elem()))
	if value := result.Elem().FieldByName("Returnval"); value.IsValid() {
		value.Set(reflect.ValueOf(returned))
	}
	return r.Record(w)
}

// kindNames are the names of kinds of objects by type.
var kindNames = map[string]string{
	"VirtualMachine": "virtual machine", "Folder": "folder", "ResourcePool": "resource pool", "Datacenter": "datacenter",
	"ClusterComputeResource": "cluster", "ComputeResource": "compute resource",
}

// describe completes the record of a request to an object.
func (r *rehearsing) describe(w *rehearsal.Write, object types.ManagedObjectReference) {
	w.Path, w.Kind, w.ID, w.Name = object.String(), kindNames[object.Type], object.Value, r.nameOf(object)
}

// create makes up a child of the object.
func (r *rehearsing) create(w *rehearsal.Write, parent types.ManagedObjectReference, kind, name string) types.ManagedObjectReference {
	created := mo.ManagedEntity{Name: name, Parent: &parent}
	created.Self = types.ManagedObjectReference{Type: kind, Value: r.NewID(kindNames[kind])}
	r.created = append(r.created, created)
	r.names[namedObject{object: created.Self}] = name
	r.describe(w, created.Self)
	w.Path, w.Action = parent.String(), v1alpha1.PlannedActionCreate
	return created.Self
}

func (r *rehearsing) switchOff(w *rehearsal.Write, vm types.ManagedObjectReference) {
	r.describe(w, vm)
	r.off[vm] = true
	w.Fields = []v1alpha1.PlannedField{{Name: "runtime.powerState", From: string(types.VirtualMachinePowerStatePoweredOn),
		To: string(types.VirtualMachinePowerStatePoweredOff)}}
}

// changeRule changes the rule of a cluster.
func (r *rehearsing) changeRule(w *rehearsal.Write, cluster types.ManagedObjectReference, change types.ClusterRuleSpec) {
	w.Path, w.Kind = cluster.String(), "anti-affinity rule"
	if key, isRemoved := change.RemoveKey.(int32); isRemoved {
		w.Action, w.ID, w.Name = v1alpha1.PlannedActionDelete, strconv.Itoa(int(key)), r.names[namedObject{cluster, key}]
	} else if change.Info != nil {
		info := change.Info.GetClusterRuleInfo()
		w.ID, w.Name = strconv.Itoa(int(info.Key)), info.Name
		if change.Operation == types.ArrayUpdateOperationAdd {
			w.Action, w.ID = v1alpha1.PlannedActionCreate, info.Name
		}
	}
	r.rules[cluster] = append(r.rules[cluster], change)
}

// find answers a search for the object with the path.
func (r *rehearsing) find(ctx context.Context, request *types.FindByInventoryPath) (*types.ManagedObjectReference, error) {
	for _, child := range slices.Clone(r.created) {
		if child.Name != path.Base(request.InventoryPath) || r.destroyed[child.Self] {
			continue
		}
		parent, err := r.find(ctx, &types.FindByInventoryPath{This: request.This, InventoryPath: path.Dir(request.InventoryPath)})
		if err != nil {
			return nil, err
		}
		if parent != nil && *parent == *child.Parent {
			return &child.Self, nil
		}
	}
	found := &methods.FindByInventoryPathBody{}
	if err := r.read(ctx, &methods.FindByInventoryPathBody{Req: request}, found); err != nil {
		return nil, err
	}
	return found.Res.Returnval, nil
}

// retrieve answers a read of properties. Like a vCenter, it fails if one of the objects does not exist.
func (r *rehearsing) retrieve(ctx context.Context, request, response *methods.RetrievePropertiesExBody) error {
	var madeUp []types.ObjectContent
	sent := *request.Req
	sent.SpecSet = nil
	for _, spec := range request.Req.SpecSet {
		var known []types.ObjectSpec
		for _, object := range spec.ObjectSet {
			content, err := r.content(object.Obj, spec.PropSet)
			if err != nil {
				return err
			}
			if content == nil {
				known = append(known, object)
			} else {
				madeUp = append(madeUp, *content)
			}
		}
		if spec.ObjectSet = known; len(known) > 0 {
			sent.SpecSet = append(sent.SpecSet, spec)
		}
	}
	response.Res = &types.RetrievePropertiesExResponse{}
	if len(sent.SpecSet) > 0 {
		if err := r.read(ctx, &methods.RetrievePropertiesExBody{Req: &sent}, response); err != nil {
			return err
		}
	}
	if response.Res.Returnval == nil {
		response.Res.Returnval = &types.RetrieveResult{}
	}
	response.Res.Returnval.Objects = r.view(append(response.Res.Returnval.Objects, madeUp...))
	return nil
}

// content returns the properties of an object that does not exist at the vCenter, and nil for others.
func (r *rehearsing) content(object types.ManagedObjectReference, specs []types.PropertySpec) (*types.ObjectContent, error) {
	created := lists.Find(r.created, func(e *mo.ManagedEntity) bool { return e.Self == object })
	var known []types.DynamicProperty
	switch {
	case !r.destroyed[object] && !rehearsal.IsMadeUp(object.Value):
		return nil, nil
	case object.Type == "Task":
		known = []types.DynamicProperty{{Name: "info", Val: types.TaskInfo{Task: object, State: types.TaskInfoStateSuccess}}}
	case r.destroyed[object], created == nil:
		return nil, soap.WrapVimFault(&types.ManagedObjectNotFound{Obj: object})
	default:
		known = []types.DynamicProperty{{Name: "name", Val: created.Name}, {Name: "parent", Val: *created.Parent}}
		for _, name := range childProperties {
			known = append(known, types.DynamicProperty{Name: name, Val: types.ArrayOfManagedObjectReference{}})
		}
	}
	content := &types.ObjectContent{Obj: object}
	for _, spec := range specs {
		if spec.Type != object.Type {
			continue
		}
		for _, name := range spec.PathSet {
			property := lists.Find(known, func(p *types.DynamicProperty) bool { return p.Name == name })
			if property == nil {
				return nil, platform.NewError(platform.ClassConfiguration, "the plan does not know property %s of %s", name, object)
			}
			content.PropSet = append(content.PropSet, *property)
		}
	}
	return content, nil
}

// childProperties are those with the children of folders and resource pools.
var childProperties = []string{"childEntity", "resourcePool", "vm"}

// children returns those of the objects that were not destroyed, and the created children of the parent in the property.
func (r *rehearsing) children(objects []types.ManagedObjectReference, parent types.ManagedObjectReference,
	property string) []types.ManagedObjectReference {
	result := slices.Clone(objects)
	for _, created := range r.created {
		if *created.Parent == parent && property != "vm" {
			result = append(result, created.Self)
		}
	}
	return slices.DeleteFunc(result, func(object types.ManagedObjectReference) bool { return r.destroyed[object] })
}

// view returns the objects as they would be, and remembers their names.
func (r *rehearsing) view(objects []types.ObjectContent) []types.ObjectContent {
	objects = slices.DeleteFunc(objects, func(o types.ObjectContent) bool { return r.destroyed[o.Obj] })
	for i := range objects {
		object := objects[i].Obj
		for j := range objects[i].PropSet {
			property := &objects[i].PropSet[j]
			switch value := property.Val.(type) {
			case string:
				if property.Name == "name" {
					r.remember(namedObject{object: object}, value)
				}
			case types.ArrayOfManagedObjectReference:
				if slices.Contains(childProperties, property.Name) {
					value.ManagedObjectReference = r.children(value.ManagedObjectReference, object, property.Name)
					property.Val = value
				}
			case types.VirtualMachinePowerState:
				if r.off[object] {
					property.Val = types.VirtualMachinePowerStatePoweredOff
				}
			case types.ClusterConfigInfoEx:
				value.Rule = r.rulesOf(object, value.Rule)
				property.Val = value
			}
		}
	}
	return objects
}

// rulesOf returns the rules of the cluster as they would be.
func (r *rehearsing) rulesOf(cluster types.ManagedObjectReference, rules []types.BaseClusterRuleInfo) []types.BaseClusterRuleInfo {
	for _, rule := range rules {
		info := rule.GetClusterRuleInfo()
		r.remember(namedObject{cluster, info.Key}, info.Name)
	}
	result := slices.Clone(rules)
	for _, change := range r.rules[cluster] {
		key, _ := change.RemoveKey.(int32)
		if change.Info != nil {
			key = change.Info.GetClusterRuleInfo().Key
		}
		if change.Operation != types.ArrayUpdateOperationAdd {
			result = slices.DeleteFunc(result, func(rule types.BaseClusterRuleInfo) bool { return rule.GetClusterRuleInfo().Key == key })
		}
		if change.Info != nil {
			result = append(result, change.Info)
		}
	}
	return result
}
