// Who a device says it is, and what it says about itself: the identity header and `l.` labels.

import { type Failure, invalidField, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { isLongerThan, refuseLabel } from '../../domain/label.ts';
import type { Labels } from '../../domain/targeting.ts';

const LABEL_PREFIX = 'l.';
const NO_LABELS: Labels = new Map();
/** What a form's encoding may have written otherwise; what is not ASCII is left to the library, too. */
const ENCODED = /[%+\u0080-\uffff]/;
const HIGH_BYTE = /[\u0080-\u00ff]/;

/** The device id of a header value; an absent, empty or too long one is no identity. */
export function readDeviceIdentity(header: string): string | undefined {
  if (header === '') return undefined;
  const id = decodeHeader(header);
  return isLongerThan(id, LIMIT.deviceIdLengthMax) ? undefined : id;
}

/**
 * The labels of a query string (`l.tier=gold&l.region=eu`); of a repeated key the last value wins. Looks at
 * one parameter after the other and stops at the first refusal: a query is as long as a stranger likes.
 */
export function readLabels(query: string | undefined): Outcome<Labels> {
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

/** A label's name begins with `l.`; either of the two characters may be percent-encoded. */
function mayBeLabel(query: string, from: number): boolean {
  return query.startsWith(LABEL_PREFIX, from) || query[from] === '%' || query[from + 1] === '%';
}

/**
 * Adds the label of one parameter, if it is one; the refusal when it must not be. The `&` keeps a leading
 * `?` from being taken for the begin of a query.
 */
function readLabel(parameter: string, labels: Map<string, string>): Failure | undefined {
  if (!ENCODED.test(parameter)) {
    // As it stands: what is mostly sent, read ten times as fast.
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

function addLabel(name: string, value: string, labels: Map<string, string>): Failure | undefined {
  if (!name.startsWith(LABEL_PREFIX)) return undefined;
  const key = name.slice(LABEL_PREFIX.length);
  const refusal = refuseLabel(name, key, value) ?? refuseCount(labels, key);
  if (refusal === undefined) labels.set(key, value);
  return refusal;
}

function refuseCount(labels: Labels, key: string): Failure | undefined {
  if (labels.has(key) || labels.size < LIMIT.labelCountMax) return undefined;
  return invalidField('l', `At most ${LIMIT.labelCountMax} labels`);
}

/** Header bytes are UTF-8; uWebSockets.js hands them out one character per byte. */
function decodeHeader(value: string): string {
  return HIGH_BYTE.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;
}
