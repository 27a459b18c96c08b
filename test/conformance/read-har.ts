import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import { type Exchange, exchangeOf, headersOf } from './exchange.ts';

/** The entries of an HTTP archive (HAR 1.2). */
export function readHar(from: string, har: JsonObject): Exchange[] {
  const log = isObject(har.log) ? har.log : {};
  if (!Array.isArray(log.entries)) return [];
  return log.entries.flatMap((entry, at) => {
    if (!isObject(entry) || !isObject(entry.request) || !isObject(entry.response)) return [];
    const { request, response } = entry;
    const sent = isObject(request.postData) ? request.postData.text : null;
    const content = isObject(response.content) ? response.content : {};
    const got =
      content.encoding === 'base64' && typeof content.text === 'string'
        ? Buffer.from(content.text, 'base64')
        : content.text;
    const exchange = exchangeOf(
      `${from}#${at}`,
      { url: String(request.url ?? ''), headers: headersOf(request.headers), body: sent },
      { status: Number(response.status), headers: headersOf(response.headers), body: got },
    );
    return exchange === null ? [] : [exchange];
  });
}
