/*
 * HTTP load from one thread: keep-alive connections, one request under way on each, epoll.
 *
 * Open loop (--rate N): request i is due at start + i / N and its latency counts from then on, whether or not a
 * connection was free at that time; a server that stalls is charged with everything that it kept waiting. A generator
 * that waits for answers before it asks again would leave exactly those requests out (coordinated omission).
 * Closed loop (--rate 0): every free connection sends at once; for warming up. With --patience-ms N it goes on for as
 * long as answers come, and is given up when none has come for that long; the wait for the last answers, too.
 *
 * Bodies come from a file of records, each `u32 length (little endian), bytes`, and are sent after the text of --head and
 * a Content-Length. The file holds rounds of --group records, walked forward and then backward without end, starting at
 * --offset: tracks that turn round at their ends instead of jumping.
 *
 * The result is one JSON object on stdout; `progress <done> <total>` lines go to stderr.
 * bench/load/generator.ts is the same for machines without a C compiler; keep their options and output equal.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define RETRY_NS (50 * 1000000LL)
#define DRAIN_NS (5 * SECOND)
#define PROGRESS_NS (500 * 1000000LL)
#define HEAD_CAPACITY 16384
#define MAX_CONNECTIONS 4096

static void die(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("generator: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  exit(2);
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * SECOND + t.tv_nsec;
}

/* ---- Histogram: microseconds, 256 buckets per power of two, so a value is off by at most 0.4 % ---- */

#define SUB 256
#define BUCKETS (SUB * 32)

typedef struct {
  uint64_t counts[BUCKETS];
  uint64_t total;
  int64_t max_ns;
} Histogram;

static void record_ns(Histogram *h, int64_t ns) {
  if (ns < 0) ns = 0;
  uint64_t us = (uint64_t)ns / 1000;
  uint64_t index = us;
  if (us >= SUB) {
    int shift = 63 - __builtin_clzll(us) - 8;
    index = (uint64_t)SUB * (uint64_t)(shift + 1) + ((us >> shift) - SUB);
    if (index >= BUCKETS) index = BUCKETS - 1;
  }
  h->counts[index]++;
  h->total++;
  if (ns > h->max_ns) h->max_ns = ns;
}

static double quantile_ms(const Histogram *h, double q) {
  uint64_t rank = (uint64_t)(q * (double)h->total + 0.999999);
  if (rank > h->total) rank = h->total;
  uint64_t seen = 0;
  for (uint64_t i = 0; i < BUCKETS; i++) {
    seen += h->counts[i];
    if (seen >= rank && seen > 0) {
      uint64_t us = i;
      if (i >= SUB) {
        int shift = (int)(i / SUB) - 1;
        us = (SUB + i % SUB + 1) << shift;
      }
      double ms = (double)us / 1000, max = (double)h->max_ns / 1e6;
      return ms < max ? ms : max;
    }
  }
  return 0;
}

/* ---- Requests ---- */

static struct {
  const uint8_t *bytes;
  uint64_t *offsets;
  uint64_t count;
  uint64_t group;
  uint64_t longest;
} requests;

static char *head;
static size_t head_length;

static void *map_file(const char *path, size_t *size) {
  int fd = open(path, O_RDONLY);
  if (fd < 0) die("cannot open %s: %s", path, strerror(errno));
  struct stat s;
  if (fstat(fd, &s) < 0 || s.st_size == 0) die("%s is empty or unreadable", path);
  void *bytes = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (bytes == MAP_FAILED) die("cannot map %s: %s", path, strerror(errno));
  close(fd);
  *size = (size_t)s.st_size;
  return bytes;
}

static void load_requests(const char *path) {
  size_t size;
  requests.bytes = map_file(path, &size);
  uint64_t capacity = 1 << 16;
  requests.offsets = malloc(capacity * sizeof(uint64_t));
  for (size_t at = 0; at < size;) {
    uint32_t length;
    if (at + 4 > size) die("%s ends inside a record", path);
    memcpy(&length, requests.bytes + at, 4);
    if (at + 4 + length > size) die("%s ends inside a record", path);
    if (requests.count == capacity) {
      capacity *= 2;
      requests.offsets = realloc(requests.offsets, capacity * sizeof(uint64_t));
    }
    requests.offsets[requests.count++] = at;
    if (length > requests.longest) requests.longest = length;
    at += 4 + length;
  }
}

