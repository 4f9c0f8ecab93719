// Reading of `Accept-Encoding` (RFC 9110, section 12.5.3).

/**
 * Returns whether a request accepts a body in this encoding. `*` stands for the encodings that the header
 * does not name, and `q=0` refuses an encoding. A request without the header accepts none, because its client
 * did not ask for compression.
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
