import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyScope } from './gateway-types.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Hands all requests of a Fastify scope over, with their bodies unread and Fastify's own answer given up. */
export async function asFastifyPlugin(
  instance: FastifyScope,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<void> {
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('*', (_request, _payload, done) => done(null));
  instance.route({
    method: methods,
    url: '/*',
    exposeHeadRoute: false,
    handler(request, reply) {
      reply.hijack();
      handle(request.raw, reply.raw);
    },
  });
}
