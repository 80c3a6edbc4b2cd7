// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
)

// rehearsing sends only SOAP requests that change nothing. Others are recorded, and answered as if the vCenter had accepted them: later
// reads see their effect.
type rehearsing struct {
	next soap.RoundTripper
	site string
	log  *rehearsal.Log

	mutex sync.Mutex
	// created are the objects that do not exist.
	created []mo.ManagedEntity
	// destroyed are the objects that were destroyed, and off the virtual machines that were switched off.
	destroyed, off map[types.ManagedObjectReference]bool
	// rules are the changes of the rules of clusters.
	rules map[types.ManagedObjectReference][]types.ClusterRuleSpec
	// names are those of objects and rules that were read.
	names map[namedObject]string
}

func newRehearsing(next soap.RoundTripper, site string, log *rehearsal.Log) *rehearsing {
	return &rehearsing{
		next: next, site: site, log: log, destroyed: map[types.ManagedObjectReference]bool{}, off: map[types.ManagedObjectReference]bool{},
		rules: map[types.ManagedObjectReference][]types.ClusterRuleSpec{}, names: map[namedObject]string{},
	}
}

// namedObject is an object, or the rule of a cluster with the key.
type namedObject struct {
	object types.ManagedObjectReference
	rule   int32
}

// RoundTrip implements soap.RoundTripper.
func (r *rehearsing) RoundTrip(ctx context.Context, request, response soap.HasFault) error {
	switch request := request.(type) {
	case *methods.RetrievePropertiesExBody:
		return r.retrieve(ctx, request, response.(*methods.RetrievePropertiesExBody))
	case *methods.ContinueRetrievePropertiesExBody:
		err := r.next.RoundTrip(ctx, request, response)
		if body := response.(*methods.ContinueRetrievePropertiesExBody); err == nil {
			body.Res.Returnval.Objects = r.view(body.Res.Returnval.Objects)
		}
		return err
	case *methods.FindByInventoryPathBody:
		found, err := r.find(ctx, request.Req)
		setResult(response, &types.FindByInventoryPathResponse{Returnval: found})
		return err
	case *methods.FindChildBody:
		err := r.next.RoundTrip(ctx, request, response)
		if body := response.(*methods.FindChildBody); err == nil {
			body.Res.Returnval = r.existing(body.Res.Returnval)
		}
		return err
	case *methods.FindAllByUuidBody:
		err := r.next.RoundTrip(ctx, request, response)
		if body := response.(*methods.FindAllByUuidBody); err == nil {
			body.Res.Returnval = r.children(body.Res.Returnval, types.ManagedObjectReference{}, "")
		}
		return err
	case *methods.CurrentTimeBody, *methods.RetrieveServiceContentBody, *methods.FetchUserPrivilegeOnEntitiesBody, *methods.QueryEventsBody,
		*methods.CreateContainerViewBody, *methods.DestroyViewBody:
		return r.next.RoundTrip(ctx, request, response)
	default:
		return r.write(request, response)
	}
}

// write records the request, and answers it.
func (r *rehearsing) write(request, response soap.HasFault) error {
	w := rehearsal.Write{PlannedRequest: v1alpha1.PlannedRequest{Service: "vim25", Method: methodOf(request)}, Site: r.site}
	switch body := request.(type) {
	case *methods.CreateFolderBody:
		created, err := r.create(w, body.Req.This, "Folder", body.Req.Name)
		setResult(response, &types.CreateFolderResponse{Returnval: created})
		return err
	case *methods.CreateResourcePoolBody:
		created, err := r.create(w, body.Req.This, "ResourcePool", body.Req.Name)
		setResult(response, &types.CreateResourcePoolResponse{Returnval: created})
		return err
	case *methods.Destroy_TaskBody:
		r.destroy(body.Req.This)
		setResult(response, &types.Destroy_TaskResponse{Returnval: r.task()})
		return r.about(w, v1alpha1.PlannedActionDelete, body.Req.This)
	case *methods.ShutdownGuestBody:
		r.switchOff(body.Req.This)
		setResult(response, &types.ShutdownGuestResponse{})
		return r.about(w, v1alpha1.PlannedActionChange, body.Req.This, powerOff)
	case *methods.PowerOffVM_TaskBody:
		r.switchOff(body.Req.This)
		setResult(response, &types.PowerOffVM_TaskResponse{Returnval: r.task()})
		return r.about(w, v1alpha1.PlannedActionChange, body.Req.This, powerOff)
	case *methods.ReconfigVM_TaskBody:
		setResult(response, &types.ReconfigVM_TaskResponse{Returnval: r.task()})
		return r.about(w, v1alpha1.PlannedActionChange, body.Req.This)
	case *methods.ReconfigureComputeResource_TaskBody:
		spec, ok := body.Req.Spec.(*types.ClusterConfigSpecEx)
		if !ok || len(spec.RulesSpec) != 1 {
			break
		}
		setResult(response, &types.ReconfigureComputeResource_TaskResponse{Returnval: r.task()})
		return r.changeRule(w, body.Req.This, spec.RulesSpec[0])
	}
	return rehearsal.Refuse(w.Service, w.Method, "")
}

