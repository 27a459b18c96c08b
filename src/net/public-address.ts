import ipaddr from 'ipaddr.js';
import { plainAddress } from '../kernel/network.ts';

/** Azure's host of every virtual machine: an ordinary address, but nobody's on the Internet. */
const azureHost = '168.63.129.16';
/** All of IPv6 that is given out so far; outside it nothing public stands (RFC 4291 §2.4, IANA's registry). */
const ipv6Public = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];

/**
 * Whether a connection to this address leaves for the public Internet: none of IANA's special-purpose ranges (private,
 * loopback, link-local, shared, documentation, multicast, NAT64, 6to4, Teredo…), nor an IPv4 address wrapped in IPv6
 * that is one of them. False for what is no address.
 */
export function isPublicAddress(text: string): boolean {
  const plain = plainAddress(text);
  if (plain === null || plain === azureHost) return false;
  const address = ipaddr.parse(plain);
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(ipv6Public);
}
