import { pipeline } from 'node:stream/promises';
import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import { type HostedFiles, hostedPath } from '../../../inference/families/images/hosted-files.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { type Failure, failureIn, isFailure } from '../../../kernel/failure.ts';
import { readerStallTimeoutMs } from '../../../kernel/limits.ts';
import { identityHeaders } from '../../delivery.ts';
import type { Route } from '../../exchange.ts';

/** `GET /v1/files-signed/:name`: generated pictures, for everybody who has the link. */
export function signedFilesRoute(files: HostedFiles): Route {
  return {
    method: 'GET',
    path: `${hostedPath}/:name`,
    // A link must open in a browser, which has no key: its signature is the key, and ends with it.
    auth: 'none',
    quota: 'none',
    dialect: openAiChat,
    summary: 'A generated picture, by the link of an answer, for one hour.',
    async handle(exchange) {
      const { params, search, request, response } = exchange;
      const query = new URLSearchParams(search);
      const opened = await files
        .open(params.name ?? '', query.get('exp') ?? '', query.get('sig') ?? '')
        .catch(failureIn);
      if (opened === null) return refuse(exchange.client, noFile, []);
      if (isFailure(opened)) return refuse(exchange.client, opened, []);
      const { bytes, type, leftS, content } = opened;
      response.writeHead(200, [
        ...identityHeaders(exchange),
        'content-type',
        type,
        'content-length',
        String(bytes),
        'cache-control',
        `private, max-age=${leftS}, immutable`,
        'x-content-type-options',
        'nosniff',
        // Opened as a page, it is a picture and nothing else; an SVG may have styles.
        'content-security-policy',
        "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      ]);
      if (request.method === 'HEAD') {
        content.destroy();
        response.end();
        return;
      }
      response.setTimeout(readerStallTimeoutMs, () => response.destroy());
      // A reader who left, or a file that ends before its length, breaks the connection off: there is no other way to
      // report it.
      await pipeline(content, response).catch(() => response.destroy());
    },
  };
}

const noFile: Failure = {
  kind: 'not-found',
  message: 'There is no such file, or its link has expired. Links to generated files work for one hour.',
};
