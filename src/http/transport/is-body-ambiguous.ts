// Requests whose body two readers could see end at different places. uWebSockets.js reads the first length,
// and any coding as `chunked`; a proxy in front may read another one, and take for a body what is a request
// here.

const LENGTH = /^\d+$/;

/** Returns whether the headers leave open where the body ends (RFC 9112, section 6). */
export function isBodyAmbiguous(headers: ReadonlyMap<string, string>): boolean {
  const length = headers.get('content-length');
  const coding = headers.get('transfer-encoding');
  if (coding === undefined) return length !== undefined && !LENGTH.test(length);
  // uWebSockets.js reads trailers as the next request.
  return coding.toLowerCase() !== 'chunked' || length !== undefined || headers.has('trailer');
}
