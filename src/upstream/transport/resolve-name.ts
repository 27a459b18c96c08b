import { lookup, Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { codeOf } from './transport-error.ts';

export interface Address {
  address: string;
  family: 4 | 6;
}

export interface ResolvedName {
  /** Not empty; IPv4 first, because a broken IPv6 route is far more common than the reverse. */
  addresses: readonly Address[];
  ttlMs: number;
}

/** Asks once; rejects when the name has no address. */
export type ResolveName = (hostname: string) => Promise<ResolvedName>;

export interface ResolverOptions {
  hostsFile?: string;
  /** Name servers, `host:port`; default: the system's. */
  servers?: readonly string[];
  getAddressInfo?: (hostname: string) => Promise<readonly { address: string; family: number }[]>;
}

/** getaddrinfo tells no TTL, and its files may be edited. */
const systemTtlMs = 10_000;
/** After the first answer, how long its sibling of the other family is awaited (RFC 8305 §3). */
const otherFamilyWaitMs = 50;
/** libuv has four threads for getaddrinfo, files and zlib together; a hanging name server may hold two of them. */
const systemQueriesMax = 2;

/**
 * Names with a dot go to the name servers by c-ares, which needs no thread, so any number may hang. Names unknown there
 * (search domains, mDNS) and names without a dot go to getaddrinfo, a few at a time.
 */
export function createSystemResolver(options: ResolverOptions = {}): ResolveName {
  let resolver: Resolver | null = null;
  const hostsFile = options.hostsFile ?? '/etc/hosts';
  const fromSystem = createSystemQueries(options.getAddressInfo ?? ((hostname) => lookup(hostname, { all: true })));
  return async (hostname) => {
    // c-ares does not read it in this way of asking.
    const listed = addressesInHosts(readHosts(hostsFile), hostname);
    if (listed.length > 0) return { addresses: listed, ttlMs: systemTtlMs };
    if (!hostname.includes('.') || hostname.endsWith('.local') || hostname.endsWith('.localhost')) {
      return fromSystem(hostname);
    }
    try {
      resolver ??= openResolver(options);
      return await fromNameServers(resolver, hostname);
    } catch (error) {
      // A server that hangs would hang a thread too.
      if (codeOf(error) !== 'ETIMEOUT') return fromSystem(hostname);
      // A laptop in another network: c-ares goes on with the servers that it has read.
      resolver = null;
      throw error;
    }
  };
}

function openResolver({ servers }: ResolverOptions): Resolver {
  const resolver = new Resolver({ timeout: 900, tries: 2 });
  if (servers !== undefined) resolver.setServers(servers);
  return resolver;
}

async function fromNameServers(resolver: Resolver, hostname: string): Promise<ResolvedName> {
  const four = resolver.resolve4(hostname, { ttl: true });
  const six = resolver.resolve6(hostname, { ttl: true });
  const [records4, records6] = await Promise.all([unlessOtherCame(four, six), unlessOtherCame(six, four)]);
  const addresses: Address[] = [
    ...records4.map(({ address }) => ({ address, family: 4 as const })),
    ...records6.map(({ address }) => ({ address, family: 6 as const })),
  ];
  // Neither gave a record: the error of the first says why.
  if (addresses.length === 0) await four;
  return { addresses, ttlMs: Math.min(...[...records4, ...records6].map(({ ttl }) => ttl * 1000)) };
}

/** `mine`, or nothing if it fails or is much later than `other`: some servers never answer AAAA. */
async function unlessOtherCame<T>(mine: Promise<T[]>, other: Promise<T[]>): Promise<T[]> {
  let timer: NodeJS.Timeout | undefined;
  const otherCame = other.then(
    (records) =>
      new Promise<T[]>((done) => {
        if (records.length > 0) timer = setTimeout(done, otherFamilyWaitMs, []);
      }),
    () => mine,
  );
  try {
    return await Promise.race([mine, otherCame]);
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}

/** At most `systemQueriesMax` at a time, the others in line: no longer a line than there are names being asked. */
function createSystemQueries(getAddressInfo: NonNullable<ResolverOptions['getAddressInfo']>): ResolveName {
  let running = 0;
  const inLine: (() => void)[] = [];
  return async (hostname) => {
    if (running < systemQueriesMax) running += 1;
    else await new Promise<void>((myTurn) => inLine.push(myTurn));
    try {
      const addresses: Address[] = (await getAddressInfo(hostname)).map(({ address, family }) => ({
        address,
        family: family === 6 ? 6 : 4,
      }));
      return { addresses: addresses.sort((a, b) => a.family - b.family), ttlMs: systemTtlMs };
    } finally {
      const next = inLine.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

// Synchronous: a thread may not be free just when names are the trouble, and the file is small and local.
function readHosts(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** hosts(5): an address and its names per line, `#` begins a comment. */
export function addressesInHosts(hosts: string, hostname: string): Address[] {
  const lowered = hostname.toLowerCase();
  const found: Address[] = [];
  for (const line of hosts.split('\n')) {
    const [address, ...names] = (line.split('#')[0] ?? '').trim().toLowerCase().split(/\s+/);
    if (address && names.includes(lowered)) found.push({ address, family: address.includes(':') ? 6 : 4 });
  }
  return found.sort((a, b) => a.family - b.family);
}
