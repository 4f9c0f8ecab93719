// Reading of a device's id in a header.

import { LIMIT } from '../../contract/limit.ts';
import { isLongerThan } from '../../contract/text.ts';

const HIGH_BYTE = /[\u0080-\u00ff]/;

/** Returns the device id in a header value; undefined when it is empty (as an absent one is) or too long. */
export function readDeviceIdentity(header: string): string | undefined {
  if (header === '') return undefined;
  const id = decodeHeader(header);
  return isLongerThan(id, LIMIT.deviceIdLengthMax) ? undefined : id;
}

/** Decodes a header value: its bytes are UTF-8, and uWebSockets.js returns one character per byte. */
function decodeHeader(value: string): string {
  return HIGH_BYTE.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;
}
