// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// auditPolicy is the part of a kube-apiserver's audit policy that is needed here.
type auditPolicy struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	OmitStages []string    `json:"omitStages"`
	Rules      []auditRule `json:"rules"`
}

type auditRule struct {
	Level string   `json:"level"`
	Users []string `json:"users,omitempty"`
}

// Audit lets kube-apiserver log who of the users asked for what. The path is that of the log. It must be called before Start.
func (c *Cluster) Audit(path string, users ...string) error {
	args, err := AuditArgs(c.certificates, path, users...)
	if err != nil {
		return err
	}
	c.APIServer.Args = append(c.APIServer.Args, args...)
	return nil
}

// AuditArgs are arguments that let a kube-apiserver log who of the users asked for what, as rbacaudit reads it. The audit policy is written
// to the folder, the path is that of the log.
func AuditArgs(dir, path string, users ...string) ([]string, error) {
	policy, err := yaml.Marshal(auditPolicy{
		APIVersion: "audit.k8s.io/v1", Kind: "Policy", OmitStages: []string{"RequestReceived"},
		Rules: []auditRule{{Level: "Metadata", Users: users}, {Level: "None"}},
	})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "audit-policy.yaml")
	return []string{"--audit-policy-file=" + file, "--audit-log-path=" + path}, os.WriteFile(file, policy, 0o600)
}
