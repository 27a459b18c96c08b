import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import type { Snapshot } from '../../inference/models/snapshot.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { writeAnswer } from '../delivery.ts';
import type { Exchange, Route } from '../exchange.ts';
import { linkBaseOf } from '../link-base.ts';

interface Snapshots {
  readonly current: Pick<Snapshot, 'config'>;
}

const metadata = '/.well-known/oauth-protected-resource';

/** `WWW-Authenticate` of a 401 at `/mcp`: where an assistant finds out which login servers give tokens, if any do. */
export function mcpChallenge(snapshots: Snapshots): (exchange: Pick<Exchange, 'request' | 'path'>) => string {
  return ({ request, path }) => {
    const { callers, server } = snapshots.current.config;
    if (callers.tokens.length === 0) return 'Bearer';
    return `Bearer resource_metadata="${linkBaseOf(request, server)}${metadata}${path.replaceAll('"', '%22')}"`;
  };
}

/** `GET /.well-known/oauth-protected-resource/mcp` (RFC 9728): the login servers of `callers.tokens`. 404 without any. */
export function mcpAuthorizationRoutes(snapshots: Snapshots): Route[] {
  return ['/mcp', '/mcp/:server'].map((path) => ({
    method: 'GET',
    path: metadata + path,
    summary: 'OAuth protected resource metadata: who gives tokens for the Model Context Protocol',
    auth: 'none',
    quota: 'none',
    dialect: openAiChat,
    handle(exchange) {
      const { callers, server } = snapshots.current.config;
      if (callers.tokens.length === 0) {
        const message = 'No login server gives tokens for this server: `callers.tokens` names none. Send a key.';
        return refuse(exchange.client, { kind: 'not-found', message }, []);
      }
      const document = {
        resource: linkBaseOf(exchange.request, server) + exchange.path.slice(metadata.length),
        authorization_servers: callers.tokens.map(({ issuer }) => issuer),
        bearer_methods_supported: ['header'],
      };
      writeAnswer(exchange, 200, [], JSON.stringify(document));
    },
  }));
}
