#!/bin/sh
# Generates the keys and passwords that docker-compose.yml needs, and writes them to .env, which only its owner can read. If .env exists,
# the script changes nothing: to change a password, edit .env.
set -eu
cd "$(dirname "$0")/.."
umask 077

draw() { # draw <bytes>: in hexadecimal
  head -c "$1" /dev/urandom | od -An -v -tx1 | tr -d ' \n'
}

if [ -e .env ]; then
  echo '.env exists already: nothing was changed.' >&2
  exit 1
fi
{
  # The keys of the first project, in the order of RINGFENCE_KEYS.
  echo "RINGFENCE_KEYS=prj_test_pk_$(draw 20),prj_live_pk_$(draw 20),prj_test_sk_$(draw 20),prj_live_sk_$(draw 20)"
  # Passwords begin with a letter, because NATS reads a value that begins with a digit as a number.
  for name in NATS_ROUTE NATS_ACTORS NATS_GATEWAY NATS_DELIVERY NATS_SUBSCRIBER NATS_OPERATOR TILE38 GRAFANA; do
    echo "${name}_PASSWORD=p$(draw 24)"
  done
  # The token with which Prometheus reads /metrics.
  echo "METRICS_TOKEN=$(draw 24)"
} >.env.new
mv .env.new .env
echo 'Written to .env: the keys of the first project (test and live publishable, test and live secret) and a password for each part.'
