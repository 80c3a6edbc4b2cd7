# Preflight checks

{{/* The prose linter reads the result. */ -}}
A preflight check compares what a shoot wants from a site with what the site has. The checks of a site are made

- by `hybridctl preflight`, before a shoot is created or changed;
- by the extension, when it reconciles an Infrastructure and something about the site, its pools, or the credentials has changed. The result is the condition
  [`SitePreflight-<site>`](infrastructure.md#a-site-that-fails) of the Infrastructure.

Both make the same checks with the shoot's credentials. No check changes anything at a site.

| state | meaning |
|---|---|
| `Fine` | the check found nothing |
| `Failed` | the site cannot be used as wanted |
| `Warning` | there may be a problem later, for example when pools grow |
| `Unknown` | the check could not be made: the site does not answer or does not tell, or another check that this one needs has failed |
| `Skipped` | the check was skipped with `--skip` |

A check has a fixed ID. `hybridctl preflight --skip <id>,<id>` skips checks; a check that others need is made nevertheless, but not reported.
{{range .}}
## {{.Title}}
{{range .Checks}}
### {{.ID}}

{{.Title}}

Remedy: {{.Remedy}}
{{- if .Needs}}

Needs{{range $i, $id := .Needs}}{{if $i}},{{end}} [{{$id}}](#{{$id}}){{end}}.
{{- end}}
{{end}}
{{- end -}}
