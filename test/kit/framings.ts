/** Requests whose end two readers may see in different places. Request smuggling is made of them. */

export const BODY = '{"deviceId":"x","latitude":1,"longitude":2,"accuracy":5}'
export const CHUNKS = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`
export const SMUGGLED = 'GET /healthz HTTP/1.1\r\nHost: smuggled\r\n\r\n'

/** Headers that are refused in every request, and what takes the place of a body. */
export const HEADERS: readonly (readonly [name: string, lines: string, body: string])[] = [
  ['lengths that differ', `Content-Length: ${BODY.length}\r\nContent-Length: ${BODY.length + 1}`, BODY],
  ['the longer one first', `Content-Length: ${BODY.length}\r\nContent-Length: 0`, BODY],
  ['lengths that agree', `Content-Length: ${BODY.length}\r\nContent-Length: ${BODY.length}`, BODY],
  ['an empty length, then one', `Content-Length:\r\nContent-Length: ${BODY.length}`, BODY],
  ['lengths as a list', `Content-Length: ${BODY.length}, ${BODY.length}`, BODY],
  ['an empty length', 'Content-Length:', ''],
  ['a length with a plus', `Content-Length: +${BODY.length}`, BODY],
  ['a negative length', 'Content-Length: -1', ''],
  ['a hexadecimal length', 'Content-Length: 0x10', ''],
  ['a length with a fraction', `Content-Length: ${BODY.length}.0`, BODY],
  ['a length with a letter', `Content-Length: ${BODY.length}a`, BODY],
  ['a length over 64 bits', `Content-Length: ${2n ** 64n + BigInt(BODY.length)}`, BODY],
  ['a length and chunks', `Content-Length: ${BODY.length}\r\nTransfer-Encoding: chunked`, CHUNKS],
  ['chunks and a length', 'Transfer-Encoding: chunked\r\nContent-Length: 4', CHUNKS],
  ['an empty length and chunks', 'Content-Length:\r\nTransfer-Encoding: chunked', CHUNKS],
  ['an empty encoding and a length', `Transfer-Encoding:\r\nContent-Length: ${BODY.length}`, BODY],
  ['chunked, identity', 'Transfer-Encoding: chunked, identity', CHUNKS],
  ['identity, chunked', 'Transfer-Encoding: identity, chunked', CHUNKS],
  ['identity', 'Transfer-Encoding: identity', CHUNKS],
  ['gzip', 'Transfer-Encoding: gzip', CHUNKS],
  ['xchunked', 'Transfer-Encoding: xchunked', CHUNKS],
  ['"chunked"', 'Transfer-Encoding: "chunked"', CHUNKS],
  ['chunked twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', CHUNKS],
  ['chunked, then identity', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', CHUNKS],
  ['an empty encoding', 'Transfer-Encoding:', CHUNKS],
  ['two hosts', 'Host: y', ''],
]

const size = BODY.length.toString(16)
/** Chunked bodies whose framing other readers may read differently. */
export const FRAMINGS: readonly (readonly [name: string, body: string])[] = [
  ['nothing wrong', CHUNKS],
  ['bare LF behind a size', `${size}\n${BODY}\r\n0\r\n\r\n`],
  ['bare LF everywhere', `${size}\n${BODY}\n0\n\n`],
  ['bare LF behind the data', `${size}\r\n${BODY}\n0\r\n\r\n`],
  ['other bytes behind the data', `${size}\r\n${BODY}XX0\r\n\r\n`],
  ['bare CR behind a size', `${size}\rX${BODY}\r\n0\r\n\r\n`],
  ['an extension', `${size};a=b\r\n${BODY}\r\n0\r\n\r\n`],
  ['an extension with a bare LF', `${size};a\nb\r\n${BODY}\r\n0\r\n\r\n`],
  ['a plus', `+${size}\r\n${BODY}\r\n0\r\n\r\n`],
  ['a minus', `-${size}\r\n${BODY}\r\n0\r\n\r\n`],
  ['0x', `0x${size}\r\n${BODY}\r\n0\r\n\r\n`],
  ['a space behind a size', `${size} \r\n${BODY}\r\n0\r\n\r\n`],
  ['a space before a size', ` ${size}\r\n${BODY}\r\n0\r\n\r\n`],
  ['no size', `\r\n${BODY}\r\n0\r\n\r\n`],
  ['a size over 64 bits', `1000000000000000${size}\r\n${BODY}\r\n0\r\n\r\n`],
  ['a size over 32 bits', `1000000${size}\r\n${BODY}\r\n0\r\n\r\n`],
  ['an underscore', `${size}_\r\n${BODY}\r\n0\r\n\r\n`],
  ['other bytes behind the last chunk', `${size}\r\n${BODY}\r\n0\r\nXX`],
  ['bare LF behind the last chunk', `${size}\r\n${BODY}\r\n0\n\n`],
  ['a trailer', `${size}\r\n${BODY}\r\n0\r\nA: b\r\n\r\n`],
  ['a request as a trailer', `${size}\r\n${BODY}\r\n0\r\n${SMUGGLED}`],
]

/** Requests that the transport refuses by itself, and the status of its answer if it answers. */
export const HEADS: readonly (readonly [name: string, head: string, status?: number])[] = [
  [
    'HTTP/1.0 with chunks',
    'POST /v1/track HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    505,
  ],
  ['HTTP/2.0', 'GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n', 505],
  ['an absolute target', 'GET http://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n', 505],
  ['an authority as target', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n', 505],
  ['two spaces', 'GET  /healthz  HTTP/1.1\r\nHost: x\r\n\r\n', 505],
  ['a space in the target', 'GET /healthz x HTTP/1.1\r\nHost: x\r\n\r\n', 505],
  ['NUL in the target', 'GET /healthz\0 HTTP/1.1\r\nHost: x\r\n\r\n', 505],
  ['bare LF in the head', 'GET /healthz HTTP/1.1\nHost: x\n\n', 505],
  ['bare LF behind a header', 'GET /healthz HTTP/1.1\r\nHost: x\nContent-Length: 3\r\n\r\nabc'],
  ['bare LF in a value', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA: a\nContent-Length: 3\r\n\r\nabc'],
  ['bare CR in a value', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA: a\rContent-Length: 3\r\n\r\nabc'],
  ['NUL in a value', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA: a\0b\r\n\r\n'],
  ['NUL in a name', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA\0: a\r\n\r\n'],
  ['a control character', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA: a\x01b\r\n\r\n'],
  ['a space before the colon', 'POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length : 3\r\n\r\nabc'],
  ['a space in a name', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n'],
  ['a bracket in a name', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA(b): c\r\n\r\n'],
  ['a byte over 127 in a name', 'GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding\xa0: chunked\r\n\r\n'],
  ['a line without colon', 'GET /healthz HTTP/1.1\r\nHost: x\r\nabc\r\n\r\n'],
  ['a folded header', 'POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n'],
  ['a folded first header', 'GET /healthz HTTP/1.1\r\n Host: x\r\n\r\n'],
  ['a vertical tab', 'POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n'],
  ['no host', 'GET /healthz HTTP/1.1\r\n\r\n'],
]
