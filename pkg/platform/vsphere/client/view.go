// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
)

// pageSize is the maximum number of objects of a page.
const pageSize = 1000

// EachBelow reads the properties of all objects of their types below the container, page by page, and calls visit for each. visit returns
// how many bytes are kept of the object: the rest of its page is garbage when the next one is read. Errors are classified.
func (s *Session) EachBelow(ctx context.Context, container types.ManagedObjectReference, properties []types.PropertySpec,
	visit func(types.ObjectContent) (kept int, err error)) (err error) {
	kinds := lists.Map(properties, func(p types.PropertySpec) string { return p.Type })
	below, err := view.NewManager(s.vim).CreateContainerView(ctx, container, kinds, true)
	if err != nil {
		return Classify(err)
	}
	defer func() {
		if destroyErr := IgnoreNotFound(below.Destroy(ctx)); err == nil {
			err = destroyErr
		}
	}()

	response, err := methods.RetrievePropertiesEx(ctx, s.vim, &types.RetrievePropertiesEx{
		This: s.vim.ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{{
			ObjectSet: []types.ObjectSpec{{
				Obj:       below.Reference(),
				SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ContainerView", Path: "view"}},
			}},
			// The view itself tells an empty list from no answer.
			PropSet: append([]types.PropertySpec{{Type: "ContainerView", PathSet: []string{"recursive"}}}, properties...),
		}},
		Options: types.RetrieveOptions{MaxObjects: pageSize},
	})
	if err != nil {
		return Classify(err)
	}
	state := ""
	for page := response.Returnval; page != nil; {
		kept := 0
		for _, content := range page.Objects {
			if content.Obj.Type == "ContainerView" {
				continue
			}
			bytes, err := visit(content)
			if err != nil {
				return err
			}
			kept += bytes
		}
		if page.Token == "" {
			return nil
		}
		var token string
		token, state = Kept(page.Token, state, kept)
		next, err := methods.ContinueRetrievePropertiesEx(ctx, s.vim, &types.ContinueRetrievePropertiesEx{
			This:  s.vim.ServiceContent.PropertyCollector,
			Token: token,
		})
		if err != nil {
			return Classify(err)
		}
		page = &next.Returnval
	}
	return nil
}
