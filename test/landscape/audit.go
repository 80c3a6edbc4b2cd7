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
	Level      string   `json:"level"`
	Users      []string `json:"users,omitempty"`
	UserGroups []string `json:"userGroups,omitempty"`
}

// Audited are those whose requests a kube-apiserver logs: users by name, and groups of users.
type Audited struct {
	Users, Groups []string
}

// Audit lets kube-apiserver log who of the users asked for what. The path is that of the log. It must be called before Start.
func (c *Cluster) Audit(path string, users ...string) error {
	args, err := Audited{Users: users}.Args(c.certificates, path)
	if err != nil {
		return err
	}
	c.APIServer.Args = append(c.APIServer.Args, args...)
	return nil
}

// Args are arguments that let a kube-apiserver log who asked for what, as rbacaudit reads it. The audit policy is written to the folder,
// the path is that of the log.
func (a Audited) Args(dir, path string) ([]string, error) {
	file := filepath.Join(dir, "audit-policy.yaml")
	// Requests of an hour are in one file: what is in older files is not read.
	return []string{"--audit-policy-file=" + file, "--audit-log-path=" + path, "--audit-log-maxsize=2000"}, a.WritePolicy(file)
}

// WritePolicy writes the audit policy alone.
func (a Audited) WritePolicy(path string) error {
	policy := auditPolicy{APIVersion: "audit.k8s.io/v1", Kind: "Policy", OmitStages: []string{"RequestReceived"}}
	if len(a.Users) > 0 {
		policy.Rules = append(policy.Rules, auditRule{Level: "Metadata", Users: a.Users})
	}
	if len(a.Groups) > 0 {
		policy.Rules = append(policy.Rules, auditRule{Level: "Metadata", UserGroups: a.Groups})
	}
	policy.Rules = append(policy.Rules, auditRule{Level: "None"})
	content, err := yaml.Marshal(policy)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644) // #nosec G306 -- processes of other users read it
}
