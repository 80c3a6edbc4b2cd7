// The module's path is below baremetal-operator's, whose controllers are in a folder "internal".
module github.com/metal3-io/baremetal-operator/landscape

go 1.26.5

require (
	github.com/go-logr/logr v1.4.4
	github.com/metal3-io/baremetal-operator v0.13.2
	github.com/metal3-io/baremetal-operator/apis v0.13.2
	k8s.io/apimachinery v0.36.3
	k8s.io/client-go v0.36.3
	sigs.k8s.io/controller-runtime v0.24.1
)
