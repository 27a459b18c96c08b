import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { createNetworkSet, type Place, parsePlace, plainAddress } from '../kernel/network.ts';

export interface Address {
  address: string;
  family: 4 | 6;
}

/** All addresses of a name, asked anew each time; rejects when it has none. */
export type ResolveAddresses = (hostname: string) => Promise<readonly Address[]>;

/** `fetch` of the configuration. */
export interface FetchRules {
  ports: readonly number[];
  /** Networks, or host:port, that are let through although they are private. */
  allow_private: readonly string[];
}

export type GuardVerdict =
  /** Connect to these and no others. */
  { ok: true; addresses: readonly Address[] } | { ok: false; reason: 'blocked' | 'unresolved'; message: string };

/** Decides for every URL that a caller gave, and every one that it redirects to, whether we may go there (S17). */
export type FetchGuard = ReturnType<typeof createFetchGuard>;

/** `url` must be parsed already: the check covers what the parser made of the spelling, never the raw text. */
export function createFetchGuard(rules: FetchRules, resolve: ResolveAddresses) {
  const networks = createNetworkSet(rules.allow_private);
  const places = rules.allow_private.flatMap((text) => parsePlace(text) ?? []);

  function allows(url: URL, address: string): boolean {
    return isPublicAddress(address) || networks.has(address) || isOneOf(places, url);
  }

  return {
    /** The address that a socket was really connected to. */
    allows,
    async check(url: URL): Promise<GuardVerdict> {
      const excepted = isOneOf(places, url);
      const wrong = wrongWith(url, rules, excepted ? 'excepted' : 'usual');
      if (wrong !== null) return { ok: false, reason: 'blocked', message: wrong };
      const literal = literalIn(url);
      if (literal !== null) return allows(url, literal.address) ? { ok: true, addresses: [literal] } : blocked;
      let addresses: readonly Address[];
      try {
        addresses = await resolve(url.hostname);
      } catch {
        return { ok: false, reason: 'unresolved', message: 'its host name cannot be resolved' };
      }
      if (addresses.length === 0) return { ok: false, reason: 'unresolved', message: 'its host name has no address' };
      // One private address among public ones is how rebinding begins.
      return addresses.every(({ address }) => allows(url, address)) ? { ok: true, addresses } : blocked;
    },
  };
}

const blocked: GuardVerdict = { ok: false, reason: 'blocked', message: 'its address is not on the public Internet' };

function wrongWith(url: URL, { ports }: FetchRules, place: 'usual' | 'excepted'): string | null {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'only http and https may be fetched';
  if (url.username !== '' || url.password !== '') return 'it must not carry a user or password';
  if (place === 'excepted') return null;
  if (!ports.includes(portOf(url))) return `its port is not one of ${ports.join(', ') || 'none'} (fetch.ports)`;
  return privateName.test(url.hostname) ? 'its host is not on the public Internet' : null;
}

/** Names that are never public (RFC 6761, 6762, 8375; `internal` reserved by ICANN), with the dot that ends a name. */
const privateName = /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)\.*$/;

/** Whether the host is an address or a name that is never public. Names that resolve to such an address are not found. */
export function namesPrivateHost({ hostname }: URL): boolean {
  const address = plainAddress(hostname);
  return address === null ? privateName.test(hostname) : !isPublicAddress(address);
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

function isOneOf(places: readonly Place[], url: URL): boolean {
  return places.some(({ host, port }) => host === url.hostname && port === portOf(url));
}

/** The parser has already turned 0x7f.1, 2130706433 and 017700000001 into 127.0.0.1. */
function literalIn(url: URL): Address | null {
  const address = plainAddress(url.hostname);
  if (address === null) return null;
  // As written, for the connection. An IPv4 address wrapped in IPv6 is checked as the IPv4 address.
  const written = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return { address: written, family: isIP(written) === 4 ? 4 : 6 };
}

/** Azure's host of every virtual machine: it looks ordinary, but belongs to nobody on the Internet. */
const azureHost = '168.63.129.16';
/** All of IPv6 that is given out so far; outside it nothing is public (RFC 4291 §2.4, IANA's registry). */
const ipv6Public = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];

/**
 * Whether a connection to this address leaves for the public Internet: it is in none of IANA's special-purpose ranges
 * (private, loopback, link-local, shared, documentation, multicast, NAT64, 6to4, Teredo…), and it does not wrap an IPv4
 * address that is. False for anything but an address.
 */
export function isPublicAddress(text: string): boolean {
  const plain = plainAddress(text);
  if (plain === null || plain === azureHost) return false;
  const address = ipaddr.parse(plain);
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(ipv6Public);
}
