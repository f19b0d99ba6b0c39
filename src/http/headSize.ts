/**
 * The limit for a request's line and headers in bytes. Longer ones are answered 431. uWebSockets.js reads it once,
 * when it is loaded. Its own default is 4096, which is too little for the URL of a matrix with up to 626 points of up
 * to 40 characters.
 */
process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= '32768'
