import { BlockList, isIP } from 'node:net';
import { parseNetwork, plainAddress } from '../../kernel/network.ts';
import { uriText } from '../../kernel/web/uri-text.ts';

/** A forward proxy: asked for a tunnel to https:// origins, and for http:// ones by the whole URL. */
export interface ForwardProxy {
  origin: URL;
  /** Value of Proxy-Authorization; null when the URL has no user. */
  authorization: string | null;
}

export type ProxyOf = (origin: URL) => ForwardProxy | null;

/** `http://user:password@host:port`, `https://…`, or `host:port` as the environment may have it. Null for any other. */
export function readProxy(text: string): ForwardProxy | null {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '') return null;
  const user = `${uriText(url.username)}:${uriText(url.password)}`;
  return {
    origin: new URL(url.origin),
    authorization: user === ':' ? null : `Basic ${Buffer.from(user).toString('base64')}`,
  };
}

/**
 * `HTTPS_PROXY` and `HTTP_PROXY` by the origin's scheme, without hosts in `NO_PROXY` and without this machine.
 * Lower-case names go first, as for curl. Throws an Error that names the variable whose value is not a proxy.
 */
export function environmentProxies(env: Readonly<Record<string, string | undefined>>): ProxyOf {
  const read = (name: string): ForwardProxy | null => {
    const text = (env[name.toLowerCase()] ?? env[name] ?? '').trim();
    if (text === '') return null;
    const proxy = readProxy(text);
    if (proxy === null) throw new Error(`${name} is not a proxy: expected a URL such as http://proxy.internal:3128`);
    return proxy;
  };
  const bySecurity = { 'https:': read('HTTPS_PROXY'), 'http:': read('HTTP_PROXY') };
  const isExcepted = exceptions(env.no_proxy ?? env.NO_PROXY ?? '');
  return (origin) => {
    const proxy = bySecurity[origin.protocol as keyof typeof bySecurity] ?? null;
    return proxy === null || isLocal(origin.hostname) || isExcepted(origin) ? null : proxy;
  };
}

function isLocal(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || /^127\./.test(hostname);
}

/** Reads `NO_PROXY`: names with all below them, addresses, networks, with or without a port; `*` for everything. */
function exceptions(list: string): (origin: URL) => boolean {
  const networks = new BlockList();
  const names: { host: string; port: string | null }[] = [];
  let all = false;
  for (const entry of list.toLowerCase().split(/[\s,]+/)) {
    const network = parseNetwork(entry);
    if (entry === '*') all = true;
    else if (network !== null) networks.addSubnet(network.address, network.prefixBits, network.family);
    else if (entry !== '') {
      const [, host, port = null] = /^(.*?)(?::(\d+))?$/.exec(entry)!;
      names.push({ host: host!.replace(/^\*?\./, ''), port });
    }
  }
  return ({ hostname, port, protocol }) => {
    const address = plainAddress(hostname);
    if (all || (address !== null && networks.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6'))) return true;
    const effectivePort = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
    return names.some(
      (name) =>
        (name.port === null || name.port === effectivePort) &&
        (hostname === name.host || hostname.endsWith(`.${name.host}`)),
    );
  };
}