static uint64_t record_of(uint64_t i) {
  uint64_t rounds = requests.count / requests.group;
  if (rounds < 2) return i % requests.group;
  uint64_t period = 2 * (rounds - 1);
  uint64_t round = (i / requests.group) % period;
  if (round >= rounds) round = period - round;
  return round * requests.group + i % requests.group;
}

/* ---- Connections ---- */

enum { CLOSED, CONNECTING, IDLE, BUSY };
enum { IN_HEAD, IN_BODY, IN_CHUNK_SIZE, IN_CHUNK, IN_CHUNK_END, IN_TRAILER, UNTIL_CLOSE };

typedef struct {
  int fd, state, part, status;
  bool close_after, wants_out, in_ring;
  int64_t due_ns, retry_ns;
  char *out;
  size_t out_length, out_sent;
  uint64_t body_left;
  size_t head_used, line_used;
  char head[HEAD_CAPACITY];
} Connection;

static Connection *connections;
static int connection_count = 256;
static struct sockaddr_in address;
static int epoll_fd;

/* Free connections, longest idle first: all of them are used, as with many clients. */
static int free_ring[MAX_CONNECTIONS];
static int free_head, free_count, closed_count, busy_count;

static Histogram latency, lateness;
static uint64_t sent, answered, ok, connection_errors, bytes_received, status_counts[600];

static void watch(Connection *c, bool out, int op) {
  struct epoll_event e = {.events = EPOLLIN | (out ? EPOLLOUT : 0), .data.ptr = c};
  if (epoll_ctl(epoll_fd, op, c->fd, &e) < 0) die("epoll_ctl: %s", strerror(errno));
  c->wants_out = out;
}

static void make_free(Connection *c) {
  c->state = IDLE;
  if (c->in_ring) return;
  c->in_ring = true;
  free_ring[(free_head + free_count++) % MAX_CONNECTIONS] = (int)(c - connections);
}

static void drop(Connection *c, bool error) {
  if (c->state == BUSY) busy_count--;
  if (error) connection_errors++;
  close(c->fd);
  c->fd = -1;
  c->state = CLOSED;
  c->retry_ns = now_ns() + (error ? RETRY_NS : 0);
  closed_count++;
}

static void open_connection(Connection *c) {
  int one = 1;
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (c->fd < 0) die("socket: %s", strerror(errno));
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  closed_count--;
  c->head_used = 0;
  c->part = IN_HEAD;
  if (connect(c->fd, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS) {
    drop(c, true);
    return;
  }
  c->state = CONNECTING;
  watch(c, true, EPOLL_CTL_ADD);
}

/* An idle connection that the server closed stays in the ring until its turn comes. */
static Connection *take_free(void) {
  while (free_count > 0) {
    Connection *c = &connections[free_ring[free_head]];
    free_head = (free_head + 1) % MAX_CONNECTIONS;
    free_count--;
    c->in_ring = false;
    if (c->state == IDLE) return c;
  }
  return NULL;
}

static void flush_out(Connection *c) {
  while (c->out_sent < c->out_length) {
    ssize_t n = send(c->fd, c->out + c->out_sent, c->out_length - c->out_sent, MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) {
        drop(c, true);
        return;
      }
      if (!c->wants_out) watch(c, true, EPOLL_CTL_MOD);
      return;
    }
    c->out_sent += (size_t)n;
  }
  if (c->wants_out) watch(c, false, EPOLL_CTL_MOD);
}

static void send_request(Connection *c, uint64_t record, int64_t due_ns) {
  const uint8_t *at = requests.bytes + requests.offsets[record];
  uint32_t length;
  memcpy(&length, at, 4);
  memcpy(c->out, head, head_length);
  size_t used = head_length + (size_t)sprintf(c->out + head_length, "Content-Length: %u\r\n\r\n", length);
  memcpy(c->out + used, at + 4, length);
  c->out_length = used + length;
  c->out_sent = 0;
  c->due_ns = due_ns;
  c->state = BUSY;
  busy_count++;
  sent++;
  flush_out(c);
}

