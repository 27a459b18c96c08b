import type { IncomingMessage } from 'node:http';
import type { SharedTally } from '../../books/metering/tally.ts';
import { isLoopback } from '../../config/loopback-host.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, FailureError, invalid, isFailure, statusOf } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import type { FinishedLogin } from '../../tools/mcp/logins.ts';
import { createLoginThrottle } from '../dashboard/login-throttle.ts';
import type { Exchange, Route } from '../exchange.ts';
import { sendPlainPage } from '../plain-page.ts';
import { openRoute } from './key-route.ts';

const mcpCallbackPath = '/mcp/oauth/callback';

/**
 * Address at which a browser comes back from a login. A server for this machine alone has its own, once it listens. The
 * failure: browsers know no way here.
 */
export async function callbackAddress(
  { host, public_url }: Config['server'],
  listening: Promise<string>,
): Promise<string | Failure> {
  if (public_url === undefined && !isLoopback(host)) {
    const message =
      'The browser has to come back here. Set server.public_url to the address where browsers reach Culvert.';
    return invalid(null, message);
  }
  return (public_url ?? (await listening)).replace(/\/+$/, '') + mcpCallbackPath;
}

export interface McpLoginParts {
  /** Null: no login waits for these parameters. */
  finish(params: URLSearchParams): Promise<FinishedLogin | null>;
  addressOf(request: IncomingMessage): string | null;
  clock: Clock;
  /** Counts logins that failed on other replicas; null: there are none. */
  tally: SharedTally | null;
}

/** Where an operator's browser comes back from the authorization server of an MCP server. Its `state` is its proof. */
export function mcpLoginRoute({ finish, addressOf, clock, tally }: McpLoginParts): Route {
  const throttle = createLoginThrottle(clock, tally, 'mcp-logins');
  const summary = 'Ends the login of an operator at an MCP server, whose authorization server sends the browser here.';
  return openRoute(`GET ${mcpCallbackPath}`, summary, async (exchange) => {
    const address = addressOf(exchange.request);
    const attempt = await throttle.attempt(address);
    if (isFailure(attempt)) return answer(exchange, 429, 'Too many logins failed. Try again in a minute.');
    try {
      const finished = await finish(new URLSearchParams(exchange.search));
      if (finished !== null) {
        attempt.passed();
        return answer(
          exchange,
          200,
          `Culvert is logged in at the MCP server '${finished.server}'. You may close this page.`,
        );
      }
      attempt.failed();
      answer(exchange, 400, 'This login took too long, or it has already been used. Begin again.');
    } catch (error) {
      attempt.passed();
      if (!(error instanceof FailureError)) throw error;
      answer(exchange, statusOf(error.failure), factsOf(error.failure, clock.wallMs()).message);
    }
  });
}

function answer(exchange: Exchange, status: number, message: string): void {
  const links = [{ to: '/dashboard', text: 'To the dashboard' }];
  sendPlainPage(exchange, { status, title: 'Log in at an MCP server', message, links });
}
