import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Google's metadata server and its token endpoint for workload identity federation, as their documentation has them. */
export interface GoogleTokens {
  url: string;
  /** Host and port, for GCE_METADATA_HOST. */
  host: string;
  /** `machine` or `federated`, one for each token given. */
  given(): readonly string[];
  close(): void;
}

export const projectOfMachine = 'project-of-machine';
/** A workload's own proof. */
export const subjectToken = 'subject-token';

/** Tokens are `token-1`, `token-2`…, good for an hour. */
export async function startGoogleTokens(): Promise<GoogleTokens> {
  const given: string[] = [];
  const give = (how: string) => {
    given.push(how);
    return { access_token: `token-${given.length}`, token_type: 'Bearer', expires_in: 3_599 };
  };
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url!, 'http://google');
    const say = (status: number, body: string) =>
      response.writeHead(status, { 'content-type': 'application/json', 'metadata-flavor': 'Google' }).end(body);
    const [, metadata] = /^\/computeMetadata\/v1\/(.*)$/.exec(pathname) ?? [];
    if (metadata !== undefined && request.headers['metadata-flavor'] !== 'Google') return say(403, '');
    if (metadata === 'project/project-id') return say(200, projectOfMachine);
    if (metadata === 'instance/service-accounts/default/token') return say(200, JSON.stringify(give('machine')));
    if (metadata !== undefined) return say(200, 'there');
    if (pathname !== '/v1/token') return say(404, '{}');
    const form = new URLSearchParams(await textOf(request));
    if (form.get('subject_token') !== subjectToken) {
      return say(400, JSON.stringify({ error: 'invalid_grant', error_description: 'The subject token is unknown.' }));
    }
    say(
      200,
      JSON.stringify({ ...give('federated'), issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' }),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    url: `http://${host}`,
    given: () => given,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}
