// Reads `Accept-Encoding` (RFC 9110, section 12.5.3).

/**
 * Whether a request takes a body of this encoding. An encoding that is named decides for itself, `*` for
 * those that are not; `q=0` refuses. Without the header nobody asked for compression, so none is taken.
 */
export function acceptsEncoding(header: string | undefined, encoding: string): boolean {
  let rest = false;
  for (const part of (header ?? '').split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const isRefused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    if (name === encoding) return !isRefused;
    if (name === '*') rest = !isRefused;
  }
  return rest;
}
