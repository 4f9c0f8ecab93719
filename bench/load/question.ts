// Requests of a load run: a few addresses in turn, each for a device of the fleet. Requests are made once, as
// bytes; per request only the digits of the device id (and of a version) are written anew.

/** Addresses and fleet of a load run. All requests are GETs with `X-Service-Device`. */
export type Question = {
  /** Paths with query. `{version}` stands for a version that was never asked for before. */
  readonly paths: readonly string[];
  /** Number of devices that ask in turn, each always for the same path; 0 when no request names a device. */
  readonly devices: number;
};

/** Request as bytes, and the positions in it of the parts that change. */
type Template = { readonly bytes: Buffer; readonly deviceAt: number; readonly versionAt: number };

/** Number of a connection among those of its run, from 0. */
export type Place = { readonly connection: number; readonly connections: number };

const HEX = Buffer.from('0123456789abcdef');
const DEVICE_DIGITS = 8;
const VERSION_DIGITS = 8;
/** Written versions have eight digits and no leading zero. */
const VERSION_FIRST = 10_000_000;
const VERSION_COUNT = 90_000_000;
const PLACEHOLDER = '{version}';

/** Id of a device, a UUID: different for all indices below 2^32, and the same in every run. */
export function deviceId(index: number): string {
  const digits = mixed(index).toString(16).padStart(DEVICE_DIGITS, '0');
  return `${digits}-5ca1-4b1e-a5ed-000000c0ffee`;
}

/** Version that stands in a path for the nth one that was never asked for. */
function freshVersion(index: number): string {
  return `0.9.${VERSION_FIRST + (index % VERSION_COUNT)}`;
}

/** Path and headers of the nth request of a question, for clients other than the load generator. */
export function nthRequest({ paths, devices }: Question, index: number) {
  const device = devices === 0 ? index : index % devices;
  const path = paths[device % paths.length] ?? '/';
  const headers: Record<string, string> =
    devices === 0 ? {} : { 'x-service-device': deviceId(device) };
  return { path: path.replace(PLACEHOLDER, freshVersion(index)), headers };
}

/**
 * Writer of the requests of one connection among n. Connection c asks for the devices c, c + n, c + 2n ….
 * Device d always asks for path d modulo the number of paths, because a real device keeps its version, its
 * platform and its labels. Without devices the numbers go on for ever.
 */
export class RequestWriter {
  private readonly question: Question;
  private readonly host: string;
  /** Requests by the place of their path in the list; made when a device first asks for one. */
  private readonly templates: (Template | undefined)[];
  private readonly first: number;
  private readonly step: number;
  /** Number of devices; infinite when no request names a device. */
  private readonly end: number;
  private next: number;

  /** `skip` is the number of requests made before: a run goes on in the fleet where another ended. */
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

  /** Number of bytes that a buffer for any one request must have. */
  get lengthMax(): number {
    const { paths, devices } = this.question;
    return Math.max(...paths.map((path) => template(path, this.host, devices > 0).bytes.length));
  }

  /**
   * Returns the bytes of the next request, valid until this writer has come round to the same path. `unique`
   * numbers the request among all of a run, for versions that were never asked for.
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
