// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelets_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
)

var _ = Describe("Together", func() {
	It("should return the servers of all sites that answer, with the errors of the others", func() {
		answers := func(id string) kubelets.ActiveServers {
			return func(context.Context) (map[string]kubelets.Server, error) {
				return map[string]kubelets.Server{id: {}}, nil
			}
		}
		broken := func(context.Context) (map[string]kubelets.Server, error) { return nil, errors.New("no answer") }

		servers, err := kubelets.Together(answers("a"), broken, answers("b"))(context.Background())
		Expect(err).To(MatchError("no answer"))
		Expect(servers).To(And(HaveLen(2), HaveKey("a"), HaveKey("b")))
	})
})
