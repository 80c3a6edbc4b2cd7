// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

mermaid.initialize({startOnLoad: false, theme: "neutral"});
mermaid.run({querySelector: ".diagram"});