static void answer_complete(Connection *c) {
  record_ns(&latency, now_ns() - c->due_ns);
  answered++;
  status_counts[c->status]++;
  if (c->status >= 200 && c->status < 300) ok++;
  c->part = IN_HEAD;
  c->head_used = 0;
  if (c->close_after) {
    drop(c, false);
    return;
  }
  busy_count--;
  make_free(c);
}

/* Reads status and framing of the head in c->head[0, end); false if it is not HTTP/1.x. */
static bool parse_head(Connection *c, size_t end) {
  c->head[end] = 0;
  if (strncmp(c->head, "HTTP/1.", 7) != 0) return false;
  c->status = atoi(c->head + 9);
  if (c->status < 100 || c->status > 599) return false;
  c->close_after = false;
  bool chunked = false, has_length = false;
  c->body_left = 0;
  for (char *line = strstr(c->head, "\r\n"); line != NULL; line = strstr(line, "\r\n")) {
    line += 2;
    if (strncasecmp(line, "content-length:", 15) == 0) {
      c->body_left = strtoull(line + 15, NULL, 10);
      has_length = true;
    } else if (strncasecmp(line, "transfer-encoding:", 18) == 0) {
      chunked = true;
    } else if (strncasecmp(line, "connection:", 11) == 0) {
      const char *value = line + 11;
      while (*value == ' ') value++;
      c->close_after = strncasecmp(value, "close", 5) == 0;
    }
  }
  bool bodiless = c->status < 200 || c->status == 204 || c->status == 304;
  c->line_used = 0;
  c->part = bodiless ? IN_BODY : chunked ? IN_CHUNK_SIZE : has_length ? IN_BODY : UNTIL_CLOSE;
  if (bodiless) c->body_left = 0;
  return true;
}

/* Takes bytes of the answer; false when they break the protocol. */
static bool take_bytes(Connection *c, const char *bytes, size_t n) {
  size_t at = 0;
  for (;;) {
    if (c->part == IN_BODY && c->body_left == 0) {
      if (c->status >= 200) {
        answer_complete(c);
        return at == n;
      }
      c->part = IN_HEAD;
      c->head_used = 0;
    }
    if (at == n) return true;
    switch (c->part) {
      case IN_HEAD: {
        size_t before = c->head_used, room = HEAD_CAPACITY - 1 - before, take = n - at < room ? n - at : room;
        memcpy(c->head + before, bytes + at, take);
        size_t from = before > 3 ? before - 3 : 0;
        char *end = memmem(c->head + from, before + take - from, "\r\n\r\n", 4);
        if (end == NULL) {
          c->head_used += take;
          at += take;
          if (c->head_used == HEAD_CAPACITY - 1) return false;
          break;
        }
        size_t length = (size_t)(end - c->head);
        at += length + 4 - before;
        if (!parse_head(c, length)) return false;
        break;
      }
      case IN_BODY:
      case IN_CHUNK: {
        size_t take = n - at < c->body_left ? n - at : (size_t)c->body_left;
        c->body_left -= take;
        at += take;
        if (c->part == IN_CHUNK && c->body_left == 0) c->part = IN_CHUNK_END;
        break;
      }
      case IN_CHUNK_SIZE: {
        char b = bytes[at++];
        if (b == '\n') {
          c->head[c->line_used] = 0;
          c->body_left = strtoull(c->head, NULL, 16);
          c->line_used = 0;
          c->part = c->body_left == 0 ? IN_TRAILER : IN_CHUNK;
        } else if (c->line_used < 64) {
          c->head[c->line_used++] = b;
        }
        break;
      }
      case IN_CHUNK_END:
        if (bytes[at++] == '\n') c->part = IN_CHUNK_SIZE;
        break;
      case IN_TRAILER: {
        char b = bytes[at++];
        if (b == '\n') {
          if (c->line_used == 0) {
            answer_complete(c);
            return at == n;
          }
          c->line_used = 0;
        } else if (b != '\r') {
          c->line_used++;
        }
        break;
      }
      case UNTIL_CLOSE:
        return true;
    }
  }
}

