import type { TestGateway } from './start-gateway.ts';

/** State of a logged-in browser. */
export interface LoggedIn {
  cookie: string;
  csrf: string;
  session: Record<string, unknown>;
  /** Sends a request as a page of ours does. */
  fetch(path: string, init?: RequestInit & { json?: unknown }): Promise<Response>;
}

export function logIn(gateway: Pick<TestGateway, 'url'>, body: unknown, headers: Record<string, string> = {}) {
  return fetch(`${gateway.url}/dashboard/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** Throws where it is refused. */
export async function loggedIn(gateway: Pick<TestGateway, 'url'>, body: unknown): Promise<LoggedIn> {
  const response = await logIn(gateway, body);
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const cookie = response.headers.getSetCookie()[0]!.split(';')[0]!;
  const { session } = (await response.json()) as { session: { csrf: string } };
  const { csrf } = session;
  return {
    cookie,
    csrf,
    session,
    fetch(path, { json, ...init } = {}) {
      const headers = new Headers(init.headers);
      headers.set('cookie', cookie);
      if (!headers.has('x-culvert-csrf')) headers.set('x-culvert-csrf', csrf);
      if (json !== undefined) headers.set('content-type', 'application/json');
      const body = json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) };
      return fetch(gateway.url + path, { ...body, ...init, headers });
    },
  };
}
