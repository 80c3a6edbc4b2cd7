package hybrid
import (
 _ "github.com/gardener/gardener/extensions/pkg/controller/worker/genericactuator"
 _ "github.com/gardener/gardener/extensions/pkg/controller/infrastructure"
 _ "github.com/gardener/gardener/extensions/pkg/controller/cmd"
 _ "github.com/gardener/gardener/extensions/pkg/controller/heartbeat"
 _ "github.com/gardener/gardener/extensions/pkg/webhook/cmd"
 _ "github.com/gardener/gardener/pkg/utils/flow"
 _ "github.com/gardener/gardener/pkg/apis/core/v1beta1"
 _ "github.com/gardener/machine-controller-manager/pkg/util/provider/app"
 _ "github.com/gardener/machine-controller-manager/cmd/machine-controller-manager/app"
 _ "github.com/gophercloud/gophercloud/v2/openstack"
 _ "sigs.k8s.io/controller-runtime/pkg/envtest"
 _ "github.com/onsi/ginkgo/v2"
 _ "github.com/onsi/gomega"
 _ "github.com/spf13/cobra"
)
