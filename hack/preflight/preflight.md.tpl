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

## Probes

Only a host in the network of a site can tell whether nodes can reach what they need. `hybridctl preflight --probe <site>` prints a script for such a host:

```sh
hybridctl preflight -f cloudprofile.yaml -f shoot.yaml -f secret.yaml --probe one >one.sh
ssh root@host-in-one sh -s two=10.250.2.9 <one.sh >one.json
hybridctl preflight -f cloudprofile.yaml -f shoot.yaml -f secret.yaml --probe-report one.json --probe-report two.json
```

The arguments of the script are the addresses of the hosts that run the probes of the other sites. It is a POSIX shell script for any Linux distribution, also one with BusyBox, and uses the
tools that it finds. It reports what it cannot find out as unknown, for example the MTU of a path without `ping` of iputils, and changes nothing on the host. With root, it asks DHCP servers for an offer or a lease, but does not apply it.
Hosts are pinged, so firewalls must permit ICMP; other protocols are only tested to the API server and the registries.

The extension makes the checks of single sites and of pairs of sites; those of probes are made by the command only.
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
