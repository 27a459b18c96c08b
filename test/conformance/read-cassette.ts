import { parse, type ScalarTag } from 'yaml';
import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import { type Exchange, exchangeOf, headersOf } from './exchange.ts';

/** Ruby writes `!binary` where YAML says `!!binary`. */
const rubyBinary: ScalarTag = {
  tag: '!binary',
  resolve: (text) => new Uint8Array(Buffer.from(text, 'base64')),
};

/** VCR cassettes: Python's (`interactions`) and Ruby's (`http_interactions`). Throws for invalid YAML. */
export function readCassette(from: string, text: string): Exchange[] {
  const cassette: unknown = parse(text, {
    customTags: ['binary', rubyBinary],
    logLevel: 'silent',
    maxAliasCount: -1,
    strict: false,
    uniqueKeys: false,
  });
  if (!isObject(cassette)) return [];
  const rows = cassette.interactions ?? cassette.http_interactions;
  if (!Array.isArray(rows)) return [];
  return rows.flatMap((row, at) => {
    if (!isObject(row) || !isObject(row.request) || !isObject(row.response)) return [];
    const { request, response } = row;
    const url = String(request.uri ?? request.url ?? '');
    const status = isObject(response.status) ? response.status.code : (response.status_code ?? response.status);
    const exchange = exchangeOf(
      `${from}#${at}`,
      { url, headers: headersOf(request.headers), body: bodyOf(request) },
      { status: Number(status), headers: headersOf(response.headers), body: bodyOf(response) },
    );
    return exchange === null ? [] : [exchange];
  });
}

/** `body` is text, bytes or `{string}` of either, or `{base64_string}`; `parsed_body` what a recorder made of it. */
function bodyOf(message: JsonObject): unknown {
  if (message.parsed_body !== undefined) return message.parsed_body;
  const { body } = message;
  if (!isObject(body) || body instanceof Uint8Array) return body;
  if (typeof body.base64_string === 'string') return Buffer.from(body.base64_string, 'base64');
  return body.string;
}
