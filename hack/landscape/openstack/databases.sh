# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Databases (sourced by up.sh): mariadb runs; afterwards all schemas are there.
DATABASES="keystone glance placement nova_api nova nova_cell0 neutron cinder designate octavia manila"
NOVA_CONFIG="--config-file $ETC/nova/nova.conf"

load_dump() { # OPTIONS of the client
  { echo 'set foreign_key_checks=0; set unique_checks=0; set autocommit=0;'; zcat "$HERE/dbseed.sql.gz"; echo 'commit;'; } | sql "$@"
}
create_database() { echo "drop database if exists $1; create database $1 character set utf8mb3;" | sql; }
migrate() {
  log "running all database migrations (about 30 s)"
  $PY /usr/bin/keystone-manage --config-file "$ETC/keystone/keystone.conf" db_sync
  os_run glance-manage glance.cmd.manage:main --config-file "$ETC/glance/glance-api.conf" db_sync
  OS_PLACEMENT_CONFIG_DIR=$ETC/placement $PY /usr/bin/placement-manage --config-dir "$ETC/placement" db sync
  os_run nova-manage nova.cmd.manage:main $NOVA_CONFIG api_db sync
  os_run nova-manage nova.cmd.manage:main $NOVA_CONFIG cell_v2 map_cell0 --database_connection "$(dburl nova_cell0)"
  os_run nova-manage nova.cmd.manage:main $NOVA_CONFIG db sync
  os_run nova-manage nova.cmd.manage:main $NOVA_CONFIG cell_v2 create_cell --name cell1
  os_run neutron-db-manage neutron.db.migration.cli:main --config-file "$ETC/neutron/neutron.conf" upgrade heads
  os_run cinder-manage cinder.cmd.manage:main --config-file "$ETC/cinder/cinder.conf" db sync
  os_run designate-manage designate.cmd.manage:main --config-file "$ETC/designate/designate.conf" database sync
  os_run octavia-db-manage octavia.db.migration.cli:main --config-file "$ETC/octavia/octavia.conf" upgrade head
  os_run manila-manage manila.cmd.manage:main --config-file "$ETC/manila/manila.conf" db sync
}
# The dump holds all schemas just after the migrations, without any object.
make_dump() {
  (cd "$OST_CACHE/debs" && apt_run apt-download download mariadb-client && dpkg-deb -x mariadb-client_*.deb "$OST_CACHE/mariadb-client")
  "$OST_CACHE/mariadb-client/usr/bin/mariadb-dump" --no-defaults -S "$DBSOCK" -uroot --skip-dump-date --skip-comments \
    --databases $DATABASES | gzip -9n >"$HERE/dbseed.sql.gz"
}

if [ ! -f "$OST_STATE/db.done" ]; then
  rm -f "$OST_STATE"/{keystone,cells,dns}.done
  for d in $DATABASES; do create_database "$d"; done
  if [ -n "${OST_MAKE_DUMP:-}" ]; then
    migrate >"$LOG/migrations.log" 2>&1 || { tail -n 15 "$LOG/migrations.log" >&2; die "a migration failed; see $LOG/migrations.log"; }
    make_dump
  else
    log "loading the database dump"
    load_dump
  fi
  touch "$OST_STATE/db.done"
  log "databases are ready"
fi
# What was initialised before a service was added lacks its database.
for d in $DATABASES; do
  if [ -f "$OST_STATE/$d.loading" ] || ! sql "$d" -e 'select 1' >/dev/null 2>&1; then
    log "loading the database dump of $d"
    touch "$OST_STATE/$d.loading"
    create_database "$d"
    load_dump --one-database "$d"
    rm "$OST_STATE/$d.loading"
  fi
done
# The cell mappings hold addresses with the state folder in them.
sql -e "update nova_api.cell_mappings set transport_url='$RABBIT', database_connection='$(dburl nova)' where name='cell1';
        update nova_api.cell_mappings set database_connection='$(dburl nova_cell0)' where name='cell0'"
