#!/bin/sh
# Draws what docker-compose.yml asks for into .env, which only its owner can read. What is there stays: a password that is to change is
# changed in .env by hand.
set -eu
cd "$(dirname "$0")/.."
umask 077

draw() { # draw <bytes>: in hexadecimal
  head -c "$1" /dev/urandom | od -An -v -tx1 | tr -d ' \n'
}

if [ -e .env ]; then
  echo '.env exists: nothing done.' >&2
  exit 1
fi
{
  # Of the first project, in the order in which RINGFENCE_KEYS wants them.
  echo "RINGFENCE_KEYS=prj_test_pk_$(draw 20),prj_live_pk_$(draw 20),prj_test_sk_$(draw 20),prj_live_sk_$(draw 20)"
  # NATS reads what begins with a digit as a number.
  for name in NATS_ROUTE NATS_ACTORS NATS_GATEWAY NATS_DELIVERY NATS_SUBSCRIBER NATS_OPERATOR TILE38 GRAFANA; do
    echo "${name}_PASSWORD=p$(draw 24)"
  done
  # What Prometheus shows to read /metrics.
  echo "METRICS_TOKEN=$(draw 24)"
} >.env.new
mv .env.new .env
echo 'Written to .env: the keys of the first project (test and live publishable, test and live secret) and a password for each part.'
