import { type HostedFiles, hostedPath } from '../../../inference/families/images/hosted-files.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { type Failure, failureIn, isFailure } from '../../../kernel/failure.ts';
import type { Route } from '../../exchange.ts';
import { sendBytes } from '../../send-bytes.ts';
import { openRoute } from '../key-route.ts';

/** `GET /v1/files-signed/:name`: generated pictures, for everybody who has the link. */
export function signedFilesRoute(files: HostedFiles): Route {
  const summary = 'A generated picture, by the link of an answer, for one hour.';
  // A link must open in a browser, which has no key: its signature is the key, and ends with it.
  return openRoute(`GET ${hostedPath}/:name`, summary, async (exchange) => {
    const { params, search } = exchange;
    const query = new URLSearchParams(search);
    const opened = await files.open(params.name ?? '', query.get('exp') ?? '', query.get('sig') ?? '').catch(failureIn);
    if (opened === null) return refuse(exchange.client, noFile, []);
    if (isFailure(opened)) return refuse(exchange.client, opened, []);
    const { bytes, type, leftS, content } = opened;
    const headers = [
      'content-type',
      type,
      'cache-control',
      `private, max-age=${leftS}, immutable`,
      // Opened as a page, it is a picture and nothing else; an SVG may have styles.
      'content-security-policy',
      "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    ];
    await sendBytes(exchange, { bytes, headers, content });
    content.destroy();
  });
}

const noFile: Failure = {
  kind: 'not-found',
  message: 'There is no such file, or its link has expired. Links to generated files work for one hour.',
};
