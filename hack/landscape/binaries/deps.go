package binaries

import _ "github.com/gardener/gardener-extension-provider-hybrid"
