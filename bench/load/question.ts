// Requests of a load run: a few addresses in turn, each for a device of the fleet. Requests are made once, as
// bytes; per request only the digits of the device id (and of a version) are written anew.

/** Addresses and fleet of a load run. */
export type Question = {
  /**
   * Paths with query. `{version}` stands for a version that was never asked for before, `{device}` for the id
   * of the device, which is sent as `X-Service-Device` otherwise.
   */
  readonly paths: readonly string[];
  readonly devices: number;
  /** What is sent in place of a GET. */
  readonly sent?: Sent | undefined;
};

type Sent = { readonly method: 'PUT' | 'POST'; readonly body: string };

export type Place = { readonly connection: number; readonly connections: number };

/** Request as bytes, and the positions in it of the parts that change; no version is at 0. */
type Template = { readonly bytes: Buffer; readonly deviceAt: number; readonly versionAt: number };

const HEX = Buffer.from('0123456789abcdef');
const DIGITS = 8;
/** Written versions have as many digits, and no leading zero. */
const VERSION_FIRST = 10_000_000;
const VERSION_COUNT = 90_000_000;
const PLACEHOLDER = '{version}';
const DEVICE_PLACEHOLDER = '{device}';
const DEVICE_HEADER = 'X-Service-Device: ';

/** Id of a device, a UUID: different for all indices below 2^32, and the same in every run. */
export function deviceId(index: number): string {
  return `${mixed(index).toString(16).padStart(DIGITS, '0')}-5ca1-4b1e-a5ed-000000c0ffee`;
}

export function nthRequest({ paths, devices }: Question, index: number) {
  const device = index % devices;
  const path = (paths[device % paths.length] ?? '/').replace(PLACEHOLDER, freshVersion(index));
  const id = deviceId(device);
  return { path: path.replace(DEVICE_PLACEHOLDER, id), device: id };
}

export function requestText(host: string, path: string, device: string, sent?: Sent): string {
  const asked = path.replace(DEVICE_PLACEHOLDER, device);
  const header = asked === path ? `${DEVICE_HEADER}${device}\r\n` : '';
  const { method, body } = sent ?? { method: 'GET', body: '' };
  const length = sent === undefined ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${asked} HTTP/1.1\r\nHost: ${host}\r\n${header}${length}\r\n${body}`;
}

/**
 * Writer of the requests of one connection among n. Connection c asks for the devices c, c + n, c + 2n ….
 * Device d always asks for path d modulo the number of paths, because a real device keeps its version, its
 * platform and its labels.
 */
export class RequestWriter {
  private readonly question: Question;
  private readonly host: string;
  /** Requests by the place of their path in the list; made when a device first asks for one. */
  private readonly templates = new Map<number, Template>();
  private readonly first: number;
  private readonly step: number;
  private next: number;

  /** `skip` is the number of requests made before: a run goes on in the fleet where another ended. */
  constructor(question: Question, host: string, { connection, connections }: Place, skip = 0) {
    const { devices } = question;
    this.question = question;
    this.host = host;
    this.first = connection % devices;
    this.step = connections;
    const turns = Math.max(1, Math.floor(devices / connections));
    this.next = this.first + (Math.floor(skip / connections) % turns) * connections;
  }

  /** Bytes of the next request, until this writer comes round to its path; `unique` numbers versions. */
  write(unique: number): Buffer {
    const device = this.next;
    const { paths, devices } = this.question;
    const { bytes, deviceAt, versionAt } = this.templateAt(device % paths.length);
    writeDigits(bytes, deviceAt, mixed(device), 16);
    const version = VERSION_FIRST + (unique % VERSION_COUNT);
    if (versionAt > 0) writeDigits(bytes, versionAt, version, 10);
    this.next = device + this.step < devices ? device + this.step : this.first;
    return bytes;
  }

  private templateAt(place: number): Template {
    const known = this.templates.get(place);
    if (known !== undefined) return known;
    const path = this.question.paths[place] as string;
    const asked = path.replace(PLACEHOLDER, freshVersion(0));
    const text = requestText(this.host, asked, deviceId(0), this.question.sent);
    const made = {
      bytes: Buffer.from(text),
      deviceAt: text.indexOf(deviceId(0)),
      versionAt: asked === path ? 0 : text.indexOf(freshVersion(0)) + '0.9.'.length,
    };
    this.templates.set(place, made);
    return made;
  }
}

function freshVersion(index: number): string {
  return `0.9.${VERSION_FIRST + (index % VERSION_COUNT)}`;
}

/** MurmurHash3's finaliser: a bijection on 32 bits, so that distinct indices stay distinct. */
export function mixed(index: number): number {
  let hash = Math.imul(index ^ 0x51ce_5eed, 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Writes a number with eight digits. */
export function writeDigits(bytes: Buffer, at: number, value: number, base: 10 | 16): void {
  let rest = value;
  for (let place = at + DIGITS - 1; place >= at; place--) {
    const higher = Math.floor(rest / base);
    bytes[place] = HEX[rest - higher * base] as number;
    rest = higher;
  }
}
