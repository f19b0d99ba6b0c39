/**
 * Bytes of a request's line and headers; more are answered 431. uWebSockets.js reads it once, when it is loaded, and takes 4096
 * by itself: too little for the URL of a matrix, which holds up to 626 points of up to 40 characters.
 */
process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= '32768'
