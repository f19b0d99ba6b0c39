/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`test/config/options.test.ts > TAP > the text of --help > must match snapshot 1`] = `
Usage: npm start -- [options]                 run the server
       npm run keys -- <command>              list and rotate API keys, add projects
       npm run projects -- <command>          disable projects, give them a monthly quota
       npm run import -- KIND FILE.csv        import geofences or beacons into a running server
       npm run region -- <command>            make regions of OpenStreetMap extracts
       npm run backup -- FOLDER               copy the data folder, while the server runs
       npm run restore -- BACKUP              make a data folder of a backup
Each of them takes --help, too.

A setting is taken from the first that has it: flag, environment variable, file, default.

  --port NUMBER
      Port of the HTTP API; 0 takes a free one. From 0 to 65535, default 8080.
      RINGFENCE_PORT
  --host ADDRESS
      Address to listen on. Default 127.0.0.1.
      RINGFENCE_HOST
  --data FOLDER
      Data folder, created when absent. One process at a time. Default ./data.
      RINGFENCE_DATA
  --keys KEYS
      Four API keys to install at the first start instead of generated ones: test
      publishable, live publishable, test secret, live secret. Comma-separated, default
      none.
      RINGFENCE_KEYS
  --engine embedded|distributed
      One process with all in it, or any number of them with different roles on NATS
      JetStream. docs/operating.md. Default embedded.
      RINGFENCE_ENGINE
  --roles ROLES
      What a process of the distributed engine does: gateway, actors, delivery, or all.
      Comma-separated, default all.
      RINGFENCE_ROLES
  --rate-limits on|off
      Rate limits of the API. Default on.
      RINGFENCE_RATE_LIMITS
  --limits LIMITS
      Requests a second instead of the standard limits, e.g. "GET
      /v1/context=50,management=off"; management stands for each endpoint that needs a
      secret key. docs/operating.md has the table. Comma-separated, default none.
      RINGFENCE_LIMITS
  --trusted-proxies ADDRESSES
      Addresses or CIDR ranges of proxies whose X-Forwarded-For is believed.
      Comma-separated, default none.
      RINGFENCE_TRUSTED_PROXIES
  --durability fsync|os
      What an acknowledged update survives: fsync power loss, os the end of the process
      only (the operating system flushes when it likes). Default fsync.
      RINGFENCE_DURABILITY
  --partitions NUMBER
      Partitions that devices are spread over. Fixed when the data folder is created. From
      1 to 1024, default 64.
      RINGFENCE_PARTITIONS
  --segment-bytes BYTES
      Size at which the commit log starts a new segment file. From 65536 to 1073741824,
      default 67108864.
      RINGFENCE_SEGMENT_BYTES
  --snapshot-bytes BYTES
      Commit log written between two rounds of snapshots. From 65536 to 68719476736,
      default 268435456.
      RINGFENCE_SNAPSHOT_BYTES
  --mailbox-bytes BYTES
      Bound of the updates that wait; past it the answer is 503. From 16777216 to
      17179869184, default 67108864.
      RINGFENCE_MAILBOX_BYTES
  --max-connections NUMBER
      Connections at one time; one more is closed at once. Lower where the limit of open
      files (ulimit -n) leaves no room for so many. From 1 to 1000000, default 10000.
      RINGFENCE_MAX_CONNECTIONS
  --max-connections-per-address NUMBER
      Of them, connections of one address; trusted proxies are free. Linux only. From 1 to
      1000000, default 2000.
      RINGFENCE_MAX_CONNECTIONS_PER_ADDRESS
  --max-body-bytes BYTES
      Largest request body; a larger one is answered 413. From 1024 to 16777216, default
      1048576.
      RINGFENCE_MAX_BODY_BYTES
  --max-streams-per-key NUMBER
      WebSocket streams of one key at one time; one more is answered 429. From 1 to
      1000000, default 2000.
      RINGFENCE_MAX_STREAMS_PER_KEY
  --stream-idle-seconds SECONDS
      Time without a sign of life, pongs included, after which a stream is closed. From 8
      to 960, default 120.
      RINGFENCE_STREAM_IDLE_SECONDS
  --stream-device-limit on|off
      Whether the limit of POST /v1/track per device holds for streams too. Default off.
      RINGFENCE_STREAM_DEVICE_LIMIT
  --idle-minutes MINUTES
      Time without an update after which a device is packed. From 1 to 1440, default 15.
      RINGFENCE_IDLE_MINUTES
  --events-days DAYS
      Events older than this are deleted. From 1 to 36500, default 365.
      RINGFENCE_EVENTS_DAYS
  --users-days DAYS
      Users without an update for this long are deleted. From 1 to 36500, default 365.
      RINGFENCE_USERS_DAYS
  --nats-url URLS
      NATS servers to publish events to, nats://HOST:PORT or tls://HOST:PORT, with
      USER:PASSWORD@ or TOKEN@ before the host. docs/guides/nats.md. Comma-separated,
      default none.
      RINGFENCE_NATS_URL
  --nats-credentials FILE
      Who we are for NATS: a credentials file (.creds), or one with the seed of a user's
      nkey. Default none.
      RINGFENCE_NATS_CREDENTIALS
  --nats-tls-ca FILE
      Certificates (PEM) of the authorities that NATS servers at tls:// are believed by,
      instead of those that Node knows. Default none.
      RINGFENCE_NATS_TLS_CA
  --nats-tls-certificate FILE
      Certificate (PEM) to show to NATS servers that ask for one. Default none.
      RINGFENCE_NATS_TLS_CERTIFICATE
  --nats-tls-key FILE
      Key (PEM) of that certificate. Default none.
      RINGFENCE_NATS_TLS_KEY
  --nats-replicas NUMBER
      NATS servers that keep each message of the distributed engine: 1, 3 or 5. From 1 to
      5, default 1.
      RINGFENCE_NATS_REPLICAS
  --nats-format json|protobuf
      Events on NATS as JSON, or as the message Event of proto/ringfence.proto. Default
      json.
      RINGFENCE_NATS_FORMAT
  --tile38-url URL
      A Tile38 server to keep copies of geofences and positions in, tile38://HOST:PORT.
      Experimental: never run against the real server yet. docs/operating.md. Default
      none.
      RINGFENCE_TILE38_URL
  --tile38-password PASSWORD
      The password that Tile38 asks for (requirepass). Default none.
      RINGFENCE_TILE38_PASSWORD
  --tile38-candidates on|off
      Whether Tile38 is asked which geofences are about a batch of updates; memory answers
      where it does not in time. The events are the same. Default off.
      RINGFENCE_TILE38_CANDIDATES
  --tile38-hooks-url URL
      NATS as Tile38 reaches it, nats://HOST:PORT: there it tells by itself who enters and
      leaves geofences that have "hooks": true in their metadata. Experimental, as
      tile38Url. Default none.
      RINGFENCE_TILE38_HOOKS_URL
  --sample-region on|off
      Whether a start without regions makes the sample, a city to try routing in, of data
      that was installed along. docs/guides/regions.md. Default on.
      RINGFENCE_SAMPLE_REGION
  --routing-url URL
      A Valhalla server that answers what needs roads, http://HOST:PORT, instead of the
      regions on this machine. Default none.
      RINGFENCE_ROUTING_URL
  --routing-threads NUMBER
      Routing requests computed at one time for each region, beside tracking and at lower
      priority. 0: one less than there are processors, so that one is left to tracking,
      and at least 1. From 0 to 128, default 0.
      RINGFENCE_ROUTING_THREADS
  --routing-timeout-seconds SECONDS
      How long a routing request may take, and before that wait; then the answer is 503.
      From 1 to 600, default 15.
      RINGFENCE_ROUTING_TIMEOUT_SECONDS
  --routing-queue NUMBER
      Routing requests of a region that may wait; one more is answered 503. From 1 to
      100000, default 256.
      RINGFENCE_ROUTING_QUEUE
  --routing-memory-bytes BYTES
      Memory of the routing process of a region, half of it for roads; one that has more
      is replaced. From 134217728 to 1099511627776, default 1073741824.
      RINGFENCE_ROUTING_MEMORY_BYTES
  --routing-cache-bytes BYTES
      Routing answers kept for identical requests. From 0 to 68719476736, default
      33554432.
      RINGFENCE_ROUTING_CACHE_BYTES
  --webhook-private-addresses ADDRESSES
      Addresses or CIDR ranges outside the public internet to which webhooks may be sent
      all the same. Comma-separated, default none.
      RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES
  --webhook-timeout-seconds SECONDS
      How long the receiver of a webhook has for its answer. From 1 to 60, default 15.
      RINGFENCE_WEBHOOK_TIMEOUT_SECONDS
  --webhook-retry-seconds SECONDS
      How long a webhook delivery is tried again; an endpoint that fails for as long is
      paused. From 1 to 604800, default 86400.
      RINGFENCE_WEBHOOK_RETRY_SECONDS
  --deliveries-days DAYS
      Webhook deliveries that are done are forgotten after so long. From 1 to 36500,
      default 30.
      RINGFENCE_DELIVERIES_DAYS
  --deliveries-rows NUMBER
      Webhook deliveries remembered of each webhook, at most. From 100 to 10000000,
      default 100000.
      RINGFENCE_DELIVERIES_ROWS
  --log-level LEVEL
      Least severe messages that are logged: trace, debug, info, warn, error, silent.
      Default info.
      RINGFENCE_LOG_LEVEL
  --config FILE
      JSON object of settings by name, as in config/embedded.json and config/distributed.json.
  --version
  --help
`
