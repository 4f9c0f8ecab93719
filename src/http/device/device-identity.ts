// Reading of what a device tells about itself: its id in a header, and its labels in the query (`l.`).

import { type Failure, invalidField, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { isLongerThan } from '../../contract/text.ts';
import type { Labels } from '../../domain/decision/targeting.ts';
import { refuseLabel } from '../../domain/fleet/label.ts';

const LABEL_PREFIX = 'l.';
const NO_LABELS: Labels = new Map();
/** Characters in the presence of which `URLSearchParams` reads a parameter: encoding marks and non-ASCII. */
const ENCODED = /[%+\u0080-\uffff]/;
const HIGH_BYTE = /[\u0080-\u00ff]/;

/** Returns the device id in a header value; undefined when it is empty (as an absent one is) or too long. */
export function readDeviceIdentity(header: string): string | undefined {
  if (header === '') return undefined;
  const id = decodeHeader(header);
  return isLongerThan(id, LIMIT.deviceIdLengthMax) ? undefined : id;
}

/**
 * Returns the labels of a query string (`l.tier=gold&l.region=eu`); of a repeated key the last value counts.
 * Reads one parameter after the other and stops at the first refusal, because clients choose the length of a
 * query.
 */
export function readLabels(query: string | undefined): Outcome<Labels, 'invalid'> {
  if (query === undefined || query === '') return NO_LABELS;
  const labels = new Map<string, string>();
  for (let from = 0; from <= query.length; ) {
    const to = endOfParameter(query, from);
    if (mayBeLabel(query, from)) {
      const refusal = readLabel(query.slice(from, to), labels);
      if (refusal !== undefined) return refusal;
    }
    from = to + 1;
  }
  return labels;
}

function endOfParameter(query: string, from: number): number {
  const end = query.indexOf('&', from);
  return end === -1 ? query.length : end;
}

/**
 * Returns whether the parameter at this index may be a label: its name begins with `l.`, or with a
 * percent-encoding that may stand for either of the two characters.
 */
function mayBeLabel(query: string, from: number): boolean {
  return query.startsWith(LABEL_PREFIX, from) || query[from] === '%' || query[from + 1] === '%';
}

/**
 * Adds the label of one parameter, if it is one; returns the refusal of a label that is not allowed. The `&`
 * keeps `URLSearchParams` from removing a leading `?`.
 */
function readLabel(parameter: string, labels: Map<string, string>): Failure<'invalid'> | undefined {
  if (!ENCODED.test(parameter)) {
    // Most parameters contain nothing to decode, and are read ten times as fast this way.
    const end = parameter.indexOf('=');
    if (end === -1) return addLabel(parameter, '', labels);
    return addLabel(parameter.slice(0, end), parameter.slice(end + 1), labels);
  }
  for (const [name, value] of new URLSearchParams(`&${parameter}`)) {
    const refusal = addLabel(name, value, labels);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function addLabel(
  name: string,
  value: string,
  labels: Map<string, string>,
): Failure<'invalid'> | undefined {
  if (!name.startsWith(LABEL_PREFIX)) return undefined;
  const key = name.slice(LABEL_PREFIX.length);
  const refusal = refuseLabel(name, key, value) ?? refuseCount(labels, key);
  if (refusal === undefined) labels.set(key, value);
  return refusal;
}

function refuseCount(labels: Labels, key: string): Failure<'invalid'> | undefined {
  if (labels.has(key) || labels.size < LIMIT.labelCountMax) return undefined;
  return invalidField('l', `At most ${LIMIT.labelCountMax} labels`);
}

/** Decodes a header value: its bytes are UTF-8, and uWebSockets.js returns one character per byte. */
function decodeHeader(value: string): string {
  return HIGH_BYTE.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;
}