// setResult completes the response to a SOAP request.
func setResult(response soap.HasFault, result any) {
	reflect.ValueOf(response).Elem().FieldByName("Res").Set(reflect.ValueOf(result))
}

// methodOf returns the name of the method of a SOAP request.
func methodOf(request soap.HasFault) string {
	return strings.TrimSuffix(reflect.TypeOf(request).Elem().Name(), "Body")
}

var powerOff = v1alpha1.PlannedField{
	Name: "runtime.powerState", From: string(types.VirtualMachinePowerStatePoweredOn), To: string(types.VirtualMachinePowerStatePoweredOff),
}

// kindNames are the names of kinds of objects by type.
var kindNames = map[string]string{
	"VirtualMachine": "virtual machine", "Folder": "folder", "ResourcePool": "resource pool", "Datacenter": "datacenter",
	"ClusterComputeResource": "cluster", "ComputeResource": "compute resource",
}

// about completes the record of a request to an object, and adds it.
func (r *rehearsing) about(w rehearsal.Write, action v1alpha1.PlannedAction, object types.ManagedObjectReference,
	fields ...v1alpha1.PlannedField) error {
	w.Path, w.Action, w.Fields = object.String(), action, fields
	w.Kind, w.ID, w.Name = kindNames[object.Type], object.Value, r.nameOf(object)
	return r.log.Add(w)
}

func (r *rehearsing) nameOf(object types.ManagedObjectReference) string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if created := r.createdObject(object); created != nil {
		return created.Name
	}
	return r.names[namedObject{object: object}]
}

// createdObject returns the object if it does not exist at the vCenter. The caller holds the lock.
func (r *rehearsing) createdObject(object types.ManagedObjectReference) *mo.ManagedEntity {
	if i := slices.IndexFunc(r.created, func(e mo.ManagedEntity) bool { return e.Self == object }); i >= 0 {
		return &r.created[i]
	}
	return nil
}

// create makes up a child of the object.
func (r *rehearsing) create(w rehearsal.Write, parent types.ManagedObjectReference, kind, name string) (types.ManagedObjectReference,
	error) {
	created := mo.ManagedEntity{Name: name, Parent: &parent}
	created.Self = types.ManagedObjectReference{Type: kind, Value: r.log.NewID(r.site, kindNames[kind])}
	r.mutex.Lock()
	r.created = append(r.created, created)
	r.mutex.Unlock()
	w.Path, w.Action, w.Kind, w.ID, w.Name = parent.String(), v1alpha1.PlannedActionCreate, kindNames[kind], created.Self.Value, name
	return created.Self, r.log.Add(w)
}

func (r *rehearsing) destroy(object types.ManagedObjectReference) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.destroyed[object] = true
}

func (r *rehearsing) switchOff(object types.ManagedObjectReference) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.off[object] = true
}

// task returns the reference to a task that has succeeded.
func (r *rehearsing) task() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Task", Value: r.log.NewID(r.site, "task")}
}

// changeRule changes the rule of a cluster.
func (r *rehearsing) changeRule(w rehearsal.Write, cluster types.ManagedObjectReference, change types.ClusterRuleSpec) error {
	w.Path, w.Kind = cluster.String(), "anti-affinity rule"
	key, removed := change.RemoveKey.(int32)
	r.mutex.Lock()
	switch {
	case removed:
		w.Action, w.ID, w.Name = v1alpha1.PlannedActionDelete, strconv.Itoa(int(key)), r.names[namedObject{cluster, key}]
	case change.Info != nil:
		info := change.Info.GetClusterRuleInfo()
		w.Action, w.ID, w.Name = v1alpha1.PlannedActionChange, strconv.Itoa(int(info.Key)), info.Name
		if change.Operation == types.ArrayUpdateOperationAdd {
			w.Action, w.ID = v1alpha1.PlannedActionCreate, info.Name
		}
	}
	r.rules[cluster] = append(r.rules[cluster], change)
	r.mutex.Unlock()
	return r.log.Add(w)
}

