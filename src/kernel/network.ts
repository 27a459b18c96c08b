import { BlockList, isIP } from 'node:net';

/** An address or a network: `10.0.0.0/8`, `192.0.2.7`, `2001:db8::/32`. */
export interface Network {
  address: string;
  family: 'ipv4' | 'ipv6';
  prefixBits: number;
}

/**
 * Reads an address or CIDR; null when it is neither. IPv4-mapped IPv6 is the IPv4 that it maps, on both sides of a
 * comparison, since which of the two a socket shows depends on how the server listens.
 */
export function parseNetwork(text: string): Network | null {
  const slash = text.indexOf('/');
  const address = plainAddress(slash === -1 ? text : text.slice(0, slash));
  if (address === null) return null;
  const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
  const widthBits = family === 'ipv4' ? 32 : 128;
  if (slash === -1) return { address, family, prefixBits: widthBits };
  const prefix = text.slice(slash + 1);
  if (!/^\d{1,3}$/.test(prefix)) return null;
  const mapped = family === 'ipv4' && text.includes(':');
  const prefixBits = Number(prefix) - (mapped ? 96 : 0);
  return prefixBits < 0 || prefixBits > widthBits ? null : { address, family, prefixBits };
}

/** One port of one host, as URLs write the host: lower case, IPv6 in brackets, numbers of IPv4 spelled out. */
export interface Place {
  host: string;
  port: number;
}

/** Reads `minio.internal:9000`, `127.0.0.1:9000`, `[::1]:9000`; null when it is none. */
export function parsePlace(text: string): Place | null {
  const [, written, digits] = /^([^\s/?#@\\]+):(\d{1,5})$/.exec(text) ?? [];
  if (written === undefined) return null;
  const port = Number(digits);
  const host = URL.parse(`http://${written}/`)?.hostname ?? '';
  return host === '' || port < 1 || port > 65_535 || (written.includes(':') && !host.startsWith('['))
    ? null
    : { host, port };
}

/**
 * An address in the form for comparison: no zone, no brackets, IPv4 where IPv6 only wraps it. Null when it is not an
 * address.
 */
export function plainAddress(text: string): string | null {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const zone = bare.indexOf('%');
  const address = zone === -1 ? bare : bare.slice(0, zone);
  const version = isIP(address);
  if (version === 0) return null;
  return version === 6 ? (mappedIpv4(address) ?? address) : address;
}

/** Written `::ffff:1.2.3.4`, `::ffff:102:304` or with its zeros. */
function mappedIpv4(address: string): string | null {
  // The URL parser writes every IPv6 address in one way only: `[::ffff:102:304]`.
  const form = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;
  const [high, low] = (form.exec(new URL(`http://[${address}]/`).hostname) ?? [])
    .slice(1)
    .map((hex) => Number.parseInt(hex, 16));
  if (high === undefined || low === undefined) return null;
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/**
 * The network of a client, for what is counted by client: an IPv4 address alone, and the first 64 bits of an IPv6 address,
 * since a client usually has all of them. '' for null.
 */
export function clientNetwork(address: string | null): string {
  if (address === null || !address.includes(':')) return address ?? '';
  const [head = '', tail] = address.toLowerCase().split('::');
  const first = head.split(':').filter((part) => part !== '');
  const rest = (tail ?? '').split(':').filter((part) => part !== '');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - rest.length);
  const groups = [...first, ...Array.from({ length: zeros }, () => '0'), ...rest];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}

/** Whether an address is in one of these networks. An invalid network holds no address, so the answer is no. */
export function createNetworkSet(networks: readonly string[]): { has(address: string | null): boolean } {
  const list = new BlockList();
  for (const text of networks) {
    const network = parseNetwork(text);
    if (network !== null) list.addSubnet(network.address, network.prefixBits, network.family);
  }
  return {
    has(address) {
      const plain = address === null ? null : plainAddress(address);
      return plain !== null && list.check(plain, isIP(plain) === 4 ? 'ipv4' : 'ipv6');
    },
  };
}
