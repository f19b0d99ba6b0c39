/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`test/config/options.test.ts > TAP > the text of --help > must match snapshot 1`] = `
Usage: npm start -- [options]                 run the server
       npm run keys -- <command>              list and rotate API keys
       npm run projects -- <command>          create and disable projects, give them a monthly quota
       npm run accounts -- <command>          manage the accounts of people who sign in
       npm run import -- KIND FILE            import geofences or beacons into a running server
       npm run move -- --from-radar           copy geofences, beacons and settings from a Radar project
       npm run region -- <command>            build regions (map data) from OpenStreetMap extracts
       npm run backup -- FOLDER               copy the data folder, while the server runs
       npm run restore -- BACKUP              create a data folder from a backup
       npm run mcp -- [options]               let AI assistants ask a running server
       npm run demo -- [options]              simulate devices that drive through geofences
       npm run cluster -- [options]           run the distributed engine on this machine
Each of these commands explains itself with --help.

Each setting has a flag and an environment variable. If it is set in several ways, the first of these counts: flag,
environment variable, file of --config, default.

  --port NUMBER
      Port of the HTTP API; 0 takes a free one. From 0 to 65535, default 8080.
      RINGFENCE_PORT
  --host ADDRESS
      Address to listen on. Default 127.0.0.1.
      RINGFENCE_HOST
  --data FOLDER
      Data folder; it is created if it does not exist. Only one process may use it at a
      time. Default ./data.
      RINGFENCE_DATA
  --keys KEYS
      Four API keys to install at the first start, instead of generated ones: test
      publishable, live publishable, test secret, live secret. Comma-separated, default
      none.
      RINGFENCE_KEYS
  --engine embedded|distributed
      embedded: one process does everything. distributed: any number of processes with
      different roles share the work through NATS JetStream. See docs/operating.md.
      Default embedded.
      RINGFENCE_ENGINE
  --roles ROLES
      The tasks of this process in the distributed engine: gateway, actors, delivery, or
      all. Comma-separated, default all.
      RINGFENCE_ROLES
  --rate-limits on|off
      Whether the rate limits of the API apply. Default on.
      RINGFENCE_RATE_LIMITS
  --limits LIMITS
      Requests per second that replace the standard limits, e.g. "GET
      /v1/context=50,management=off". management means every endpoint that needs a secret
      key or a session. docs/operating.md has the table. Comma-separated, default none.
      RINGFENCE_LIMITS
  --public-url URL
      The address of this server as people see it in their browsers, e.g.
      https://fleet.example.com: for invitation links and session cookies. Without it, the
      Host header of the request is used. Default none.
      RINGFENCE_PUBLIC_URL
  --key-sign-in on|off
      Whether people may sign in with a secret key instead of an account. Default on.
      RINGFENCE_KEY_SIGN_IN
  --audit-days DAYS
      How long entries of the audit are kept, at most 200,000 for each project. From 1 to
      36500, default 365.
      RINGFENCE_AUDIT_DAYS
  --operator-project NUMBER
      The project whose admins see the state of the server and its map regions; 0: the
      first project. From 0 to 1000000000, default 0.
      RINGFENCE_OPERATOR_PROJECT
  --trusted-proxies ADDRESSES
      Addresses or CIDR ranges of the proxies whose X-Forwarded-For and X-Forwarded-Proto
      headers are trusted. Comma-separated, default none.
      RINGFENCE_TRUSTED_PROXIES
  --durability fsync|os
      What an acknowledged update survives. fsync: a power failure. os: the end of the
      process, but not a power failure. Default fsync.
      RINGFENCE_DURABILITY
  --partitions NUMBER
      Number of partitions that devices are spread over. Fixed once the data folder is
      created. From 1 to 1024, default 64.
      RINGFENCE_PARTITIONS
  --segment-bytes BYTES
      Size at which the commit log starts a new segment file. From 65536 to 1073741824,
      default 67108864.
      RINGFENCE_SEGMENT_BYTES
  --snapshot-bytes BYTES
      Amount of commit log that is written between two rounds of snapshots. From 65536 to
      68719476736, default 268435456.
      RINGFENCE_SNAPSHOT_BYTES
  --mailbox-bytes BYTES
      Upper limit of the memory for waiting updates. Beyond it, updates are answered 503.
      From 16777216 to 17179869184, default 67108864.
      RINGFENCE_MAILBOX_BYTES
  --max-connections NUMBER
      Upper limit of open connections; further ones are closed at once. It is reduced if
      the limit of open files (ulimit -n) is too low. From 1 to 1000000, default 10000.
      RINGFENCE_MAX_CONNECTIONS
  --max-connections-per-address NUMBER
      Upper limit of open connections per client address, on Linux only. It does not apply
      to trusted proxies. From 1 to 1000000, default 2000.
      RINGFENCE_MAX_CONNECTIONS_PER_ADDRESS
  --max-body-bytes BYTES
      Largest request body; larger ones are answered 413. From 1024 to 16777216, default
      1048576.
      RINGFENCE_MAX_BODY_BYTES
  --max-streams-per-key NUMBER
      Upper limit of open WebSocket streams per key; further ones are answered 429. From 1
      to 1000000, default 2000.
      RINGFENCE_MAX_STREAMS_PER_KEY
  --stream-message-bytes BYTES
      Memory for messages of streams while they arrive. Each open stream is counted with
      the largest message that it may send; the streams of one key may use half. Streams
      that open beyond it may send messages of 64 KB only. From 1048576 to 17179869184,
      default 268435456.
      RINGFENCE_STREAM_MESSAGE_BYTES
  --subscription-bytes BYTES
      Upper limit of the memory for the filters and areas of streams and server-sent
      events. The connections of one key may take half of it, and one connection a 64th.
      From 1048576 to 17179869184, default 268435456.
      RINGFENCE_SUBSCRIPTION_BYTES
  --device-bytes BYTES
      Upper limit of the memory for users and their metadata, about 400 bytes for a plain
      one; one environment may take half of it. Beyond it, updates of new users are
      answered 429. 0 means half of the memory of the machine or container. From 0 to
      1099511627776, default 0.
      RINGFENCE_DEVICE_BYTES
  --stream-idle-seconds SECONDS
      A stream is closed if nothing arrives from its client for this long, not even an
      answer to a ping. From 8 to 960, default 120.
      RINGFENCE_STREAM_IDLE_SECONDS
  --stream-device-limit on|off
      Whether the limit of POST /v1/track per device applies to streams too. Default off.
      RINGFENCE_STREAM_DEVICE_LIMIT
  --idle-minutes MINUTES
      A device without an update for this long is stored in a compact form. From 1 to
      1440, default 15.
      RINGFENCE_IDLE_MINUTES
  --events-days DAYS
      Events older than this are deleted. From 1 to 36500, default 365.
      RINGFENCE_EVENTS_DAYS
  --trips-days DAYS
      Trips that have ended are deleted this long after their last change. From 1 to
      36500, default 90.
      RINGFENCE_TRIPS_DAYS
  --trip-locations-days DAYS
      The locations of trips are deleted this long after their last change. From 1 to
      36500, default 7.
      RINGFENCE_TRIP_LOCATIONS_DAYS
  --users-days DAYS
      Users without an update for this long are deleted. From 1 to 36500, default 365.
      RINGFENCE_USERS_DAYS
  --nats-url URLS
      NATS servers to publish events to: nats://HOST:PORT or tls://HOST:PORT, with
      USER:PASSWORD@ or TOKEN@ before the host. See docs/guides/nats.md. Comma-separated,
      default none.
      RINGFENCE_NATS_URL
  --nats-credentials FILE
      File to authenticate to NATS with: a credentials file (.creds), or the seed of a
      user's nkey. Default none.
      RINGFENCE_NATS_CREDENTIALS
  --nats-tls-ca FILE
      File with the certificates (PEM) of the authorities to trust for NATS servers at
      tls://, instead of those that Node trusts. Default none.
      RINGFENCE_NATS_TLS_CA
  --nats-tls-certificate FILE
      Client certificate (PEM) for NATS servers that require one. Default none.
      RINGFENCE_NATS_TLS_CERTIFICATE
  --nats-tls-key FILE
      Private key (PEM) of the client certificate. Default none.
      RINGFENCE_NATS_TLS_KEY
  --nats-replicas NUMBER
      Number of NATS servers that store each message of the distributed engine: 1, 3 or 5.
      From 1 to 5, default 1.
      RINGFENCE_NATS_REPLICAS
  --nats-format json|protobuf
      Format of events on NATS: JSON, or the message Event of proto/ringfence.proto.
      Default json.
      RINGFENCE_NATS_FORMAT
  --tile38-url URLS
      Tile38 servers to keep copies of positions in, tile38://HOST:PORT or
      tile38s://HOST:PORT. If there are several, the first one that can be reached and is
      not a follower is used. See docs/operating.md. Comma-separated, default none.
      RINGFENCE_TILE38_URL
  --tile38-tls-ca FILE
      File with the certificates (PEM) of the authorities to trust for tile38s://, instead
      of those that Node trusts. Default none.
      RINGFENCE_TILE38_TLS_CA
  --tile38-password PASSWORD
      Password of the Tile38 server (requirepass). Default none.
      RINGFENCE_TILE38_PASSWORD
  --dashboard on|off
      Whether / is the dashboard, which the first start builds in the background. off: /
      shows the API reference. See docs/guides/dashboard.md. Default on.
      RINGFENCE_DASHBOARD
  --sample-region on|off
      Whether a start without any region builds the sample region, a city to try routing
      with, from data in the installed packages. See docs/guides/regions.md. Default on.
      RINGFENCE_SAMPLE_REGION
  --region-max-bytes BYTES
      Largest OpenStreetMap extract that is imported over HTTP; 0 imports none. Commands
      of the operator have no limit. From 0 to 68719476736, default 2147483648.
      RINGFENCE_REGION_MAX_BYTES
  --map-files FILES
      PMTiles files with vector tiles, in the Protomaps basemap schema, that maps show
      before the imported regions. If several files have a tile, the first one is used.
      See docs/guides/maps.md. Comma-separated, default none.
      RINGFENCE_MAP_FILES
  --ip-city-file FILE
      GeoLite2 City or another .mmdb file of cities, for geocoding of IP addresses. Empty:
      DB-IP City Lite. Default none.
      RINGFENCE_IP_CITY_FILE
  --ip-proxy-files FILES
      Files of addresses and CIDR ranges, one in each line, that count as proxies.
      Comma-separated, default none.
      RINGFENCE_IP_PROXY_FILES
  --ip-tor-file FILE
      File of the addresses of Tor exits, one in each line; they count as proxies. Default
      none.
      RINGFENCE_IP_TOR_FILE
  --ip-allowed-file FILE
      File of addresses and CIDR ranges that are not proxies, whatever other lists say.
      Default none.
      RINGFENCE_IP_ALLOWED_FILE
  --routing-url URL
      A Valhalla server, http://HOST:PORT, to use for routing instead of the regions on
      this machine. Default none.
      RINGFENCE_ROUTING_URL
  --routing-threads NUMBER
      Number of routing requests computed at the same time for each region, at a lower
      priority than tracking. 0 means one less than the number of processors, but at least
      1. From 0 to 128, default 0.
      RINGFENCE_ROUTING_THREADS
  --routing-timeout-seconds SECONDS
      Upper limit of the time that a routing request may wait and compute. Beyond it, the
      answer is 503. From 1 to 600, default 15.
      RINGFENCE_ROUTING_TIMEOUT_SECONDS
  --routing-queue NUMBER
      Number of routing requests of a region that may wait; further ones are answered 503.
      From 1 to 100000, default 256.
      RINGFENCE_ROUTING_QUEUE
  --routing-memory-bytes BYTES
      Upper limit of the memory of a region's routing process; half of it is for road
      data. A process that exceeds it is replaced. From 134217728 to 1099511627776,
      default 1073741824.
      RINGFENCE_ROUTING_MEMORY_BYTES
  --routing-cache-bytes BYTES
      Memory for the answers to routing requests, which are reused for identical requests.
      From 0 to 68719476736, default 33554432.
      RINGFENCE_ROUTING_CACHE_BYTES
  --webhook-private-addresses ADDRESSES
      Addresses or CIDR ranges outside the public internet to which webhooks and hooks may
      be sent. Comma-separated, default none.
      RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES
  --webhook-timeout-seconds SECONDS
      Time that the receiver of a webhook has to respond. From 1 to 60, default 15.
      RINGFENCE_WEBHOOK_TIMEOUT_SECONDS
  --webhook-retry-seconds SECONDS
      Time for which a webhook delivery is retried. A webhook whose deliveries all fail
      for this long is paused. From 1 to 604800, default 86400.
      RINGFENCE_WEBHOOK_RETRY_SECONDS
  --sync-private-addresses ADDRESSES
      Addresses or CIDR ranges outside the public internet from which geofence syncs may
      fetch their sources. Comma-separated, default none.
      RINGFENCE_SYNC_PRIVATE_ADDRESSES
  --sync-max-bytes BYTES
      Largest source of a geofence sync, before and after decompression. From 1024 to
      68719476736, default 1073741824.
      RINGFENCE_SYNC_MAX_BYTES
  --sync-key KEY
      The key that encrypts the secrets of geofence syncs: 64 hexadecimal digits, the same
      for all processes. Empty: a key in the data folder, which is enough for the embedded
      engine. Default none.
      RINGFENCE_SYNC_KEY
  --smtp-url URL
      Mail server for notifications: smtp://USER:PASSWORD@HOST:PORT, or smtps:// for TLS
      from the beginning. A password is sent only over TLS, or to this machine. Empty: no
      e-mail. Default none.
      RINGFENCE_SMTP_URL
  --smtp-from ADDRESS
      The address that e-mails come from. Default none.
      RINGFENCE_SMTP_FROM
  --operator-emails ADDRESSES
      Addresses that get an e-mail when less than 10 % of the disk of the data folder is
      free. Comma-separated, default none.
      RINGFENCE_OPERATOR_EMAILS
  --deliveries-days DAYS
      Finished webhook deliveries are deleted from the log after this time. From 1 to
      36500, default 30.
      RINGFENCE_DELIVERIES_DAYS
  --deliveries-rows NUMBER
      Largest number of deliveries to keep in the log of each webhook. From 100 to
      10000000, default 100000.
      RINGFENCE_DELIVERIES_ROWS
  --metrics-token TOKEN
      What GET /metrics requires as Authorization: Bearer TOKEN. Without it anybody who
      reaches the port can read the metrics. Default none.
      RINGFENCE_METRICS_TOKEN
  --log-level LEVEL
      Least severe level of messages to log: trace, debug, info, warn, error, silent.
      Default info.
      RINGFENCE_LOG_LEVEL
  --config FILE
      JSON object of settings by name, as in config/embedded.json and config/distributed.json.
  --version
  --help
`