// find answers a search for the object with the path.
func (r *rehearsing) find(ctx context.Context, request *types.FindByInventoryPath) (*types.ManagedObjectReference, error) {
	for _, child := range r.createdNamed(path.Base(request.InventoryPath)) {
		parent, err := r.find(ctx, &types.FindByInventoryPath{This: request.This, InventoryPath: path.Dir(request.InventoryPath)})
		if err != nil {
			return nil, err
		}
		if parent != nil && *parent == *child.Parent {
			return &child.Self, nil
		}
	}
	found := &methods.FindByInventoryPathBody{}
	if err := r.next.RoundTrip(ctx, &methods.FindByInventoryPathBody{Req: request}, found); err != nil {
		return nil, err
	}
	return r.existing(found.Res.Returnval), nil
}

func (r *rehearsing) createdNamed(name string) []mo.ManagedEntity {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.DeleteFunc(slices.Clone(r.created), func(e mo.ManagedEntity) bool { return e.Name != name || r.destroyed[e.Self] })
}

// existing returns nil for an object that was destroyed.
func (r *rehearsing) existing(object *types.ManagedObjectReference) *types.ManagedObjectReference {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if object == nil || r.destroyed[*object] {
		return nil
	}
	return object
}

// retrieve answers a read of properties. Like a vCenter, it fails if one of the objects does not exist.
func (r *rehearsing) retrieve(ctx context.Context, request, response *methods.RetrievePropertiesExBody) error {
	var (
		madeUp []types.ObjectContent
		sent   = *request.Req
		isSent bool
	)
	sent.SpecSet = slices.Clone(request.Req.SpecSet)
	for i := range sent.SpecSet {
		spec := &sent.SpecSet[i]
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
		spec.ObjectSet = known
		isSent = isSent || len(known) > 0
	}
	response.Res = &types.RetrievePropertiesExResponse{}
	if isSent {
		sent.SpecSet = slices.DeleteFunc(sent.SpecSet, func(spec types.PropertyFilterSpec) bool { return len(spec.ObjectSet) == 0 })
		if err := r.next.RoundTrip(ctx, &methods.RetrievePropertiesExBody{Req: &sent}, response); err != nil {
			return err
		}
	}
	if response.Res.Returnval == nil {
		response.Res.Returnval = &types.RetrieveResult{}
	}
	response.Res.Returnval.Objects = append(r.view(response.Res.Returnval.Objects), madeUp...)
	return nil
}

// content returns the properties of an object that does not exist at the vCenter, and nil for others.
func (r *rehearsing) content(object types.ManagedObjectReference, specs []types.PropertySpec) (*types.ObjectContent, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !r.destroyed[object] && !rehearsal.IsMadeUp(object.Value) {
		return nil, nil
	}
	created, isTask := r.createdObject(object), object.Type == "Task"
	if r.destroyed[object] || created == nil && !isTask {
		return nil, soap.WrapVimFault(&types.ManagedObjectNotFound{Obj: object})
	}
	content := &types.ObjectContent{Obj: object}
	for _, spec := range specs {
		if spec.Type != object.Type {
			continue
		}
		for _, name := range spec.PathSet {
			var value types.AnyType
			switch {
			case isTask && name == "info":
				value = types.TaskInfo{Task: object, State: types.TaskInfoStateSuccess}
			case isTask:
			case name == "name":
				value = created.Name
			case name == "parent":
				value = *created.Parent
			case slices.Contains(childProperties, name):
				value = types.ArrayOfManagedObjectReference{ManagedObjectReference: r.childrenLocked(nil, object, name)}
			}
			if value == nil {
				return nil, platform.NewError(platform.ClassConfiguration, "the plan does not know property %s of %s", name, object)
			}
			content.PropSet = append(content.PropSet, types.DynamicProperty{Name: name, Val: value})
		}
	}
	return content, nil
}

// childProperties are those with the children of folders and resource pools.
var childProperties = []string{"childEntity", "resourcePool", "vm"}

// children returns those of the objects that were not destroyed, and the created children of the parent in the property.
func (r *rehearsing) children(objects []types.ManagedObjectReference, parent types.ManagedObjectReference,
	property string) []types.ManagedObjectReference {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.childrenLocked(objects, parent, property)
}

func (r *rehearsing) childrenLocked(objects []types.ManagedObjectReference, parent types.ManagedObjectReference,
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
	r.mutex.Lock()
	defer r.mutex.Unlock()
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
					value.ManagedObjectReference = r.childrenLocked(value.ManagedObjectReference, object, property.Name)
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

func (r *rehearsing) remember(object namedObject, name string) {
	if len(r.names) < rehearsal.MaxObjects {
		r.names[object] = name
	}
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
