// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/pbm/methods"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// StoragePolicyID returns the ID of the storage policy with the name, or an error of ClassConfiguration if there is none.
func (s *Session) StoragePolicyID(ctx context.Context, name string) (string, error) {
	policies, err := s.StoragePolicies(ctx)
	if err != nil {
		return "", err
	}
	for _, policy := range policies {
		if p := policy.GetPbmProfile(); p.Name == name {
			return p.ProfileId.UniqueId, nil
		}
	}
	return "", platform.NewError(platform.ClassConfiguration, "storage policy %q does not exist or is not visible to the credentials", name)
}

// StoragePolicies returns the storage policies that are visible to the credentials. Errors are classified.
func (s *Session) StoragePolicies(ctx context.Context) ([]pbmtypes.BasePbmProfile, error) {
	c, err := s.policies(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := c.QueryProfile(ctx, pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)}, "")
	if err != nil {
		return nil, Classify(err)
	}
	policies, err := c.RetrieveContent(ctx, ids)
	return policies, Classify(err)
}

// CompatibleDatastores returns the IDs of those datastores that comply with the storage policy.
func (s *Session) CompatibleDatastores(ctx context.Context, policyID string, datastores []types.ManagedObjectReference) ([]string, error) {
	c, err := s.policies(ctx)
	if err != nil {
		return nil, err
	}
	var hubs []pbmtypes.PbmPlacementHub
	asked := map[string]bool{}
	for _, datastore := range datastores {
		hubs = append(hubs, pbmtypes.PbmPlacementHub{HubType: datastore.Type, HubId: datastore.Value})
		asked[datastore.Value] = true
	}
	result, err := c.CheckRequirements(ctx, hubs, nil, []pbmtypes.BasePbmPlacementRequirement{
		&pbmtypes.PbmPlacementCapabilityProfileRequirement{ProfileId: pbmtypes.PbmProfileId{UniqueId: policyID}},
	})
	if err != nil {
		return nil, Classify(err)
	}
	var compatible []string
	for _, hub := range result.CompatibleDatastores() {
		if asked[hub.HubId] {
			compatible = append(compatible, hub.HubId)
		}
	}
	return compatible, nil
}

// policies returns a client for storage policies, which shares the session of the SOAP API.
func (s *Session) policies(ctx context.Context) (*pbm.Client, error) {
	sc := s.vim.NewServiceClient(pbm.Path, pbm.Namespace)
	sc.Transport, sc.Timeout = s.transport, s.vim.Timeout
	sc.UserAgent = userAgent
	sc.Jar = s.vim.Jar
	sc.Cookie = s.vim.SessionCookie
	roundTripper := &authenticated{session: s, next: named{sc}}

	content, ok := s.values.Load(pbmContentKey{})
	if !ok {
		response, err := methods.PbmRetrieveServiceContent(ctx, roundTripper, &pbmtypes.PbmRetrieveServiceContent{This: pbm.ServiceInstance})
		if err != nil {
			return nil, Classify(err)
		}
		content, _ = s.values.LoadOrStore(pbmContentKey{}, response.Returnval)
	}
	return &pbm.Client{Client: sc, ServiceContent: content.(pbmtypes.PbmServiceInstanceContent), RoundTripper: roundTripper}, nil
}

type pbmContentKey struct{}

// InMaintenance reports whether a datastore is in maintenance mode or entering it, so that nothing should be placed on it.
func InMaintenance(datastore *types.DatastoreSummary) bool {
	return datastore.MaintenanceMode != "" && datastore.MaintenanceMode != string(types.DatastoreSummaryMaintenanceModeStateNormal)
}