static void on_readable(Connection *c) {
  static char buffer[65536];
  for (;;) {
    ssize_t n = recv(c->fd, buffer, sizeof buffer, 0);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) drop(c, true);
      return;
    }
    if (n == 0) {
      if (c->state == BUSY && c->part == UNTIL_CLOSE) {
        c->close_after = true;
        answer_complete(c);
      } else {
        drop(c, c->state != IDLE);
      }
      return;
    }
    bytes_received += (uint64_t)n;
    if (c->state != BUSY || !take_bytes(c, buffer, (size_t)n)) {
      if (c->state != CLOSED) drop(c, true);
      return;
    }
    if (c->state == CLOSED || (size_t)n < sizeof buffer) return;
  }
}

static void on_event(Connection *c, uint32_t events) {
  if (c->state == CLOSED) return;
  if (c->state == CONNECTING) {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) {
      drop(c, true);
      return;
    }
    watch(c, false, EPOLL_CTL_MOD);
    make_free(c);
    return;
  }
  if ((events & EPOLLOUT) != 0 && c->state == BUSY) flush_out(c);
  if (c->state != CLOSED && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) on_readable(c);
}

/* Waits at most timeout_ns, to the nanosecond where the kernel can (Linux 5.11). */
static int wait_events(struct epoll_event *events, int capacity, int64_t timeout_ns) {
  static bool has_pwait2 = true;
  if (timeout_ns < 0) timeout_ns = 0;
  if (has_pwait2) {
    struct timespec t = {timeout_ns / SECOND, timeout_ns % SECOND};
    int n = epoll_pwait2(epoll_fd, events, capacity, &t, NULL);
    if (n >= 0 || errno != ENOSYS) return n;
    has_pwait2 = false;
  }
  return epoll_wait(epoll_fd, events, capacity, (int)(timeout_ns / 1000000));
}

