import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** Path where Firecrawl's SDKs open a WebSocket to watch a crawl or a batch. */
const watchedPath = /^(?:\/v1\/tools)?\/v[12]\/(?:crawl|batch\/scrape)\/[^/?]+$/;
/** RFC 6455 §1.3. */
const acceptGuid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** A close frame with 1000, a normal closure. */
const closeFrame = Buffer.from([0x88, 0x02, 0x03, 0xe8]);
const closedWithinMs = 1_000;
const token = /^[\w!#$%&'*+.^`|~-]{1,200}$/;

/**
 * A watcher of Firecrawl's SDKs polls by GET when its WebSocket closes normally, and gives up when it is refused. So
 * the WebSocket is accepted and closed. It sends nothing, and needs no key. False: the request does not come from a
 * watcher.
 */
export function closeWatch({ url, headers }: IncomingMessage, socket: Duplex): boolean {
  const key = headers['sec-websocket-key'];
  if (url === undefined || !watchedPath.test(url) || key === undefined) return false;
  const accept = createHash('sha1').update(`${key}${acceptGuid}`).digest('base64');
  // The SDK for JavaScript sends its key as a subprotocol; browsers and undici want it chosen.
  const protocol = headers['sec-websocket-protocol'];
  const chosen = protocol !== undefined && token.test(protocol) ? [`sec-websocket-protocol: ${protocol}`] : [];
  const head = [
    'HTTP/1.1 101 Switching Protocols',
    'upgrade: websocket',
    'connection: Upgrade',
    `sec-websocket-accept: ${accept}`,
    ...chosen,
  ];
  socket.on('error', () => undefined);
  // Its own close frame is read before the socket goes, so that nothing is reset.
  socket.resume();
  setTimeout(() => socket.destroy(), closedWithinMs).unref();
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  socket.end(closeFrame);
  return true;
}
