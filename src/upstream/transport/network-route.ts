import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readProxy } from './proxy.ts';
import { codeOf } from './transport-error.ts';
import type { UpstreamRoute } from './upstream-call.ts';

/** A route in an operator's terms; certificates and keys are PEM, or the path of a PEM file. */
export interface RouteFacts extends Pick<UpstreamRoute, 'ca' | 'cert' | 'key' | 'http2'> {
  /** Undefined: as the environment says. */
  proxy: string | 'off' | undefined;
}

/** The message names the wrong member and its fault, never a secret or a file's content. */
export type RouteResult = { ok: true; route: UpstreamRoute | undefined } | { ok: false; message: string };

/** Undefined when nothing is configured: the usual route. Files are read now. */
export function createRoute(facts: RouteFacts): RouteResult {
  const { proxy: written, http2 = false } = facts;
  if (Object.values({ ...facts, http2: http2 || undefined }).every((one) => one === undefined))
    return { ok: true, route: undefined };
  const proxy = written === undefined ? 'environment' : written === 'off' ? 'off' : readProxy(written);
  if (proxy === null) return { ok: false, message: 'proxy is not a URL such as http://proxy.internal:3128' };
  const pems: Partial<Record<'ca' | 'cert' | 'key', string>> = {};
  for (const name of ['ca', 'cert', 'key'] as const) {
    const text = facts[name];
    if (text === undefined) continue;
    try {
      pems[name] = text.includes('-----BEGIN') ? text : readFileSync(text, 'utf8');
    } catch (error) {
      return { ok: false, message: `tls.${name} is neither PEM nor a file that can be read (${codeOf(error)})` };
    }
  }
  const { ca, cert, key } = pems;
  const wrong = fault(pems);
  if (wrong !== null) return { ok: false, message: wrong };
  const id = createHash('sha256')
    .update(JSON.stringify([written, ca, cert, key, http2]))
    .digest('base64');
  return { ok: true, route: { id, proxy, ca, cert, key, http2 } };
}

function fault(pems: Readonly<Partial<Record<'ca' | 'cert' | 'key', string>>>): string | null {
  const { ca, cert, key } = pems;
  if (ca === undefined && cert === undefined) return null;
  if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----')) return 'tls.ca holds no PEM certificate';
  try {
    process.getBuiltinModule('node:tls').createSecureContext({ ca, cert, key });
    return null;
  } catch (error) {
    return `tls.ca, tls.cert and tls.key do not match (${codeOf(error)})`;
  }
}
