import { connect } from 'node:net';
import { request } from '../../kernel/web/node-http.ts';

/** Answer of a probe; `body` is the part within the bounds. */
export interface ProbeAnswer {
  status: number;
  body: string;
}

export interface ProbeBounds {
  /** Bound of the whole exchange. */
  timeoutMs: number;
  bodyBytesMax: number;
}

/** GET of a loopback URL; null for no answer, one that is too large, or one that did not end in time. */
export type ProbeGet = (url: string, bounds: ProbeBounds) => Promise<ProbeAnswer | null>;

const loopbackHosts = new Set(['127.0.0.1', '[::1]']);

/**
 * The real probe: one GET without credentials on a new socket, redirects not followed. Refuses any host but 127.0.0.1
 * and [::1], so that no configuration and no answer can aim it elsewhere.
 */
export const probeGet: ProbeGet = (url, bounds) => {
  const target = new URL(url);
  if (target.protocol !== 'http:' || !loopbackHosts.has(target.hostname)) return Promise.resolve(null);
  return new Promise((resolve) => {
    const call = request(target, { method: 'GET', agent: false, headers: { accept: '*/*', connection: 'close' } });
    const settle = (answer: ProbeAnswer | null): void => {
      clearTimeout(timer);
      call.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => settle(null), bounds.timeoutMs);
    call.on('error', () => settle(null));
    call.on('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > bounds.bodyBytesMax) settle(null);
        else chunks.push(chunk);
      });
      response.on('error', () => settle(null));
      response.on('end', () =>
        settle({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
      );
    });
    call.end();
  });
};

/** Whether anything listens at an origin, such as `http://127.0.0.1:8080`. */
export type PortOpens = (origin: string, timeoutMs: number) => Promise<boolean>;

/** By a connection that says nothing: of the many ports that are looked at, hardly any is open. Loopback only. */
export const portOpens: PortOpens = (origin, timeoutMs) => {
  const { hostname, port } = new URL(origin);
  if (!loopbackHosts.has(hostname)) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || '80') });
    const settle = (opens: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(opens);
    };
    const timer = setTimeout(() => settle(false), timeoutMs);
    socket.on('connect', () => settle(true));
    socket.on('error', () => settle(false));
  });
};
