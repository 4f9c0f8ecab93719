// Judges where notifications may be sent, so that nobody can use them to reach what only this machine
// reaches: to public addresses by https, and to networks that the operator allows (`NOTIFY_PRIVATE`) also by
// http. An IPv6 address that embeds an IPv4 address is judged by the latter, which a translator would use.

import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { parseUrl } from '../contract/address.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = readonly [Address, number];

/** Judgement of an address: `private` ones are in a network that the operator allows. */
export type Judgement = 'public' | 'private' | 'refused';

/**
 * Networks that are not public: all of IANA's IPv4 Special-Purpose Address Registry, and multicast. Some
 * entries are globally reachable (AS112, AMT), but no receiver has an address there.
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

/** Global unicast addresses, from which IANA allocates; all others, such as loopback, are not public. */
const GLOBAL_IPV6 = parseNetwork('2000::/3');

/** Networks within `GLOBAL_IPV6` that are not public: IANA's IPv6 Special-Purpose Address Registry. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2620:4f:8000::/48', '3fff::/20'].map(
  parseNetwork,
);

/** Networks whose addresses embed an IPv4 address, and the index of the 16-bit group where it begins. */
const EMBEDDING = [
  { network: '::ffff:0:0/96', index: 6 },
  { network: '::/96', index: 6 },
  { network: '64:ff9b::/96', index: 6 },
  { network: '2002::/16', index: 1 },
].map(({ network, index }) => ({ network: parseNetwork(network), index }));

/** Networks that are refused even if the operator allows them: there, clouds give out credentials. */
const LINK_LOCAL = ['169.254.0.0/16', 'fe80::/10'].map(parseNetwork);

/** Judges addresses and URLs by the networks that an operator allows. */
export class AddressJudge {
  readonly #allowed: readonly Network[];
  readonly #own: () => readonly string[];

  /**
   * `allowed`: networks of the setting, as CIDRs. `own` returns the addresses of this machine: even a public
   * one may reach a service that only this machine should reach.
   */
  constructor(allowed: readonly string[], own: () => readonly string[]) {
    this.#allowed = allowed.map(parseNetwork);
    this.#own = own;
  }

  /** Judges an IP address that a name was resolved to. A text that is no IP address is refused. */
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
   * Judges the URL of a destination as far as possible without resolving its name. Returns why it is refused,
   * in words for the caller; undefined if it is not.
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
    // The addresses of a name are judged when a message is sent.
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

/** Returns the host of a URL if it is an IP address, in any notation; else undefined. */
export function literalOf({ hostname }: URL): string | undefined {
  // The URL parser has converted decimal, octal, hexadecimal and short forms to four numbers.
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return ipaddr.isValid(host) ? host : undefined;
}

function isPublic(address: Address): boolean {
  if (address instanceof ipaddr.IPv4) return !isIn(address, SPECIAL_IPV4);
  return isIn(address, [GLOBAL_IPV6]) && !isIn(address, SPECIAL_IPV6);
}

/** Returns the IPv4 address that an IPv6 address embeds: mapped, compatible, NAT64 or 6to4. */
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
