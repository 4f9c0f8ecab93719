// What a load run asks: a few addresses in turn, and a device of the fleet in each request. Requests are
// made once, as bytes; per request only the digits of the device id (and of a version) are written anew.

/** Where a device's labels and the addresses come from. All requests are GETs with `X-Service-Device`. */
export type Question = {
  /** Paths with query. `{version}` stands for one that was never asked before. */
  readonly paths: readonly string[];
  /** How many devices ask, in turn, each always for the same path; 0: none says who it is. */
  readonly devices: number;
};

/** A request as bytes, and where in it what changes lies. */
type Template = { readonly bytes: Buffer; readonly deviceAt: number; readonly versionAt: number };

/** Which of a run's connections this is, from 0. */
export type Place = { readonly connection: number; readonly connections: number };

const HEX = Buffer.from('0123456789abcdef');
const DEVICE_DIGITS = 8;
const VERSION_DIGITS = 8;
/** Written versions have eight digits and no leading zero. */
const VERSION_FIRST = 10_000_000;
const VERSION_COUNT = 90_000_000;
const PLACEHOLDER = '{version}';

/** A device's id, a UUID: different for all indices below 2^32, and the same in every run. */
export function deviceId(index: number): string {
  const digits = mixed(index).toString(16).padStart(DEVICE_DIGITS, '0');
  return `${digits}-5ca1-4b1e-a5ed-000000c0ffee`;
}

/** The version that stands in a path for the nth never asked one. */
export function freshVersion(index: number): string {
  return `0.9.${VERSION_FIRST + (index % VERSION_COUNT)}`;
}

/** The nth request of a question as its path and headers, for a client that is not in a hurry. */
export function nthRequest({ paths, devices }: Question, index: number) {
  const device = devices === 0 ? index : index % devices;
  const path = paths[device % paths.length] ?? '/';
  const headers: Record<string, string> =
    devices === 0 ? {} : { 'x-service-device': deviceId(device) };
  return { path: path.replace(PLACEHOLDER, freshVersion(index)), headers };
}

/**
 * The requests of one connection of several. Connection c asks for the devices c, c + n, c + 2n …; device d
 * always asks for path d of the list, which goes round: as a real device it has its version, its platform
 * and its labels. Without devices the numbers go on for ever.
 */
export class RequestWriter {
  private readonly question: Question;
  private readonly host: string;
  /** By the place of the path; made when a device first asks for it. */
  private readonly templates: (Template | undefined)[];
  private readonly first: number;
  private readonly step: number;
  /** The first device number that is none; infinite without devices. */
  private readonly end: number;
  private next: number;

  /** `skip`: how many requests were made before, so that a run goes on in the fleet where another ended. */
  constructor(question: Question, host: string, place: Place, skip = 0) {
    const { connection, connections } = place;
    const { devices } = question;
    this.question = question;
    this.host = host;
    this.templates = new Array(question.paths.length).fill(undefined);
    this.end = devices === 0 ? Number.POSITIVE_INFINITY : devices;
    this.first = devices === 0 ? connection : connection % devices;
    this.step = connections;
    const turns = Math.max(1, Math.floor(devices / connections));
    const turn = Math.floor(skip / connections);
    this.next = this.first + (devices === 0 ? turn : turn % turns) * connections;
  }

  /** How many bytes a buffer must have that any request is written to. */
  get lengthMax(): number {
    const { paths, devices } = this.question;
    return Math.max(...paths.map((path) => template(path, this.host, devices > 0).bytes.length));
  }

  /**
   * The bytes of the next request, valid until this writer has come round to the same path. `unique` numbers
   * the request among all of a run, for versions that were never asked.
   */
  write(unique: number): Buffer {
    const device = this.next;
    const chosen = this.templateAt(device % this.templates.length);
    if (chosen.deviceAt > 0) writeHex(chosen.bytes, chosen.deviceAt, mixed(device));
    this.next = device + this.step < this.end ? device + this.step : this.first;
    if (chosen.versionAt > 0) {
      writeDecimal(chosen.bytes, chosen.versionAt, VERSION_FIRST + (unique % VERSION_COUNT));
    }
    return chosen.bytes;
  }

  private templateAt(place: number): Template {
    const known = this.templates[place];
    if (known !== undefined) return known;
    const { paths, devices } = this.question;
    const made = template(paths[place] as string, this.host, devices > 0);
    this.templates[place] = made;
    return made;
  }
}

function template(path: string, host: string, hasDevice: boolean): Template {
  const written = path.replace(PLACEHOLDER, freshVersion(0));
  const device = hasDevice ? `X-Service-Device: ${deviceId(0)}\r\n` : '';
  const text = `GET ${written} HTTP/1.1\r\nHost: ${host}\r\n${device}\r\n`;
  const versionAt = path.indexOf(PLACEHOLDER);
  return {
    bytes: Buffer.from(text, 'latin1'),
    deviceAt: hasDevice ? text.indexOf('X-Service-Device: ') + 'X-Service-Device: '.length : 0,
    versionAt: versionAt < 0 ? 0 : 'GET '.length + versionAt + '0.9.'.length,
  };
}

/** MurmurHash3's finaliser: a bijection on 32 bits, so that distinct indices stay distinct. */
function mixed(index: number): number {
  let hash = Math.imul(index ^ 0x51ce_5eed, 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function writeHex(bytes: Buffer, at: number, value: number): void {
  let rest = value;
  for (let place = at + DEVICE_DIGITS - 1; place >= at; place--) {
    bytes[place] = HEX[rest & 15] as number;
    rest >>>= 4;
  }
}

function writeDecimal(bytes: Buffer, at: number, value: number): void {
  let rest = value;
  for (let place = at + VERSION_DIGITS - 1; place >= at; place--) {
    const tens = Math.floor(rest / 10);
    bytes[place] = 48 + rest - tens * 10;
    rest = tens;
  }
}
