import { adminOperator } from '../../src/books/auth/operator.ts';
import { openAiChat } from '../../src/formats/dialects/openai-chat/index.ts';
import type { Route } from '../../src/http/exchange.ts';
import { createGatewayServer } from '../../src/http/server.ts';
import { type Clock, systemClock } from '../../src/kernel/clock.ts';
import type { Failure } from '../../src/kernel/failure.ts';
import { createRoom, type Room } from '../../src/kernel/sharing/room.ts';

/** Handler of the server's one route, `POST /v1/chat/completions`, unless `routes` are given. */
export interface BareParts {
  routes?: readonly Route[];
  handle?: Route['handle'];
  /** Refuses before the body. */
  admit?: () => Failure;
  clock?: Clock;
  overload?: { delay: number } | 'off';
  /** The account of a request by its bearer token; `a` for all by default. */
  accountOf?: (authorization: string) => string;
  /** For bodies; as much as they like by default. */
  bodies?: Room;
}

/** Result of its admission for everybody who passes. */
const limitHeaders = ['ratelimit-policy', '"minute";q=60;w=60'];

/** The HTTP server alone, for answers that a whole gateway gives only when something in it breaks. */
export async function startBareServer(t: { after(fn: () => unknown): void }, parts: BareParts) {
  const unexpected: unknown[] = [];
  let handled = 0;
  const server = createGatewayServer({
    traces: null,
    tally: null,
    clock: parts.clock ?? systemClock,
    admission: {
      admit: () =>
        parts.admit?.() ?? { kind: 'admitted', headers: limitHeaders, calls: [], form: 'openai', release() {} },
      reserve: () => Promise.reject(new Error('no reservations here')),
      left: async () => null,
    },
    elsewhere: null,
    bodies: parts.bodies ?? createRoom('bodies', () => ({ bytesMax: 2 ** 40, accountBytesMax: 2 ** 40 })),
    routes: parts.routes ?? [
      {
        method: 'POST',
        path: '/v1/chat/completions',
        auth: 'key',
        quota: 'one',
        endpoint: 'chat',
        summary: '',
        dialect: openAiChat,
        async handle(exchange) {
          handled++;
          await parts.handle?.(exchange);
        },
      },
    ],
    lookForKey: async () => {},
    keys: {
      authenticate: ({ authorization = '' }) => ({
        keyId: 'k',
        account: parts.accountOf?.(authorization) ?? 'a',
        tenant: 'a/k',
        plan: 'default',
        allowedModels: null,
        limits: null,
        guards: [],
        keyName: 'k',
      }),
      authenticateAdmin: () => adminOperator,
      byGuest: () => null,
    },
    sessions: null,
    snapshots: {
      current: {
        config: {
          server: {
            cors_origins: [],
            trusted_proxies: [],
            connections_per_address: undefined,
            overload: parts.overload ?? { delay: 250 },
          },
        },
      },
    },
    onRefused() {},
    onDropped: () => undefined,
    onUnexpected: (error) => unexpected.push(error),
  });
  const { host, port } = await server.listen('127.0.0.1', 0);
  t.after(() => server.drain({ delayMs: 0, graceMs: 0 }));
  return { url: `http://${host}:${port}`, unexpected, handled: () => handled };
}
