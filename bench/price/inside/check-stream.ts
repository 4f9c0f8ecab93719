// The checks of a scenario, in the order in which both builds get them. Addresses and ids are fresh strings
// of one byte per character, as uWebSockets.js makes them for each request: nothing is known of them yet.

import { mixed, writeDigits } from '../../load/question.ts';
import type { PriceScenario } from './price-scenarios.ts';

const DIGITS = 8;
const VERSION_FIRST = 10_000_000;
const VERSION_COUNT = 90_000_000;
const FRESH = '{fresh}';
const ID = Buffer.from('00000000-5ca1-4b1e-a5ed-000000c0ffee', 'latin1');
/** Step through the devices, prime to every number of them here: neighbours in time are none in memory. */
const STEP = 387_421;

/** Address in parts; `freshAt` is where digits are written anew for each check, -1 for none. */
type Template = { readonly bytes: Buffer; readonly queryAt: number; readonly freshAt: number };

/** Checks as a build gets them, which are used for one slice. */
export type Checks = {
  readonly paths: string[];
  readonly queries: (string | undefined)[];
  readonly devices: string[];
};

export class CheckStream {
  private readonly templates: readonly Template[];
  private readonly devices: number;
  private next = 0;

  constructor({ addresses, devices }: PriceScenario) {
    this.templates = addresses.map(templateOf);
    this.devices = devices;
  }

  /** Returns a number of checks, from `first` on: the same ones whenever they are asked for. */
  read(first: number, count: number): Checks {
    const paths: string[] = new Array(count);
    const queries: (string | undefined)[] = new Array(count);
    const devices: string[] = new Array(count);
    for (let index = 0; index < count; index++) {
      const check = first + index;
      const device = ((check % this.devices) * STEP) % this.devices;
      const { bytes, queryAt, freshAt } = this.templates[
        device % this.templates.length
      ] as Template;
      if (freshAt >= 0) writeDigits(bytes, freshAt, VERSION_FIRST + (check % VERSION_COUNT), 10);
      writeDigits(ID, 0, mixed(device), 16);
      paths[index] = bytes.toString('latin1', 0, queryAt);
      queries[index] = queryAt === bytes.length ? undefined : bytes.toString('latin1', queryAt + 1);
      devices[index] = ID.toString('latin1');
    }
    return { paths, queries, devices };
  }

  /** Moves on by a number of checks; returns the first of them. */
  skip(count: number): number {
    const first = this.next;
    this.next += count;
    return first;
  }
}

function templateOf(address: string): Template {
  const bytes = Buffer.from(address.replace(FRESH, '0'.repeat(DIGITS)), 'latin1');
  const query = bytes.indexOf('?');
  return { bytes, queryAt: query < 0 ? bytes.length : query, freshAt: address.indexOf(FRESH) };
}