int main(int argc, char **argv) {
  const char *host = "127.0.0.1", *requests_path = NULL, *head_path = NULL;
  int port = 0;
  double rate = 0, max_lag_ms = 1000, patience_ms = 0;
  uint64_t count = 0, offset = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const char *name = argv[i], *value = argv[i + 1];
    if (strcmp(name, "--host") == 0) host = value;
    else if (strcmp(name, "--port") == 0) port = atoi(value);
    else if (strcmp(name, "--connections") == 0) connection_count = atoi(value);
    else if (strcmp(name, "--requests") == 0) requests_path = value;
    else if (strcmp(name, "--head") == 0) head_path = value;
    else if (strcmp(name, "--group") == 0) requests.group = strtoull(value, NULL, 10);
    else if (strcmp(name, "--offset") == 0) offset = strtoull(value, NULL, 10);
    else if (strcmp(name, "--count") == 0) count = strtoull(value, NULL, 10);
    else if (strcmp(name, "--rate") == 0) rate = atof(value);
    else if (strcmp(name, "--max-lag-ms") == 0) max_lag_ms = atof(value);
    else if (strcmp(name, "--patience-ms") == 0) patience_ms = atof(value);
    else die("unknown option %s", name);
  }
  if (port <= 0 || requests_path == NULL || head_path == NULL || requests.group == 0 || count == 0)
    die("--port, --requests, --head, --group and --count are needed");
  if (connection_count < 1 || connection_count > MAX_CONNECTIONS) die("--connections: 1 to %d", MAX_CONNECTIONS);
  load_requests(requests_path);
  if (requests.group > requests.count) die("--group is larger than the file");
  head = map_file(head_path, &head_length);
  address.sin_family = AF_INET;
  address.sin_port = htons((uint16_t)port);
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1) die("--host must be an IPv4 address");
  prctl(PR_SET_TIMERSLACK, 1UL);

  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  connections = calloc((size_t)connection_count, sizeof(Connection));
  closed_count = connection_count;
  for (int i = 0; i < connection_count; i++) {
    connections[i].fd = -1;
    connections[i].out = malloc(head_length + 64 + requests.longest);
    open_connection(&connections[i]);
  }

  struct epoll_event events[512];
  int64_t give_up = now_ns() + DRAIN_NS;
  while (free_count < connection_count && now_ns() < give_up) {
    int n = wait_events(events, 512, 10 * 1000000LL);
    for (int i = 0; i < n; i++) on_event(events[i].data.ptr, events[i].events);
    int64_t now = now_ns();
    for (int i = 0; closed_count > 0 && i < connection_count; i++)
      if (connections[i].state == CLOSED && connections[i].retry_ns <= now) open_connection(&connections[i]);
  }
  if (free_count == 0) die("cannot connect to %s:%d", host, port);
  connection_errors = 0;

  bool saturated = false;
  uint64_t next = 0;
  int64_t start = now_ns(), end = start, next_progress = start + PROGRESS_NS;
  double interval = rate > 0 ? (double)SECOND / rate : 0;
  int64_t patience = (int64_t)(patience_ms * 1e6), heard = start;
  uint64_t answered_then = 0;
  for (;;) {
    int64_t now = now_ns();
    if (answered != answered_then) {
      answered_then = answered;
      heard = now;
    }
    if (patience > 0 && rate == 0 && now - heard > patience) {
      saturated = true;
      break;
    }
    uint64_t due = count;
    if (rate > 0) {
      uint64_t scheduled = (uint64_t)((double)(now - start) / interval) + 1;
      if (scheduled < due) due = scheduled;
      if (next < due && (double)(due - next) * interval > max_lag_ms * 1e6) {
        saturated = true;
        break;
      }
    }
    while (next < due) {
      Connection *c = take_free();
      if (c == NULL) break;
      int64_t due_ns = rate > 0 ? start + (int64_t)((double)next * interval) : now;
      record_ns(&lateness, now - due_ns);
      send_request(c, record_of(offset + next++), due_ns);
    }
    if (next == count) break;
    int64_t timeout = 10 * 1000000LL;
    if (rate > 0 && free_count > 0) timeout = start + (int64_t)((double)next * interval) - now_ns();
    int n = wait_events(events, 512, timeout);
    for (int i = 0; i < n; i++) on_event(events[i].data.ptr, events[i].events);
    if (closed_count > 0) {
      now = now_ns();
      for (int i = 0; i < connection_count; i++)
        if (connections[i].state == CLOSED && connections[i].retry_ns <= now) open_connection(&connections[i]);
    }
    if (now >= next_progress) {
      fprintf(stderr, "progress %llu %llu\n", (unsigned long long)answered, (unsigned long long)count);
      next_progress += PROGRESS_NS;
    }
  }
  int64_t drain = patience > 0 ? patience : DRAIN_NS;
  give_up = now_ns() + drain;
  while (busy_count > 0 && now_ns() < give_up) {
    int n = wait_events(events, 512, 10 * 1000000LL);
    for (int i = 0; i < n; i++) on_event(events[i].data.ptr, events[i].events);
    if (patience > 0 && answered != answered_then) {
      answered_then = answered;
      give_up = now_ns() + drain;
    }
  }
  end = now_ns();

  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double seconds = (double)(end - start) / 1e9;
  double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  printf("{\"sent\":%llu,\"ok\":%llu,\"statuses\":{", (unsigned long long)sent, (unsigned long long)ok);
  const char *comma = "";
  for (int i = 100; i < 600; i++) {
    if (status_counts[i] == 0) continue;
    printf("%s\"%d\":%llu", comma, i, (unsigned long long)status_counts[i]);
    comma = ",";
  }
  printf("},\"connectionErrors\":%llu,\"unanswered\":%d,\"unsent\":%llu,\"saturated\":%s,\"seconds\":%.4f,"
         "\"perSecond\":%.1f,\"bytesReceived\":%llu,\"cpuSeconds\":%.4f,"
         "\"latencyMs\":{\"p50\":%.3f,\"p90\":%.3f,\"p99\":%.3f,\"p999\":%.3f,\"max\":%.3f},"
         "\"sendDelayMs\":{\"p50\":%.3f,\"p99\":%.3f}}\n",
         (unsigned long long)connection_errors, busy_count, (unsigned long long)(count - next),
         saturated ? "true" : "false", seconds, (double)answered / seconds, (unsigned long long)bytes_received, cpu,
         quantile_ms(&latency, 0.5), quantile_ms(&latency, 0.9), quantile_ms(&latency, 0.99),
         quantile_ms(&latency, 0.999), (double)latency.max_ns / 1e6, quantile_ms(&lateness, 0.5),
         quantile_ms(&lateness, 0.99));
  return 0;
}
