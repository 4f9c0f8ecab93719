// Judges where notifications may be sent, so that they open no door to what only this machine can reach:
// public addresses by https, and networks that the operator allows (`NOTIFY_PRIVATE`), also by http. An
// address of IPv6 that carries one of IPv4 is judged by that one, wherever a translator would send it.

import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { parseUrl } from '../contract/address.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = readonly [Address, number];

/** What an address is: `private` ones are those that the operator allows. */
export type Judgement = 'public' | 'private' | 'refused';

/**
 * Networks that are not public: IANA's IPv4 Special-Purpose Address Registry, whole, and multicast. Some
 * entries are reachable (AS112, AMT); no receiver has an address there.
 */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map(parseNetwork);

/** Addresses that IANA gives out: all else, such as loopback, unique local and multicast, is not public. */
const GLOBAL_IPV6 = parseNetwork('2000::/3');

/** Networks within them that are not public: IANA's IPv6 Special-Purpose Address Registry. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2620:4f:8000::/48', '3fff::/20'].map(
  parseNetwork,
);

/** Networks whose addresses carry one of IPv4, and the index of its first 16 bits. */
const EMBEDDING = [
  { network: '::ffff:0:0/96', index: 6 },
  { network: '::/96', index: 6 },
  { network: '64:ff9b::/96', index: 6 },
  { network: '2002::/16', index: 1 },
].map(({ network, index }) => ({ network: parseNetwork(network), index }));

/** Never dialled, whatever the operator allows: such addresses give out a cloud's credentials. */
const LINK_LOCAL = ['169.254.0.0/16', 'fe80::/10'].map(parseNetwork);

/** Judges addresses and URLs by what an operator allows. */
export class AddressJudge {
  readonly #allowed: readonly Network[];
  readonly #own: () => readonly string[];

  /**
   * `allowed`: networks of the setting, as CIDRs. `own` returns the addresses of this machine: a public one
   * reaches what listens on this machine alone.
   */
  constructor(allowed: readonly string[], own: () => readonly string[]) {
    this.#allowed = allowed.map(parseNetwork);
    this.#own = own;
  }

  /** Judges an address that a name was resolved to. What is no address is refused. */
  judge(text: string): Judgement {
    // A zone names an interface, so such an address is link-local.
    if (text.includes('%') || !ipaddr.isValid(text)) return 'refused';
    const address = ipaddr.parse(text);
    const inside = embeddedIn(address);
    const forms = inside === undefined ? [address] : [address, inside];
    if (forms.some((form) => isIn(form, LINK_LOCAL))) return 'refused';
    if (forms.some((form) => isIn(form, this.#allowed))) return 'private';
    const reached = inside ?? address;
    if (!isPublic(reached)) return 'refused';
    const isOwn = this.#own().some(
      (own) => ipaddr.isValid(own) && ipaddr.parse(own).toString() === reached.toString(),
    );
    return isOwn ? 'refused' : 'public';
  }

  /**
   * Judges the URL of a destination as far as it can be without resolving its name. Returns why it is
   * refused, in words for the caller; undefined if it may stand.
   */
  refuseUrl(text: string): string | undefined {
    const url = parseUrl(text);
    if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
      return 'Must be an https:// address';
    }
    if (url.username !== '' || url.password !== '') return 'Must have no user name and password';
    const literal = literalOf(url);
    const judgement = literal === undefined ? undefined : this.judge(literal);
    if (judgement === 'refused') return 'This address is not public';
    // What a name resolves to is judged when it is dialled.
    const mayBePrivate =
      judgement === 'private' || (literal === undefined && this.#allowed.length > 0);
    return url.protocol === 'https:' || mayBePrivate ? undefined : 'Must be an https:// address';
  }
}

/** Returns the addresses of this machine at present. */
export function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((all = []) =>
    all.map(({ address }) => address),
  );
}

/** Returns the address of a URL whose host is one, in whatever form it was written; else undefined. */
export function literalOf({ hostname }: URL): string | undefined {
  // The parser has brought decimal, octal, hexadecimal and short forms to four numbers.
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.isValid(host) ? host : undefined;
}

function isPublic(address: Address): boolean {
  if (address instanceof ipaddr.IPv4) return !isIn(address, SPECIAL_IPV4);
  return isIn(address, [GLOBAL_IPV6]) && !isIn(address, SPECIAL_IPV6);
}

/** Returns the address of IPv4 that one of IPv6 carries: mapped, compatible, NAT64 or 6to4. */
function embeddedIn(address: Address): ipaddr.IPv4 | undefined {
  if (address instanceof ipaddr.IPv4) return undefined;
  const form = EMBEDDING.find(({ network }) => isIn(address, [network]));
  if (form === undefined) return undefined;
  const groups = address.parts.slice(form.index, form.index + 2);
  return new ipaddr.IPv4(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

function isIn(address: Address, networks: readonly Network[]): boolean {
  return networks.some(
    ([base, bits]) => base.kind() === address.kind() && address.match(base, bits),
  );
}

function parseNetwork(cidr: string): Network {
  return ipaddr.parseCIDR(cidr);
}
