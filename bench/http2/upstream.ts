// A vendor with TLS, in a process of its own: HTTP/2 for clients that ask for it, HTTP/1.1 for the others. `/stream`
// answers this many events at an even pace, everything else one whole answer. Its parent has its port first.
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { cert, key } from '../../test/loopback-certificate.ts';
import { event, eventEveryMs, eventsOfAStream, wholeAnswer } from './wire.ts';

const server = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
  request.resume();
  request.on('end', () => {
    if (request.url !== '/stream') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': wholeAnswer.length });
      response.end(wholeAnswer);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let sent = 0;
    const timer = setInterval(() => {
      sent += 1;
      if (sent < eventsOfAStream) return void response.write(event);
      clearInterval(timer);
      response.end(event);
    }, eventEveryMs);
    response.on('close', () => clearInterval(timer));
  });
});
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
