// Pattern of an updater's addresses (`/e/:appRef/:channel/:file`): whether an address has its form, and the
// texts that stand in its parameters. A segment may have texts around its parameter: `releases.:name.json`.

import { fail, invalidField, type Outcome } from '../../contract/failure.ts';
import { decodeSegment } from '../router.ts';

type Segment = {
  /** Text before the parameter, or the whole segment where it has none. */
  readonly before: string;
  /** Name of the parameter. */
  readonly name: string | undefined;
  readonly after: string;
};

/** Address in parts: texts by the names of its parameters, and the version, still encoded. */
export type AddressParts = {
  /** Part of the address before its version: addresses that differ in nothing else ask the same. */
  readonly stem: string;
  /** Version as it stands in the address; undefined in patterns without one. */
  readonly version: string | undefined;
};

const SEGMENT = /^([^:]*)(?::(\w+))?(.*)$/;
const VERSION = '/:version';

export class AddressPattern {
  /** First segment, with its slash. */
  readonly prefix: string;
  /** Whether every address of that many segments below the prefix has the form. */
  readonly isPlain: boolean;
  /** Segments after the first, without the version and what follows it. */
  private readonly segments: readonly Segment[];
  private readonly hasVersion: boolean;
  /** What follows the version, with its slash; '' if nothing does. */
  private readonly tail: string;

  constructor(pattern: string) {
    const [stem = '', tail = ''] = pattern.split(VERSION);
    const [first = '', ...others] = stem.split('/').slice(1);
    this.prefix = `/${first}`;
    this.segments = others.map(segmentOf);
    this.hasVersion = stem !== pattern;
    this.tail = tail;
    this.isPlain =
      tail === '' && this.segments.every(({ before, after }) => before === '' && after === '');
  }

  /** Returns whether an address has the form of the pattern, whatever stands in its parameters. */
  fits(path: string): boolean {
    const parts = this.split(path);
    if (parts === undefined) return false;
    const texts = textsOf(parts.stem);
    return texts.length === this.segments.length && this.segments.every(hasForm(texts));
  }

  /** Splits an address at its version; undefined when it ends otherwise than the pattern. */
  split(path: string): AddressParts | undefined {
    if (!this.hasVersion) return { stem: path, version: undefined };
    if (!path.endsWith(this.tail)) return undefined;
    const address = path.slice(0, path.length - this.tail.length);
    const end = address.lastIndexOf('/');
    if (end === address.length - 1) return undefined;
    return { stem: address.slice(0, end), version: address.slice(end + 1) };
  }

  /**
   * Returns the decoded parameters of a stem by name; 404 when it has not the form of the pattern or an empty
   * parameter, 400 naming the one whose percent-encoding is malformed.
   */
  read(stem: string): Outcome<Record<string, string>, 'notFound' | 'invalid'> {
    const texts = textsOf(stem);
    if (texts.length !== this.segments.length || texts.includes('')) return fail('notFound');
    if (!this.segments.every(hasForm(texts))) return fail('notFound');
    const parameters: Record<string, string> = {};
    for (const [index, { before, name, after }] of this.segments.entries()) {
      if (name === undefined) continue;
      const text = texts[index] ?? '';
      const value = decodeSegment(text.slice(before.length, text.length - after.length));
      if (value === undefined) return invalidField(name, 'Malformed percent-encoding');
      if (value === '') return fail('notFound');
      parameters[name] = value;
    }
    return parameters;
  }
}

function segmentOf(text: string): Segment {
  const [, before = '', name, after = ''] = SEGMENT.exec(text) ?? [];
  return { before, name, after };
}

/** Returns the segments of a stem after the first. */
function textsOf(stem: string): readonly string[] {
  return stem.split('/').slice(2);
}

/** Returns the test whether a segment is what the pattern has in its place. */
function hasForm(texts: readonly string[]): (segment: Segment, index: number) => boolean {
  return ({ before, name, after }, index) => {
    const text = texts[index] ?? '';
    if (name === undefined) return text === before;
    const isLongEnough = text.length >= before.length + after.length;
    return isLongEnough && text.startsWith(before) && text.endsWith(after);
  };
}
