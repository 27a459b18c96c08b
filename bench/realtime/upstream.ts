/** The other end of the sessions: each piece of sound comes back as one, as from a model that talks all the time. */

import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
server.on('listening', () => process.send!({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit());
server.on('connection', (socket) => {
  socket.send(JSON.stringify({ type: 'session.created', event_id: 'event_1', session: {} }));
  socket.on('message', (data) => {
    const delta = String(data).slice('{"type":"input_audio_buffer.append","audio":"'.length, -2);
    socket.send(
      `{"type":"response.output_audio.delta","event_id":"event_2","response_id":"resp_1","delta":"${delta}"}`,
    );
  });
});
