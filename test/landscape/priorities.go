// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// priorityClasses are those that Gardener creates in seeds and shoots, without which no pod that names one is created.
var priorityClasses = map[string]int32{
	v1beta1constants.PriorityClassNameSeedSystemCritical:   999998950,
	v1beta1constants.PriorityClassNameSeedSystem900:        999998900,
	v1beta1constants.PriorityClassNameSeedSystem800:        999998800,
	v1beta1constants.PriorityClassNameSeedSystem700:        999998700,
	v1beta1constants.PriorityClassNameSeedSystem600:        999998600,
	v1beta1constants.PriorityClassNameShootControlPlane500: 999998500,
	v1beta1constants.PriorityClassNameShootControlPlane400: 999998400,
	v1beta1constants.PriorityClassNameShootControlPlane300: 999998300,
	v1beta1constants.PriorityClassNameShootControlPlane200: 999998200,
	v1beta1constants.PriorityClassNameShootControlPlane100: 999998100,
	v1beta1constants.PriorityClassNameShootSystem900:       999999900,
	v1beta1constants.PriorityClassNameShootSystem800:       999999800,
	v1beta1constants.PriorityClassNameShootSystem700:       999999700,
	v1beta1constants.PriorityClassNameShootSystem600:       999999600,
}

func createPriorityClasses(ctx context.Context, c client.Client) error {
	for name, value := range priorityClasses {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if err := c.Create(ctx, class); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
	}
	return nil
}
